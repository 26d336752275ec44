"""The server is killed at random moments of a journey: nothing that it answered is lost."""

import html
import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from discreet.check.folders import is_release
from tests.app.server import Server
from tests.app.test_jobs import QUICK, same_public

LONGEST = 9.0


class Journey:
    """Somebody who goes on clicking, and remembers what was answered."""

    def __init__(self, space, people):
        self.space, self.people = space, people
        self.version, self.texts, self.asked = 0, {}, ""
        self.pages = {"data"}
        self.server = Server(space, people)
        self.join()

    def join(self):
        """Open the app at the address that it printed."""
        self.page = httpx.Client(
            base_url=self.server.base, headers={"origin": self.server.base}, timeout=60
        )
        assert self.page.get(self.server.url).status_code == 303

    def look(self):
        """Return the recipe's version and text, as the page shows them."""
        shown = self.page.get("/release", headers={"hx-request": "true"}).text
        number = int(re.search(r'name="version" value="(\d+)"', shown).group(1))
        text = re.search(r'name="text"[^>]*>(.*?)</textarea>', shown, re.DOTALL).group(1)
        return number, html.unescape(text)

    def go(self, stage):
        self.pages.add(stage)  # It may be there before the answer is.
        assert self.page.get(f"/{stage}").status_code == 200
        self.pages = {stage}

    def post(self, path, **form):
        self.asked = path
        found = self.page.post(path, data=form, headers={"hx-request": "true"})
        assert found.status_code == 200, found.text
        self.version, text = self.look()
        self.texts[self.version] = text
        self.asked = ""

    def runs(self):
        shown = self.page.get("/protect/runs").text
        return re.findall(r'<li class="run (\w+)">', shown)

    def walk(self, rounds):
        """Click through all the stages, and write a release to a folder of its own."""
        self.go("data")
        self.post("/recipe/text", text=QUICK, version=self.look()[0])
        self.post("/data/role", role="drop", column="income", version=self.version)
        self.post("/recipe/undo")
        self.go("hierarchies")
        form = {"column": "age", "kind": "intervals", "levels": "[5, 20]"}
        self.post("/hierarchies/rule", **form, version=self.version)
        self.go("protect")
        self.post("/protect/run")
        while self.runs()[0] in ("waiting", "running"):
            time.sleep(0.02)
        assert self.runs()[0] == "done"
        self.go("release")
        run = int(re.search(r'name="run" value="(\d+)"', self.page.get("/release").text).group(1))
        self.post("/release/write", run=run, out=str(self.people.parent / f"shared-{rounds}"))
        while self.runs()[0] in ("waiting", "running"):
            time.sleep(0.02)


def workers(space):
    """Return the processes that run something of a workspace."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            said = path.read_bytes()
        except OSError:
            continue
        if str(space).encode() in said and b"discreet.app.worker" in said:
            found.append(path.parent.name)
    return found


def check(journey, before):
    """Compare what there is after a restart with what was answered before the kill."""
    number, text = journey.look()
    # All that was answered is there; what was asked for when the server died may be, too: a
    # version that nobody has seen, or where that was an undo, the one before.
    undone = journey.asked == "/recipe/undo" and number < before
    assert number == before or number not in journey.texts or undone
    for one, written in journey.texts.items():
        assert (journey.space / "recipes" / f"{one:04d}.toml").read_text() == written
    assert (journey.space / "recipe.toml").read_text() == text
    assert journey.page.get("/").headers["location"].removeprefix("/") in journey.pages
    assert "running" not in journey.runs()[1:]
    for folder in (journey.space / "runs").iterdir():
        for release in folder.glob("release"):
            assert is_release(release), folder
    for release in journey.people.parent.glob("shared-*"):
        assert is_release(release)
    assert not list(journey.people.parent.rglob("*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("kills", [pytest.param(8, marks=pytest.mark.stress), 20])
def test_a_server_killed_at_random_moments_loses_nothing(tmp_path, people, kills):
    home = tmp_path / "data"
    home.mkdir()
    (home / "people.csv").write_bytes(people.read_bytes())
    draw = random.Random(27)
    journey = Journey(tmp_path / "work", home / "people.csv")
    died = []
    try:
        for kill in range(kills):
            timer = threading.Timer(draw.uniform(0, LONGEST), journey.server.kill)
            timer.start()
            start = time.monotonic()
            try:
                while True:
                    journey.walk(f"{kill}-{time.monotonic():.0f}")
            except httpx.TransportError:
                died.append(time.monotonic() - start)
            timer.join()
            journey.server.start()
            assert (
                len(workers(journey.space)) <= 2
            )  # A run that waited goes on: one, and its watcher.
            journey.join()
            check(journey, journey.version)
            journey.version, text = journey.look()
            journey.texts[journey.version] = text
        journey.walk("last")
        release = max((journey.space / "runs").glob("*/release"))
        command = [sys.executable, "-m", "discreet", "protect", str(home / "people.csv")]
        command += ["--recipe", str(release / "internal" / "recipe.toml")]
        subprocess.run([*command, "--out", str(tmp_path / "r")], check=True, capture_output=True)
        same_public(release / "public", tmp_path / "r" / "public")
    finally:
        journey.server.kill()
    end = time.monotonic() + 30
    while workers(journey.space):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert len(died) == kills
