"""Regression: values are replaced by what a regression says of them, plus noise."""

from discreet.regression.ipso import IPSO as IPSO
from discreet.regression.lirop import LiROP as LiROP
from discreet.regression.porop import PoROP as PoROP
