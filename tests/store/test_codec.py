"""What is compressed comes back, and what was not compressed by us is refused in time."""

from __future__ import annotations

import io

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gitsession.errors import Unreadable
from gitsession.store import codec


def pack(data: bytes) -> bytes:
    """Compress as captures are."""
    out = io.BytesIO()
    with codec.writer(out) as packed:
        packed.write(data)
    return out.getvalue()


@given(st.binary())
def test_any_bytes_come_back(data: bytes) -> None:
    assert codec.unpack(pack(data)) == data


@given(st.lists(st.binary(max_size=5)))
def test_lines_are_the_bytes_again(parts: list[bytes]) -> None:
    data = b"\n".join(parts)
    lines = list(codec.lines(pack(data)))
    assert b"".join(lines) == data
    assert all(b"\n" not in line[:-1] for line in lines)
    assert all(line.endswith(b"\n") for line in lines[:-1])


@pytest.mark.parametrize("size", [0, 1, codec.SMALL - 1, codec.SMALL, codec.SMALL + 1])
@pytest.mark.parametrize("step", [1000, codec.SMALL, 4 * codec.SMALL])
def test_what_is_held_and_what_is_passed_on_come_back(size: int, step: int) -> None:
    data = bytes(number % 251 for number in range(size))
    out = io.BytesIO()
    with codec.writer(out) as packed:
        for at in range(0, size, step):
            packed.write(data[at : at + step])
    assert codec.unpack(out.getvalue()) == data
    known = zstandard.frame_content_size(out.getvalue())
    assert known == (size if size <= codec.SMALL else -1)


@pytest.mark.parametrize("size", [10, 2 * codec.SMALL])
def test_what_was_cut_short_does_not_look_whole(size: int) -> None:
    out = io.BytesIO()
    with pytest.raises(KeyError), codec.writer(out) as packed:
        packed.write(b"x" * size)
        raise KeyError
    with pytest.raises(Unreadable):
        codec.unpack(out.getvalue())


def test_lines_across_pieces_are_whole() -> None:
    line = b"x" * 700_000 + b"\n"
    data = line * 5 + b"y" * 3_000_000 + b"\nlast"
    found = list(codec.lines(pack(data)))
    assert found == [line] * 5 + [b"y" * 3_000_000 + b"\n", b"last"]


def test_a_newline_at_the_edge_of_a_piece_ends_its_line() -> None:
    data = b"x" * ((1 << 20) - 1) + b"\n" + b"y\n"
    assert list(codec.lines(pack(data))) == [b"x" * ((1 << 20) - 1) + b"\n", b"y\n"]


def test_a_bomb_is_refused_before_it_unpacks() -> None:
    bomb = zstandard.ZstdCompressor(level=1).compress(b"\0" * (64 << 20))
    assert len(bomb) < 100_000
    total = 0
    with pytest.raises(Unreadable, match="more than"):
        for piece in codec.pieces(bomb, limit=8 << 20):
            total += len(piece)
    assert total <= 8 << 20


def test_a_window_beyond_measure_is_refused() -> None:
    wide = zstandard.ZstdCompressionParameters.from_level(3, window_log=30, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=wide)
    blob = io.BytesIO()
    with packer.stream_writer(blob, closefd=False) as out:
        out.write(b"some bytes")
    with pytest.raises(Unreadable, match="damaged"):
        codec.unpack(blob.getvalue())


@pytest.mark.parametrize("keep", [0, 1, 5, 20, -1, -4])
def test_a_cut_segment_is_refused(keep: int) -> None:
    whole = pack(b"some line\n" * 1000)
    with pytest.raises(Unreadable):
        codec.unpack(whole[:keep])


def test_every_damaged_byte_is_noticed() -> None:
    whole = pack(bytes(range(256)))
    for at in range(len(whole)):
        damaged = whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :]
        try:
            assert codec.unpack(damaged) == bytes(range(256))
        except Unreadable:
            continue


@given(st.binary())
def test_any_bytes_are_content_or_a_clear_error(blob: bytes) -> None:
    try:
        codec.unpack(blob)
    except Unreadable:
        return


def test_lines_of_a_damaged_segment_end_in_an_error() -> None:
    with pytest.raises(Unreadable):
        list(codec.lines(b"not compressed at all"))
