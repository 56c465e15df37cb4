"""Every public name says what it is, what it takes, what it gives, and shows it with an example that runs (as a doctest)."""

import dataclasses
import inspect
import re

import pytest

import minprobflow as mpf

NAMES = [name for name in mpf.__all__ if not name.startswith("_") and not inspect.ismodule(getattr(mpf, name))]
GIVEN_BY_PYTHON = ("self", "cls", "args", "kwargs")


def section(doc, title):
    """The indented text under a line such as "Args:"; empty where there is none."""
    found = re.search(rf"^{title}:\n((?:[ ]+.*\n|\n)+)", doc + "\n", re.MULTILINE)
    return found[1] if found else ""


def taken(thing):
    """The names of the arguments of a function, or of those that make an object of a class."""
    return [name for name in inspect.signature(thing).parameters if name not in GIVEN_BY_PYTHON]


def described(doc, name, thing):
    """Whether an argument is described: under "Args:", or beside a field of a dataclass or named tuple."""
    if re.search(rf"^\s*(\w+, )*(\*\*)?{name}(, \w+)*(:| \()", section(doc, "Args"), re.MULTILINE):
        return True
    if not (inspect.isclass(thing) and (dataclasses.is_dataclass(thing) or hasattr(thing, "_fields"))):
        return False
    source = "".join(inspect.getsource(cls) for cls in thing.__mro__ if cls.__module__.startswith("minprobflow"))
    return re.search(rf'^    {name}: [^\n]*(#|\n    """)', source, re.MULTILINE) is not None


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_documented(name):
    thing = getattr(mpf, name)
    doc = inspect.cleandoc(thing.__doc__ or "")
    first = doc.partition("\n")[0]
    assert first.endswith((".", ":")) and first[0].isupper(), f"{name} has no summary line"
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    undescribed = [argument for argument in taken(thing) if not described(doc, argument, thing)]
    assert not undescribed, f"{name} does not describe {', '.join(undescribed)}"
    if not inspect.isclass(thing):
        assert section(doc, "Returns"), f"{name} does not say what it returns"
    assert ">>>" in doc, f"{name} has no example"
