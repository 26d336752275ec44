"""The examples: each is short, runs, prints what the gallery shows and draws a picture."""

import io
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest

from docs.build import gallery

NAMES = [script.stem for script in gallery.scripts()]


@pytest.fixture(scope="module")
def pages(long_search_of_module):
    return gallery.gallery_pages()


def test_all_of_them_are_in_the_gallery(pages):
    assert sorted(NAMES) == sorted(path.stem for path in gallery.EXAMPLES.glob("*.py"))
    index = pages["gallery/index.md"]
    for name in NAMES:
        assert f"({name}.png)]({name}.md)" in index
        assert f"**[{gallery.told(gallery.EXAMPLES / f'{name}.py')[0]}]({name}.md)**" in index


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_short_and_prints_what_is_beside_it(pages, name):
    script = gallery.EXAMPLES / f"{name}.py"
    code, page = script.read_text("utf-8"), pages[f"gallery/{name}.md"]
    assert len(code.splitlines()) < 60
    title, text = gallery.told(script)
    assert " For " in f" {text}", "it says for whom it is"
    kept = script.with_suffix(".txt").read_text("utf-8")
    assert page.startswith(f"# {title}\n\n{text}\n")
    # What is printed now is what was kept, and what the page shows; else `python -m docs.build.gallery`.
    assert f"```text\n{kept.rstrip()}\n```" in page
    assert kept.strip()
    assert code[code.index("import sys") :].strip() in page


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_large_enough_and_on_a_light_ground(pages, name):
    pixels = matplotlib.image.imread(io.BytesIO(pages[f"gallery/{name}.png"]))[..., :3]
    height, width, _ = pixels.shape
    assert width >= 900
    assert height >= 400
    dark = (pixels < 0.9).any(axis=-1)
    # More than axes and letters, and mostly ground, which is white up to the edges.
    assert 0.02 < dark.mean() < 0.6
    assert not dark[[0, -1]].any()
    assert len(np.unique((15 * pixels).astype(int).reshape(-1, 3), axis=0)) > 10


def test_a_script_draws_into_the_folder_where_it_is_run(tmp_path):
    script = gallery.EXAMPLES / "companies.py"
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == script.with_suffix(".txt").read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["companies.png"]
