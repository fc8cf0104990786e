"""SVG files: their frame, and writing or checking them."""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent


def picture(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Returns a picture with a white background."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" font-family="sans-serif" role="img">'
    )
    paper = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{title}</title>", paper, *parts, "</svg>", ""])


def write_or_check(drawings: Mapping[str, Callable[[], str]]) -> NoReturn:
    """Writes `NAME.svg` for each name and function. With `--check`, reports files that differ instead."""
    different = []
    for name, draw in drawings.items():
        path = HERE / f"{name}.svg"
        if "--check" not in sys.argv[1:]:
            path.write_text(draw())
        elif not path.exists() or path.read_text() != draw():
            different.append(path.name)
    sys.exit(f"out of date: {', '.join(different)}; run {sys.argv[0]}" if different else 0)
