"""What every backend is to the runner: something that answers one request, and says how it went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ethicsdb.runners.identity import Identity
from ethicsdb.runners.render import Messages
from ethicsdb.schemas.declared import Sampling

if TYPE_CHECKING:
    from ethicsdb.runners.spending import Purse

__all__ = ["FINAL_ERRORS", "Ask", "Backend", "Reply"]

# Errors that the same request meets again, so that asking again would only pay again.
FINAL_ERRORS = ("bad_request", "context_overflow", "cut_before_text", "no_question")
BUSY = ("http_503", "http_529")  # with `Retry-After` it is the same as a rate limit


@dataclass(frozen=True)
class Ask:
    """One request."""

    messages: Messages
    sampling: Sampling
    sample_number: int
    schema: dict[str, Any] | None = None  # JSON schema of the answer, where the endpoint holds answers to one

    @property
    def seed(self) -> int | None:
        """The seed of this sample: samples of one request must differ, and each be repeatable."""
        return None if self.sampling.seed is None else self.sampling.seed + self.sample_number


@dataclass(frozen=True)
class Reply:
    """How a request went. `status` is completed, filtered or error; costs are in tokens as the endpoint counts them."""

    status: str
    text: str | None = None
    finish_reason: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    retry_after: float | None = None  # seconds that the endpoint asks to wait
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    system_fingerprint: str | None = None
    reported_model: str | None = None
    billed: bool = False  # a reply of success was read whole, which is what endpoints charge for

    @property
    def final(self) -> bool:
        """Whether asking again is of no use."""
        return self.status != "error" or self.error_code in FINAL_ERRORS

    @property
    def held(self) -> bool:
        """Whether the endpoint says that it is too much at once; no fault of this request."""
        return self.error_code == "rate_limit" or (self.error_code in BUSY and self.retry_after is not None)

    @property
    def unreachable(self) -> bool:
        """Whether nobody was there to answer, whatever the request."""
        return self.error_code == "connection"

    @property
    def silent(self) -> bool:
        """Whether no word came back. One request may be to blame, or the endpoint."""
        return self.error_code in ("connection", "dropped", "timeout")


class Backend(Protocol):
    """A model that is ready to answer."""

    identity: Identity
    concurrency: int  # calls in flight, at most
    purse: Purse
    json_schema: bool

    async def open(self) -> None:
        """Make ready, so that the first answer is timed like any other."""
        ...

    async def ask(self, ask: Ask) -> Reply:
        """Answer one request.

        Raises:
            ModelError: no request to this model can succeed (wrong key, unknown model).
        """
        ...

    async def close(self) -> None:
        """Let go of what the backend holds."""
        ...
