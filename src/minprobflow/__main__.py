"""`python -m minprobflow` is the command line."""

from .cli import main

main()
