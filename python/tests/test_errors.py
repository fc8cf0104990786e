"""Errors: wrong arguments of every public function raise exceptions of the package, in plain words."""

import copy
import inspect
import re
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sternhalma as sh
from sternhalma import ggp, rl

BOARD = sh.Board(5, 6)
GAME = ggp.Game.open("tic-tac-toe")
POLITE = "print('ugiok', flush=True)\nfor line in open(0):\n    print('readyok', flush=True)"

#: Values that few arguments allow.
WRONG: dict[str, Any] = {
    "object": object(),
    "none": None,
    "negative": -1,
    "large": 2**70,
    "fraction": 0.5,
    "nan": float("nan"),
    "infinite": float("inf"),
    "true": True,
    "empty": "",
    "word": "nonsense",
    "nul": "a\0b",
    "surrogate": "\ud800",
    "bytes": b"bytes",
    "no-list": [],
    "ragged": [[1], [1, 2]],
    "texts": ["startpos"],
    "no-mapping": {},
    "mapping": {"a": object()},
    "cube": np.zeros((2, 3, 4)),
    "date": np.array("2020", dtype="datetime64[D]"),
    "slice": slice("a", "b"),
}


def lanes(kind: str) -> Any:
    """An environment of four lanes."""
    if kind == "VectorGame":
        return rl.VectorGame(GAME, lanes=4)
    return rl.VectorChineseCheckers(BOARD, lanes=4)


def chunks(table: sh.Table, **arguments: Any) -> Any:
    return list(table.chunks(**arguments))


def wrapped(wrap: Callable[..., Any], **arguments: Any) -> Any:
    """Wraps an environment, which has one wrapper, so that each call needs another one."""
    return wrap(**{"environment": rl.VectorGame(GAME, lanes=1), **arguments})


def calls_of_objects(table: sh.Table, position: sh.Position) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Returns valid calls of the methods of boards, tables, positions, players and games."""
    player, program = sh.Player("greedy", board=BOARD), sh.Program([sys.executable, "-c", POLITE])
    program.close()
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "Board.home": (BOARD.home, {}),
        "Board.goal": (BOARD.goal, {}),
        "Position.cells": (position.cells, {"player": "x"}),
        "Position.play": (position.play, {"move": position.moves()[0]}),
        "Player.think": (player.think, {"position": position, "nodes": 1}),
        "Player.analyse": (player.analyse, {"position": position, "nodes": 1}),
        "Program.think": (program.think, {"position": position, "nodes": 1}),
        "Table.distances": (table.distances, {"ranks": [0]}),
        "Table.distance": (table.distance, {"state": 0}),
        "Table.get": (table.get, {"state": 0}),
        "Table.exact": (table.exact, {"distances": [0]}),
        "Table.states_at": (table.states_at, {"distance": 3}),
        "Table.sample": (table.sample, {"count": 3}),
        "Table.line": (table.line, {"state": "startpos"}),
        "Table.chunks": (lambda **arguments: chunks(table, **arguments), {"size": 1 << 24}),
        "Table.__getitem__": (table.__getitem__, {"ranks": 0}),
        "ggp.Game.open": (ggp.Game.open, {"path": "tic-tac-toe"}),
        "ggp.Game.state": (GAME.state, {"row": GAME.initial().row}),
        "ggp.Game.playouts": (GAME.playouts, {"count": 3}),
        "ggp.Game.search": (GAME.search, {"playouts": 3}),
        "ggp.State.play": (GAME.initial().play, {"joint": "mark 1 1"}),
        "rl.PolicyOpponent.reset": (rl.PolicyOpponent().reset, {"seed": 1}),
        "Drawing.save": (sh.draw(BOARD).save, {"path": "drawing.svg"}),
    }
    states = {"rank": BOARD.home(), "unrank": [0], "parse": "startpos", "format": BOARD.home(), "moves": BOARD.home()}
    for name, value in {**states, "format_moves": [0, 1]}.items():
        parameter = next(iter(inspect.signature(getattr(sh, name)).parameters))
        calls[name] = getattr(sh, name), {parameter: value, "board": BOARD}
        calls[f"Board.{name}"] = getattr(BOARD, name), {parameter: value}
        if name != "format_moves":
            calls[f"Table.{name}"] = getattr(table, name), {parameter: value}
    return calls


def calls_of_environments(position: sh.Position) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Returns valid calls of the methods of environments, and of the functions that wrap them."""
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "rl.VectorGame": (rl.VectorGame, {"game": GAME, "lanes": 4}),
        "rl.VectorChineseCheckers": (rl.VectorChineseCheckers, {"board": BOARD, "lanes": 4}),
        "rl.PolicyOpponent": (rl.PolicyOpponent, {"playouts": 2}),
    }
    for kind in ("VectorGame", "VectorChineseCheckers"):
        environment = lanes(kind)
        rows = environment.state.observation.copy() if kind == "VectorGame" else [position] * 4
        methods: dict[str, dict[str, Any]] = {
            "reset": {},
            "step": {"actions": environment.random_actions().copy(), "mask": np.zeros(4, np.bool_)},
            "set_state": {"mask": np.ones(4, np.bool_), "rows": rows},
            "action_name": {"role": 0, "action": 0},
        }
        if kind == "VectorChineseCheckers":
            methods["position"] = {"lane": 0}
        for name, arguments in methods.items():
            calls[f"rl.{kind}.{name}"] = getattr(environment, name), arguments
    for name in ("gymnasium", "gymnasium_single", "pettingzoo"):
        calls[f"rl.{name}"] = partial(wrapped, getattr(rl, name)), {}
    return calls


