"""Slow, simple versions of what the package computes."""

from collections import deque
from math import comb

DIRECTIONS = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)]


def places(side: int) -> list[tuple[int, int]]:
    """Returns the coordinates x, y of each cell: by rows x + y, then by x."""
    return sorted(((x, y) for x in range(side) for y in range(side)), key=lambda place: (sum(place), place[0]))


def names(side: int) -> list[str]:
    """Returns the name of each cell: a letter for x, and y from 1."""
    return [f"{chr(ord('a') + x)}{y + 1}" for x, y in places(side)]


def rank(side: int, cells: list[int], player: str) -> int:
    """Returns the rank in the combinatorial number system, in the order in which the goal is first."""
    last = side * side - 1
    order = sorted(last - cell if player == "x" else cell for cell in cells)
    return sum(comb(cell, index + 1) for index, cell in enumerate(order))


def destinations(side: int, army: set[int], start: int) -> set[int]:
    """Returns the cells that a piece can reach in one move: by a step, or by a chain of jumps over pieces."""
    order = places(side)
    number = {place: cell for cell, place in enumerate(order)}
    others = {order[cell] for cell in army - {start}}
    x, y = order[start]
    found = {(x + right, y + up) for right, up in DIRECTIONS} - others
    waiting, landed = deque([(x, y)]), {(x, y)}
    while waiting:
        x, y = waiting.popleft()
        for right, up in DIRECTIONS:
            over, target = (x + right, y + up), (x + 2 * right, y + 2 * up)
            if over in others and target in number and target not in others and target not in landed:
                landed.add(target)
                waiting.append(target)
    return {number[place] for place in found | landed if place in number} - {start}


def moves(side: int, army: set[int]) -> list[tuple[int, int]]:
    """Returns the moves of an army that is alone on the board, ordered by source and destination."""
    return [(source, target) for source in sorted(army) for target in sorted(destinations(side, army, source))]


def distances(side: int, pieces: int) -> dict[int, int]:
    """Returns the distance of each rank for x, by a breadth-first search from the goal. Moves are reversible."""
    goal = frozenset(range(side * side - pieces, side * side))
    found, waiting = {goal: 0}, deque([goal])
    while waiting:
        army = waiting.popleft()
        for source, target in moves(side, set(army)):
            after = army - {source} | {target}
            if after not in found:
                found[after] = found[army] + 1
                waiting.append(after)
    return {rank(side, list(army), "x"): distance for army, distance in found.items()}
