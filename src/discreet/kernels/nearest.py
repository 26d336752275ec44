"""The nearest of some centres to each point, in several dimensions: the inner loop of k-means."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nearest_centre(
    points: np.ndarray, centres: np.ndarray, labels: np.ndarray, squares: np.ndarray
) -> None:
    """Write each point's nearest centre, the first of several, and its squared distance.

    `centres` has a column for each. The distances to all of them are summed coordinate by
    coordinate, for which there are vector instructions that leave each sum in its order.
    """
    n, p = points.shape
    c = centres.shape[1]
    far = np.empty(c)
    for i in range(n):
        far[:] = 0.0
        for q in range(p):
            x = points[i, q]
            for j in range(c):
                d = x - centres[q, j]
                far[j] += d * d
        best = 0
        for j in range(1, c):
            if far[j] < far[best]:
                best = j
        labels[i] = best
        squares[i] = far[best]
