"""The examples of the documentation."""

import doctest
import importlib.util
import pkgutil
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import sternhalma as sh

ROOT = Path(__file__).parents[1]


def test_examples_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STERNHALMA_TABLES", str(tmp_path))
    found = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert found.attempted > 10 and found.failed == 0


@pytest.mark.parametrize("name", [name for _, name, _ in pkgutil.walk_packages(sh.__path__, "sternhalma.")])
def test_examples_of_the_functions(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STERNHALMA_TABLES", str(tmp_path))
    size = ["--matches", "300"] if path.name == "learn_game.py" else ["--side", "5"]
    monkeypatch.setattr("sys.argv", [path.name, *size])
    runpy.run_path(str(path), run_name="__main__")


def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_current() -> None:
    text = reference().text()
    assert (ROOT.parent / "docs" / "reference" / "python.md").read_text() == text, "run python/reference.py"
    assert all(f"`{name}" in text or f"### {name}" in text for name in sh.__all__)
