"""How many people are unique in the population, estimated from the classes of a sample.

`sizes` are the class sizes that occur, rising, and `counts` the classes of each; n records in u
classes, c1 and c2 of them of one and two records. N people are the population, f = n / N of whom
are in the sample. An estimate is a share of the population, and NaN where a model has none.

Pitman (Hoshino 2001): classes come by a urn with parameters theta > -alpha and 0 <= alpha < 1,
taken where the likelihood

    prod_{i < u} (theta + i alpha) / prod_{i < n} (theta + i)
        * prod over classes of prod_{j < size} (j - alpha)

is largest; the uniques are Gamma(theta + 1) / Gamma(theta + alpha) * N^alpha, which is theta where
alpha is 0.

Zayatz (1991): were the population's classes distributed as the sample's are, a class of i people
would show one of them with a hypergeometric chance h_i. So a sample unique is one of the
population with chance c1 h_1 / sum c_i h_i, and c1 / f times that many are there.

SNB (Chen and Keller-McNulty 1998): a class has 1 person more than a negative binomial number of
parameters alpha and beta, so that K beta^alpha are unique among K classes. K is Shlosser's
estimate; with d = (1 - f)(1 - beta) and D = 1 - d, the sample's c1 and c2 are what is expected:

    c1 = K f (beta / D)^alpha (1 + alpha d / D)
    c2 = K f^2 alpha beta^alpha (1 - beta) (2 - (1 - alpha) d) / (2 D^(alpha + 2))

Dankar et al. (2012): Pitman where f is at most 0.1, else the lower of SNB and Zayatz.
"""

import math

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

PITMAN, ZAYATZ, SNB, DANKAR = range(4)
# From here on the series of digamma and trigamma is exact.
_FAR = 12.0
# From here on differences of digamma would cancel.
_CANCELS = 1e5
# An alpha that is not above this is 0, and iterations end where a step is shorter.
_LEAST = 1e-7
_CLOSE = 1e-13


@njit(cache=True, nogil=True)
def estimate(kind, sizes, counts, people):
    """Return the share of the population that is unique; 0 where the sample has no unique."""
    if sizes.size == 0 or sizes[0] != 1 or counts[0] == 0:
        return 0.0
    if kind == PITMAN:
        return pitman(sizes, counts, people)
    if kind == ZAYATZ:
        return zayatz(sizes, counts, people)
    if kind == SNB:
        return snb(sizes, counts, people)
    if (sizes * counts).sum() <= 0.1 * people:
        return pitman(sizes, counts, people)
    one, other = zayatz(sizes, counts, people), snb(sizes, counts, people)
    # There is no SNB at some tables, and it may vanish.
    return other if 0 < other < one else one


@njit(cache=True, nogil=True)
def fewest_uniques(kind, most, sizes, counts, people):
    """Return how many of the uniques must go until the estimate for the rest is at most `most`.

    All of them, where there is no estimate then. The number is found by bisection. Zayatz's
    estimate falls with every unique that goes: c1 / n falls, and h_i / h_1 = i (N - n)_(i-1) /
    (N - 1)_(i-1) grows as n falls. For the others nobody has proved it: there the estimate is low
    enough with so many taken out, and too high with one less. The lower of two is low enough where
    either is.
    """
    if sizes.size == 0 or sizes[0] != 1 or counts[0] == 0:
        return 0
    if kind == DANKAR and (sizes * counts).sum() - counts[0] > 0.1 * people:
        one = _fewest_uniques(ZAYATZ, most, sizes, counts, people)
        return min(one, _fewest_uniques(SNB, most, sizes, counts, people))
    return _fewest_uniques(kind, most, sizes, counts, people)


@inner
def _fewest_uniques(kind, most, sizes, counts, people):
    left = counts.copy()
    above, many, good = -1, counts[0], True
    while many - above > 1:
        middle = (above + many) // 2
        left[0] = counts[0] - middle
        share = estimate(kind, sizes, left, people)
        if share > most:
            above = middle
        else:
            many, good = middle, fits(share, most)
    return many if good else counts[0]


@inner
def fits(share, most):
    """Tell whether an estimate of a sample with uniques is one, and low enough."""
    return 0.0 < share <= most


