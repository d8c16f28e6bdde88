"""The rules as data: they compile, each finds its own, and users' mistakes are told."""

from __future__ import annotations

import builtins
import re
from typing import Any

import pytest

from gitsession.capture.redact import RedactionFailed, Redactor
from gitsession.capture.rules import (
    BUILTIN,
    RuleSet,
    compile_rules,
    parse_rules,
    ruleset_from,
)
from gitsession.errors import Exit, Usage

DEFAULT = Redactor(ruleset_from([], [], None))

UP = "Q7ZK2M9XW4RT8LB3"
LOW = "q7zk2m9xw4rt8lb3"
MIX = "q7ZK2m9XW4rt8Lb3"
HEX = "0f9d3b7a51c8e264"

# in pieces, so that no scanner of secrets takes this file for a leak
EXAMPLES: list[tuple[str, str, str]] = [
    ("private-key", "", "-----BEGIN RSA " + "PRIVATE KEY-----\n" + MIX * 4 + "\n-----END RSA "
     + "PRIVATE KEY-----"),
    ("private-key-base64", "client-key-data: ", "LS0tLS1CRUdJTi" + "BSU0EgUFJJVkFURS" + MIX * 4),
    ("url-password", "postgres://app:", "s3c" + "r3t-9"),
    ("url-token", "https://", MIX + MIX + "@"),
    ("authorization", "Authorization: Basic ", "dXNlcjpw" + "YXNzd29yZA=="),
    ("bearer-token", "used Bearer ", MIX + MIX),
    ("curl-user", "curl -u bob:", "hun" + "ter2x"),
    ("sshpass", "sshpass -p ", "hun" + "ter2x"),
    ("xml-password", "<password>", "hun" + "ter2x</password>"),
    ("docker-auth", '"auth": "', "dXNlcjpw" + 'YXNzd29yZA=="'),
    ("aws-secret-key", "aws_secret_access_key = ", MIX + MIX + "K7MD/bPx"),
    ("azure-storage-key", "AccountKey=", MIX * 5 + "bPxRfi=="),
    ("azure-shared-key", "SharedAccessKey=", MIX * 2 + "K7MDENGbPxR="),
    ("azure-sas", "https://x.example/c?sv=1&sig=", MIX * 2 + "K7MDENGbPxRf%3D"),
    ("slack-webhook", "https://hooks.slack.com/services/", f"T{UP[:8]}/B{UP[:8]}/{MIX}{LOW[:8]}"),
    ("discord-webhook", "https://discord.com/api/webhooks/123456789/", MIX * 4),
    ("teams-webhook", "https://x.webhook.office.com/webhookb2/", f"{HEX * 2}@{HEX * 2}/y"),
    ("jwt", "", f"eyJ{MIX}.eyJ{MIX}.{MIX * 2}"),
    ("jwe", "", f"eyJ{MIX}.{MIX}.{MIX}.{MIX}.{MIX}"),
    ("anthropic-api-key", "", "sk-" + "ant-api03-" + MIX * 5),
    ("openrouter-api-key", "", "sk-" + "or-v1-" + HEX * 4),
    ("openai-api-key", "", "sk-" + "proj-" + MIX * 3),
    ("openai-api-key", "", "sk-" + MIX * 3),
    ("openai-api-key", "", "sk-" + MIX + "T3Blbk" + "FJ" + MIX),
    ("aws-access-key", "", "AKI" + "A" + UP),
    ("aws-session-token", "AWS_SESSION_TOKEN=", "IQoJb3Jp" + "Z2luX2Vj" + MIX * 60),
    ("aws-bedrock-key", "", "AB" + "SK" + MIX * 7),
    ("gcp-api-key", "", "AI" + "za" + MIX * 2 + "K7M"),
    ("gcp-oauth-secret", "", "GOC" + "SPX-" + MIX * 2),
    ("gcp-oauth-token", "", "ya" + "29." + MIX * 2),
    ("github-token", "", "gh" + "p_" + MIX * 2 + "K7MD"),
    ("github-fine-grained-token", "", "github" + "_pat_" + MIX * 5),
    ("gitlab-token", "", "gl" + "pat-" + MIX + "K7MD"),
    ("gitlab-runner-token", "", "GR13" + "48941" + MIX + "K7MD"),
    ("bitbucket-token", "", "AT" + "BB" + MIX * 2),
    ("atlassian-token", "", "AT" + "ATT3" + MIX * 4),
    ("slack-token", "", "xo" + "xb-123456789012-" + MIX),
    ("stripe-key", "", "sk" + "_live_" + MIX),
    ("webhook-secret", "", "whs" + "ec_" + MIX * 2),
    ("npm-token", "", "np" + "m_" + MIX * 2 + "K7MD"),
    ("pypi-token", "", "py" + "pi-AgEIcHlwaS5vcmc" + MIX * 3),
    ("rubygems-key", "", "ruby" + "gems_" + HEX * 3),
    ("docker-token", "", "dckr" + "_pat_" + MIX * 2),
    ("huggingface-token", "", "h" + "f_" + MIX * 2),
    ("groq-api-key", "", "gs" + "k_" + MIX * 3),
    ("xai-api-key", "", "xa" + "i-" + MIX * 4),
    ("perplexity-api-key", "", "pp" + "lx-" + MIX * 3),
    ("replicate-token", "", "r" + "8_" + MIX * 2 + "K7MDE"),
    ("nvidia-api-key", "", "nv" + "api-" + MIX * 4),
    ("langsmith-key", "", "lsv2" + "_pt_" + HEX * 2 + "_" + HEX[:10]),
    ("tavily-key", "", "tv" + "ly-" + MIX * 2),
    ("sendgrid-key", "", "S" + "G." + MIX + "K7MDEN." + MIX * 2 + "K7MDENGbPxR"),
    ("twilio-key", "", "S" + "K" + HEX * 2),
    ("mailgun-key", "", "ke" + "y-" + HEX * 2),
    ("mailchimp-key", "", HEX * 2 + "-us" + "12"),
    ("brevo-key", "", "xkey" + "sib-" + HEX * 4 + "-" + MIX),
    ("azure-ad-secret", "", "a~b" + "8Q~" + MIX * 2),
    ("azure-api-key", "", MIX * 3 + "K7MD" + "JQQJ" + "99" + MIX + "K7MDENGbPx"),
    ("digitalocean-token", "", "do" + "p_v1_" + HEX * 4),
    ("heroku-key", "", "HR" + "KU-" + MIX * 4),
    ("shopify-token", "", "sh" + "pat_" + HEX * 2),
    ("square-token", "", "sq" + "0atp-" + MIX + "K7MDEN"),
    ("linear-key", "", "lin" + "_api_" + MIX * 2 + "K7MDENGb"),
    ("notion-token", "", "nt" + "n_" + MIX * 3),
    ("figma-token", "", "fi" + "gd_" + MIX * 3),
    ("airtable-token", "", "pa" + "t" + MIX[:14] + "." + HEX * 4),
    ("databricks-token", "", "da" + "pi" + HEX * 2),
    ("doppler-token", "", "dp" + ".pt." + MIX * 3),
    ("vault-token", "", "hv" + "s." + MIX * 2),
    ("terraform-token", "", MIX[:14] + ".atlas" + "v1." + MIX * 4),
    ("pulumi-token", "", "pu" + "l-" + HEX * 2 + HEX[:8]),
    ("grafana-token", "", "gl" + "sa_" + MIX * 2 + "_" + HEX[:8]),
    ("new-relic-key", "", "NR" + "AK-" + UP + UP),
    ("sentry-token", "", "snt" + "rys_" + MIX * 3),
    ("dynatrace-token", "", "dt" + "0c01." + UP + UP[:8] + "." + UP * 4),
    ("planetscale-token", "", "psc" + "ale_pw_" + MIX * 3),
    ("supabase-key", "", "sb" + "p_" + HEX * 2 + HEX[:8]),
    ("postman-key", "", "PM" + "AK-" + HEX + HEX[:8] + "-" + HEX * 2 + HEX[:2]),
    ("telegram-token", "bot ", "1234567890:A" + "A" + MIX * 2 + "K"),
    ("netlify-token", "", "nf" + "p_" + MIX * 2 + "K7MDEN"),
    ("fly-token", "", "fo" + "1_" + MIX * 3),
    ("tailscale-key", "", "ts" + "key-auth-" + MIX + "-" + MIX),
    ("1password-token", "", "op" + "s_eyJ" + MIX * 4),
    ("age-key", "", "AGE-SEC" + "RET-KEY-1" + UP * 3 + UP[:10]),
    ("assigned-secret", "DB_PASSWORD=", "cor" + "recthorse9"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "before", "secret"), EXAMPLES)
