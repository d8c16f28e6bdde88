"""One module for each agent, all matching the Protocol in `base`."""

from __future__ import annotations

import importlib
from typing import cast

from gitsession.agents.base import Adapter
from gitsession.errors import NotFound

NAMES = ("claude-code",)


def get(name: str) -> Adapter:
    """The adapter of an agent."""
    if name not in NAMES:
        raise NotFound("agent", name, candidates=NAMES)
    module = importlib.import_module("gitsession.agents." + name.replace("-", "_"))
    return cast(Adapter, module)
