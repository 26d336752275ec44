"""What the pages show is what comes out."""

import re
from pathlib import Path

import pytest

from tests.docs.session import ROOT, blocks, pages, rerun, settled


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_shows_what_is_printed(
    page: Path, tmp_path: Path, next_tried: None, long_search: None
) -> None:
    text = page.read_text("utf-8")
    assert rerun(text, tmp_path) == text, f"python -m tests.docs {page.relative_to(ROOT)}"


PAGE = """\
# A page

```csv title="people.csv"
age,sex
30,f
```

1. In a list:

   ```console
   $ cat people.csv \\
       | head -n 1
   wrong
   $ true
   ```

```pycon
>>> import math
>>> math.pi
3.14...
>>> 1 / 0
Traceback (most recent call last):
    ...
ZeroDivisionError: division by zero
>>> for i in range(2):
...     print(i)
wrong
```

```python
x = math.floor(2.5)
```

<!-- not run: there is no such thing -->
```console
$ no-such-command
```

```pycon
>>> x
2
```
"""


def test_a_page_is_one_session(tmp_path: Path) -> None:
    real = PAGE.replace("   wrong\n", "   age,sex\n").replace("\nwrong\n", "\n0\n1\n")
    assert rerun(PAGE, tmp_path) == real
    assert rerun(real, tmp_path) == real


def test_a_block_that_nobody_runs_is_found(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line 3: nobody runs a block of 'r'"):
        rerun("words\n\n```r\nsummary(x)\n```\n", tmp_path)
    assert [block.not_run for block in blocks("<!-- not run: R -->\n```r\nx\n```\n")] == [True]


@pytest.mark.parametrize(
    ("shown", "printed", "after"),
    [
        ("a ... c\n", "a b c\n", "a ... c\n"),
        ("a ... d\n", "a b c\n", "a b c\n"),
        ("first\n...\nlast\n", "first\n2\n3\nlast\n", "first\n...\nlast\n"),
        ("", "new\n", "new\n"),
        ("gone\n", "", ""),
    ],
)
def test_three_dots_stand_for_anything(shown: str, printed: str, after: str) -> None:
    assert settled(shown, printed) == after


@pytest.mark.parametrize("command", ["discreet policies nothing", "false || false"])
def test_three_dots_do_not_stand_for_a_failure(command: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(command)} ends with exit code [12]:"):
        rerun(f"```console\n$ {command}\n...\n```\n", tmp_path)


def test_a_command_of_ours_goes_on_after_a_backslash(tmp_path: Path) -> None:
    page = "```console\n$ discreet policies \\\n    acro\nACRO...\n```\n"
    assert rerun(page, tmp_path) == page
