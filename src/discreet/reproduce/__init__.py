"""The three papers that the methods come from, reproduced with our own methods.

`reproduce("rounding")` runs a paper's experiments and returns each figure beside the paper's; the
command is `discreet reproduce`.
"""

from discreet.reproduce.run import PAPERS as PAPERS
from discreet.reproduce.run import reproduce as reproduce
