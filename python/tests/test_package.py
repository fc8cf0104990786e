"""The installed package as a whole."""

import ast
from importlib.metadata import distribution
from pathlib import Path

import sternhalma


def test_licences_are_in_the_package() -> None:
    files = distribution("sternhalma").files or []
    texts = {file.name: file.read_text() for file in files if file.parent.name == "licenses"}
    # The wheel of a release also has the licences of the crates that it contains.
    assert set(texts) - {"LICENSE-THIRD-PARTY.txt"} == {"LICENSE-APACHE", "LICENSE-MIT"}
    assert "Permission is hereby granted" in texts["LICENSE-MIT"] and "Apache License" in texts["LICENSE-APACHE"]


def test_the_description_names_all_parts() -> None:
    metadata = distribution("sternhalma").metadata
    assert all(part in metadata["Summary"] for part in ("sternhalma.ggp", "sternhalma.rl"))
    assert metadata["License-Expression"] == "MIT OR Apache-2.0" and metadata["Project-URL"]


def test_modules_import_only_public_names_of_each_other() -> None:
    for path in Path(sternhalma.__path__[0]).rglob("*.py"):
        imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        names = [name.name for node in imports if node.module and node.level for name in node.names]
        assert not [name for name in names if name.startswith("_") and not name.startswith("__")], path
