"""Compression, bounded on the way back: a blob may come from anybody."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import BinaryIO, cast

import zstandard

from gitsession.errors import Unreadable

LEVEL = 9
"""8.4 times at 110 MB/s on real sessions; 19 gives 5 % more at a twentieth of the speed."""
SMALL = 256 << 10
"""Bytes that are held, and compressed at once: most of what a commit brings."""
SMALL_LEVEL = 15
"""4 % less than LEVEL for 13 MB/s: 20 ms at most, which no one waits for. See ADR 8."""
MAX_SEGMENT = 4 << 30
"""No segment unpacks to more; a blob that claims to is refused."""
_PIECE = 1 << 20
_LINE = 64 << 20
_RATIO = 1000
"""A line may be larger, but then its blob can't be so small."""


class Writer:
    """Compresses into a file; how hard depends on how much it turns out to be."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held: list[bytes] = []
        self._size = 0
        self._stream: zstandard.ZstdCompressionWriter | None = None

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        # What was cut short must not look whole.
        if kind is None:
            self.close()

    def write(self, data: bytes) -> None:
        """Take some more bytes."""
        self._size += len(data)
        self._held.append(data)
        if self._size > SMALL:
            self._pass_on()

    def _pass_on(self) -> None:
        if self._stream is None:
            compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
            self._stream = compressor.stream_writer(self._file, closefd=False)
        for data in self._held:
            self._stream.write(data)
        self._held.clear()

    def close(self) -> None:
        """Write what is left; the file stays open."""
        if self._stream is None:
            self._file.write(pack(b"".join(self._held)))
        else:
            self._stream.flush(zstandard.FLUSH_FRAME)


def writer(file: BinaryIO) -> Writer:
    """A stream that compresses into a file."""
    return Writer(file)


def pack(data: bytes) -> bytes:
    """Compress what is small enough to be held."""
    level = SMALL_LEVEL if len(data) <= SMALL else LEVEL
    return zstandard.ZstdCompressor(level=level, write_checksum=True).compress(data)


class _Source:
    """Gives a blob to the decompressor, and notices when that isn't enough for it."""

    def __init__(self, blob: bytes) -> None:
        self._blob = memoryview(blob)
        self.at = 0
        self.starved = False

    def read(self, size: int) -> bytes:
        piece = bytes(self._blob[self.at : self.at + size])
        self.starved = not piece
        self.at += len(piece)
        return piece


def pieces(blob: bytes, *, limit: int = MAX_SEGMENT) -> Iterator[bytes]:
    """What a blob unpacks to, piece by piece."""
    total = 0
    source = _Source(blob)
    try:
        for piece in zstandard.ZstdDecompressor(max_window_size=1 << 27).read_to_iter(
            cast(BinaryIO, source), write_size=_PIECE
        ):
            total += len(piece)
            if total > limit:
                raise Unreadable(f"a stored segment unpacks to more than {limit} bytes")
            yield piece
    except zstandard.ZstdError as error:
        raise Unreadable(f"a stored segment is damaged: {error}") from None
    if source.starved:
        raise Unreadable("a stored segment is damaged: its end is missing")


def unpack(blob: bytes, *, limit: int = MAX_SEGMENT) -> bytes:
    """What a blob unpacks to."""
    return b"".join(pieces(blob, limit=limit))


def lines(blob: bytes, *, limit: int = MAX_SEGMENT) -> Iterator[bytes]:
    """The lines in a blob, each with its newline if it has one."""
    rest: list[bytes] = []
    held = 0
    for piece in pieces(blob, limit=limit):
        if b"\n" not in piece:
            rest.append(piece)
            held += len(piece)
            if held > max(_LINE, _RATIO * len(blob)):
                raise Unreadable("a stored segment is one endless line")
            continue
        held = 0
        *whole, last = (b"".join(rest) + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
        rest = [last] if last else []
    if rest:
        yield b"".join(rest)
