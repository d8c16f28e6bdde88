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
    known = {name: value for name, value in fields.items() if name in _FIELDS}
    unknown = {name: value for name, value in fields.items() if name not in _FIELDS}
    try:
        return msgspec.convert({**known, "unknown": unknown}, Record)
    except msgspec.ValidationError:
        return Foreign(raw=line, v=version if isinstance(version, int) else None)


def decode_note(note: bytes) -> list[Record | Foreign]:
    """All lines of a note."""
    if len(note) > _MAX_NOTE:
        raise Unreadable("a note of the index is larger than 64 MB")
    return [decode(line) for line in note.split(b"\n") if line.strip()]


def encode_note(lines: Iterable[Record | Foreign]) -> bytes:
    """A note: one line each, in an order that depends on nothing but the lines."""
    keyed = {}
    for line in lines:
        raw = line.raw if isinstance(line, Foreign) else encode(line)
        at = "~" if isinstance(line, Foreign) else line.captured_at
        keyed[raw] = (at, raw)
    return b"".join(raw + b"\n" for _, raw in sorted(keyed.values()))


def merge_note(note: bytes, records: Iterable[Record]) -> bytes:
    """A note with records added; one of the same capture and commit takes the older one's place.

    Where a record was carried from is told by the index alone, and stays.
    """
    lines: list[Record | Foreign] = decode_note(note)
    for record in records:
        old = [x for x in lines if isinstance(x, Record) and _key(x) == _key(record)]
        origin = record.rewritten_from or next((x.rewritten_from for x in old), None)
        lines = [x for x in lines if isinstance(x, Foreign) or _key(x) != _key(record)]
        lines.append(msgspec.structs.replace(record, rewritten_from=origin))
    return encode_note(lines)


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
