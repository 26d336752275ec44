"""The graph of imports between packages, read from the code; `python -m tests.house` prints it."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import discreet
from discreet.registry import FAMILIES

SOURCE = Path(discreet.__file__).parent
# Packages and modules at the root, from top to bottom: each may import those beside and below it.
LAYERS = [
    ["__main__", "__init__"],
    ["cli", "reproduce"],
    ["app"],
    ["tuning"],
    ["inspection"],
    ["flow"],
    ["assessment"],
    ["check"],
    ["recipe"],
    ["registry"],
    [*FAMILIES, "risk", "utility", "attacks", "report"],
    ["measure", "method", "outcome", "plan", "unchanged"],
    ["engines", "parameters"],
    ["table", "datasets"],
    ["chance", "draws", "progress"],
    [
        "kernels",
        "cgroups",
        "clock",
        "docstrings",
        "errors",
        "private",
        "threads",
        "trace",
        "version",
        "_estimator",
    ],
]
Graph = Mapping[str, Mapping[str, set[str]]]


def modules() -> dict[str, ast.Module]:
    """Every module of the library by its path, parsed."""
    paths = sorted(SOURCE.rglob("*.py"))
    return {p.relative_to(SOURCE).as_posix(): ast.parse(p.read_text("utf-8")) for p in paths}


def imports(module: ast.Module) -> Iterator[str]:
    """What a module imports anywhere in it, by full name."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are written in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def graph(parsed: Mapping[str, ast.Module]) -> Graph:
    """Which package imports which, and the files that do.

    The version may be asked for anywhere: it is no import of what the façade shows.
    """
    edges: dict[str, dict[str, set[str]]] = {home_of(path): defaultdict(set) for path in parsed}
    for path, module in parsed.items():
        # The registry imports the families of methods by their names.
        families = [f"discreet.{one}" for one in FAMILIES] if path == "registry.py" else []
        for name in [*imports(module), *families]:
            first, *rest = name.split(".")
            if first == "discreet" and rest != ["__version__"]:
                edges[home_of(path)][rest[0] if rest else "__init__"].add(path)
    return {
        home: {to: by for to, by in found.items() if to != home} for home, found in edges.items()
    }


def home_of(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


def upward(edges: Graph, layers: Iterable[Iterable[str]] = LAYERS) -> list[str]:
    """The imports of what is higher up, by file."""
    place = {name: number for number, layer in enumerate(layers) for name in layer}
    return [
        f"{path} imports {to}"
        for home, found in edges.items()
        for to, by in found.items()
        if place[to] < place[home]
        for path in sorted(by)
    ]


def drawn(edges: Graph) -> str:
    """The graph as text, top to bottom; what points upwards stands out as ^name^."""
    lines, above = [], set()
    for layer in LAYERS:
        for home in layer:
            found = (f"^{to}^" if to in above else to for to in sorted(edges.get(home, ())))
            lines.append(f"{home:17} -> {' '.join(found)}".rstrip(" ->"))
        above.update(layer)
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(drawn(graph(modules())))
