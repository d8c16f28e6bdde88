"""What is generated is fresh, and what is written by hand names things that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from gitsession import commands, config, failure
from gitsession.errors import Exit
from tools import generate_docs, manual, reference

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/man/git-session.1"
WRITTEN = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_generated_documents_are_fresh() -> None:
    assert generate_docs.stale() == [], "run `make docs`"


def test_every_setting_is_explained() -> None:
    source = Path(config.__file__).read_text()
    read = set(re.findall(r"\b(?:last|every)\(\"(\w+)\"", source))
    assert {f"session.{name}" for name in read} == set(reference.SETTINGS)


def test_every_exit_code_is_explained() -> None:
    assert {int(code) for code in Exit} | {failure.PIPE_CLOSED} == set(reference.EXIT_CODES)


def test_every_verb_explains_itself_and_its_options() -> None:
    for page in reference.pages():
        assert page.texts, page.name
        for option in page.options:
            assert option.help, f"{page.name} {option.spelling}"


def test_a_page_says_what_the_command_says() -> None:
    params: list[click.Parameter] = [
        click.Argument(["rev"], required=False),
        click.Option(["-n", "--max-count"], type=int, help="at most this many"),
        click.Option(["--color"], type=click.Choice(["auto", "never"]), help="when"),
        click.Option(["--push/--no-push"], help="send it"),
        click.Option(["--secret"], hidden=True),
    ]
    command = click.Command("show", params=params, help="Tell.\n\n\b\na  b\n.c\n\f\nnot this")
    page = reference.describe("show", command)
    assert page.usage == "git session show [<options>] [<rev>]"
    assert page.texts == [reference.Text("Tell."), reference.Text("a  b\n.c", verbatim=True)]
    assert page.options == [
        reference.Option("-n, --max-count <n>", "At most this many."),
        reference.Option("--color (auto|never)", "When."),
        reference.Option("--push / --no-push", "Send it."),
    ]
    roff = manual.render([page])
    assert "\n\\&.c\n" in roff
    assert "| `--color (auto\\|never)` | When. |" in generate_docs.render_markdown([page])


@pytest.mark.skipif(not shutil.which("man"), reason="no man here")
def test_the_manual_page_is_sound() -> None:
    done = subprocess.run(
        ["man", "--warnings", "-l", str(PAGE)], capture_output=True, text=True, check=False
    )
    if "option" in done.stderr:
        pytest.skip("this man has no --warnings")
    assert (done.returncode, done.stderr) == (0, "")
    for name in commands.visible():
        assert f"git session {name}" in " ".join(done.stdout.split())


@pytest.mark.parametrize("path", WRITTEN, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("name", ["Makefile", ".ci/run", "tools/set_up", "tools/get_client"])
def test_commands_of_the_readme_and_scripts_exist(name: str) -> None:
    assert (ROOT / name).exists()
    if name != "Makefile":
        subprocess.run(["bash", "-n", str(ROOT / name)], check=True)


def test_make_knows_the_targets_that_are_promised() -> None:
    text = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "check", "bench", "e2e", "golden", "docs", "clean"):
        assert re.search(rf"^{target}:", text, re.M), target


def test_the_lock_is_complete_and_names_no_registry() -> None:
    lock = (ROOT / "requirements-dev.lock").read_text()
    assert "://" not in lock
    blocks = re.split(r"\n(?=\S)", lock.strip())
    assert all("--hash=sha256:" in block for block in blocks)
