"""Methods that change values record by record."""

from discreet.perturbation.date_shift import DateShift as DateShift
from discreet.perturbation.noise import Noise as Noise
from discreet.perturbation.pram import PRAM as PRAM
from discreet.perturbation.rank_swap import RankSwap as RankSwap
from discreet.perturbation.shuffle import Shuffle as Shuffle
from discreet.perturbation.top_bottom import TopBottom as TopBottom
