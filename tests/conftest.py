"""Fixtures that many tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of published input files; they belong to their authors and are not part of the project."""
    folder = Path(os.environ.get("ETHICSDB_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"published input files are not here ({folder}); point ETHICSDB_TEST_DATA at them")
    return folder