def calls_of_functions(table: sh.Table, position: sh.Position) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Returns valid calls of the other functions and classes."""
    players = {"players": ["random", "greedy"], "board": sh.Board(5, 3)}
    small = {"games": 2, "nodes": 1, "ply_limit": 10, "threads": 1, "log": "log"}
    sh.tournament(**players, **small)  # type: ignore[arg-type]
    return {
        "Board": (sh.Board, {"side": 5, "pieces": 6}),
        "Position": (sh.Position, {"board": BOARD}),
        "Player": (sh.Player, {"text": "greedy", "board": BOARD}),
        "Program": (sh.Program, {"command": [sys.executable, "-c", POLITE]}),
        "Drawing": (sh.Drawing, {"svg": "<svg/>"}),
        "draw": (sh.draw, {"what": position}),
        "tournament": (sh.tournament, {**players, **small, "log": None}),
        "read_log": (sh.read_log, {"path": "log"}),
        "build": (sh.build, {"board": BOARD, "path": "built.sht", "overwrite": True}),
        "plan": (sh.plan, {"board": sh.Board(3, 2), "disk_rate": 1e9, "path": "plan.sht"}),
        "verify": (sh.verify, {"table": table}),
        "convert": (sh.convert, {"table": table, "path": "converted.sht", "encoding": "mod3", "overwrite": True}),
        "contents_checksum": (sh.contents_checksum, {"table": table}),
        "compare": (sh.compare, {"a": table, "b": table}),
        "open": (sh.open, {"path": table.path}),
        "ggp.Game": (ggp.Game, {"text": GAME.text}),
        "ggp.check": (ggp.check, {"text": GAME.text}),
    }


@pytest.fixture(scope="module")
def calls(
    tables: dict[str, sh.Table], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Returns a valid call of each public function, method and class with arguments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("calls"))
        position = sh.Position(board=BOARD)
        objects = calls_of_objects(tables["byte"], position)
        return objects | calls_of_environments(position) | calls_of_functions(tables["byte"], position)


def parameters(name: str) -> list[str]:
    """Returns the names of the parameters of a public function, method or class."""
    module: Any = sh
    for part in name.split("."):
        module = getattr(module, part)
    found = inspect.signature(module).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in found if one.name not in ("self", "memo") and one.kind not in kinds]


def public_names(module: ModuleType, prefix: str = "") -> list[str]:
    """Returns the names of what a user calls with arguments: functions, classes and their methods."""
    names = []
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isfunction(thing):
            names.append(prefix + name)
        is_result = inspect.isclass(thing) and issubclass(thing, tuple | Exception)
        if not inspect.isclass(thing) or is_result or getattr(thing, "_is_protocol", False):
            continue
        methods = [method for method in dir(thing) if not method.startswith("_") and callable(getattr(thing, method))]
        names += [f"{prefix}{name}", *(f"{prefix}{name}.{method}" for method in methods)]
    return [name for name in names if parameters(name)]


#: What only the package creates.
RESULTS = {"Results", "Table", "ggp.State"}
NAMES = sorted({*public_names(sh), *public_names(ggp, "ggp."), *public_names(rl, "rl.")} - RESULTS)


def test_every_public_function_has_a_valid_call(
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(NAMES) <= set(calls) and len(NAMES) > 60
    for name in set(calls) - {"read_log", "Program.think"}:
        function, arguments = calls[name]
        function(**arguments)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_raise_exceptions_of_the_package(
    name: str,
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    # Some values are paths.
    monkeypatch.chdir(tmp_path)
    function, arguments = calls[name]
    refused = 0
    for parameter in parameters(name):
        for kind, value in WRONG.items():
            try:
                with warnings.catch_warnings():
                    # More threads than the machine can use are no error.
                    warnings.filterwarnings("ignore", ".* threads are more than", RuntimeWarning)
                    function(**{**arguments, parameter: copy.copy(value)})
            except sh.SternhalmaError as error:
                refused += 1
                bases = set(type(error).__mro__) & {ValueError, TypeError, OSError, RuntimeError, LookupError}
                text = str(error)
                assert bases and re.search(r"\w", text), (parameter, kind)
                assert not re.search(r"argument '|cannot be interpreted|cannot be cast", text), (parameter, kind, text)
            except BaseException as error:
                raise AssertionError(f"{parameter}={kind}: {error!r}") from error
    assert refused > 0


def test_messages_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STERNHALMA_TABLES", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    sh.build(board=sh.Board(5, 3)).close()
    table = sh.build(board=sh.Board(4, 3))
    several, position = "5x5-3", sh.Position(board=BOARD)
    puct = sh.Player("uct", board=BOARD)
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (
            lambda: sh.open("9x9-7"),
            FileNotFoundError,
            r"sternhalma.build\(board=sternhalma.Board\(9, 7\)\) builds it; the",
        ),
        (lambda: sh.open("9x9-7-within50-ans"), FileNotFoundError, r'within=50, encoding="ans"\) builds it'),
        (lambda: sh.open("7x7-7"), FileNotFoundError, r"the tables there are 4x4-3, 5x5-3"),
        (lambda: sh.open("5x5-33"), FileNotFoundError, rf"did you mean `{several}`\?"),
        (lambda: ggp.Game("nim2.kif"), ValueError, r"sternhalma.ggp.Game.open\('nim2.kif'\) opens"),
        (lambda: ggp.Game.open("nope.kif"), FileNotFoundError, r"nope.kif: cannot read the rulesheet: No such file"),
        (lambda: ggp.Game.open("tic-tac-to"), ValueError, r"did you mean `tic-tac-toe`\?"),
        (lambda: rl.VectorGame("tic-tac-to"), sh.RulesheetNotFound, r"did you mean `tic-tac-toe`\?"),
        (
            lambda: rl.gymnasium("tic-tac-toe"),  # type: ignore[arg-type]
            TypeError,
            r"environment: expected a VectorEnvironment, got 'tic-tac-toe'",
        ),
        (lambda: puct.think(position), ValueError, r"give nodes=10000, playouts= or seconds="),
        (lambda: GAME.search(), ValueError, r"give playouts=1000 or seconds="),
        (lambda: table.distances(["startpos"]), TypeError, r"sternhalma.parse"),
        (
            lambda: sh.build(encoding="zip"),
            ValueError,
            r"expected the encoding `byte`, `mod3`, `zstd` or `ans`, got `zip`",
        ),
        (lambda: rl.VectorGame(GAME, lanes=0), ValueError, r"lanes: expected 1 to 65536, got 0"),
        (lambda: sh.Player("greddy"), ValueError, r"did you mean `greedy`\?"),
        (lambda: sh.Position(rules="blocked-gaol"), ValueError, r"blocked-gaol"),
        (lambda: sh.tournament(["greedy", "random"], rules="tic-tac-to"), ValueError, r"did you mean `tic-tac-toe`\?"),
        (lambda: sh.Board(5, -1), ValueError, r"expected a whole number ≥ 0, got -1"),
    ]
    for call, base, text in wrong:
        with pytest.raises(sh.SternhalmaError, match=text) as raised:
            call()
        assert isinstance(raised.value, base)


@pytest.mark.parametrize("name", ["gymnasium", "gymnasium_single", "pettingzoo"])
def test_a_missing_package_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = name.removesuffix("_single")
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"sternhalma.rl._{package}", raising=False)
    with pytest.raises(sh.MissingPackage, match=rf"pip install 'sternhalma\[{package}\]'") as raised:
        getattr(rl, name)(rl.VectorGame(GAME, lanes=1))
    assert isinstance(raised.value, ImportError) and raised.value.name == package
