"""What every capture needs at hand: the repository, the settings, the rules of redaction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gitsession import config
from gitsession.actions.branch_push import push_branches
from gitsession.capture.pipeline import Pipeline
from gitsession.capture.redact import Redactor
from gitsession.capture.rules import RuleSet, ruleset_from
from gitsession.capture.worker import Worker
from gitsession.config import Settings
from gitsession.errors import SessionError
from gitsession.git.plumbing import Plumbing
from gitsession.store import folder, journal, outbox


def redactor_of(settings: Settings, top: Path | None) -> Redactor:
    """What applies the rules that hold in a work tree."""
    return Redactor(rules_of(settings, top))


def rules_of(settings: Settings, top: Path | None) -> RuleSet:
    """The rules of redaction that hold in a work tree."""
    text = None
    file = (top / settings.redact_file) if top else None
    if file is not None and file.is_file():
        text = file.read_text("utf-8", "replace")
    return ruleset_from(settings.redact_rules, settings.redact_allow, text)


def pipeline_of(repo: Plumbing, settings: Settings | None = None) -> Pipeline:
    """A pipeline into a repository; raises when the user has switched us off."""
    settings = settings or config.load(repo.common_dir)
    if not settings.enabled:
        raise SessionError(
            "git session is switched off here",
            hint="`git config session.enabled true`, and GIT_SESSION_DISABLE unset",
        )
    return Pipeline(repo, settings, redactor_of(settings, repo.work_tree or main_tree(repo)))


def main_tree(repo: Plumbing) -> Path | None:
    """The main work tree, where a repository has one."""
    top = repo.common_dir.parent
    return top if repo.common_dir.name == ".git" else None


def run_worker(common_dir: Path) -> bool:
    """Work off the spool as the hooks ask for it; says nothing."""
    if not folder.spool(common_dir).is_dir():
        return False
    settings = config.load(common_dir)
    if not settings.enabled:
        # The hooks keep this note of having asked; now they have to ask again.
        (folder.home(common_dir) / "enabled").unlink(missing_ok=True)
        return False
    try:
        done = make_worker(common_dir, final=False, settings=settings).run()
        push_branches(common_dir, settings)
        if outbox.is_marked(common_dir):
            from gitsession.actions.publish import publish

            publish(common_dir)
        return done
    except SessionError as error:
        # Nobody reads what a hook's child prints.
        journal.note(common_dir, f"worker: {error.message}")
        raise


def make_worker(common_dir: Path, *, final: bool, settings: Settings | None = None) -> Worker:
    """A worker of a repository; `final` takes what is there and waits for no call."""
    repo = Plumbing(common_dir, common_dir)
    make: Callable[[], Pipeline] = lambda: pipeline_of(repo, settings)  # noqa: E731
    return Worker(common_dir, make, lambda: mend_hooks(common_dir), final=final)


def mend_hooks(common_dir: Path) -> None:
    """Put back hooks that another tool took away."""
    from gitsession.actions.install import mend

    try:
        mend(common_dir)
    except (SessionError, OSError) as error:
        # Hooks that can't be mended are no reason to lose what the event is about.
        journal.note(common_dir, f"mend: {error}")
