"""Findings about rulesheets."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """An error or a warning about a rulesheet.

    `rule` is the stable name of the kind, such as "unsafe". `severity` is "error" or "warning". `line` and `column`
    count from 1, and are `None` if the finding has no place.
    """

    rule: str
    severity: str
    message: str
    line: int | None
    column: int | None

    def __str__(self) -> str:
        place = "" if self.line is None else f"{self.line}:{self.column}: "
        return f"{place}{self.severity}[{self.rule}]: {self.message}"
