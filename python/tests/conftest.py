"""Fixtures: small tables, and the command line."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import sternhalma as sh


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, sh.Table]:
    """Tables of six pieces on the 5x5 board in all forms, and a prefix."""
    directory = tmp_path_factory.mktemp("tables")
    board = sh.Board(5, 6)
    tables = {}
    for encoding in ["byte", "mod3", "zstd", "ans"]:
        for mirrored in [False, True]:
            name = encoding + ("-mirrored" if mirrored else "")
            path = directory / f"{name}.sht"
            tables[name] = sh.build(board=board, encoding=encoding, mirrored=mirrored, path=path)
    tables["prefix"] = sh.build(board=board, within=19, path=directory / "prefix.sht")
    return tables


@pytest.fixture(scope="session", autouse=True)
def no_tables(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests do not find the tables of the user."""
    os.environ["STERNHALMA_TABLES"] = str(tmp_path_factory.mktemp("none"))


Run = Callable[..., str]


@pytest.fixture(scope="session")
def sternhalma(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the command line program, which `STERNHALMA_PROGRAM` or the path names."""
    program = os.environ.get("STERNHALMA_PROGRAM") or shutil.which("sternhalma")
    if program is None:
        pytest.skip("STERNHALMA_PROGRAM does not name the command line program")
    directory = tmp_path_factory.mktemp("program")

    def run(*arguments: str | Path) -> str:
        env = {**os.environ, "STERNHALMA_TABLES": str(directory)}
        command = [program, *map(str, arguments)]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    return run
