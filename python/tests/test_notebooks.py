"""The notebooks, executed as they are stored."""

from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def outputs_of(notebook: Any) -> list[list[Any]]:
    """Returns the outputs of each cell with code."""
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def printed(notebook: Any) -> list[str]:
    """Returns what each cell prints. Pictures are left out, because they depend on the version of matplotlib."""
    cells = outputs_of(notebook)
    return ["".join(output.text for output in cell if output.output_type == "stream") for cell in cells]


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["learning", "table_overview"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    stored = printed(notebook)
    # The notebook finds no table of the user.
    monkeypatch.setenv("STERNHALMA_TABLES", str(tmp_path))
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    assert printed(notebook) == stored and any(stored)
    assert any("image/png" in output.get("data", {}) for cell in outputs_of(notebook) for output in cell)
