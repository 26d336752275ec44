"""Data to try things on: invented people, visits and companies, and reference files."""

from discreet.datasets.businesses import make_businesses
from discreet.datasets.episodes import make_episodes
from discreet.datasets.households import make_households
from discreet.datasets.reference import (
    adult_hierarchy_paths,
    data_folder,
    load_adult,
    load_census,
    load_eia,
    load_tarragona,
)
from discreet.datasets.streamed import write_households

__all__ = [
    "adult_hierarchy_paths",
    "data_folder",
    "load_adult",
    "load_census",
    "load_eia",
    "load_tarragona",
    "make_businesses",
    "make_episodes",
    "make_households",
    "write_households",
]
