"""ARX's answers on Adult, and the method that should give them: `models_known.csv` of the spec."""

import csv
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from discreet.datasets import adult_hierarchy_paths, load_adult
from discreet.datasets.reference import data_folder
from discreet.generalization import Generalize, Hierarchy


def spec_file(name):
    """Return a file of the specification, which lies beside the reference data."""
    return data_folder().parent / "spec" / name


@dataclass(frozen=True)
class Known:
    """One answer.

    Where ARX's own is wrong (its `brute_force` says so), that of the brute force is the known one.
    """

    line: int
    family: str
    model: str
    parameters: dict[str, float]
    columns: tuple[str, ...]
    confidential: str
    subset: str
    limit: float
    quality: str
    levels: str
    loss: str
    suppressed: int
    milliseconds: float
    note: str

    def __str__(self):
        """Name it in the list of tests."""
        given = ",".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.line}-{self.model}-{given}-{self.subset}-{self.limit:g}-{self.quality}"


@cache
def known(family):
    """Return the answers of one family, in the order of the file."""
    found = []
    with spec_file("models_known.csv").open(newline="") as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            if row["family"] != family:
                continue
            levels, loss, suppressed = row["levels"], row["information_loss"], row["suppressed"]
            if row["brute_force"] not in ("", "equal"):
                loss, levels, suppressed = row["brute_force"].split()
            found.append(
                Known(
                    line,
                    family,
                    row["model"],
                    _numbers(row["parameters"]),
                    tuple(row["columns"].split()),
                    row["confidential"].removeprefix("response "),
                    row["subset"],
                    float(row["suppression_limit"]),
                    row["quality"],
                    levels,
                    loss,
                    int(suppressed),
                    float(row["cpu_ms_warm_best"]),
                    row["note"],
                )
            )
    return found


def _numbers(text):
    given = (word.split("=") for word in text.split() if "=" in word)
    return {name: float(value) for name, value in given}


def sampled(family, every):
    """Return a few of a family's answers, spread over the file."""
    return known(family)[::every]


@cache
def subset_rows(subset):
    """Return the rows of Adult that are the sample; the whole table is the population."""
    if subset == "tenth":
        return list(range(0, load_adult().num_rows, 10))
    with spec_file("adult_research_subset.csv").open() as file:
        return [int(line) for line in file.read().split()[1:]]


def sample(subset):
    """Return the sample of Adult that an answer is about: all of it where no subset is named."""
    table = load_adult()
    return table if not subset else table.take(pa.array(subset_rows(subset)))


def hierarchies(columns):
    """Return the hierarchies of Adult's columns."""
    paths = adult_hierarchy_paths()
    return {name: Hierarchy.from_csv(paths[name]) for name in columns}


def method(answer, privacy, **options):
    """Return the method whose result an answer is."""
    return Generalize(
        hierarchies(answer.columns), privacy, suppression_limit=answer.limit, **options
    )


def levels_of(fitted, answer):
    """Return the levels that were chosen, one digit per column, as the file has them."""
    found = fitted.levels_[0]["levels"]
    return "".join(str(found[name]) for name in answer.columns)
