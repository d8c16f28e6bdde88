"""Keeps our loose objects and packs few: they shall never make the user's commit run `git gc`.

Git packs its loose objects in the user's foreground once there are about 6,700
of them. Ours would be most of those; so the worker has git pack them earlier,
by the task that `git maintenance` runs in the background for everybody: it
deletes nothing that isn't in a pack, and prunes nothing.

Each such pack has an index that every git process opens, so those packs are
rolled up into larger ones. No pack but those is touched: a `git repack` would
weigh the user's own packs as well, and rewrite gigabytes for our sake.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitsession.errors import GitFailed
from gitsession.git.run import run

_SAMPLE = 10
"""Objects in one of the 256 folders: about 2,500 in all."""
_PACKED = "loose"
"""What git names the packs that the task makes."""
_CROWD = 4
"""So many packs are worth a new one."""
_SPARED = (".keep", ".promisor", ".mtimes", ".bitmap")
"""Marks of a pack that means more than its objects."""
_LARGE = 64 << 20
"""A pack of so many bytes, some 15,000 captures, is left as it is."""


def is_due(common_dir: Path) -> bool:
    """Estimate as git does, by one folder of 256: objects are spread evenly."""
    try:
        return sum(1 for _ in (common_dir / "objects" / "17").iterdir()) >= _SAMPLE
    except OSError:
        return False


def pack_loose(common_dir: Path) -> None:
    """Pack loose objects, delete those that are packed, and roll up packs made so before."""
    where = [f"--git-dir={common_dir}"]
    try:
        run([*where, "maintenance", "run", "--quiet", "--task=loose-objects"], cwd=common_dir)
        run([*where, "prune-packed", "--quiet"], cwd=common_dir)
        roll_up(common_dir)
    except (GitFailed, OSError):
        # Somebody else holds the maintenance lock, or is deleting packs: does this very work.
        return


def roll_up(common_dir: Path) -> None:
    """Make one pack of small ones that hold what was loose; the old ones go when it is there."""
    folder = common_dir / "objects" / "pack"
    sizes = {pack: _size(pack) for pack in folder.glob(f"{_PACKED}-*.pack")}
    ours = sorted((pack for pack, size in sizes.items() if size), key=sizes.__getitem__)
    small = ours[: crowd([sizes[pack] for pack in ours])]
    if len(small) < _CROWD or _others_count_on_them(common_dir):
        return
    fresh = _join(common_dir, folder, small)
    if not fresh or not all(map(Path.exists, fresh)) or _others_count_on_them(common_dir):
        return
    for pack in small:
        if pack not in fresh and _size(pack):
            _remove(pack)


def _join(common_dir: Path, folder: Path, packs: Sequence[Path]) -> set[Path]:
    """One more pack with the objects of several, whether a ref leads to them or not.

    Their names are told, and the deltas taken as they are: `--stdin-packs` would
    walk the history of every commit among them.
    """
    where = [f"--git-dir={common_dir}"]
    names = b"".join(
        line.split()[1] + b"\n"
        for pack in packs
        for line in run(
            [*where, "show-index"], cwd=common_dir, stdin=pack.with_suffix(".idx").read_bytes()
        ).splitlines()
    )
    words = ["pack-objects", "--quiet", "--window=0", str(folder / _PACKED)]
    made = run([*where, *words], cwd=common_dir, stdin=names)
    return {folder / f"{_PACKED}-{name}.pack" for name in made.decode().split()}


def crowd(sizes: Sequence[int]) -> int:
    """How many of the smallest to join; each that is left outweighs all smaller ones twice.

    So there are few packs, and an object is written anew only when what is kept has doubled.
    """
    total = count = 0
    for number, size in enumerate(sizes, 1):
        if size <= 2 * total:
            count = number
        total += size
    return count


def _others_count_on_them(common_dir: Path) -> bool:
    """Whether a `git gc` is at it, or an index over several packs names ours."""
    signs = (common_dir / "gc.pid", common_dir / "objects" / "pack" / "multi-pack-index")
    return any(map(Path.exists, signs))


def _size(pack: Path) -> int:
    """How large a pack is; 0 when it is not for us to touch."""
    if any(pack.with_suffix(mark).exists() for mark in _SPARED):
        return 0
    try:
        size = pack.stat().st_size
    except OSError:
        return 0
    return size if size < _LARGE and pack.with_suffix(".idx").exists() else 0


def _remove(pack: Path) -> None:
    """Delete a pack in git's own order: without its index nobody looks for it."""
    for suffix in (".idx", ".pack", ".rev"):
        pack.with_suffix(suffix).unlink(missing_ok=True)
