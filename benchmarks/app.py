"""The app as its user sees it: the first page, a slider, and the memory of its server.

No peers: ARX's window and sdcApp are not driven from here.
"""

import atexit
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.generalization import COLUMNS, hierarchies
from benchmarks.rows import Case, row
from discreet.datasets.reference import data_folder

NODES = 20
# Moves a slider by one level, and tells how long it took until the page had changed.
DRAG = """async () => {
  const slider = document.getElementById('level-2');
  const step = Number(slider.value) < Number(slider.max) ? 1 : -1;
  slider.value = Number(slider.value) + step;
  const start = performance.now();
  const swapped = new Promise((done) => document.getElementById('node').addEventListener(
    'htmx:afterSettle', () => requestAnimationFrame(() => done(performance.now())), {once: true}));
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  return await swapped - start;
}"""

# When something was painted first, in milliseconds since 1970.
PAINTED = """() => new Promise((done) => {
  const look = () => {
    const [found] = performance.getEntriesByName('first-contentful-paint');
    if (found) done(performance.timeOrigin + found.startTime); else setTimeout(look, 5);
  };
  look();
})"""


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)


@cache
def adult_csv() -> Path:
    """Write Adult to a file of its own."""
    from discreet.datasets import load_adult

    path = _folder() / "adult" / "adult.csv"
    path.parent.mkdir()
    csv.write_csv(load_adult(), path)
    return path


@contextmanager
def served(file: Path) -> Iterator[tuple[Any, subprocess.Popen[str], str]]:
    """Start the app on a file; give a client that has its cookie, the process and the address."""
    import httpx

    work = tempfile.mkdtemp(dir=_folder())
    command = [sys.executable, "-m", "discreet", "app", str(file), "--no-browser"]
    # A recipe may name files of the folders given, such as Adult's hierarchies.
    command += ["--folder", str(file.parent), "--folder", str(data_folder())]
    process = subprocess.Popen(
        [*command, "--workspace", f"{work}/work"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http\S+", process.stdout.readline())
        assert found is not None
        base = found.group(0).split("/?")[0]
        headers = {"origin": base, "hx-request": "true"}
        with httpx.Client(base_url=base, headers=headers, timeout=300) as page:
            yield page, process, found.group(0)
    finally:
        process.kill()
        process.wait()


@row("first page after the command", seconds=1.5)
def _() -> Case:
    file = adult_csv()

    def ours() -> str:
        with served(file) as (page, _, url):
            page.get(url)
            del page.headers["hx-request"]
            return str(page.get("/data").text)

    def check(ours: str, peer: None) -> str:
        assert "Looking at the table" in ours
        return "columns follow"

    return Case(ours=ours, check=check)


@cache
def browser() -> Any:
    """Start the system's Chromium."""
    from playwright.sync_api import sync_playwright

    driver = sync_playwright().start()
    atexit.register(driver.stop)
    return driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])


@row("first page painted, from the command on", seconds=1.5)
def _() -> Case:
    file = adult_csv()
    browser()

    def ours() -> float:
        """Start the server, and tell after how long the browser painted its page."""
        start, page = time.time(), browser().new_page()
        with served(file) as (_, _, url):
            page.goto(url, wait_until="commit")
            painted = float(page.evaluate(PAINTED)) / 1000 - start
        page.close()
        return painted

    def check(ours: float, peer: None) -> str:
        return f"painted after {ours:.2f} s"

    return Case(ours=ours, check=check)


def recipe() -> str:
    """Return the recipe of Adult: generalized by its hierarchies."""
    import tomli_w

    step = {
        "method": "generalize",
        "columns": list(COLUMNS),
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "suppression_limit": 0.05,
        "hierarchies": {name: tree.spec for name, tree in hierarchies().items()},
    }
    roles = {"quasi": list(COLUMNS), "confidential": ["salary-class"]}
    return tomli_w.dumps({"roles": roles, "steps": [step]})


def prepared(page: Any, url: str) -> None:
    """Look at the table, and take the recipe."""
    page.get(url)
    shown = page.get("/data/columns").text
    version = re.findall(r'name="version" value="(\d+)"', shown)[-1]
    answer = page.post("/recipe/text", data={"text": recipe(), "version": version})
    assert answer.status_code == 200, answer.text


