"""ethicsdb: a registry of ethics and safety evaluations of language models in one DuckDB file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethicsdb.api import Registry

__all__ = ["Registry", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load the API on first use, so that `ethicsdb --help` pays for none of it."""
    if name == "Registry":
        from ethicsdb.api import Registry

        return Registry
    raise AttributeError(f"module 'ethicsdb' has no attribute {name!r}")
