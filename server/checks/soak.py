#!/usr/bin/env python3
"""Sends requests of all kinds to a server and checks that its memory stays constant: soak.py PROGRAM SECONDS

Clients ask for states, lines, heat maps, batches and positions, start searches and leave, play
games, send requests that the server must refuse, and close connections in the middle of a request. The check
fails if an answer is not the expected one, if the memory of the last third of the time exceeds
that of the second third, if connections or threads stay behind, or if the server does not stop.
"""

import http.client
import json
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

# The most by which the memory may grow between the second and the last third of the time.
MAX_GROWTH = 8 << 20
SIDE, PIECES, STATES = 6, 5, 376992
CLIENTS = 6


def number(pattern: str, text: str) -> int:
    """Returns the number in the group of a pattern, which must be in the text."""
    found = re.search(pattern, text)
    assert found is not None, f"expected {pattern}, got {text}"
    return int(found[1])


def start(program: str, directory: str) -> tuple[subprocess.Popen[str], int]:
    """Builds a table, starts the server, and returns its process and port."""
    board = ["--side", str(SIDE), "--pieces", str(PIECES)]
    subprocess.run([program, "--tables", directory, "build", *board, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen(
        [program, "--tables", directory, "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    return server, number(r"^http://127\.0\.0\.1:(\d+)/$", server.stdout.readline())


class Client(threading.Thread):
    """A client that sends requests until it is stopped."""

    def __init__(self, port: int, seed: int, stop: threading.Event) -> None:
        super().__init__()
        self.port, self.stop, self.random = port, stop, random.Random(seed)
        self.answers = 0
        self.failure: Exception | None = None
        self.connection = self.connect()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def run(self) -> None:
        kinds = [self.state] * 60 + [self.line, self.heat, self.random_state, self.position, self.refused] * 8
        kinds += [self.batch, self.lines_batch, self.search, self.leave_search, self.leave_request, self.page]
        kinds += [self.game]
        try:
            while not self.stop.is_set():
                self.random.choice(kinds)()
                self.answers += 1
        except Exception as error:
            self.failure = error
            self.stop.set()

    def request(
        self,
        method: str,
        path: str,
        body: str | None = None,
        content_type: str = "application/json",
        expected: int = 200,
    ) -> bytes:
        headers = {} if body is None else {"Content-Type": content_type}
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != expected:
            raise AssertionError(f"{method} {path}: status {answer.status} in place of {expected}: {text[:200]!r}")
        if answer.will_close:
            self.connection = self.connect()
        return text

    def rank(self) -> int:
        return self.random.randrange(STATES)

    def table(self, route: str, parameters: str) -> Any:
        return json.loads(self.request("GET", f"/api/tables/{SIDE}x{SIDE}-{PIECES}/{route}?{parameters}"))

    def state(self) -> None:
        rank = self.rank()
        assert self.table("state", f"state=%23{rank}")["rank"] == rank

    def line(self) -> None:
        answer = self.table("line", f"state=%23{self.rank()}")
        assert len(answer["line"]) == answer["distance"]

    def heat(self) -> None:
        state = self.table("state", f"state=%23{self.rank()}")["state"]
        cell = state.split(",")[0]
        cells = self.table("heat", f"state={state}&piece={cell}")["cells"]
        assert len(cells) == SIDE * SIDE - PIECES + 1

    def random_state(self) -> None:
        distance = self.random.randrange(8)
        assert self.table("random", f"distance={distance}&seed={self.rank()}")["distance"] == distance

    def position(self) -> None:
        first = json.loads(self.request("GET", "/api/position?position=startpos"))
        move = self.random.choice(first["moves"])["move"]
        body = json.dumps({"position": first["position"], "move": move})
        assert json.loads(self.request("POST", "/api/position/play", body))["ply"] == 1

    def refused(self) -> None:
        path, status = self.random.choice(
            [
                ("/api/tables/9x9-99/state?state=a1", 404),
                ("/api/position?position=nonsense", 400),
                ("/api/nothing", 404),
            ]
        )
        assert "error" in json.loads(self.request("GET", path, expected=status))

    def batch(self) -> None:
        ranks = [self.rank() for _ in range(self.random.randrange(1, 100_000))]
        path = f"/api/tables/{SIDE}x{SIDE}-{PIECES}/distances"
        assert len(json.loads(self.request("POST", path, json.dumps({"ranks": ranks})))["distances"]) == len(ranks)

    def lines_batch(self) -> None:
        body = "".join(f"{self.rank()}\n" for _ in range(self.random.randrange(1, 20_000)))
        path = f"/api/tables/{SIDE}x{SIDE}-{PIECES}/distances"
        assert self.request("POST", path, body, "application/x-ndjson").count(b"\n") == body.count("\n")

    def search_path(self, limit: str) -> str:
        return f"/api/analysis?position=startpos&player=ab-avg&{limit}"

    def search(self) -> None:
        """Reads a whole search, or is refused because too many searches run."""
        self.connection.request("GET", self.search_path("depth=1"))
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status == 503 or b"event: best" in text, text
        if answer.will_close:
            self.connection = self.connect()

    def leave_search(self) -> None:
        self.connection.request("GET", self.search_path("seconds=60"))
        self.connection.getresponse().read(20)
        self.connection.close()
        self.connection = self.connect()

    def game(self) -> None:
        """Begins a game between two people, plays a move and leaves, or is refused because there are too many games."""
        self.connection.request("POST", "/api/games", '{"side":4,"pieces":3}', {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        seat = json.loads(answer.read())
        assert answer.status in (201, 503), seat
        if answer.will_close:
            self.connection = self.connect()
        if answer.status == 503:
            return
        path = f"/api/games/{seat['game']['game']}"
        assert json.loads(self.request("POST", f"{path}/join", "{}"))["player"] == "o"
        self.connection.request("GET", f"{path}/events")
        assert self.connection.getresponse().read(11) == b"event: game"
        self.connection.close()
        self.connection = self.connect()
        move = json.dumps({"seat": seat["seat"], "ply": 0, "move": "a2-a3"})
        assert len(json.loads(self.request("POST", f"{path}/moves", move))["moves"]) == 1

    def leave_request(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"POST /api/records/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")

    def page(self) -> None:
        assert b"<html" in self.request("GET", "/")


class Usage:
    """What a process uses."""

    def __init__(self, pid: int) -> None:
        status = Path(f"/proc/{pid}/status").read_text()
        self.memory = number(r"RssAnon:\s*(\d+) kB", status) << 10
        self.threads = number(r"Threads:\s*(\d+)", status)
        self.files = len(list(Path(f"/proc/{pid}/fd").iterdir()))


def watch(server: subprocess.Popen[str], stop: threading.Event, seconds: float) -> list[int]:
    """Returns the largest memory of each third of the time."""
    begin, largest = time.monotonic(), [0, 0, 0]
    while (elapsed := time.monotonic() - begin) < seconds and not stop.wait(0.2):
        third = int(3 * elapsed / seconds)
        largest[third] = max(largest[third], Usage(server.pid).memory)
    return largest


def left_behind(server: subprocess.Popen[str], before: Usage) -> str | None:
    """Returns what the server still uses, beyond `before`, some time after the clients have left."""
    # Idle threads of the runtime end after ten seconds.
    for _ in range(300):
        after = Usage(server.pid)
        if after.files <= before.files and after.threads <= before.threads:
            return None
        time.sleep(0.1)
    return f"{after.files - before.files} files and {after.threads - before.threads} threads stay behind"


def soak(program: str, seconds: float, directory: str) -> list[str]:
    """Returns the errors of a soak."""
    server, port = start(program, directory)
    try:
        stop = threading.Event()
        clients = [Client(port, seed, stop) for seed in range(CLIENTS)]
        # One request and one search, so the table is open and the threads that stay exist.
        clients[0].state()
        clients[0].search()
        clients[0].connection.close()
        time.sleep(1)
        before = Usage(server.pid)
        for client in clients:
            client.start()
        largest = watch(server, stop, seconds)
        stop.set()
        for client in clients:
            client.join()
            client.connection.close()
        errors = [str(client.failure) for client in clients if client.failure]
        print(
            f"{sum(client.answers for client in clients)} requests in {seconds} s; "
            f"largest memory of each third: {', '.join(f'{memory / 2**20:.1f} MiB' for memory in largest)}"
        )
        if largest[2] > largest[1] + MAX_GROWTH:
            errors.append("the memory grows")
        errors += filter(None, [left_behind(server, before)])
        server.send_signal(signal.SIGINT)
        if server.wait(timeout=30) not in (0, 130):
            errors.append(f"the server ended with exit code {server.returncode}")
        return errors
    finally:
        server.kill()


def main() -> int:
    program, seconds = sys.argv[1], float(sys.argv[2])
    with tempfile.TemporaryDirectory() as directory:
        errors = soak(program, seconds, directory)
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
