"""Releases of which it is known what an attack gets."""

import numpy as np
import pandas as pd

AMONG = 20


def kept_or_blank(n, share, draw):
    """People with names and secrets, their release, and others who are not in it.

    Two columns name a person, each by itself. A record is released as it is with the given
    probability, and otherwise its names are hidden.
    """
    everybody = pd.DataFrame(
        {
            "a": [f"a{i}" for i in range(2 * n)],
            "b": [f"b{i}" for i in draw.permutation(2 * n)],
            "secret": draw.choice(["flu", "gout", "cold"], 2 * n, p=[0.6, 0.2, 0.2]),
        }
    )
    people, others = everybody[:n], everybody[n:].reset_index(drop=True)
    hidden = draw.random(n) >= share
    return people, people.assign(**{c: people[c].mask(hidden, "*") for c in "ab"}), others


def independent(people, draw):
    """A release of independent random rows: each column in an order of its own."""
    return pd.DataFrame({name: draw.permutation(people[name]) for name in people})


def mixed(n, draw):
    """People with all kinds of columns, of which all tell something of each other."""
    age = draw.integers(18, 90, n)
    return pd.DataFrame(
        {
            "age": age,
            "pay": (20 + age * 0.5 + draw.normal(size=n) * 8).round(1),
            "born": pd.Timestamp("2024-01-01")
            - pd.to_timedelta(age * 365 + draw.integers(0, 365, n), "D"),
            "town": draw.choice([f"town {i}" for i in range(15)], n),
            "member": draw.random(n) < age / 120,
            "ill": np.where(draw.random(n) < age / 200, "yes", "no"),
        }
    )
