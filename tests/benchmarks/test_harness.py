"""The harness: turns, best, goals, missing peers, failures, JSON, growth, memory."""

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import harness, rows
from benchmarks.harness import Result, run_row, take_turns
from benchmarks.rows import Case, Goal, Row, growth, row


class FakeClock:
    """A clock that moves only when a call says how long it took."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[str] = []

    def __call__(self) -> float:
        return self.now

    def takes(self, name: str, *seconds: float) -> Callable[[], str]:
        """Return a call that lasts as given, the last duration for ever."""
        left = list(seconds)

        def call() -> str:
            self.calls.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]
            return name

        return call


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, Row]:
    """Give each test an empty registry, and the command no families but the test's own rows."""
    toy: dict[str, Row] = {}
    for module in (rows, harness, command):
        monkeypatch.setattr(module, "ROWS", toy)
    monkeypatch.setattr(command, "load_families", lambda: None)
    return toy


def toy_row(build: Callable[..., Case], **options: Any) -> Row:
    return Row("toy", "tests.toys", build, **options)


def test_the_calls_take_turns_and_the_best_counts(clock: FakeClock) -> None:
    # The first of each is the warm-up: slow here, and in no figure.
    case = Case(clock.takes("ours", 9, 0.5, 0.25, 1), clock.takes("peer", 9, 2, 1.5, 3))
    result = run_row(toy_row(lambda: case), repeat=3, clock=clock)
    assert clock.calls == ["ours", "peer"] * 4
    assert (result.ours, result.peer) == ([0.5, 0.25, 1], [2, 1.5, 3])
    assert result.ratio == 6


@pytest.mark.parametrize(
    ("seconds", "runs"), [(0.1, 7), (1.5, 7), (2.0, 5), (6.0, 2), (29.0, 2), (31.0, 1)]
)
def test_slow_calls_repeat_less(clock: FakeClock, seconds: float, runs: int) -> None:
    [times] = take_turns([clock.takes("ours", seconds)], clock=clock)
    assert len(times) == runs


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        (None, None),
        (Goal("ratio", 4.0), True),
        (Goal("ratio", 4.1), False),
        (Goal("seconds", 0.5), True),
        (Goal("seconds", 0.4), False),
        (Goal("slope", 1.0), None),
    ],
)
def test_a_ratio_is_reached_from_above_and_seconds_from_below(
    goal: Goal | None, met: bool | None
) -> None:
    result = Result(toy_row(Case, goal=goal), ours=[0.5, 0.7], peer=[2.0, 3.0])
    assert result.met is met
    result.error = "check: wrong"
    assert result.met is None


def test_the_decorator_tells_ratios_from_seconds(registry: dict[str, Row]) -> None:
    row("a", goal=4.0)(lambda: Case(ours=int))
    row("b", seconds=4.0)(lambda: Case(ours=int))
    assert [str(known.goal) for known in registry.values()] == [">= 4x", "<= 4 s"]
    assert {known.family for known in registry.values()} == {"test_harness"}
    with pytest.raises(ValueError, match="not both"):
        row("c", goal=4.0, seconds=4.0)
    with pytest.raises(ValueError, match="two rows"):
        row("a")(lambda: Case(ours=int))
    with pytest.raises(ValueError, match="two sizes"):
        growth("d", sizes=[10])


def import_missing() -> None:
    import a_package_nobody_has  # noqa: F401