@row("server with Adult open, all pages and a run")
def _() -> Case:
    file = adult_csv()

    def ours() -> tuple[float, float]:
        with served(file) as (page, process, url):
            prepared(page, url)
            for path in (
                "risk/figures",
                "explore/sliders",
                "protect/steps",
                "explore/best?fix=age",
            ):
                assert page.get(f"/{path}").status_code == 200, path
            for name in COLUMNS:
                page.get("/hierarchies/tree", params={"column": name}).raise_for_status()
            page.post("/protect/run").raise_for_status()
            while re.search('class="run (waiting|running)', page.get("/protect/runs").text):
                time.sleep(0.1)
            for path in ("result", "result/1/report", "release", "explore", "risk/figures"):
                page.get(f"/{path}").raise_for_status()
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            held = {line.split(":")[0]: line.split()[1] for line in lines if "kB" in line}
            return int(held["VmRSS"]) / 1024, int(held["VmHWM"]) / 1024

    return Case(
        ours=ours, check=lambda ours, peer: f"{ours[0]:.0f} MB, peak {ours[1]:.0f} (goal: 400)"
    )


@cache
def adult_page() -> Any:
    """Open the sliders of Adult in the system's Chromium."""
    serving = served(adult_csv())
    client, _, url = serving.__enter__()
    atexit.register(serving.__exit__, None, None, None)
    prepared(client, url)
    base = url.split("/?")[0]
    context = browser().new_context()
    cookies = [{"name": n, "value": v, "url": base} for n, v in client.cookies.items()]
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(f"{base}/explore")
    page.wait_for_selector("#node")
    return page


@row("slider step in the browser, n=30,162 x 8", seconds=0.1)
def _() -> Case:
    page = adult_page()

    def ours() -> list[float]:
        return [page.evaluate(DRAG)]

    def check(ours: list[float], peer: None) -> str:
        more = sorted(page.evaluate(DRAG) for _ in range(NODES))
        return f"in the page: median {more[NODES // 2]:.0f} ms, worst {more[-1]:.0f}"

    return Case(ours=ours, check=check)


def nodes(n: int, members: int = 1) -> Any:
    """Lay out the lattice of Adult, or of a table drawn from it with one cell in eight anew.

    Households of several members are counted, if they have several.
    """
    from discreet.datasets import load_adult
    from discreet.draws import Draws
    from discreet.generalization import Generalize, KAnonymity
    from discreet.generalization.nodes import Nodes
    from discreet.outcome import Given, as_computed

    table = load_adult().select(list(COLUMNS))
    if n > len(table):
        rng = np.random.default_rng(0)
        rows = rng.integers(0, len(table), n)
        drawn = {}
        for name in COLUMNS:
            anew = np.where(rng.random(n) < 1 / 8, rng.integers(0, len(table), n), rows)
            drawn[name] = table[name].take(pa.array(anew))
        table = pa.table(drawn)
    columns = {name: table[name] for name in COLUMNS}
    units = None if members == 1 else np.arange(n) // members
    given = Given(columns, partial(Draws, 0), as_computed, None, {}, units)
    return Nodes(Generalize(hierarchies(), [KAnonymity(5)], suppression_limit=0.05), given)


def looked_at(n: int, members: int = 1) -> Case:
    found = nodes(n, members)
    draw = random.Random(0)

    def ours() -> list[float]:
        """Look at nodes that were not looked at before."""
        taken = []
        for _ in range(NODES):
            levels = {name: draw.randint(0, height) for name, height in found.height.items()}
            start = time.perf_counter()
            found.at(levels)
            taken.append(time.perf_counter() - start)
        return taken

    def check(ours: list[float], peer: None) -> str:
        more = sorted(ours)
        return f"median {1000 * more[NODES // 2]:.1f} ms, worst {1000 * more[-1]:.0f}"

    return Case(ours=ours, check=check)


@row(f"{NODES} nodes of the lattice, n=30,162 x 8", seconds=NODES * 0.05)
def _() -> Case:
    return looked_at(30_162)


@row(f"{NODES} nodes of the lattice, n=1e6 x 8", seconds=NODES * 0.3)
def _() -> Case:
    return looked_at(1_000_000)


@row(f"{NODES} nodes of the lattice, n=1e6 x 8, households counted", seconds=NODES * 0.3)
def _() -> Case:
    return looked_at(1_000_000, members=3)
