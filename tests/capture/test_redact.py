"""Redaction: what must go, what must stay, and that lines remain what they were."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsession.actions.redact import check, redactor_for
from gitsession.capture.redact import Redactor
from gitsession.capture.rules import ruleset_from
from gitsession.commands.redact import command
from gitsession.errors import Exit, SessionError, Usage
from tests.scratch import Scratch

PLAIN = Redactor(ruleset_from([], [], None))
GREEDY = Redactor(
    ruleset_from(
        ["digits [0-9]{6,}", "acme acme.*corp", 'odd ["\\\\]+[a-z]+', "u u[0-9a-f]{2}"], [], None
    )
)
MILD = Redactor(
    ruleset_from(["digits [0-9]{6,}", "long [A-Za-z0-9+/=]{80,}", "acme acme"], [], None)
)
TOKEN = "gh" + "p_" + "q7ZK2m9XW4rt8Lb3" * 3
KEY = "AKI" + "A" + "Q7ZK2M9XW4RT8LB3"
PASS = "hunt" + "er2!"
PEM = "\n".join(
    ["-----BEGIN RSA " + "PRIVATE KEY-----",
     *["MIIEpAIBAAKCAQEAq7ZK2m9XW4rt8Lb3+/aa" + "bc" * 14] * 3,
     "Q7ZK2M9XW4RT8LB3==", "-----END RSA " + "PRIVATE KEY-----"]
)  # fmt: skip


def nested(text: str, levels: int) -> str:
    """A text within so many layers of JSON."""
    for _ in range(levels):
        text = json.dumps({"text": text})
    return text


def shape(value: Any) -> Any:
    """A JSON value without its strings' contents."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value) if isinstance(value, str) else value


GONE = [
    ("password=" + PASS, PASS),
    ("password=hunt" + "er2", "hunt" + "er2"),
    ("DB_PASSWORD=correct" + "horse", "correct" + "horse"),
    ("  password: s3c" + "r3t!x # dev", "s3c" + "r3t!x"),
    ('{"password": "Tr0ub' + '4dor&3"}', "Tr0ub" + "4dor"),
    ('password="MyPass' + 'word123!"', "word123"),
    ("FOO_TOKEN=abcd" + "1234efgh", "abcd" + "1234"),
    ("export API_KEY=5f4dcc3b5aa7" + "65d61d8327deb882cf99", "65d61d83"),
    ("Authorization: Bearer abc123" + "def456ghi789", "def456"),
    ('"Authorization": "Bearer abc123' + 'def456ghi789"', "def456"),
    ("postgres://app:s3c" + "r3t@db/x", "s3c" + "r3t"),
    ("redis://:q8Zk" + "2m9X@h:6379", "q8Zk" + "2m9X"),
    ("Server=x;Password=Abc" + "123$x;Encrypt=yes", "123$x"),
    ("config['password'] = 'Sup3r" + "S3cret'", "S3cret"),
    ('setPassword("Sup3r' + 'S3cret")', "S3cret"),
    ("mysql --password " + PASS, PASS),
    ("ALTER ROLE x PASSWORD 'Abc" + "12345';", "12345"),
    ("machine a login b password " + PASS, PASS),
    ('const password: string = "Sup3r' + 'S3cret";', "S3cret"),
    ('os.environ["API_TOKEN"] = "xoq8' + '812jsdkd"', "812jsdkd"),
    ("password: 'it\\'s9" + "Secret'", "9" + "Secret"),
    ("\x1b[31m" + TOKEN + "\x1b[0m", TOKEN),
    ("first\n" + TOKEN + "\nlast", TOKEN),
    ("+" + KEY, KEY),
    ("a%3D" + TOKEN, TOKEN),
    ("TOKEN=" + TOKEN, TOKEN),
    (PEM, "MIIEpAIB"),
    (PEM.replace("\n", "\\n"), "MIIEpAIB"),
    (PEM[:200], "MIIEpAIB"),
    ("".join(f"{i:6}\u2192{line}\n" for i, line in enumerate(PEM.splitlines())), "MIIEpAIB"),
]


@pytest.mark.parametrize("levels", [0, 1, 2, 3])
@pytest.mark.parametrize(("text", "secret"), GONE)
def test_a_secret_is_gone(text: str, secret: str, levels: int) -> None:
    line = nested(text, levels).encode()
    done = PLAIN.redact_lines(line)
    assert secret.encode() not in done.data
    assert sum(done.found.values()) == 1
    assert done.data.count(b"\n") == line.count(b"\n")
    if levels:
        inner = json.loads(done.data)
        for _ in range(levels - 1):
            inner = json.loads(inner["text"])
        assert "[REDACTED:" in inner["text"]
    assert PLAIN.redact_lines(done.data).data is done.data


