"""Stories to render: one with everything in it, and one that means harm."""

from __future__ import annotations

from datetime import UTC, datetime

from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.model import (
    Agent,
    Author,
    Image,
    Message,
    Opaque,
    Parent,
    Record,
    Text,
    Thinking,
    Tokens,
    ToolCall,
    ToolResult,
    Turn,
)
from gitsession.render.log import LogEntry
from gitsession.render.timeline import Story

NOW = datetime(2026, 11, 18, 15, 0, tzinfo=UTC)
COMMIT = Oid("4f2c1a9e0b7d83562f1e4c8a9d0b3e7f6a5c2d18")
SESSION = SessionId("1eba6c0d-39b8-4063-af91-f4c3aaa32f83")
ROOT = "/home/dev/project"

DIFF = f"""--- {ROOT}/src/dates.py
+++ {ROOT}/src/dates.py
@@ -1,4 +1,6 @@
 import re

-def parse(text):
-    return re.match(PATTERN, text)
+def parse(text: str) -> Date | None:
+    found = PATTERN.match(text)
+    return Date(found[1]) if found else None
+
 # the end
"""
LONG = f"--- /dev/null\n+++ {ROOT}/docs/notes.md\n@@ -0,0 +1,40 @@\n" + "".join(
    f"+line {n}\n" for n in range(40)
)
ANSWER = """I rewrote `parse` so that it returns nothing for what is no date, instead of raising.

- the pattern is compiled once, when the module is imported, and every caller shares it afterwards
- callers check the result

```python
date = parse("2026-11-18")  # a line of code that is longer than any terminal in these tests is wide
```

日本語のテキストは空白なしで折り返されなければなりません。 👩‍💻 done."""

RECORD = Record(
    v=1,
    id=CaptureId("c" * 40),
    session=SESSION,
    seq=0,
    kind="commit",
    agent=Agent(name="claude-code", version="2.1.327"),
    captured_at="2026-11-18T13:15:02Z",
    commit=COMMIT,
    branch="main",
    author=Author(name="Dev", email="dev@example.com"),
    models=("claude-opus-5-5",),
    started_at="2026-11-18T13:00:00Z",
    ended_at="2026-11-18T13:14:12Z",
    messages=14,
    turns=2,
    tools={"Bash": 2, "Edit": 1, "Task": 1, "Write": 1},
    tokens=Tokens(input=1200, output=3456, cache_read=45_000, cache_write=300),
    files=("src/dates.py", "docs/notes.md"),
    prompt="Make the parser return nothing for what is no date",
)


def said(*blocks: Text | Thinking | ToolCall | Image | Opaque, subagent: str = "") -> Message:
    return Message(role="assistant", blocks=blocks, at="2026-11-18T13:01:00Z", subagent=subagent,
                   model="claude-opus-5-5", uuid="u2")  # fmt: skip


def gave(*results: ToolResult, subagent: str = "") -> Message:
    return Message(role="user", blocks=results, subagent=subagent)


def asked(text: str) -> Message:
    return Message(role="user", blocks=(Text(text=text),), uuid="u1", at="2026-11-18T13:00:00Z")


def calls(id: str, name: str, **given: str) -> ToolCall:
    return ToolCall(id=id, name=name, input=dict(given))


