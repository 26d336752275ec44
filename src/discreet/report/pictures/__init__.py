"""Pictures of a release: figures in, SVG with title, description and caption out."""

from discreet.report.pictures.distributions import categories as categories
from discreet.report.pictures.distributions import ecdf as ecdf
from discreet.report.pictures.distributions import histogram as histogram
from discreet.report.pictures.distributions import released_categories as released_categories
from discreet.report.pictures.distributions import released_histogram as released_histogram
from discreet.report.pictures.drawing import Picture as Picture
from discreet.report.pictures.fronts import front_map as front_map
from discreet.report.pictures.maps import risk_utility as risk_utility
from discreet.report.pictures.plans import polynomials as polynomials
from discreet.report.pictures.plans import refinement as refinement
from discreet.report.pictures.plans import rounding_sets as rounding_sets
from discreet.report.pictures.structure import class_sizes as class_sizes
from discreet.report.pictures.structure import correlations as correlations
from discreet.report.pictures.structure import nulls as nulls
from discreet.report.pictures.sweeps import sweep_lines as sweep_lines
