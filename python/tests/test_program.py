"""External programs as players: the command line itself, and scripts that break the protocol."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import sternhalma as sh

BOARD = sh.Board(5, 3)
START = sh.Position(board=BOARD)

POLITE = """\
import sys
for line in sys.stdin:
    match line.split():
        case ["ugi"]:
            print("id name Scripted\\noption name Seed type spin\\noption name Style type string\\nugiok", flush=True)
        case ["isready"]:
            print("readyok", flush=True)
        case ["go", *_]:
            {go}
        case ["quit"]:
            break
"""


def script(directory: Path, go: str) -> list[str]:
    """Returns the command of an engine that executes `go` to choose a move."""
    path = directory / f"engine-{abs(hash(go))}.py"
    path.write_text(POLITE.format(go=go))
    return [sys.executable, str(path)]


def program() -> str:
    found = os.environ.get("STERNHALMA_PROGRAM") or shutil.which("sternhalma")
    if found is None:
        pytest.skip("STERNHALMA_PROGRAM does not name the command line program")
    return found


def test_the_command_line_plays_like_the_player(tmp_path: Path) -> None:
    command = [program(), "ugi", "--side", "5", "--pieces", "3", "--player", "heur0", "--tables", str(tmp_path)]
    sh.build(board=BOARD, path=tmp_path / "5x5-3.sht").close()
    table = sh.open(tmp_path / "5x5-3.sht")
    player = sh.Player("heur0", board=BOARD, table=table, seed=7)
    with sh.Program(command, seed=7) as other:
        assert other.name.startswith("Sternhalma") and not other.closed
        position = START
        while position.result is None and position.ply < 6:
            found, expected = (each.think(position, nodes=200) for each in (other, player))
            assert (found.move, found.nodes, found.playouts) == (expected.move, expected.nodes, expected.playouts)
            assert found.line == [found.move] and found.value is not None and found.seconds > 0
            position = position.play(found.move)
    assert other.closed and repr(other).endswith(", closed>")
    with pytest.raises(ValueError, match="closed"):
        other.think(START, nodes=5)


def test_a_program_receives_limits_options_and_positions(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    text = POLITE.format(go='print("info depth 3 nodes 4 score cp -250\\nbestmove a1-a3", flush=True)')
    text = text.replace("    match", f"    open({str(heard)!r}, 'a').write(line)\n    match")
    (tmp_path / "engine.py").write_text(text)
    with sh.Program(f"{shlex.quote(sys.executable)} engine.py", options={"Style": 5}, directory=tmp_path, seed=9) as it:
        found = it.think(START, nodes=7, playouts=8, depth=9, seconds=2.5)
        assert (found.move, found.value, found.depth, found.nodes) == ("a1-a3", ("lead", -2.5), 3, 4)
        moved = sh.Position(str(START.play("a1-a3").play("e5-e3")))
        with pytest.raises(sh.ProgramError, match="illegal move: a1-a3"):
            it.think(moved, nodes=1)
    assert heard.read_text().splitlines() == [
        "ugi",
        *["setoption name Style value 5", "setoption name Seed value 9", "uginewgame", "isready"],
        *["position startpos", "go nodes 7 playouts 8 depth 9 movetime 2500"],
        *["setoption name Style value 5", "setoption name Seed value 9", "uginewgame", "isready"],
        *[f"position fen {moved}", "go nodes 1", "quit"],
    ]


@pytest.mark.parametrize(
    "go, message",
    [
        ("sys.exit(3)", "crash: exit status: 3"),
        ("sys.exit('no memory')", "last words: no memory"),
        ("pass", "hang: no answer"),
        ("print('bestmove', flush=True)", "garbage: it said `bestmove`"),
        ("print('bestmove none', flush=True)", "garbage"),
        ("print('bestmove a1-e5', flush=True)", "illegal move: a1-e5"),
        ("print('bestmove pass', flush=True)", "illegal move: pass"),
        ("while True: print('x' * 1000)", "garbage: it floods"),
    ],
)
def test_faults_are_exceptions_and_the_next_search_starts_the_program_again(
    tmp_path: Path, go: str, message: str
) -> None:
    mark = tmp_path / "mark"
    once = f"""import os
            if not os.path.exists({str(mark)!r}):
                open({str(mark)!r}, "w").close()
                {go}
            else:
                print("bestmove a1-a3", flush=True)"""
    with sh.Program(script(tmp_path, once), patience=1) as it:
        with pytest.raises(sh.ProgramError, match=message) as raised:
            it.think(START, seconds=0.1)
        assert isinstance(raised.value, RuntimeError) and isinstance(raised.value, sh.SternhalmaError)
        assert it.think(START, nodes=1).move == "a1-a3"


def test_programs_that_do_not_start_are_refused(tmp_path: Path) -> None:
    for command, message in [
        ("/nowhere/engine", "cannot start"),
        (f"{shlex.quote(sys.executable)} -c 'exit(4)'", "exit status: 4"),
        (f"{shlex.quote(sys.executable)} -c 'import time; time.sleep(60)'", "hang"),
    ]:
        with pytest.raises(sh.ProgramError, match=message):
            sh.Program(command, patience=0.3)
    with pytest.raises(sh.ProgramError, match="no option `Speed`"):
        sh.Program(script(tmp_path, "pass"), options={"Speed": 1})
    wrong: list[Any] = ["", "'", ["a\0b"]]
    for command in wrong:
        with pytest.raises(sh.SternhalmaError):
            sh.Program(command)
    for patience in [-1.0, float("nan"), 1e30]:
        with pytest.raises(ValueError, match="patience"):
            sh.Program("x", patience=patience)
    with sh.Program(script(tmp_path, "pass")) as it:
        for limits in [{}, {"seconds": -1.0}, {"seconds": 1e300}]:
            with pytest.raises(ValueError):
                it.think(START, **limits)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="over"):
            it.think(sh.Position("2xx/2x1/4/ooo1 x 20").play("c3-d3"), nodes=1)


def test_threads_share_a_program(tmp_path: Path) -> None:
    with sh.Program(script(tmp_path, "print('bestmove a1-a3', flush=True)")) as it:
        found: list[str] = []
        threads = [threading.Thread(target=lambda: found.append(it.think(START, nodes=1).move)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == ["a1-a3"] * 4


INTERRUPTED = """
import sys, sternhalma
try:
    if sys.argv[1] == "start":
        print("running", flush=True)
        sternhalma.Program([sys.executable, "-c", "import time; time.sleep(1000)"])
    else:
        with sternhalma.Program(sys.argv[2:]) as program:
            print("running", flush=True)
            program.think(sternhalma.Position(board=sternhalma.Board(5, 3)), seconds=1000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("when", ["start", "search"])
def test_an_interrupt_ends_the_wait(tmp_path: Path, when: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, when, *script(tmp_path, "pass")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "running\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=30)[0] == "interrupted\n" and child.returncode == 0
