#!/usr/bin/env python3
"""Writes docs/reference/python.md from the signatures and the documentation of the installed package."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import sternhalma

INTRODUCTION = """\
# Reference of the Python package

`python/reference.py` writes this page from the package. [The introduction](../../python/README.md) has examples.

Arguments named `cells` have the shape (..., pieces): the cells of one army per row, in any order, as integers. Ranks are integers of any shape. Results have the same leading dimensions; those of a single state are scalars. `ArrayLike` is what `numpy.asarray` accepts, and `NDArray` an array.

`threads` is a number of threads, or 0 for one per processor core. More than four per core (16 on small machines) are not started. The memory of searches, `memory`, is at most the available memory. A `RuntimeWarning` says what is used instead. Another one names a parameter of a player or policy that was removed, and thus has no effect.

The modules `ggp` (rulesheets) and `rl` (vectorised environments) have sections of their own.
"""


def signature(name: str, thing: Any) -> str:
    """Returns a call of a function as text, without `self`."""
    found = inspect.signature(thing)
    parameters = [parameter for parameter in found.parameters.values() if parameter.name != "self"]
    text = str(found.replace(parameters=parameters))
    # Annotations are shown as they are written.
    text = re.sub(r"(?<=: )'([^']+)'|(?<=-> )'([^']+)'", r"\1\2", text)
    return name + text.replace("Board(side=9, pieces=6)", "Board()")


def documentation(thing: Any) -> str:
    """Returns the documentation of a thing, with its examples as code."""
    text = inspect.getdoc(thing) or ""
    before, mark, example = text.partition(">>>")
    code = f"\n```python\n>>>{example.rstrip()}\n```\n" if mark else ""
    paragraphs = [" ".join(paragraph.split()) for paragraph in before.split("\n\n") if paragraph.strip()]
    return "\n\n".join(paragraphs) + "\n" + code


def members(kind: type) -> str:
    """Returns the attributes and methods of a class, also those that it inherits."""
    lines = []
    every = {name: member for base in reversed(kind.__mro__) for name, member in vars(base).items()}
    # Compiled classes have no fixed order.
    for name, member in every.items() if "__slots__" in vars(kind) else sorted(every.items()):
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        is_method = inspect.isroutine(member)
        is_attribute = isinstance(member, property) or inspect.isgetsetdescriptor(member)
        if not is_method and not is_attribute:
            continue
        title = signature(name, getattr(kind, name)) if is_method else name
        lines.append(f"- `{title}`: {' '.join(documentation(member).split())}")
    return "\n".join(lines) + "\n"


def things_of(module: ModuleType) -> list[tuple[str, Any]]:
    """Returns the public names of a module with their things."""
    return [(name, getattr(module, name)) for name in module.__all__]


def classes_of(things: list[tuple[str, Any]]) -> list[str]:
    """Returns a part per class, except exceptions."""
    parts = []
    classes = [(name, thing) for name, thing in things if inspect.isclass(thing) and not issubclass(thing, Exception)]
    for name, thing in classes:
        parts += [f"### {name}\n", documentation(thing)]
        if issubclass(thing, tuple):
            fields = ", ".join(f"`{field}`" for field in thing._fields)  # type: ignore[attr-defined]
            parts.append(f"Fields: {fields}.\n")
        elif listed := members(thing):
            parts.append(listed)
    return parts


def functions_of(things: list[tuple[str, Any]]) -> list[str]:
    """Returns a part per function."""
    parts = []
    for name, thing in things:
        if inspect.isfunction(thing):
            parts += [f"### {name}\n", f"```python\n{signature(name, thing)}\n```\n", documentation(thing)]
    return parts


def text() -> str:
    """Returns the page."""
    things = things_of(sternhalma)
    parts = [INTRODUCTION, "## Classes\n", *classes_of(things), "## Functions\n", *functions_of(things)]
    for module in (sternhalma.ggp, sternhalma.rl):
        parts += [f"## {module.__name__}\n", documentation(module)]
        parts += [*classes_of(things_of(module)), *functions_of(things_of(module))]
    parts += ["## Exceptions\n", "| exception | bases | meaning |\n|---|---|---|"]
    for name, thing in things:
        if inspect.isclass(thing) and issubclass(thing, Exception):
            bases = ", ".join(f"`{base.__name__}`" for base in thing.__bases__)
            parts.append(f"| `{name}` | {bases} | {inspect.getdoc(thing)} |")
    constants = [(name, thing) for name, thing in things if isinstance(thing, int)]
    parts += ["", "## Constants\n"]
    parts += [
        f"- `{name}` = {value}: the distance of a state outside a table, in `TableMoves`." for name, value in constants
    ]
    parts.append("- `__version__`: the version of the package, as text.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    page = Path(__file__).parents[1] / "docs" / "reference" / "python.md"
    page.write_text(text())
    print(page)