FIRST = "Make the parser return nothing for what is no date, and write down why in the notes."
SECOND = "commit it"
TURNS = (
    Turn(
        number=0,
        prompt="",
        messages=(Message(role="system", blocks=(Text(text="Resumed.\nIn another place."),)),),
    ),
    Turn(
        number=1,
        prompt=FIRST,
        uuid="u1",
        started_at="2026-11-18T13:00:00Z",
        ended_at="2026-11-18T13:12:00Z",
        messages=(
            asked(FIRST),
            said(
                Thinking(text="What raises?\nThe match.\nSo check it."),
                Text(text="Let me look."),
                calls("t1", "Read", file_path=f"{ROOT}/src/dates.py"),
                calls("t2", "Edit", file_path=f"{ROOT}/src/dates.py"),
                calls("t3", "Write", file_path=f"{ROOT}/docs/notes.md"),
            ),
            gave(ToolResult(id="t1", text="import re\n")),
            gave(ToolResult(id="t2", text="updated", diff=DIFF)),
            gave(ToolResult(id="t3", text="created", diff=LONG)),
            said(calls("t4", "Task", description="check the callers")),
            Message(role="user", blocks=(Text(text="find the callers"),), subagent="agent-a1"),
            said(calls("t5", "Grep", pattern="parse\\("), subagent="agent-a1"),
            gave(ToolResult(id="t5", text="src/main.py:3"), subagent="agent-a1"),
            said(Text(text="One caller."), subagent="agent-a1"),
            gave(ToolResult(id="t4", text="One caller.")),
            said(Text(text=ANSWER), Image(media_type="image/png", size=20_480)),
        ),
    ),
    Turn(
        number=2,
        prompt=SECOND,
        started_at="2026-11-18T13:14:00Z",
        ended_at="2026-11-18T13:14:12Z",
        messages=(
            asked(SECOND),
            said(calls("t6", "Bash", command="git commit -m 'dates: return nothing'\necho done")),
            gave(ToolResult(id="t6", failed=True, text="Exit code 1\nnothing added to commit")),
            said(calls("t7", "Bash", command="git commit -a -m 'dates: return nothing'")),
            gave(ToolResult(id="t7", text="[main 4f2c1a9] dates: return nothing")),
            said(Opaque(raw=b'{"type":"new"}'), calls("t8", "Bash", command="git push")),
        ),
    ),
)

STORY = Story(
    session=SESSION,
    agent=Agent(name="claude-code", version="2.1.327"),
    turns=TURNS,
    records=(RECORD,),
    commit=COMMIT,
    subject="dates: return nothing for what is no date",
    branch="main",
    author=Author(name="Dev", email="dev@example.com"),
    date="2026-11-18T14:15:00+01:00",
    parent=Parent(session=SessionId("09475358-c7b6-4597-a833-8ffc2e043a17"), turn=2),
    root=ROOT,
)

ENTRY = LogEntry(
    records=(RECORD,),
    commit=COMMIT,
    short="4f2c1a9",
    subject=STORY.subject,
    author=STORY.author,
    date=STORY.date,
    names=("HEAD -> main", "origin/main"),
)


def spoiled(text: str) -> Story:
    """A story in which one text is everywhere."""
    diff = f"--- {text}\n+++ {text}\n@@ -0,0 +1 @@\n+{text}"
    turn = Turn(
        number=1,
        prompt=text,
        messages=(
            asked(text),
            said(
                Text(text=text),
                Thinking(text=text),
                ToolCall(id="t", name=text, input={"command": text, text: [text]}),
                ToolCall(id="f", name="Bash", input={"command": text}),
                Opaque(raw=text.encode("utf-8", "surrogatepass")),
                Image(media_type=text),
            ),
            gave(ToolResult(id="t", text=text, diff=diff)),
            gave(ToolResult(id="f", text=text, failed=True)),
            Message(role="system", blocks=(Text(text=text),)),
            said(Text(text=text), subagent=text or "x"),
        ),
    )
    return Story(
        session=SessionId(text),
        agent=Agent(name=text, version=text),
        turns=(turn,),
        subject=text,
        branch=text,
        commit=COMMIT,
        task=text,
        author=Author(name=text, email=text),
        date=text,
        root=text,
    )


def spoiled_entry(text: str) -> LogEntry:
    """The same for the log."""
    record = Record(
        v=1, id=CaptureId(text), session=SessionId(text), seq=0, kind="checkpoint",
        agent=Agent(name=text), captured_at=text, prompt=text, files=(text,), branch=text,
    )  # fmt: skip
    return LogEntry(records=(record,), subject=text, author=Author(name=text), names=(text,))
