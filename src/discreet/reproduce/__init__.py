"""The three papers that the methods come from, reproduced with the product's own methods.

`reproduce("rounding")` runs a paper's experiments and gives each figure beside the paper's; the
command is `discreet reproduce`.
"""

from discreet.reproduce.run import PAPERS as PAPERS
from discreet.reproduce.run import reproduce as reproduce
