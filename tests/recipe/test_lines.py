"""Where things are in a TOML text: every path is found, and on its own line."""

import tomllib

import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from discreet.recipe.lines import line_of, lines_of

HARD = r'''# roles = ["not", "this"]
null_markers = ["?", "# no comment", '[no.table]', "\"]"]   # [[steps]]
"a.b" = 1
'quoted ]' . dotted."k\u0065y" = { x = 1, "y z" = [ { deep = "}" } ] }
note = """
[roles]
fake = "1"
\""" five quotes: """""
raw = TICKS
k = 5
''TICKS
when = 1979-05-27 07:32:00 # a space in a value
empty = []
nothing = {}

[roles]
quasi = [
    "age",  # "sex",
    # "town",
    "region", ]
[[steps]]
method = "generalize"
columns = ["age"]
  [[steps.privacy]]
  model = "k-anonymity"
  [steps.hierarchies.age]
  kind = "intervals"
  widths = [5,
            10]
  [[steps.privacy]]
  model = "l-diversity"

[[steps]]
method = 'oma'
k.age = 5
k."the # sum" = 7
[a.b.c]
[a]
d = -inf
'''.replace("TICKS", "'" * 3)


def paths_in(content, at=()):
    """Every path of a parsed TOML text."""
    inside = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in inside:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from paths_in(value, (*at, key))


def test_nothing_that_toml_allows_misleads_the_lines():
    lines = lines_of(HARD)
    assert set(lines) == set(paths_in(tomllib.loads(HARD)))
    written = HARD.splitlines()
    # Every value is on a line that shows it, and every key on one that names it.
    for path, start in (
        (("a.b",), '"a.b" = 1'),
        (("quoted ]", "dotted", "key", "y z", 0, "deep"), "'quoted ]'"),
        (("note",), 'note = """'),
        (("raw",), "raw = '''"),
        (("when",), "when = "),
        (("roles",), "[roles]"),
        (("roles", "quasi"), "quasi = ["),
        (("roles", "quasi", 0), '"age",  #'),
        (("roles", "quasi", 1), '"region", ]'),
        (("steps", 0, "privacy", 0, "model"), 'model = "k-anonymity"'),
        (("steps", 0, "privacy", 1, "model"), 'model = "l-diversity"'),
        (("steps", 0, "hierarchies", "age", "widths", 1), "10]"),
        (("steps", 1, "method"), "method = 'oma'"),
        (("steps", 1, "k", "the # sum"), 'k."the # sum"'),
        (("a", "b", "c"), "[a.b.c]"),
        (("a", "d"), "d = -inf"),
    ):
        assert written[lines[path] - 1].strip().startswith(start), path
    assert lines["steps", 0] < lines["steps", 1]
    # The [roles] within a text is none.
    assert written.index("[roles]") + 1 < lines["roles",]


def test_lines_are_the_same_with_the_line_ends_of_windows():
    assert lines_of(HARD.replace("\n", "\r\n")) == lines_of(HARD)


words = st.text(max_size=6) | st.sampled_from(["k", "a.b", '"""', "'''", "#", "[x]", "]]", "é\n"])
values = st.recursive(
    words | st.integers(-9, 9) | st.booleans() | st.floats(allow_nan=False) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(words, values, max_size=4), st.booleans())
def test_every_path_of_any_text_is_found(content, multiline):
    text = tomli_w.dumps(content, multiline_strings=multiline)
    assert set(lines_of(text)) == set(paths_in(tomllib.loads(text)))


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=5))
def test_a_table_of_an_array_is_the_one_that_stands_there(names):
    text = "".join(f"[[t]]\n# [[t]]\nname = '{name}'\n[t.in]\nx = 1\n" for name in names)
    lines = lines_of(text)
    for number, name in enumerate(names):
        line = text.splitlines()[lines["t", number, "name"] - 1]
        assert line == f"name = '{name}'"
        assert lines["t", number, "in"] == 5 * number + 4


def test_what_is_not_in_the_text_is_where_it_would_be():
    lines = lines_of("seed = 1\n[roles]\nquasi = ['a']\n[[steps]]\nmethod = 'oma'\nk = 0\n")
    assert line_of(lines, ("roles", "household")) == 2
    assert line_of(lines, ("steps", 0, "columns")) == 4
    assert line_of(lines, ("steps", 0), "k must be a whole number") == 6
    # Names of types are passed over.
    assert line_of(lines, ("steps", "OMAStep", 0, "k", "int")) == 6
    assert line_of(lines, ("roles",), "column 'a' is listed twice under quasi") == 3
    assert line_of(lines, ("null_markers",)) is None
    assert line_of(lines, (), "seed = 1 can be found by trying") == 1
