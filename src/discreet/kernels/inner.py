"""How functions are compiled that only compiled code calls."""

from numba import njit

# Half of the time to compile is for the way in from outside, which these do without.
inner = njit(cache=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# And what it calls in one place only, which becomes part of the caller: each level of calls would
# have all that is below it optimized once more.
once = njit(inline="always")
