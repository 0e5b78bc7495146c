"""Which journals a folder has, in the order in which they were begun.

The file `.order` beside them lists that: where two bring one row, the earlier one's stays, in a rebuild as in the first
reading.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

__all__ = ["SUFFIX", "copy_all", "enlist", "missing", "paths"]

SUFFIX = ".jsonl"
ORDER = ".order"


def paths(folder: Path) -> list[Path]:
    """All journals, in the order in which they were begun."""
    if not folder.is_dir():
        return []
    order = folder / ORDER
    names = order.read_text(encoding="utf-8").splitlines() if order.exists() else []
    begun = {name: number for number, name in reversed(list(enumerate(names)))}
    found = [path for path in folder.glob(f"*{SUFFIX}") if not path.name.startswith(".")]
    return sorted(found, key=lambda path: (begun.get(path.name, len(names)), path.name))


def missing(folder: Path) -> list[str]:
    """Names of journals that were begun and have no file: removed since, or a kill came before their first byte."""
    order = folder / ORDER
    names = order.read_text(encoding="utf-8").splitlines() if order.exists() else []
    return [name for name in dict.fromkeys(names) if not (folder / name).exists()]


def copy_all(folder: Path, to: Path) -> None:
    """Copy all journals as they are now."""
    to.mkdir()
    for path in [*paths(folder), folder / ORDER]:
        if path.exists():
            shutil.copyfile(path, to / path.name)


def enlist(path: Path) -> None:
    """Note that a journal is begun; a name without a file means that it never came to be."""
    with (path.parent / ORDER).open("a", encoding="utf-8") as stream:
        stream.write(path.name + "\n")
        stream.flush()
        os.fsync(stream.fileno())
