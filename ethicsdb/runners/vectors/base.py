"""What gives vectors of texts, and who it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ethicsdb.runners.identity import Identity

__all__ = ["VectorBackend", "Vectors"]

Vectors = dict[str, list[float] | None]


class VectorBackend(Protocol):
    """A model that turns texts into vectors."""

    identity: Identity

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text; None for one that the model does not know."""
        ...
