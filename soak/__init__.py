"""A long campaign of kills, damaged records, hostile files and wild calls: `make soak`, or `python -m soak --help`."""
