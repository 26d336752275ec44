"""What users of a released file are told of its columns."""

import pyarrow as pa

import discreet
from discreet.flow.codebook import codebook
from discreet.recipe.recipe import Recipe
from discreet.table.labels import Labels, with_labels


def test_labels_levels_and_what_was_done():
    job = with_labels(
        pa.field("job", pa.int64()),
        Labels("Occupation | today", {1: "nurse", 2: "clerk"}, missing=(-9, (-8.0, -5.0))),
    )
    schema = pa.schema([job, ("a|b", pa.float64()), ("sex", pa.string()), ("hh", pa.int64())])
    table = pa.table([[1, 2, 1], [1.5, 20.0, None], ["m", None, "f"], [1, 2, 3]], schema=schema)
    recipe = Recipe.from_dict(
        {
            "roles": {"confidential": ["a|b"], "insensitive": ["job", "sex"], "household": "hh"},
            "steps": [{"method": "oma", "columns": ["a|b"], "k": 2}],
        }
    )
    oma = recipe.steps[0].build().in_words
    assert (
        codebook(recipe, table)
        == f"""\
# Codebook

3 rows in random order, 4 columns. An empty cell, or a code that its column lists as missing, is a missing value. Groups and classes of the protection are counted in households, not in rows.

| column | label | kind | type | values | what was done to it |
|---|---|---|---|---|---|
| job | Occupation \\| today | numeric | int64 | 1 to 2 | nothing |
| a\\|b |  | numeric | double | 1.5 to 20 | {oma} |
| sex |  | text | string | 2 different | nothing |
| hh |  | numeric | int64 | 1 to 3 | replaced by random numbers, one a household |

## job

- 1: nurse
- 2: clerk
- missing: -9
- missing: -8 to -5

## sex

- f
- m
"""
    )


def test_levels_in_their_order_and_not_too_many():
    order = pa.DictionaryArray.from_arrays([1, 0, 1], ["low", "high", "unused"], ordered=True)
    many = [f"v{i}" for i in range(60)]
    recipe = Recipe.from_dict({"roles": {"insensitive": ["level", "many"]}, "steps": []})
    table = pa.table({"level": pa.chunked_array([order] * 20), "many": many})
    text = codebook(recipe, table)
    assert "## level\n\n- low\n- high\n" in text
    assert "## many" not in text
    assert "| many |  | text | string | 60 different | nothing |" in text


def test_a_generalized_column_lists_its_released_levels(households):
    recipe = {
        "roles": {"quasi": ["age"], "rest": "drop"},
        "steps": [
            {
                "method": "generalize",
                "columns": ["age"],
                "privacy": [{"model": "k-anonymity", "k": 40}],
                "hierarchies": {"age": {"kind": "intervals", "widths": [20, 40]}},
            }
        ],
    }
    release = discreet.protect(households, recipe)
    text = codebook(release.recipe, release.finished.table)
    assert "- 20-39\n- 40-59\n" in text


def test_neither_html_nor_markdown_changes_what_is_said():
    name = "<script>alert(1)</script>"
    field = with_labels(pa.field(name, pa.int64()), Labels("[x](http://evil) & <b>", {1: "*top*"}))
    values = ["*", "# not a heading", "<img src=x>", "`code`", "_all_", "marital_status", "-5"]
    table = pa.table([[1] * 7, values], schema=pa.schema([field, ("v|w", pa.string())]))
    text = codebook(Recipe.from_dict({"roles": {"insensitive": [name, "v|w"]}}), table)
    assert (
        "| &lt;script&gt;alert(1)&lt;/script&gt; | \\[x\\](http://evil) &amp; &lt;b&gt; |" in text
    )
    assert "## &lt;script&gt;alert(1)&lt;/script&gt;\n\n- 1: \\*top\\*\n" in text
    listed = text.split("## v\\|w\n\n")[1].splitlines()
    assert sorted(listed) == sorted([
        "- \\*", "- \\# not a heading", "- &lt;img src=x&gt;", "- \\`code\\`", "- \\_all\\_",
        "- marital_status", "- -5",
    ])  # fmt: skip


def test_values_that_noise_only_put_in_order_have_none_themselves():
    table = pa.table({"pay": [3.0, 1.0, 2.0], "age": [30.0, 40.0, 50.0]})
    steps = [
        {"method": "noise", "columns": ["pay"], "match_ranks": True},
        {"method": "noise", "columns": ["age"]},
    ]
    recipe = Recipe.from_dict({"roles": {"confidential": ["pay", "age"]}, "steps": steps})
    pay, age = codebook(recipe, table).splitlines()[6:8]
    assert pay.endswith(
        "| values were exchanged between records, in the order that random noise gave them |"
    )
    assert age.endswith("| random noise was added to each value |")
