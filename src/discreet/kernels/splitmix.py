"""Random numbers within compiled code: splitmix64, one word of state."""

import numpy as np

from discreet.kernels.inner import inner


@inner
def _word(state):
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def below(state, n):
    """Draw a whole number below n."""
    return np.int64(((_word(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@inner
def unit(state):
    """Draw a number in [0, 1)."""
    return np.float64(_word(state) >> np.uint64(11)) * 2.0**-53
