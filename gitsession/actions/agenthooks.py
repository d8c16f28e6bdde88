"""The agent's own settings: our hooks in them, and nothing else of them changed.

An entry is ours when its command names our shim. The command is one line of sh
that asks git where the shim is, so that the same line serves a shared file: in a
clone without the shim, or without git session, it ends silently with 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitsession.actions import jsontext
from gitsession.actions.jsontext import Node
from gitsession.actions.site import HOOKS_FOLDER
from gitsession.agents.base import HookEntry
from gitsession.errors import NotFound, Unreadable

MARK = f"{HOOKS_FOLDER}/agent"
FILES = {"claude-code": (".claude/settings.local.json", ".claude/settings.json")}
"""The agent's settings in a work tree: the user's own, and the team's."""


def file_name(agent: str, *, shared: bool) -> str:
    """The settings file that our hooks belong in, relative to the work tree."""
    if agent not in FILES:
        raise NotFound("agent with settings", agent, candidates=tuple(FILES))
    return FILES[agent][1 if shared else 0]


def command_line(agent: str, word: str) -> str:
    """What the agent runs: our shim, from wherever the session has wandered to."""
    return (
        'cd "${CLAUDE_PROJECT_DIR:-.}" 2>/dev/null; '
        "d=$(git rev-parse --git-common-dir 2>/dev/null) && "
        f'[ -x "$d/{MARK}" ] && exec "$d/{MARK}" {agent} {word}; exit 0'
    )


def add(text: str, hooks: Sequence[HookEntry], agent: str) -> str:
    """The settings with exactly our entries; the same text when they are there already."""
    text = text if text.strip() else "{}\n"
    _check(text)
    wanted = {entry.event: entry for entry in hooks}
    for event in sorted({event for event, *_ in _ours(text)} - set(wanted)):
        text = _remove(text, event)
    for event, entry in wanted.items():
        command = command_line(agent, entry.word)
        if _found(text, event) == [(command, entry.matcher)]:
            continue
        hook = {"type": "command", "command": command, "timeout": entry.timeout}
        group = {"matcher": entry.matcher} if entry.matcher else {}
        text = _append(_remove(text, event), event, {**group, "hooks": [hook]})
    return text


def take_out(text: str) -> str:
    """The settings without our entries, and without what is empty for want of them."""
    _check(text)
    return _remove(text, None)


def missing(text: str, hooks: Sequence[HookEntry], agent: str) -> list[str]:
    """The events that our shim is not told of."""
    _check(text)
    return [
        entry.event
        for entry in hooks
        if (command_line(agent, entry.word), entry.matcher) not in _found(text, entry.event)
    ]


def _check(text: str) -> None:
    """Refuse what we could only guess at."""
    hint = "mend the file and try again; nothing was changed"
    try:
        root = jsontext.parse(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the agent's settings are not valid JSON: {error}", hint=hint) from None
    hooks = root.member("hooks")
    if root.kind != "object" or (hooks is not None and hooks.kind != "object"):
        raise Unreadable("the agent's settings are not an object with hooks in it", hint=hint)
    for node in (root, hooks) if hooks else ():
        if len(set(node.keys)) < len(node.keys):
            raise Unreadable("the agent's settings say the same thing twice", hint=hint)
    for event, groups in zip(hooks.keys, hooks.children, strict=True) if hooks else ():
        if groups.kind != "array":
            raise Unreadable(f"the hooks of '{event}' in the settings are not a list", hint=hint)


def _ours(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Our entries: the event, the group's place, the place in the group, the command."""
    hooks = jsontext.parse(text).member("hooks")
    for event, groups in zip(hooks.keys, hooks.children, strict=True) if hooks else ():
        for at, group in enumerate(groups.children):
            entries = group.member("hooks") if group.kind == "object" else None
            for place, entry in enumerate(entries.children if entries else ()):
                found = entry.member("command") if entry.kind == "object" else None
                command = jsontext.value(text, found) if found else None
                if isinstance(command, str) and MARK in command:
                    yield event, at, place, command


def _found(text: str, event: str) -> list[tuple[str, str]]:
    """Our entries under an event: the command, and the tools that it is for."""
    hooks = jsontext.parse(text).member("hooks")
    groups = hooks.member(event) if hooks else None
    found = []
    for name, at, _, command in _ours(text):
        if name == event and groups is not None:
            told = groups.children[at].member("matcher")
            matcher = jsontext.value(text, told) if told else ""
            found.append((command, matcher if isinstance(matcher, str) else ""))
    return found


def _remove(text: str, event: str | None) -> str:
    """Take out our entries under an event, or under all of them."""
    while True:
        found = next((ours for ours in _ours(text) if event in (None, ours[0])), None)
        if found is None:
            return text
        name, at, place, _ = found
        root = jsontext.parse(text)
        hooks = _get(root, "hooks")
        groups = _get(hooks, name)
        entries = _get(groups.children[at], "hooks")
        if len(entries.children) > 1:
            text = jsontext.remove(text, entries, place)
        elif len(groups.children) > 1:
            text = jsontext.remove(text, groups, at)
        elif len(hooks.children) > 1:
            text = jsontext.remove(text, hooks, hooks.keys.index(name))
        else:
            text = jsontext.remove(text, root, root.keys.index("hooks"))


def _append(text: str, event: str, group: object) -> str:
    root = jsontext.parse(text)
    hooks = root.member("hooks")
    if hooks is None:
        return jsontext.insert(text, root, {event: [group]}, "hooks")
    groups = hooks.member(event)
    if groups is None:
        return jsontext.insert(text, hooks, [group], event)
    return jsontext.insert(text, groups, group)


def _get(node: Node, key: str) -> Node:
    found = node.member(key)
    assert found is not None
    return found
