"""Pictures of boards."""

import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import sternhalma as sh

BOARD = sh.Board(5, 6)
BLUE, ORANGE = "#1f5f9e", "#b5561b"


def fills(drawing: sh.Drawing, kind: str = "circle") -> Counter[str]:
    """Counts the colours of the parts of a picture, which is well-formed XML."""
    root = ElementTree.fromstring(drawing.svg)
    return Counter(part.get("fill", "") for part in root.iter(f"{{http://www.w3.org/2000/svg}}{kind}"))


def texts(drawing: sh.Drawing) -> list[str]:
    root = ElementTree.fromstring(drawing.svg)
    return [part.text or "" for part in root.iter("{http://www.w3.org/2000/svg}text")]


def arrows(drawing: sh.Drawing) -> int:
    return drawing.svg.count("marker-end")


def test_positions_and_boards_are_pictures_in_notebooks() -> None:
    start = sh.Position(board=sh.Board(7, 6))
    after = start.play("c1-c2")
    assert (start.last_move, after.last_move) == (None, "c1-c2")
    for position, count in [(start, 0), (after, 1)]:
        drawing = sh.draw(position)
        assert position._repr_svg_() == drawing._repr_svg_() == drawing.svg == str(drawing)
        assert fills(drawing)[BLUE] == fills(drawing)[ORANGE] == 6 and arrows(drawing) == count
        assert sorted(texts(drawing)) == sorted(f"{x}{y}" for x in "abcdefg" for y in range(1, 8))
        assert f"<title>Position {position}</title>" in drawing.svg
    board = sh.draw(BOARD)
    assert BOARD._repr_svg_() == board.svg and not {BLUE, ORANGE} & set(fills(board)) and len(texts(board)) == 25
    # Both homes have colours of their own.
    assert sorted(fills(board).values()) == [6, 6, 13]


def test_cells_are_where_the_rules_have_them() -> None:
    root = ElementTree.fromstring(sh.draw(BOARD).svg)
    places = {
        part.text: (float(part.get("x", 0)), float(part.get("y", 0)))
        for part in root.iter("{http://www.w3.org/2000/svg}text")
    }
    # a1 is at the bottom, the letters go up to the right, and the numbers up to the left.
    assert places["a1"][1] == max(y for _, y in places.values()) and places["e5"][1] == min(
        y for _, y in places.values()
    )
    assert places["b1"][0] > places["a1"][0] > places["a2"][0] and places["b1"][1] == places["a2"][1]


def test_armies_moves_marks_and_heat_are_drawn(tables: dict[str, sh.Table], tmp_path: Path) -> None:
    table, home = tables["byte"], BOARD.home()
    for player, colour in [("x", BLUE), ("o", ORANGE)]:
        assert fills(sh.draw(home, board=BOARD, player=player))[colour] == 6
    assert arrows(sh.draw(home, board=BOARD, arrows=table.line(home))) == table.distance(home)
    assert arrows(sh.draw(home, board=BOARD, arrows=["c1-c2", "pass"], last_move=[0, 12])) == 2
    marked = sh.draw(BOARD, marks={"a1": "<&", 24: 7}, coordinates=False, size=100)
    assert texts(marked) == ["<&", "7"] and 'height="100"' in marked.svg
    heat = np.arange(25.0)
    heat[3] = np.nan
    coloured = fills(sh.draw(BOARD, heat=heat))
    assert coloured["#fff7cd"] == coloured["#b11e50"] == coloured["#ffffff"] == 1 and len(coloured) == 25
    assert len(fills(sh.draw(BOARD, heat=np.zeros(25)))) == 1
    path = tmp_path / "board.svg"
    marked.save(path)
    assert path.read_text() == marked.svg
    with pytest.raises(sh.FileError, match="cannot write the picture"):
        marked.save(tmp_path / "absent" / "board.svg")


def test_what_cannot_be_drawn_is_refused() -> None:
    home = BOARD.home()
    with pytest.raises(sh.StateError, match="same cell"):
        sh.draw([0] * 6, board=BOARD)
    with pytest.raises(sh.ArgumentTypeError, match="cells with `board=`"):
        sh.draw(home)
    with pytest.raises(sh.ArgumentError, match="one army"):
        sh.draw([home, home], board=BOARD)
    with pytest.raises(sh.ArgumentError, match="board: expected"):
        sh.draw(sh.Position(), board=BOARD)
    cells: list[str | int] = ["f1", 25, -1]
    for wrong in cells:
        with pytest.raises(sh.NotationError, match=r"there is no cell .*; the cells of .* are a1 to e5"):
            sh.draw(BOARD, marks={wrong: "!"})
    with pytest.raises(sh.NotationError, match="expected a move such as 'c1-e3'"):
        sh.draw(BOARD, last_move="c1")
    with pytest.raises(sh.ArgumentError, match=r"heat: .* of the shape \(25,\)"):
        sh.draw(BOARD, heat=[1, 2])
