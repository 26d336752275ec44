"""Every pair of roles that one column may have, and names that engines use themselves."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from discreet import protect, read_table, write_table
from discreet.errors import BadInput

LISTS = ("identifiers", "quasi", "confidential", "insensitive", "pseudonyms")
SINGLE = ("household", "weight", "target", "unit", "row_key")
MORE = ("household_level", "untouched", "not_identifiers")
# A column may have one of the lists' roles; those without a use are refused whatever the engine.
PAIRS = [pair for pair in combinations((*LISTS, *SINGLE, *MORE), 2) if len({*pair} & {*LISTS}) < 2]
# What engines and measures call columns of their own.
NAMES = ["w", "n", "number", "c0", "s0", "place", "entry", "file_row_number", "unit"]
K3 = [{"model": "k-anonymity", "k": 3}]


def people(name, kind):
    rng = np.random.default_rng(1)
    n = 60
    cells = {"few": rng.integers(1, 5, n), "all": rng.permutation(n) + 10**6}[kind]
    table = {"age": rng.integers(20, 60, n), "sex": rng.choice(["m", "f"], n)}
    table |= {"pay": rng.integers(10, 40, n) * 100, "home": np.repeat(np.arange(n // 3), 3)}
    if kind == "few":
        cells = np.repeat(cells[::3], 3)
    return pa.table(table | {name: cells})


def recipe(name, roles):
    """Give a column some roles, and treat it as they demand."""
    given = {"quasi": ["age", "sex"], "confidential": ["pay"], "rest": "drop"}
    for role in roles:
        given[role] = name if role in SINGLE else [*given.get(role, []), name]
    if "household_level" in roles:
        given.setdefault("household", "home")
    treated = ["age", "sex"] + [name] * (name in given["quasi"] and "untouched" not in roles)
    steps = [
        {"method": "mondrian", "columns": treated, "privacy": K3},
        {"method": "oma", "columns": ["pay", *given["confidential"][1:]], "k": 3},
    ]
    return {
        "seed": 2**100 + 17,
        "order_seed": 2**100 + 7,
        "allow_leaks": ["age", "sex", "pay", name],
        "roles": given,
        "steps": steps,
    }


def outcome(table, content, engine):
    """Protect and assess; return the columns and a measure, or the sentence that refuses."""
    try:
        release = protect(table, content, engine)
    except BadInput as error:
        return str(error)
    try:
        risk = release.assess().risk["class_sizes"]
        return release.finished.schema.names, *(
            _rounded(risk[side]) for side in ("before", "after")
        )
    finally:
        release.close()


def _rounded(figures):
    """Engines add in different orders."""
    return {name: round(figure, 9) for name, figure in figures.items()}


def compare(table, content):
    in_memory, on_duckdb = (outcome(table, content, engine) for engine in ("memory", "duckdb"))
    if "which takes all of them at once to protect" not in on_duckdb:
        assert on_duckdb == in_memory
    return in_memory


@pytest.mark.parametrize("roles", PAIRS, ids="-".join)
def test_a_column_with_two_roles(roles):
    kind = "all" if "row_key" in roles else "few"
    compare(people("x", kind), recipe("x", roles))


@pytest.mark.parametrize("name", NAMES)
def test_a_quasi_column_with_a_name_of_the_engines_own(name):
    found = compare(people(name, "few"), recipe(name, ("quasi", "weight", "household_level")))
    assert name in found[0]


def test_a_name_with_a_nul_character_is_refused(tmp_path):
    table = people("\0position", "few")
    said = r"the name of column '\x00position' has a NUL character; rename it"
    assert compare(table, recipe("\0position", ("quasi", "weight"))) == said
    with pytest.raises(BadInput) as caught:
        write_table(table, tmp_path / "x.csv")
    assert str(caught.value) == said
    (tmp_path / "y.csv").write_bytes(b"a,b\0\n1,2\n")
    with pytest.raises(BadInput, match=r"the name of column 'b\\x00' has a NUL character"):
        read_table(tmp_path / "y.csv")
