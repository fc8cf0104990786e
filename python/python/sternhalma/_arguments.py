"""The check of the arguments of public functions, by their annotations."""

from __future__ import annotations

import inspect
import math
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np

from ._arrays import is_integer, shown
from ._errors import ArgumentError, ArgumentTypeError

#: The range of an integer or a number that the compiled module takes.
Range = tuple[float, float]

UINT64 = (0, 2**64 - 1)
UINT32 = (0, 2**32 - 1)
INT64 = (-(2**63), 2**63 - 1)
COUNT = (1, 2**64 - 1)
COUNT32 = (1, 2**32 - 1)
NUMBER = (-math.inf, math.inf)
#: A number of threads may be larger than the machine can use.
THREADS = (0, math.inf)

_NOUNS: dict[Any, str] = {
    int: "an integer",
    float: "a number",
    bool: "a truth value",
    str: "a text",
    os.PathLike: "a path",
    types.NoneType: "None",
    Sequence: "a sequence",
    Iterable: "an iterable",
    Callable: "a function",
    tuple: "a tuple",
    Mapping: "a mapping",
}


class _Kind(NamedTuple):
    """A type that an annotation allows, with the types of its elements."""

    kind: Any
    arguments: tuple[Any, ...]

    def accepts(self, value: Any) -> bool:
        """Returns whether a value is of the type, whatever its range."""
        kind, arguments = self
        if kind is int:
            return is_integer(value)
        if kind is float:
            return isinstance(value, float | np.floating) or is_integer(value)
        if kind is bool:
            return isinstance(value, bool | np.bool_)
        if kind is str:
            return isinstance(value, str) and _is_encodable(value)
        if kind is os.PathLike:
            return isinstance(value, os.PathLike) and _is_encodable(os.fspath(value))
        if kind is Literal:
            return any(value is choice or (isinstance(value, str) and value == choice) for choice in arguments)
        if kind is Sequence:
            is_several = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
            return is_several and not isinstance(value, str) and all(_accepted(one, arguments[0]) for one in value)
        if kind is Iterable:
            is_single = isinstance(value, str) or (isinstance(value, np.ndarray) and value.ndim == 0)
            return isinstance(value, Iterable) and not is_single
        if kind is tuple:
            pairs = zip(value, arguments, strict=False) if isinstance(value, tuple | list) else ()
            return (
                isinstance(value, tuple | list) and len(value) == len(arguments) and all(_accepted(*p) for p in pairs)
            )
        if kind is Mapping:
            key, element = arguments
            items = value.items() if isinstance(value, Mapping) else ()
            return isinstance(value, Mapping) and all(_accepted(k, key) and _accepted(v, element) for k, v in items)
        return isinstance(value, kind)

    def __str__(self) -> str:
        if self.kind is Literal:
            return _either([repr(choice) for choice in self.arguments])
        if self.kind in _NOUNS:
            of = f" of {self.arguments[-1].__name__}" if self.kind is Sequence and self.arguments[0] is str else ""
            return _NOUNS[self.kind] + of.replace("str", "texts")
        return f"a {self.kind.__name__}"


def _is_encodable(text: Any) -> bool:
    """Returns whether a text has no surrogates, which no other program can read."""
    try:
        return isinstance(text, str) and bool(text.encode() or True)
    except UnicodeEncodeError:
        return False


def _either(texts: Sequence[str]) -> str:
    """Returns alternatives as text."""
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


@cache
def _kinds(annotation: Any) -> tuple[_Kind, ...] | None:
    """Returns the types that an annotation allows, or `None` if it allows values that no type describes."""
    if annotation is None or annotation is types.NoneType:
        return (_Kind(types.NoneType, ()),)
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        parts = [_kinds(part) for part in get_args(annotation)]
        return None if None in parts else tuple(kind for part in parts if part is not None for kind in part)
    if origin in (Literal, Sequence, Iterable, Callable, tuple, Mapping):
        return (_Kind(origin, get_args(annotation)),)
    if origin is os.PathLike:
        return (_Kind(os.PathLike, ()),)
    is_class = origin is None and inspect.isclass(annotation) and annotation not in (object, Any)
    return (_Kind(annotation, ()),) if is_class and getattr(annotation, "_is_runtime_protocol", True) else None


def _accepted(value: Any, annotation: Any) -> bool:
    kinds = _kinds(annotation)
    return kinds is None or any(kind.accepts(value) for kind in kinds)


class _Parameter(NamedTuple):
    """A parameter that can be checked."""

    name: str
    kinds: tuple[_Kind, ...]
    #: The classes whose direct instances need no further check, except texts that are not ASCII.
    classes: frozenset[type]
    has_integers: bool


@cache
def _parameters(function: Callable[..., Any]) -> list[_Parameter]:
    """Returns the parameters of a function that can be checked."""
    found = []
    for parameter in inspect.signature(function).parameters.values():
        annotation = parameter.annotation
        kinds = _kinds(eval(annotation, function.__globals__)) if isinstance(annotation, str) else None
        if kinds is not None:
            known = {kind.kind for kind in kinds if isinstance(kind.kind, type)}
            classes = frozenset(known - {int, float, tuple, Sequence, Mapping, Iterable, Callable, os.PathLike})
            found.append(_Parameter(parameter.name, kinds, classes, int in known))
    return found


def check(function: Callable[..., Any], values: Mapping[str, Any], **ranges: Range) -> None:
    """Checks the arguments of a public function, which calls this first with its local variables.

    Integers are from 0 to 2**64 - 1 unless `ranges` has other bounds; numbers are finite.

    Raises `ArgumentTypeError` for a wrong type, and `ArgumentError` for a wrong value.
    """
    for parameter in _parameters(function):
        name, _, classes, has_integers = parameter
        value = values[name]
        # Most values need no more than this.
        kind = type(value)
        if kind in classes and (kind is not str or value.isascii()):
            continue
        if has_integers and kind is int and name not in ranges and 0 <= value < 1 << 64:
            continue
        _check_value(parameter, value, ranges.get(name))


def _check_value(parameter: _Parameter, value: Any, bounds: Range | None) -> None:
    """Checks an argument."""
    name, kinds, _, _ = parameter
    kind = next((kind for kind in kinds if kind.accepts(value)), None)
    if kind is None:
        words = [choice for kind in kinds if kind.kind is Literal for choice in kind.arguments]
        is_word = any(isinstance(word, type(value)) for word in words)
        error = ArgumentError if is_word else ArgumentTypeError
        raise error(f"{name}: expected {_either([str(kind) for kind in kinds])}, got {shown(value)}")
    if kind.kind in (int, float):
        default = THREADS if name == "threads" else UINT64 if kind.kind is int else NUMBER
        check_range(name, value, bounds or default)


def check_range(name: str, value: float, bounds: Range) -> None:
    """Checks that a number is in a range. Raises `ArgumentError`."""
    least, most = bounds
    if math.isfinite(value) and least <= value <= most:
        return
    if bounds == NUMBER:
        expected = "a finite number"
    elif value < least and most >= 2**32 - 1:
        expected = f"{least} or more"
    else:
        expected = f"{least} to {most}"
    raise ArgumentError(f"{name}: expected {expected}, got {shown(value)}")