def test_a_missing_peer_leaves_our_time(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []
    row("toy", peer="a_package_nobody_has.function", goal=4.0)(
        lambda: Case(ours=int, peer=import_missing, check=lambda *both: seen.append(both))
    )
    assert command.main(["--repeat", "2"]) == 0
    shown = capsys.readouterr()
    assert "peer not installed" in shown.out
    assert "Traceback" not in shown.err
    assert seen == []


def test_a_peer_without_its_own_dependency_is_an_error() -> None:
    result = run_row(toy_row(lambda: Case(int, import_missing), peer="numpy"), repeat=1)
    assert not result.peer_missing
    assert str(result.error).startswith("peer: ModuleNotFoundError")
    assert len(result.ours) == 1


def check_that_fails(ours: int, peer: int) -> None:
    raise AssertionError(f"[{ours}] is not {peer}")


def build_that_fails() -> Case:
    raise RuntimeError("no data")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Case(lambda: 1, lambda: 2, check_that_fails), "check: AssertionError: [1] is not"),
        (lambda: Case(lambda: 1 // 0), "ZeroDivisionError"),
        (build_that_fails, "RuntimeError: no data"),
    ],
)
def test_a_failure_is_shown_and_the_other_rows_still_run(
    build: Callable[[], Case], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row("bad")(build)
    row("good")(lambda: Case(ours=int))
    assert command.main(["--repeat", "1"]) == 1
    shown = capsys.readouterr()
    assert message in shown.out
    assert "good" in shown.out
    assert "Traceback" in shown.err


def test_a_missed_goal_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    row("toy", seconds=0.0)(lambda: Case(ours=int))
    assert command.main(["--repeat", "1"]) == 0
    assert " no " in capsys.readouterr().out


def test_json_holds_every_figure(tmp_path: Path) -> None:
    row("toy", peer="numpy.clip", goal=1e9)(
        lambda: Case(ours=lambda: 6, peer=lambda: 3, check=lambda ours, peer: ours / peer)
    )
    growth("grows", sizes=(1, 10))(lambda n: Case(ours=int))
    assert command.main(["--json", str(tmp_path / "out.json"), "--repeat", "3"]) == 0
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["machine"]["cores"] > 0
    assert len(document["machine"]["load_before"]) == len(document["machine"]["load_after"]) == 3
    toy, grows = document["rows"]
    assert (toy["family"], toy["name"], toy["kind"]) == ("test_harness", "toy", "compare")
    assert toy["goal"] == {"kind": "ratio", "value": 1e9}
    assert toy["met"] is False
    assert toy["quality"] == 2
    assert toy["ours"] == min(toy["ours_runs"])
    assert len(toy["ours_runs"]) == len(toy["peer_runs"]) == 3
    assert toy["ratio"] == toy["peer"] / toy["ours"]
    assert toy["peer_version"] == sys.modules["numpy"].__version__
    assert set(grows["best_by_size"]) == {"1", "10"}
    assert grows["kind"] == "growth"
    assert grows["ratio"] is None


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_growth_finds_the_power_of_a_cost(clock: FakeClock, power: float) -> None:
    sizes = (1000, 10, 100)

    def build(n: int) -> Case:
        return Case(ours=clock.takes("ours", 1e-6 * n**power))

    result = run_row(toy_row(build, sizes=sizes, goal=Goal("slope", 1.6)), clock=clock)
    assert result.slope == pytest.approx(power)
    assert result.met is (power < 1.6)
    assert min(result.ours) == pytest.approx(1e-6 * 1000**power)  # of the largest


def test_patterns_and_large_rows(capsys: pytest.CaptureFixture[str]) -> None:
    row("small")(lambda: Case(ours=int))
    row("huge", large=True)(lambda: Case(ours=int))
    assert command.main(["--repeat", "1"]) == 0
    assert "huge" not in (shown := capsys.readouterr().out)
    assert "rows left out: 1 (--large runs them)" in shown
    assert command.main(["--rows", "harness/H*ge", "--large", "--repeat", "1"]) == 0
    assert "small" not in (shown := capsys.readouterr().out)
    assert "huge" in shown
    assert "load (1, 5, 15 min)" in shown
    assert command.main(["--rows", "huge"]) == 2
    assert command.main(["--rows", "nothing"]) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_peak_memory_counts_what_a_warm_call_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: dict[str, Row]
) -> None:
    # In a file, because the child that measures imports the row's module.
    (tmp_path / "memory_toys.py").write_text(
        textwrap.dedent("""
            from benchmarks.rows import Case, row

            @row("fifty", memory=True)
            def _():
                kept = bytes(10_000_000)  # the data is not counted
                return Case(ours=lambda: len(b"x" * 50_000_000))
        """)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("memory_toys")
    result = run_row(registry["memory_toys/fifty"], repeat=1)
    assert result.error is None
    assert result.peak_mb == pytest.approx(50_000_000 / 2**20, abs=3)
