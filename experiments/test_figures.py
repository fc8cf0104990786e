#!/usr/bin/env python3
"""Tests the statistics of the reproduction against formulas, and the directions against a slow correction."""

import math
import unittest

from conclusions import FAILS, HOLDS, UNDECIDED, Conclusion, Paper, direction
from figures import Figure, fraction, mean, minus, opposite, sample_mean


def score_test(points: float, games: int, reference: float) -> float:
    """Returns the two-sided p-value of a fraction, of which Wilson's interval is the inversion."""
    expected = reference / 100
    z = (points / games - expected) / math.sqrt(expected * (1 - expected) / games)
    return math.erfc(abs(z) / math.sqrt(2))


def conclusion(side: str, reference: float, *figures: Figure) -> Conclusion:
    """Returns a conclusion about figures."""
    named = [("", figure) for figure in figures]
    return Conclusion("", "", side, reference, named, "", "", "", is_difference=False, missing=0)


class Statistics(unittest.TestCase):
    """The p-values, and the directions that they give."""

    def test_p_values_are_those_of_the_score_test(self) -> None:
        for points, games, reference in [(60, 100, 50), (40, 100, 50), (55.5, 90, 35), (1, 20, 90), (20, 20, 85)]:
            found = fraction(points, games).p_value(reference)
            self.assertAlmostEqual(found, score_test(points, games, reference), places=9)
        self.assertEqual(fraction(10, 20).p_value(50), 1)

    def test_means_of_goals_keep_the_interval_of_the_program(self) -> None:
        found = sample_mean(60.5, 40, (54.8, 66.2), 82.4)
        self.assertAlmostEqual(found.low, 54.8)
        self.assertAlmostEqual(found.high, 66.2)
        self.assertFalse(found.has_paper_inside)
        # Equal goals leave no doubt.
        self.assertEqual(sample_mean(28, 40, (28, 28)).p_value(30.9), 0)

    def test_p_values_and_intervals_exclude_the_same(self) -> None:
        figures = [fraction(30, 50), fraction(70, 90)]
        average = mean(figures)
        assert average is not None
        for figure in (average, minus(*figures), opposite(figures[0])):
            for reference in range(-40, 101):
                is_outside = not figure.low <= reference <= figure.high
                self.assertEqual(figure.p_value(reference) < 0.05, is_outside, (figure.value, reference))

    def test_a_direction_is_that_of_the_side(self) -> None:
        for side, points, word in [
            ("more", 60, HOLDS),
            ("more", 40, FAILS),
            ("less", 60, FAILS),
            ("less", 40, HOLDS),
            ("alike", 52, HOLDS),
            ("alike", 60, FAILS),
            ("alike", 40, FAILS),
            ("no-more", 54, HOLDS),
            ("no-more", 56, FAILS),
            ("no-less", 46, HOLDS),
            ("no-less", 44, FAILS),
        ]:
            self.assertEqual(direction(fraction(points, 100), side, 50).word, word, (side, points))
        # Both limits of "alike" must be excluded.
        near = fraction(54, 100)
        self.assertEqual(direction(near, "alike", 50).p_value, near.p_value(55))

    def test_directions_are_corrected_for_all_figures(self) -> None:
        figures = [fraction(points, 100) for points in (72, 63, 61.5, 59.5, 35, 50)]
        paper = Paper.__new__(Paper)
        paper.conclusions = [conclusion("more", 50, *figures[:3]), conclusion("less", 50, *figures[3:])]
        paper.decide()
        # Holm's procedure by its definition: the hypotheses in order, until one is not rejected.
        p_values = [figure.p_value(50) for figure in figures]
        rejected = set()
        while True:
            left = [at for at in range(len(figures)) if at not in rejected]
            least = min(left, key=lambda at: p_values[at])
            if p_values[least] > 0.05 / len(left):
                break
            rejected.add(least)
        self.assertEqual(rejected, {0, 1, 4})
        found = [word for each in paper.conclusions for word in each.directions]
        self.assertEqual({at for at, word in enumerate(found) if word != UNDECIDED}, rejected)
        self.assertEqual([found[0], found[4]], [HOLDS, HOLDS])
        self.assertEqual(paper.conclusions[0].print_direction(), "holds in 2 and undecided in 1 of 3")


unittest.main()
