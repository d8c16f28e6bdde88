"""Takes in what the user's own `git fetch` brought, when somebody next looks."""

from __future__ import annotations

from gitsession import config
from gitsession.errors import SessionError
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.store import journal, remotes
from gitsession.sync.fold import fold_index
from gitsession.sync.remote import Remote


def take_in(repo: Plumbing) -> None:
    """Merge the indexes that were fetched since ours was; what can't be is for `status` to tell."""
    for slug, known in remotes.followed(repo.common_dir).items():
        tip = repo.resolve(refs.seen(slug, refs.INDEX))
        if tip is None or tip == known.folded:
            continue
        try:
            settings = config.load(repo.common_dir)
            repo.sign = settings.sign
            folded = fold_index(repo, Remote(name=known.name, slug=slug), settings)
            for warning in folded.warnings:
                journal.note(repo.common_dir, f"fetch: {warning}")
        except (SessionError, OSError) as error:
            # Reading goes on with what is here, on a read-only disk too.
            _note(repo, str(error))


def _note(repo: Plumbing, what: str) -> None:
    try:
        journal.note(repo.common_dir, f"fetch: {what}")
    except OSError:
        return
