"""The Batch API of an endpoint: files, batches, and finding again what was made before a kill."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from ethicsdb.runners.backends.openai import OpenAIBackend
from ethicsdb.runners.batch.wire import ENDPOINT
from ethicsdb.schemas.errors import ModelError

__all__ = ["ENDED", "Provider", "State"]

ENDED = ("completed", "failed", "expired", "cancelled")
MARK = "ethicsdb"  # the metadata key that a batch of ours is known by


@dataclass(frozen=True)
class State:
    """How a batch stands."""

    batch_id: str
    status: str  # validating | in_progress | finalizing | cancelling | one of ENDED
    done: int
    failed: int
    total: int
    output_file: str | None
    error_file: str | None
    faults: str  # why it failed as a whole, in words


class Provider:
    """Calls of the Batch API. All of them raise ModelError where the endpoint refuses or can't be reached."""

    def __init__(self, backend: OpenAIBackend) -> None:
        self._backend = backend

    async def file_named(self, name: str) -> str | None:
        """The id of an uploaded file of that name, which an upload before a kill may have left."""
        async with self._calling() as client:
            async for each in client.files.list(purpose="batch", limit=100):
                if each.filename == name:
                    return str(each.id)
        return None

    async def upload(self, name: str, raw: bytes) -> str:
        """Upload an input file; its id."""
        async with self._calling() as client:
            made = await client.files.create(file=(name, raw, "application/jsonl"), purpose="batch")
        return str(made.id)

    async def batch_marked(self, name: str) -> str | None:
        """The id of the batch that was created under our name."""
        async with self._calling() as client:
            async for each in client.batches.list(limit=100):
                if (each.metadata or {}).get(MARK) == name:
                    return str(each.id)
        return None

    async def create(self, name: str, file_id: str) -> str:
        """Create a batch of an uploaded file; its id. From here on it costs money."""
        async with self._calling() as client:
            made = await client.batches.create(
                input_file_id=file_id, endpoint=ENDPOINT, completion_window="24h", metadata={MARK: name}
            )
        return str(made.id)

    async def state(self, batch_id: str) -> State:
        """How a batch stands."""
        async with self._calling() as client:
            found = await client.batches.retrieve(batch_id)
        counts = found.request_counts
        faults = "; ".join(str(each.message) for each in (found.errors.data or [])) if found.errors else ""
        return State(
            batch_id, str(found.status), counts.completed if counts else 0, counts.failed if counts else 0,
            counts.total if counts else 0, found.output_file_id, found.error_file_id, self._backend.brief(faults),
        )  # fmt: skip

    async def content(self, file_id: str) -> bytes:
        """What a file holds."""
        async with self._calling() as client:
            return bytes((await client.files.content(file_id)).content)

    @asynccontextmanager
    async def _calling(self) -> AsyncIterator[Any]:
        import openai

        url = self._backend.url
        try:
            yield await self._backend.client()
        except openai.APIStatusError as error:
            what = self._backend.brief(str(error.message))
            raise ModelError(
                f"{url} refuses a step of the batch ({error.status_code}: {what}). What was done is kept; the same "
                "command goes on from here."
            ) from error
        except openai.APIConnectionError as error:
            raise ModelError(
                f"Nobody answers at {url} ({self._backend.brief(str(error.__cause__ or error))}). What was done is "
                "kept; the same command goes on from here."
            ) from error
