"""Imports point down only, as docs/architecture.md draws it. Reads the syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "gitsession"
LAYERS = (
    {"entry"},
    {"failure"},
    {"commands", "servers"},
    {"actions", "library"},
    {"capture", "query", "sync", "render", "audit"},
    {"store", "agents", "config"},
    {"git"},
    {"model", "ids", "errors", "__init__"},
)
DEPTH = {name: depth for depth, layer in enumerate(LAYERS) for name in layer}
FORBIDDEN_WORDS = ("util", "common", "helper", "manager", "misc")
FACE = ("gitsession", "gitsession.library")
"""What the package offers programs, and imports only when one asks for it."""
ONLY_IN = {"git": "sync/", "pygit2": "git/library.py"}
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(module: str) -> str:
    """The part of the package that a module belongs to: `gitsession.git.refs` → `git`."""
    return module.split(".")[1] if "." in module else "__init__"


def name_of(path: Path) -> str:
    """A file's module."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    """Every module a file imports, inside functions and for types too."""
    package = name_of(path).split(".")
    package = package if path.name == "__init__.py" else package[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield origin
            if part_of(origin) == "__init__" and origin == "gitsession":
                yield from (
                    f"gitsession.{alias.name}" for alias in node.names if alias.name in DEPTH
                )


def upward(path: Path) -> list[str]:
    """The imports of a file that point up."""
    own = DEPTH[part_of(name_of(path))]
    return [
        module
        for module in imports_of(path)
        if module.split(".")[0] == "gitsession"
        and DEPTH[part_of(module)] < own
        and (name_of(path), module) != FACE
    ]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_down(path: Path) -> None:
    assert part_of(name_of(path)) in DEPTH, "a new part needs its layer here and in the drawing"
    assert upward(path) == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_library_is_imported_in_its_one_place(path: Path) -> None:
    where = path.relative_to(PACKAGE).as_posix()
    for module in imports_of(path):
        allowed = ONLY_IN.get(module.split(".")[0])
        assert allowed is None or where.startswith(allowed), f"{module} belongs in {allowed}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_is_named_for_what_it_holds(path: Path) -> None:
    assert not any(word in part for part in path.parts[-2:] for word in FORBIDDEN_WORDS)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_says_why_it_exists(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_the_rule_sees_what_it_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "gitsession"
    file = package / "store" / "bad.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "from gitsession import ids, actions\n"
        "def late():\n    from ..capture import cut\n    import gitsession.commands.log\n"
    )
    monkeypatch.setattr(f"{__name__}.PACKAGE", package)
    assert upward(file) == ["gitsession.actions", "gitsession.capture", "gitsession.commands.log"]
