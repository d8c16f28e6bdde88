"""Lines of an agent, as a program has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

Line = dict[str, Any]


def asked(uuid: str, parent: str | None, text: str = "", **more: Any) -> Line:
    """A prompt."""
    message = {"role": "user", "content": text or f"prompt {uuid}"}
    told = {"type": "user", "uuid": uuid, "parentUuid": parent, "message": message}
    return {**told, "promptSource": "typed", **more}


def said(uuid: str, parent: str, text: str = "", **more: Any) -> Line:
    """An answer of the model."""
    message = {
        "id": f"msg-{uuid}", "role": "assistant", "model": "some-model",
        "content": [{"type": "text", "text": text or f"answer {uuid}"}],
    }  # fmt: skip
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def talk(turns: int, name: str = "u", **more: Any) -> Iterator[Line]:
    """A conversation of that many turns, two lines each: u1 to u<2n>."""
    last: str | None = None
    for number in range(1, 2 * turns, 2):
        prompt, answer = f"{name}{number}", f"{name}{number + 1}"
        yield asked(prompt, last, **more)
        yield said(answer, prompt, **more)
        last = answer


def raw(line: Line) -> bytes:
    """A line as it is kept."""
    return msgspec.json.encode(line) + b"\n"


def uuids(lines: Iterator[bytes]) -> list[str]:
    """The names of lines that were loaded."""
    return [msgspec.json.decode(line)["uuid"] for line in lines]