def test_each_rule_finds_its_own(rule: str, before: str, secret: str) -> None:
    if rule == "url-password":
        secret += "@db.internal/x"
    done = DEFAULT.redact_lines((before + secret).encode())
    assert set(done.found) == {rule}
    assert re.sub(r"[@<\"].*", "", secret).encode().splitlines()[0] not in done.data
    assert done.data.startswith(before.encode() + b"[REDACTED:" + rule.encode())


def test_every_rule_has_an_example() -> None:
    assert {rule.name for rule in BUILTIN} == {name for name, _, _ in EXAMPLES}


def test_the_builtin_patterns_hold_for_both_engines() -> None:
    for rule in BUILTIN:
        re.compile(rule.pattern.encode())
        assert re.fullmatch(r"[a-z0-9-]{1,40}", rule.name)
    assert compile_rules(RuleSet(rules=BUILTIN)).finder.programsize < 6000


def test_a_file_of_rules() -> None:
    text = "\ufeff# ours\n\nticket  ACME-[0-9]{6}\nallow ^hunter2$\n"
    rules = parse_rules(text, origin="f")
    assert [(r.name, r.pattern, r.custom) for r in rules.rules] == [
        ("ticket", "ACME-[0-9]{6}", True)
    ]
    assert rules.allow == ("^hunter2$",)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("ticket", "missing"),
        ("allow", "missing"),
        ("Ticket x", "can't name"),
        ("a]b x", "can't name"),
        ("ticket [", "not a regular expression"),
        ("ticket (?=x)y", "not a regular expression"),
        ("ticket (?P<x>y)", "names"),
        ("ticket x*", "everywhere"),
        ("allow .+", "every secret"),
        ("allow [a-z]", "every secret"),
    ],
)
def test_a_bad_line_is_named(line: str, says: str) -> None:
    with pytest.raises(Usage) as failed:
        parse_rules(f"# a comment\n{line}\n", origin=".gitsession-redact")
    assert failed.value.message.startswith(".gitsession-redact:2: ")
    assert says in failed.value.message
    assert failed.value.hint


