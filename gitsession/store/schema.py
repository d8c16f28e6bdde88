"""The record's JSON Schema, made from the code that reads and writes records."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from gitsession.model import Record

TITLE = "A record of git session, version 1"


def record_schema() -> dict[str, Any]:
    """The schema; fields of a later version are allowed, as they are kept."""
    made = msgspec.json.schema(Record)
    schemas: dict[str, Any] = made["$defs"]
    record = schemas.pop("Record")
    for described in (record, *schemas.values()):
        # Python 3.13 takes the indentation out of docstrings, earlier ones leave it in.
        described["description"] = inspect.cleandoc(described.get("description", ""))
    record["properties"].pop("unknown")
    record["properties"]["v"] = {"const": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **record,
        "title": TITLE,
        "$defs": dict(sorted(schemas.items())),
    }
