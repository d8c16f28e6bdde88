"""Records as lines of canonical JSON: what a note holds, and how two notes become one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from gitsession.errors import Unreadable
from gitsession.ids import Oid
from gitsession.model import Foreign, Record

_MAX_LINE = 1 << 20
_MAX_NOTE = 64 << 20

_FIELDS = frozenset(Record.__struct_fields__) - {"unknown"}
_object = msgspec.json.Decoder(dict[str, Any])
_encoder = msgspec.json.Encoder(order="sorted")


def encode(record: Record) -> bytes:
    """A record as one line of canonical JSON, without the newline."""
    fields = msgspec.to_builtins(record)
    fields.pop("unknown", None)
    return _encoder.encode({**record.unknown, **{k: v for k, v in fields.items() if v is not None}})


def decode(line: bytes) -> Record | Foreign:
    """A record, or what can't be understood kept as it is."""
    if len(line) > _MAX_LINE:
        return Foreign(raw=line)
    try:
        fields = _object.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Foreign(raw=line)
    version = fields.get("v")
    if not fields.keys() <= _FIELDS:
        unknown = {name: value for name, value in fields.items() if name not in _FIELDS}
        fields = {name: value for name, value in fields.items() if name in _FIELDS}
        fields["unknown"] = unknown
    try:
        return msgspec.convert(fields, Record)
    except msgspec.ValidationError:
        return Foreign(raw=line, v=version if isinstance(version, int) else None)


def decode_note(note: bytes) -> list[Record | Foreign]:
    """All lines of a note."""
    if len(note) > _MAX_NOTE:
        raise Unreadable("a note of the index is larger than 64 MB")
    return [decode(line) for line in note.split(b"\n") if line.strip()]


def encode_line(line: Record | Foreign) -> bytes:
    """A line as it is kept, without the newline."""
    return line.raw if isinstance(line, Foreign) else encode(line)


def encode_lines(lines: Iterable[Record | Foreign]) -> bytes:
    """Lines in the order given, as a session keeps those of a capture."""
    return b"".join(encode_line(line) + b"\n" for line in lines)


def encode_note(lines: Iterable[Record | Foreign]) -> bytes:
    """A note: one line each, in an order that depends on nothing but the lines."""
    keyed = {}
    for line in lines:
        raw = encode_line(line)
        at = "~" if isinstance(line, Foreign) else line.captured_at
        keyed[raw] = (at, raw)
    return b"".join(raw + b"\n" for _, raw in sorted(keyed.values()))


def merge_note(note: bytes, records: Iterable[Record]) -> bytes:
    """A note with records added."""
    return encode_note(join([*decode_note(note), *records]))


def join(lines: Iterable[Record | Foreign]) -> list[Record | Foreign]:
    """Lines without repetition: one record for each capture and commit, in no order.

    The same whatever the order and the grouping: clones that have each other's
    lines have the same lines.
    """
    joined: dict[tuple[str, str | None], Record] = {}
    foreign: dict[bytes, Foreign] = {}
    for line in lines:
        if isinstance(line, Foreign):
            foreign[line.raw] = line
        else:
            other = joined.get(_key(line))
            joined[_key(line)] = line if other is None or other == line else _meet(line, other)
    return [*joined.values(), *foreign.values()]


def _meet(one: Record, other: Record) -> Record:
    """One record of two that tell of the same.

    Captures only ever move up when somebody else's come before them, so the
    higher number is the later one. Where a record was carried from is told by
    the index alone, and stays. Otherwise the one that says more is taken: any rule
    will do that looks at nothing but the two.
    """
    body = max(one, other, key=_body)
    origins = [r.rewritten_from for r in (one, other) if r.rewritten_from]
    return msgspec.structs.replace(
        body, seq=max(one.seq, other.seq), rewritten_from=min(origins, default=None)
    )


def _body(record: Record) -> tuple[int, bytes]:
    body = encode(msgspec.structs.replace(record, seq=0, rewritten_from=None))
    return len(body), body


def _key(record: Record) -> tuple[str, str | None]:
    """What a note holds one record of."""
    return record.id, record.commit


def carry(record: Record, *, old: Oid, new: Oid) -> Record:
    """The record of a commit that was rewritten, as the new commit has it."""
    return msgspec.structs.replace(record, commit=new, rewritten_from=old)


def readable(lines: Iterable[Record | Foreign]) -> list[Record]:
    """Only what this version understands, oldest first."""
    records = [x for x in lines if isinstance(x, Record)]
    return sorted(records, key=lambda r: (r.captured_at, r.seq))