@inner
def pitman(sizes, counts, people):
    """Estimate by Pitman's model: alpha by Newton's method, with the likeliest theta of each."""
    n, u = 0.0, 0.0
    for s in range(sizes.size):
        n += sizes[s] * counts[s]
        u += counts[s]
    if u == n:
        # However large alpha and theta are, more is likelier.
        return 1.0
    low, high, alpha, both = 0.0, 1.0, 0.5, 0.05 * u + 0.5
    for _ in range(100):
        both = _both(alpha, n, u, both)
        slope, curve = _slope(both, alpha, n, u, sizes, counts)
        if slope > 0:
            low = alpha
        else:
            high = alpha
        step = alpha - slope / curve if curve < 0 else low
        if step <= _LEAST and low == 0:
            # The likelihood may only fall from 0 on.
            both = _both(_LEAST, n, u, both)
            if _slope(both, _LEAST, n, u, sizes, counts)[0] <= 0:
                alpha = 0.0
                break
            low = _LEAST
        done = abs(step - alpha) <= _CLOSE
        alpha = step if done or low < step < high else 0.5 * (low + high)
        if done or high - low <= _CLOSE:
            break
    both = _both(alpha, n, u, both)
    found = math.lgamma(both - alpha + 1) - math.lgamma(both) + (alpha - 1) * math.log(people)
    return min(1.0, math.exp(found))


@inner
def _both(alpha, n, u, guess):
    """Return the likeliest theta + alpha for an alpha, by Newton's method for its logarithm."""
    low, high = -600.0, 600.0
    x = math.log(guess)
    for _ in range(200):
        both = math.exp(x)
        theta = both - alpha
        first, second, _, _ = _sums(both, alpha, u)
        slope = first - (digamma(n + theta) - digamma(theta + 1))
        if slope > 0:
            low = x
        else:
            high = x
        curve = both * (-second - (trigamma(n + theta) - trigamma(theta + 1))) + slope
        step = x - slope / curve if curve < 0 else x + math.copysign(4.0, slope)
        done = abs(step - x) <= _CLOSE
        step = min(max(step, x - 4), x + 4)
        x = step if done or low < step < high else 0.5 * (low + high)
        if done or high - low <= _CLOSE:
            break
    return math.exp(x)


@inner
def _slope(both, alpha, n, u, sizes, counts):
    """Return how the likelihood's logarithm grows with alpha, theta being likeliest, and twice."""
    theta = both - alpha
    first, second, ahead, square = _sums(both, alpha, u)
    slope, curve = ahead, -square
    at, steep = digamma(1 - alpha), trigamma(1 - alpha)
    for s in range(sizes.size):
        if sizes[s] > 1:
            slope -= counts[s] * (digamma(sizes[s] - alpha) - at)
            curve -= counts[s] * (steep - trigamma(sizes[s] - alpha))
    # With theta following alpha, the second derivative is what is left of the mixed one.
    mixed = -(first - theta * second) / alpha
    own = -second - (trigamma(n + theta) - trigamma(theta + 1))
    return slope, curve - mixed * mixed / own


@inner
def _sums(both, alpha, u):
    """Sum 1 / x, 1 / x^2, i / x and i^2 / x^2 over x = theta + i alpha, i from 1 to u - 1.

    `both` are theta + alpha, which may be much smaller than each.
    """
    theta = both - alpha
    if alpha == 0.0:
        return (u - 1) / theta, (u - 1) / theta**2, u * (u - 1) / 2 / theta, 0.0
    low = both / alpha
    high = low + u - 1
    if low < _CANCELS:
        first = (digamma(high) - digamma(low)) / alpha
        second = (trigamma(low) - trigamma(high)) / alpha**2
    else:
        # The leading terms of the series, whose differences keep their digits.
        more = (u - 1) / (low * high)
        first = math.log1p((u - 1) / low) + 0.5 * more
        first = (first + (u - 1) * (low + high) / (12 * (low * high) ** 2)) / alpha
        second = more * (1 + 0.5 * (low + high) / (low * high)) / alpha**2
    ahead = (u - 1 - theta * first) / alpha
    square = (u - 1 - 2 * theta * first + theta * theta * second) / alpha**2
    return first, second, ahead, square


@inner
def zayatz(sizes, counts, people):
    """Estimate by Zayatz's model: by h_i / h_1, in logarithms since their parts are huge."""
    n = float((sizes * counts).sum())
    whole = 0.0
    for s in range(sizes.size):
        size = float(sizes[s])
        if size - 1 > people - n:
            break
        chance = math.log(size) + _falling(people - n, size - 1) - _falling(people - 1, size - 1)
        whole += counts[s] * math.exp(chance)
    return counts[0] / n * counts[0] / whole


