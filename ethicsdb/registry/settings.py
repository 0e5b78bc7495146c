"""Settings: a flag wins over `ETHICSDB_*`, that over `./ethicsdb.toml`, that over the default."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethicsdb.registry.declared import near
from ethicsdb.schemas.errors import DeclarationError

__all__ = ["Settings", "load_settings"]

FILE = "ethicsdb.toml"
EXPECTED = {"database": "text", "declarations": "a list of folders"}
KNOWN: dict[str, Callable[[Any], bool]] = {
    "database": lambda value: isinstance(value, str),
    "declarations": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
}


@dataclass(frozen=True)
class Settings:
    """Where things are.

    Args:
        database: the DuckDB file.
        declarations: folders of a user's own declarations; None means `./ethicsdb.d`, where it exists.
    """

    database: Path = Path("benchmarks.db")
    declarations: tuple[Path, ...] | None = None


def load_settings(database: Path | None = None, declarations: list[Path] | None = None) -> Settings:
    """The settings that apply here.

    Raises:
        DeclarationError: `ethicsdb.toml` is broken or has an unknown key.
    """
    filed = _from_file(Path(FILE))
    chosen = database or _env_path("ETHICSDB_DATABASE") or filed.get("database") or Settings.database
    folders = declarations or _env_paths("ETHICSDB_DECLARATIONS") or filed.get("declarations")
    return Settings(Path(chosen), tuple(folders) if folders else None)


def _env_path(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None


def _env_paths(name: str) -> list[Path] | None:
    value = os.environ.get(name)
    return [Path(part) for part in value.split(os.pathsep) if part] if value else None


def _from_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    text = _text(path)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+)", str(error))
        line = place[1] if place else max(1, len(text.splitlines()))
        raise DeclarationError(f"{path}:{line}: not valid TOML: {error}") from error
    for key, value in found.items():
        if key not in KNOWN:
            raise DeclarationError(f"{_place(path, text, key)}: `{key}` is not a known setting{near(key, list(KNOWN))}")
        if not KNOWN[key](value):
            raise DeclarationError(f"{_place(path, text, key)}: `{key}` must be {EXPECTED[key]}")
    if "declarations" in found:
        found["declarations"] = [Path(each) for each in found["declarations"]]
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DeclarationError(f"{path}:1: not UTF-8 at byte {error.start}; save the file as UTF-8") from error


def _place(path: Path, text: str, key: str) -> str:
    lines = (number for number, line in enumerate(text.splitlines(), start=1) if line.lstrip(" \t[\"'").startswith(key))
    return f"{path}:{next(lines, 1)}"
