"""A container's limits are those of its control groups, which the machine does not tell."""

import os

import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet import cgroups, threads
from discreet.engines import choice
from discreet.engines.choice import choose, free_memory, megabytes
from discreet.threads import cores

GIB = 1 << 30


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Write what a kernel would say of groups, and say which are this process's."""
    monkeypatch.setattr(cgroups, "ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(cgroups, "OWN", tmp_path / "own")

    def write(own, files):
        (tmp_path / "own").write_text(own)
        for name, said in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{said}\n")
        threads.quota.cache_clear()

    yield write
    threads.quota.cache_clear()


@pytest.fixture
def machine(monkeypatch):
    """A machine of 64 GiB and 16 cores, on which nothing else runs."""
    monkeypatch.setattr(choice, "_machine_memory", lambda: 64 * GIB)
    monkeypatch.setattr(choice, "_machine_free", lambda: 60 * GIB)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)


SECOND = {  # cgroup v2
    "memory.max": "max",
    "app/memory.max": 4 * GIB,
    "app/memory.high": 3 * GIB,
    "app/memory.current": 2 * GIB,
    "app/memory.stat": f"anon 5\nfile 7\ninactive_file {GIB // 2}",
    "app/job/memory.max": "max",
    "app/job/memory.current": GIB,
    "app/cpu.max": "250000 100000",
    "app/job/cpu.max": "max 100000",
}
FIRST = {  # cgroup v1
    "memory/memory.limit_in_bytes": 9223372036854771712,
    "memory/memory.usage_in_bytes": 9 * GIB,
    "memory/app/memory.limit_in_bytes": 3 * GIB,
    "memory/app/memory.usage_in_bytes": 2 * GIB,
    "memory/app/memory.stat": f"inactive_file 4\ntotal_inactive_file {GIB // 2}",
    "cpu/app/cpu.cfs_quota_us": 250000,
    "cpu/app/cpu.cfs_period_us": 100000,
    "cpu/cpu.cfs_quota_us": -1,
    "cpu/cpu.cfs_period_us": 100000,
}
FOLDED = {name.replace("cpu/", "cpu,cpuacct/", 1): said for name, said in FIRST.items()}


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/app/job\n", SECOND),
        ("0::/app\n", SECOND),
        ("9:name=systemd:/\n4:memory:/app\n1:cpu:/app\n0::/\n", FIRST),
        ("4:memory:/app/gone\n1:cpu,cpuacct:/app/gone\n", FOLDED),
        # Both are there, and the second has no controllers.
        ("4:memory:/app\n1:cpu:/app\n0::/x\n", FIRST | {"unified/x/cgroup.procs": "1"}),
        ("0::/app\n", {f"unified/{name}": said for name, said in SECOND.items()}),
    ],
)
def test_the_least_of_all_groups_and_the_machine(groups, machine, own, files):
    groups(own, files)
    # 3 GiB, of which 2 are used, half a GiB of that by files that can be read again.
    assert free_memory() == 3 * GIB - 2 * GIB + GIB // 2
    assert megabytes(None) == int(0.4 * 3 * 1024)
    assert cores() == 3


def test_a_container_sees_its_own_group_as_the_root(groups, machine):
    """It is told its group's path on the host, which is not there."""
    groups(
        "0::/docker/0a1b\n", {"memory.max": 2 * GIB, "memory.current": GIB, "cpu.max": "1000 2000"}
    )
    assert free_memory() == GIB
    assert cores() == 1
    groups("0::/../../elsewhere\n", {})
    assert free_memory() == GIB


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("", {}),
        ("0::/\n", {}),
        ("0::/app\n", {"app/memory.max": "max", "app/cpu.max": "max 100000"}),
        ("0::/app\n", {"app/memory.max": "", "app/cpu.max": "much", "app/memory.current": "?"}),
        ("0::/app\n", {"app/memory.max": 100 * GIB, "app/memory.current": 1, "app/cpu.max": "9 0"}),
        ("nonsense\n", SECOND),
    ],
)
def test_without_limits_it_is_the_machines(groups, machine, own, files):
    groups(own, files)
    assert free_memory() == 60 * GIB
    assert megabytes(None) == int(0.4 * 64 * 1024)
    assert cores() == 16


def test_a_group_that_is_over_its_limit_has_nothing_left(groups, machine):
    groups("0::/\n", {"memory.high": GIB, "memory.current": 2 * GIB})
    assert free_memory() == 0


def test_no_groups_at_all(tmp_path, monkeypatch, machine):
    monkeypatch.setattr(cgroups, "OWN", tmp_path / "none")
    threads.quota.cache_clear()
    assert free_memory() == 60 * GIB
    assert cores() == 16
    threads.quota.cache_clear()


def test_affinity_counts_beside_the_quota(groups, monkeypatch):
    groups("0::/\n", {"cpu.max": "800000 100000"})
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5}, raising=False)
    assert cores() == 2


def test_a_table_that_fits_the_machine_and_not_the_container_is_for_duckdb(
    groups, machine, tmp_path
):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": list(range(1000)), "b": ["same"] * 1000}), path)
    groups("0::/\n", {"memory.max": 100_000 + 72_000, "memory.current": 100_000})
    assert choose("auto", path) == "memory"
    groups("0::/\n", {"memory.max": 100_000 + 71_999})
    assert choose("auto", path) == "duckdb"