@inner
def _falling(x, many):
    """Return the logarithm of x (x - 1) ... with so many factors."""
    if many <= 64:
        product, total = 1.0, 0.0
        for i in range(int(many)):
            product *= x - i
            if product > 1e200:
                total += math.log(product)
                product = 1.0
        return total + math.log(product)
    # By Stirling's series: differences of the logarithms of factorials would cancel.
    y = x - many
    total = (x + 0.5) * math.log1p(many / (y + 1)) + many * math.log(y + 1) - many
    return total + _stirling(x + 1) - _stirling(y + 1)


@inner
def _stirling(x):
    """Return what the logarithm of Gamma(x) has beyond (x - 1/2) log x - x + log(2 pi) / 2."""
    if x < 1e6:
        return math.lgamma(x) - ((x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi))
    return 1 / (12 * x)


@inner
def snb(sizes, counts, people):
    """Estimate by the slide negative binomial model.

    For a beta, c2 / c1 is a quadratic equation of alpha, with one root above 0. So beta is looked
    for alone, in its logit. NaN where c1 is met by none.
    """
    if sizes.size < 2 or sizes[1] != 2 or counts[1] == 0:
        return np.nan
    n = float((sizes * counts).sum())
    f = n / people
    if f >= 1.0:
        return counts[0] / n
    c1, pairs = float(counts[0]), counts[1] / counts[0]
    classes = _shlosser(sizes, counts, f)
    low, high = -700.0, 25.0
    if _excess(low, classes, f, c1, pairs)[0] > 0 or _excess(high, classes, f, c1, pairs)[0] < 0:
        return np.nan
    for _ in range(200):
        middle = 0.5 * (low + high)
        if _excess(middle, classes, f, c1, pairs)[0] > 0:
            high = middle
        else:
            low = middle
        if high - low < 1e-15 * max(1.0, abs(low)):
            break
    uniques = _excess(high, classes, f, c1, pairs)[1]
    return min(1.0, uniques / people)


@inner
def _shlosser(sizes, counts, f):
    """Estimate the classes of the population (Haas and Stokes 1998)."""
    above = below = none = one = u = 0.0
    for s in range(sizes.size):
        size, many = float(sizes[s]), float(counts[s])
        u += many
        above += many * size * f * f * (1 - f * f) ** (size - 1)
        below += many * ((1 - f * f) ** size - (1 - f) ** size)
        none += many * (1 - f) ** size
        one += many * size * f * (1 - f) ** (size - 1)
    return u + counts[0] * above / below * (none / one) ** 2


@inner
def _excess(logit, classes, f, c1, pairs):
    """Return the logarithm of the expected c1 over c1, and the uniques, at a logit of beta."""
    # Of beta and 1 - beta, each as exact as if it were given.
    beta, rest = 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))
    d = (1 - f) * rest
    whole = f * rest + beta  # D
    square = f * rest * d / (2 * whole * whole)
    linear = f * rest * (2 - d) / (2 * whole * whole) - pairs * d / whole
    root = math.sqrt(linear * linear + 4 * square * pairs)
    alpha = 2 * pairs / (linear + root) if linear > 0 else (root - linear) / (2 * square)
    log_beta = -math.log1p(math.exp(-logit))
    # beta / D = 1 / (1 + f rest / beta)
    shown = -alpha * math.log1p(f * math.exp(-logit)) + math.log1p(alpha * d / whole)
    return math.log(classes * f / c1) + shown, classes * math.exp(alpha * log_beta)


@njit(cache=True, nogil=True)
def digamma(x):
    """Return the derivative of the logarithm of Gamma, for x above 0."""
    total = 0.0
    while x < _FAR:
        total -= 1 / x
        x += 1
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132)))))
    return total + math.log(x) - 0.5 / x - series


@njit(cache=True, nogil=True)
def trigamma(x):
    """Return the derivative of digamma, for x above 0."""
    total = 0.0
    while x < _FAR:
        total += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    series = 1 / 6 - y * (1 / 30 - y * (1 / 42 - y * (1 / 30 - y * (5 / 66))))
    return total + 1 / x + 0.5 * y + series * y / x
