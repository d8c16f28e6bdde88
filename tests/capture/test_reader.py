"""Any file comes back whole, in whole lines."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.capture import reader

texts = st.lists(st.sampled_from([b"", b"a", b"bc", b"\n", b"\r\n", b"long line " * 3])).map(
    b"".join
)


@contextmanager
def holding(data: bytes) -> Iterator[Path]:
    """A file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        yield path


@contextmanager
def block_of(size: int) -> Iterator[None]:
    """Read in blocks of another size."""
    usual = reader.BLOCK
    reader.BLOCK = size
    try:
        yield
    finally:
        reader.BLOCK = usual


@given(texts, st.integers(1, 20))
def test_blocks_are_the_whole_lines_of_the_file(data: bytes, size: int) -> None:
    with holding(data) as path, block_of(size):
        blocks = list(reader.blocks(path))
    assert b"".join(blocks) == data[: data.rfind(b"\n") + 1]
    assert all(block.endswith(b"\n") for block in blocks)


@given(texts, st.integers(1, 20), st.data())
def test_a_measured_end_is_taken_newline_or_not(
    data: bytes, size: int, given: st.DataObject
) -> None:
    start = given.draw(st.integers(0, len(data)))
    end = given.draw(st.integers(start, len(data)))
    with holding(data) as path, block_of(size):
        assert b"".join(reader.blocks(path, start, end)) == data[start:end]


@given(texts, st.integers(1, 20))
def test_lines_say_where_they_end(data: bytes, size: int) -> None:
    with holding(data) as path, block_of(size):
        found = list(reader.lines(path, 0, len(data)))
    at = 0
    for end, line in found:
        assert data[at:end].removesuffix(b"\n") == line
        at = end
    assert at == len(data)


@given(texts, st.integers(1, 20))
def test_the_last_newline_is_found_from_behind(data: bytes, size: int) -> None:
    with holding(data) as path, block_of(size):
        assert reader.last_newline(path) == data.rfind(b"\n") + 1


@given(texts, st.data())
def test_lines_before_an_offset_come_nearest_first(data: bytes, given: st.DataObject) -> None:
    end = given.draw(st.integers(0, len(data)))
    with holding(data) as path:
        found = list(reader.lines_before(path, end))
    assert found[::-1] == data[:end].split(b"\n")


@given(texts, st.data())
def test_a_boundary_tears_no_line(data: bytes, given: st.DataObject) -> None:
    at = given.draw(st.integers(0, len(data)))
    torn = 0 < at < len(data) and b"\n" not in data[at - 1 : at + 1]
    with holding(data) as path:
        assert reader.is_boundary(path, at) is not torn


def test_a_line_longer_than_blocks_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    line = b"x" * (3 * reader.BLOCK + 7)
    path.write_bytes(line + b"\nshort\nno newline")
    assert list(reader.lines(path)) == [(len(line) + 1, line), (len(line) + 7, b"short")]
    assert list(reader.lines_before(path, len(line) + 1))[:2] == [b"", line]


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(reader.blocks(tmp_path / "none"))
