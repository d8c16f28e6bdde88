"""Steps that are taken back together when one of them fails, or the program is told to end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

from gitsession.errors import SessionError

_ENDS = ("SIGTERM", "SIGHUP")
_KEYS = ("SIGINT", "SIGQUIT", *_ENDS)


class Undo:
    """What is to be taken back; a context manager around the steps."""

    def __init__(self, first: Callable[[], None] = lambda: None) -> None:
        self._first = first
        self._steps: list[tuple[Callable[[], None], str]] = []
        self._signals = _handled(_ENDS, _leave)

    def on_failure(self, step: Callable[[], None], what: str) -> None:
        """Say, before something is made, how it is taken away; it may be there only in part."""
        self._steps.append((step, what))

    def __enter__(self) -> Self:
        self._signals.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._signals.__exit__(None, None, None)
        if error is None:
            return
        left = self._take_back()
        if left:
            said = error.message if isinstance(error, SessionError) else str(error) or "interrupted"
            raise SessionError(
                said, hint=f"this could not be taken back: {'; '.join(left)}"
            ) from error

    def _take_back(self) -> list[str]:
        """Undo the steps, the last one first; gives back what stays."""
        left = []
        with _handled(_KEYS, signal.SIG_IGN):
            self._first()
            for step, what in reversed(self._steps):
                try:
                    step()
                except (SessionError, OSError) as error:
                    left.append(f"{what} ({error})")
        return left


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def _handled(
    names: tuple[str, ...], handler: Callable[[int, FrameType | None], None] | signal.Handlers
) -> Iterator[None]:
    """Handle signals so; where they can't be (in a thread), they stay as they were."""
    before = {}
    try:
        for name in names:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    except ValueError:
        pass
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