STAYS = [
    "password=None", "password: str", 'token = os.environ["TOKEN_12"]', "password=${PASSWORD}",
    "password=$PASSWORD", "password=$(pass show x1)", "<password>", "password=********",
    "password=changeme", "password: changeme123", "password = get_password()",
    'password = getpass.getpass("x1: ")', 'def f(password: str = "", token: str | None = None):',
    '"password": "string"', '"password": "Enter your password"', '"token": "keyword.operator"',
    '"input_tokens": 12345678', '"max_tokens":4096', "token: 12345678", "token=self.token2",
    "password: { type: String, required: true }", "const token = await getToken2(user1);",
    "let password = req.body.password;", "secret: my-app-secret", "apiKey: process.env.API_KEY",
    "api_key=YOUR_API_KEY", "API_KEY=<your-api-key-1>", 'password = "{{ vault_pw1 }}"',
    "--- PASS: TestFoo/case#01 (0.00s)", "PASSWORD=/run/secrets/db_password1", "PWD=/srv/app2/x",
    "secret: arn:aws:secretsmanager:eu:123:secret:x1", 'next_token="AAAAbbbb1234cccc"',
    "https://example.com:8080/a@b", "git@github.com:a/b.git", "postgres://user:password@host/db",
    "amqp://guest:guest@mq", "Unexpected token: }1234", "token: 3.14159265",
    "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad", "index 0123abc..4567def 100644",
    '"uuid":"6f1c7a52-0c8e-4f0e-9d0b-0b6f3c9a7e11"', '"id":"toolu_01A09q90qw90lq917835lq9"',
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    '"integrity": "sha512-' + "q7ZK2m9XW4rt8Lb3" * 5 + 'abcdef=="',
    "src/components/auth/PasswordField.test.tsx", "task-list-of-all-the-things-to-be-done-today",
    "-----BEGIN PRIVATE KEY----- begins a key", "docker run -u 1000:1000 x", "bypass=abc123def",
    "x" + KEY, KEY + "X", "[REDACTED:github-token]", "password=[REDACTED:assigned-secret]",
]  # fmt: skip


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize("text", STAYS)
def test_what_is_no_secret_stays(text: str, levels: int) -> None:
    line = nested(text, levels).encode()
    assert PLAIN.redact_lines(line).data is line


def test_a_transcripts_own_fields_survive() -> None:
    blob = base64.b64encode(bytes(range(256)) * 40).decode()
    fields = {
        "uuid": "6f1c7a52-0c8e-4f0e-9d0b-0b6f3c9a7e11", "parentUuid": None, "requestId": "req_0112",
        "sessionId": "123456789012", "timestamp": "2026-01-02T03:04:05.678Z",
        "message": {"id": "msg_01123456789", "content": [
            {"type": "thinking", "thinking": "hm", "signature": blob},
            {"type": "tool_use", "id": "toolu_01123456789", "input": {"n": "1234567"}},
            {"type": "image", "source": {"type": "base64", "data": blob}},
        ]},
    }  # fmt: skip
    line = json.dumps(fields).encode()
    assert PLAIN.redact_lines(line).data is line
    done = MILD.redact_lines(line)
    fields["message"]["content"][1]["input"]["n"] = "[REDACTED:digits]"  # type: ignore[index]
    assert json.loads(done.data) == fields


def test_lines_that_changed_are_named() -> None:
    chunk = f"one\n{TOKEN}\nthree\n{KEY} {TOKEN}".encode()
    done = PLAIN.redact_lines(chunk)
    assert done.changed == (1, 3)
    assert done.found == {"github-token": 2, "aws-access-key": 1}
    assert done.data.endswith(b"three\n[REDACTED:aws-access-key] [REDACTED:github-token]")


def test_the_name_says_what_it_was() -> None:
    assert PLAIN.redact_lines(b"MY_TOKEN=" + TOKEN.encode()).found == {"github-token": 1}


def test_a_key_over_several_raw_lines_keeps_their_number() -> None:
    text = f"before\n{PEM}\nafter\n".encode()
    for done in (PLAIN.redact_lines(text), PLAIN.redact_text(text)):
        assert done.data.count(b"\n") == text.count(b"\n")
        assert done.changed == (1, 2, 3, 4, 5, 6)
        assert b"MII" not in done.data and done.data.endswith(b"\nafter\n")


def test_a_key_as_a_list_of_strings() -> None:
    line = json.dumps(PEM.splitlines()).encode()
    done = PLAIN.redact_lines(line)
    assert b"MII" not in done.data and b"Q7ZK" not in done.data
    assert len(json.loads(done.data)) == len(PEM.splitlines())


def test_a_string_that_ends_after_the_name_is_none() -> None:
    line = b'["password=", 12345678, "token: ", 1.5, "x"]'
    assert PLAIN.redact_lines(line).data is line


def test_a_pretty_printed_value_stays_valid() -> None:
    text = json.dumps(
        {"acme": "x", "b": ["acme 1", f"{KEY} corp"], "n": 1234567}, indent=1
    ).encode()
    done = MILD.redact_text(text)
    assert shape(json.loads(done.data)) == shape(json.loads(text))
    assert done.changed == (3, 4)


# -- properties ---------------------------------------------------------------------------

