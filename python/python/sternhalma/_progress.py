"""Progress of long calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._arrays import shown
from ._errors import ArgumentTypeError

Callback = Callable[[str, int, int], object]


def callback_of(progress: Any) -> Callback | None:
    """Returns a function that gets the phase, the complete steps and all steps.

    A progress bar of tqdm has one phase after another.

    Raises `ArgumentTypeError` if the value is neither a function nor a progress bar.
    """
    if progress is None or not (hasattr(progress, "reset") and hasattr(progress, "update")):
        if progress is not None and not callable(progress):
            raise ArgumentTypeError(f"progress: expected a function or a progress bar of tqdm, got {shown(progress)}")
        return progress  # type: ignore[no-any-return]
    phase = ""

    def report(name: str, done: int, total: int) -> None:
        nonlocal phase
        if name != phase or total != progress.total:
            phase = name
            progress.reset(total=total)
            progress.set_description(name)
        progress.update(done - progress.n)

    return report
