"""What a later version recorded is shown as such, and never dropped."""

from __future__ import annotations

import pytest

from gitsession.actions.log import Wanted, log
from gitsession.actions.reindex import reindex
from gitsession.actions.show import show
from gitsession.errors import Unreadable
from gitsession.render.log import describe_foreign
from tests.scratch import Scratch

NEWER = '{"id":{"of":"another shape"},"v":7}'


@pytest.fixture
def repo(scratch: Scratch) -> Scratch:
    """A commit whose only record is of format 7."""
    scratch.git("notes", "--ref=sessions", "add", "-m", NEWER, "HEAD")
    return scratch


def test_log_lists_it(repo: Scratch) -> None:
    [entry] = log(repo.path, Wanted())
    assert entry.commit == repo.head()
    assert "format 7" in describe_foreign(entry.foreign[0])
    assert not list(log(repo.path, Wanted(kind="commit")))


def test_show_says_what_it_is(repo: Scratch) -> None:
    with pytest.raises(Unreadable, match=r"later version of git session \(format 7\)"):
        show(repo.path, "HEAD")


def test_a_rebuild_keeps_it(repo: Scratch) -> None:
    reindex(repo.path)
    assert repo.git("notes", "--ref=sessions", "show", "HEAD") == NEWER