SECRETS = st.sampled_from(
    [TOKEN, KEY, f"password={PASS}", f'"password": "{PASS}9"', PEM, PEM[:150], "\\", '"', "\n",
     "https://u:q8Zk2m9X@h/", "acme 12345678 corp", "é😀"]
)  # fmt: skip
TEXTS = st.lists(st.one_of(st.text(max_size=12), SECRETS), max_size=5).map(" ".join)
VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), TEXTS, TEXTS.map(lambda t: json.dumps({"k": t}))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip


@given(VALUES, st.booleans(), st.sampled_from([PLAIN, GREEDY]))
@settings(max_examples=150, deadline=None)
def test_json_keeps_its_shape(value: Any, ascii_only: bool, redactor: Redactor) -> None:
    line = json.dumps({"v": value}, ensure_ascii=ascii_only).encode()
    done = redactor.redact_lines(line)
    assert shape(json.loads(done.data)) == shape({"v": value})
    assert redactor.redact_lines(done.data).data is done.data
    assert bool(done.changed) == (done.data != line)


@given(
    st.lists(st.one_of(st.binary(max_size=20), SECRETS.map(str.encode)), max_size=8).map(b"".join),
    st.sampled_from([PLAIN, GREEDY]),
)
@settings(max_examples=200, deadline=None)
def test_any_bytes_keep_their_lines(data: bytes, redactor: Redactor) -> None:
    for redact in (redactor.redact_lines, redactor.redact_text):
        done = redact(data)
        before, after = data.split(b"\n"), done.data.split(b"\n")
        assert len(before) == len(after)
        assert done.changed == tuple(
            i for i, (b, a) in enumerate(zip(before, after, strict=True)) if b != a
        )
        assert redact(done.data).data == done.data
        if not done.changed:
            assert done.data is data


@given(TEXTS, TEXTS, st.integers(0, 3), st.sampled_from([TOKEN, KEY]))
@settings(max_examples=100, deadline=None)
def test_a_planted_secret_is_gone(before: str, after: str, levels: int, secret: str) -> None:
    line = nested(f"{before} {secret} {after}", levels).encode()
    assert secret.encode() not in PLAIN.redact_lines(line).data


# -- checking files -----------------------------------------------------------------------


def test_check_tells_where_and_not_what(tmp_path: Path) -> None:
    file = tmp_path / "a\x1b[31m.log"
    file.write_bytes(b"one\n" + f"x \x1b[1m{TOKEN} {KEY}\n".encode() + PEM.encode())
    found = check([str(file)], PLAIN)
    assert [(f.line, f.rule) for f in found] == [
        (2, "github-token"), (2, "aws-access-key"), (3, "private-key"),
    ]  # fmt: skip
    assert "\x1b" not in found[0].path + found[0].excerpt
    assert found[0].excerpt == "x ghp_…"
    assert "ghp" not in found[1].excerpt and KEY[4:8] not in found[1].excerpt


def test_check_reads_standard_input() -> None:
    found = check(["-"], PLAIN, stdin=io.BytesIO(TOKEN.encode()))
    assert [(f.path, f.line) for f in found] == [("-", 1)]


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="can't read") as failed:
        check([str(tmp_path / "no")], PLAIN)
    assert failed.value.hint


def test_the_command(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scratch.path)
    scratch.write("a.txt", f"password={PASS}\nACME-123456\n")
    scratch.write("b.txt", "nothing\n")
    done = CliRunner().invoke(command, ["--check", "a.txt", "b.txt"])
    assert done.exit_code == Exit.FINDINGS
    assert done.stdout == "a.txt:1: assigned-secret: password=hu…\n"
    assert done.stderr == "1 found in 1 of 2 files\n"
    scratch.write(".gitsession-redact", "ticket ACME-[0-9]+\nallow ^password=hunter2\n")
    done = CliRunner().invoke(command, ["--check", "--json", "a.txt"])
    assert [(f["line"], f["rule"]) for f in json.loads(done.stdout)] == [(2, "ticket")]
    done = CliRunner().invoke(command, ["--check", "-"], input="nothing")
    assert (done.exit_code, done.stdout) == (0, "")
    assert isinstance(CliRunner().invoke(command, []).exception, Usage)


def test_the_redactor_of_a_place(scratch: Scratch, tmp_path: Path) -> None:
    scratch.git("config", "--add", "session.redactRule", "ticket ACME-[0-9]+")
    scratch.git("config", "--add", "session.redactRule", "badge BADGE-[0-9]+")
    scratch.git("config", "session.redactFile", "rules")
    scratch.write("rules", "room ROOM-[0-9]+\n")
    scratch.write("sub/x", "")
    done = redactor_for(scratch.path / "sub").redact_lines(b"ACME-1 BADGE-2 ROOM-3")
    assert set(done.found) == {"ticket", "badge", "room"}
    outside = redactor_for(tmp_path).redact_lines(b"ACME-1 " + TOKEN.encode())
    assert set(outside.found) == {"github-token"}
