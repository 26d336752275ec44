"""Columns of numbers for tests against exact arithmetic."""

from hypothesis import strategies as st

# No smaller steps than a millionth: of two ends as far from the mean but for the 33rd digit, exact
# arithmetic finds the farther one and sums of two floats do not.
_fine = st.integers(-(10**12), 10**12).map(lambda i: i / 1e6)
# Small whole numbers make ties in value and in distance.
columns = st.lists(st.integers(-6, 6).map(float) | _fine, min_size=1, max_size=30)
