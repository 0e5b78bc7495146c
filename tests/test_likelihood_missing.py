"""What a person without torch is told. With torch installed there is nothing to see here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ethicsdb.runners.likelihood.base import LocalModel
from ethicsdb.runners.likelihood.loading import load
from ethicsdb.schemas.errors import ModelError


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed here")
def test_the_install_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r'torch and transformers.*pip install "ethicsdb\[local\]"'):
        load(LocalModel(str(tmp_path)))
    with pytest.raises(ModelError, match=r'gguf.*pip install "ethicsdb\[local\]" gguf'):
        load(LocalModel(str(tmp_path / "x.gguf")))