def test_a_bad_setting_is_named() -> None:
    with pytest.raises(Usage, match=r"session\.redactRule"):
        ruleset_from(["x ("], [], None)
    with pytest.raises(Usage, match=r"session\.redactAllow"):
        ruleset_from([], ["("], None)


def test_the_users_rules_come_first() -> None:
    ours = Redactor(
        ruleset_from(["our-token gh" + "p_[A-Za-z0-9]+"], [], "ticket (?i)acme-([0-9]+)")
    )
    done = ours.redact_lines(b"see Acme-123456 and gh" + b"p_" + MIX.encode() * 3)
    assert done.data == b"see Acme-[REDACTED:ticket] and [REDACTED:our-token]"


def test_exceptions_stay() -> None:
    text = b"password=hun" + b"ter2x! and AKI" + b"A" + UP.encode()
    assert DEFAULT.redact_lines(text).found == {"assigned-secret": 1, "aws-access-key": 1}
    lenient = Redactor(ruleset_from([], ["^password=hunter2"], f"allow {UP}$"))
    assert lenient.redact_lines(text).data is text


def test_without_re2_nothing_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def broken(name: str, *args: Any, **more: Any) -> Any:
        if name == "re2":
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(RedactionFailed) as failed:
        Redactor(RuleSet(rules=BUILTIN))
    assert failed.value.exit_code is Exit.FAILED
    assert failed.value.hint
    with pytest.raises(RedactionFailed):
        ruleset_from(["x y"], [], None)


def test_a_match_does_not_run_through_a_picture() -> None:
    picture = b'"data":"' + (b"AB" + b"SK" + b"q7ZK2m9XW4rt8Lb3" * 1000) * 3 + b'"'
    finder = compile_rules(ruleset_from([], [], None)).finder
    found = finder.search(picture)
    assert found.end() - found.start() < 100
    assert DEFAULT.redact_lines(picture).data is picture
