"""A judge whose figures follow from a formula, for tests of the search itself."""

import itertools
import math

import numpy as np

from discreet.tuning.figures import Figures, Profile
from discreet.tuning.space import Choice, Option, Part


class FakeJudge:
    """Columns tell bits that partly overlap: pairs of neighbours share some of theirs."""

    def __init__(self, parts: int = 5, options: int = 6, rows: int = 2_000, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.rows = self.queries = rows
        self.loss = np.sort(random.random((parts, options)), axis=1)
        self.loss[:, 0], self.loss[:, -1] = 0, 1
        self.bits = -np.sort(-random.random((parts, options)) * 6, axis=1)
        self.bits[:, -1] = 0
        self.parts = [
            Part((f"x{number}",), tuple(Option() for _ in range(options)))
            for number in range(parts)
        ]
        self.calls = 0

    def profile(self, part: int, option: int) -> Profile:
        return Profile(float(self.loss[part, option]), float(self.bits[part, option]))

    def figures(self, choice: Choice, queries: int | None = None) -> Figures:
        self.calls += 1
        places = range(len(choice)), list(choice)
        bits = self.bits[places]
        told = bits.sum() - 0.4 * np.minimum(bits[1:], bits[:-1]).sum()
        risk = min(1.0, 2**told / self.rows)
        if queries:
            off = np.random.default_rng(abs(hash((choice, queries)))).standard_normal()
            risk = min(1.0, max(0.0, risk + off * math.sqrt(risk * (1 - risk) / queries)))
        return Figures(risk, float(self.loss[places].mean()))

    def checked(self, choice: Choice, figures: Figures) -> Figures:
        return figures

    def every(self) -> list[Choice]:
        return list(itertools.product(*(range(len(part.options)) for part in self.parts)))
