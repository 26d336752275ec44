"""How many people are found for certain once cells are blanked; see `discreet.risk`."""

from __future__ import annotations

import numpy as np

from discreet.risk.found_for_certain import certain
from discreet.suppression._problem import GONE, Problem, Solution


def people_found(problem: Problem, solution: Solution) -> int:
    """Count the members whose keys only one released record, or unit, is compatible with."""
    if problem.held is None:
        left = problem.counts.copy()
        np.subtract.at(left, solution.tuples, solution.members)
        whole = np.flatnonzero(left)
        tuples = np.append(whole, solution.tuples)
        masks = np.append(np.zeros(len(whole), np.int64), solution.masks)
        members = np.append(left[whole], solution.members)
        first = np.arange(len(tuples))
        last = first + len(tuples) * (members > 1)
    else:
        tuples, first = problem.held.tuples, problem.held.units
        masks = np.zeros(len(tuples), np.int64)
        masks[solution.held] = solution.masks
        last = first
    tuples, masks, first, last = (part[masks != GONE] for part in (tuples, masks, first, last))
    known = problem.codes[tuples].T.astype(np.int64) - 1
    blank = (masks >> np.arange(len(known))[:, None]) & 1 == 1
    found = certain(known, np.where(blank, -1, known), first, last)
    return len(np.unique(first[found]))
