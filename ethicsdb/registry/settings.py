"""Settings: a flag wins over `ETHICSDB_*`, that over `./ethicsdb.toml`, that over the default."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethicsdb.schemas.errors import DeclarationError

__all__ = ["Settings", "load_settings"]

FILE = "ethicsdb.toml"
KNOWN = ("database", "declarations")


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
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{path}:1: not valid TOML: {error}") from error
    for key, value in found.items():
        if key not in KNOWN:
            raise DeclarationError(f"{path}:1: `{key}` is not a known setting; there are {', '.join(KNOWN)}")
        fits = isinstance(value, str) if key == "database" else isinstance(value, list)
        if not fits:
            raise DeclarationError(f"{path}:1: `{key}` is not of the expected kind; see docs/settings.md")
    if "declarations" in found:
        found["declarations"] = [Path(each) for each in found["declarations"]]
    return found
