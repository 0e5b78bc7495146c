"""Any endpoint that speaks OpenAI's chat completions, through the `openai` client.

The client's own retries are off: a retry is a call, calls cost money, and ours are counted. Bodies are written and read
here rather than by the client: a lone surrogate must leave as its JSON escape, and a reply of another shape than
promised must become an error of one item, not of the run.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ethicsdb.runners.backends.base import Ask, Reply
from ethicsdb.runners.identity import Identity
from ethicsdb.runners.spending import Purse
from ethicsdb.schemas.declared import ModelDeclaration
from ethicsdb.schemas.errors import DeclarationError, ModelError
from ethicsdb.schemas.plausible import endpoint_fault

if TYPE_CHECKING:
    import openai

__all__ = ["OpenAIBackend", "api_key", "check_endpoint"]

OFFICIAL = "https://api.openai.com/v1"
NO_KEY = "none"
LOCAL_HOSTS = ("127.0.0.1", "::1", "localhost", "0.0.0.0")
# What endpoints call a prompt that does not fit: OpenAI's code, llama.cpp's type, and words that others use.
OVERFLOW = ("context_length_exceeded", "exceed_context_size", "context size", "context length", "maximum context")
# What endpoints call a prompt that they refuse to pass on: Azure's code, OpenRouter's words.
FILTERED = ("content_filter", "flagged", "moderation")
CONNECT_FAULTS = ("ConnectError", "ConnectTimeout")  # of httpx, or of whatever the client uses in its place
LARGEST = 2**63 - 1  # what the database holds


def api_key(model: ModelDeclaration) -> str:
    """The key for a model's endpoint, from the environment only.

    A declared `api_key_env` names the variable. Without it OpenAI's own endpoint takes `OPENAI_API_KEY`, and no other
    endpoint ever does, so that a key is not sent to a stranger; others take `ETHICSDB_API_KEY`, or none.

    Raises:
        ModelError: the endpoint needs a key and the variable is not set, or it holds what can't be a key.
    """
    official = _official(model.base_url or OFFICIAL)
    name = model.api_key_env or ("OPENAI_API_KEY" if official else "ETHICSDB_API_KEY")
    value = os.environ.get(name, "").strip()
    if not value and (official or model.api_key_env):
        raise ModelError(f"{model.name} needs a key: set the environment variable {name}.")
    if not value.isascii() or not value.isprintable():
        raise ModelError(f"The environment variable {name} holds characters that no key has; set it again.")
    return value or NO_KEY


def check_endpoint(url: str) -> None:
    """Refuse an endpoint that holds a secret or is no URL.

    Raises:
        DeclarationError: the URL has a user, password or query in it, or is not http(s).
    """
    fault = endpoint_fault(url)
    if fault:
        raise DeclarationError(fault)


def _official(url: str) -> bool:
    return urlsplit(url).hostname == "api.openai.com"


class OpenAIBackend:
    """An endpoint and a model id.

    Args:
        purse: what its calls are paid with.
        timeout: seconds that an answer may take.

    Raises:
        ModelError: the endpoint needs a key that is not there.
        DeclarationError: the endpoint's URL is none.
    """

    def __init__(self, model: ModelDeclaration, identity: Identity, purse: Purse, *, timeout: float = 600.0) -> None:
        self.model = model
        self.identity = identity
        self.concurrency = model.concurrency
        self.purse = purse
        self.in_batches = False  # through the Batch API instead of call by call
        self.json_schema = model.json_schema
        self.url = model.base_url or OFFICIAL
        check_endpoint(self.url)
        self._key = api_key(model)
        self._timeout = timeout
        self._client: openai.AsyncOpenAI | None = None

    async def open(self) -> None:
        """Make the client; not earlier, since its package takes most of a second to import."""
        if self._client is None:
            self._client = _client(self.url, self._key, self._timeout)

    async def client(self) -> openai.AsyncOpenAI:
        """The client, made where it is not there."""
        await self.open()
        assert self._client is not None
        return self._client

    async def ask(self, ask: Ask) -> Reply:
        """Ask once. Raises ModelError where no request can succeed."""
        import openai

        client = await self.client()
        try:
            response = await client.post(
                "/chat/completions",
                cast_to=openai.HttpxBinaryResponseContent,
                content=self.body(ask),
                options={"headers": {"Content-Type": "application/json"}},
            )
        except openai.APIStatusError as error:
            return self._refused(error)
        except openai.APIConnectionError as error:
            return self._lost(error)
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError) as error:
            told = self.brief(f"the reply is no JSON: {error}")
            return Reply("error", error_code="bad_body", error_message=told, billed=True)
        return self.read(body)

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    def body(self, ask: Ask) -> bytes:
        """A request as JSON."""
        request: dict[str, Any] = {
            "model": self.model.id,
            "messages": ask.messages,
            "temperature": ask.sampling.temperature,
            "top_p": ask.sampling.top_p,
            "max_tokens": ask.sampling.max_tokens,
        }
        if ask.seed is not None:
            request["seed"] = ask.seed
        if ask.schema is not None:
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": ask.schema},
            }
        return json.dumps(request).encode("ascii")

    def _refused(self, error: openai.APIStatusError) -> Reply:
        """What a 4xx or 5xx means."""
        status, text = error.status_code, self._message(error)
        told = f"{error.code} {error.type} {error.body}".lower()
        reply = self._meaning(status, text, told)
        if reply.status == "filtered":
            return reply
        if status in (401, 403):
            raise ModelError(f"{self.url} refuses the key for `{self.model.id}` ({status}: {text}).")
        if status == 402 or "insufficient_quota" in told:
            raise ModelError(f"{self.url} asks for money before it answers ({status}: {text}).")
        if status == 404:
            raise ModelError(f"{self.url} has no model `{self.model.id}` ({status}: {text}).")
        return replace(reply, retry_after=_retry_after(error.response.headers.get("retry-after")))

    def failed(self, status: int, body: Any) -> Reply:
        """What a 4xx or 5xx inside a batch means for its request."""
        told = _part(body, "error", dict)
        text = _part(told, "message", str)
        return self._meaning(status, self.brief(text or f"status {status}"), json.dumps(body).lower())

    @staticmethod
    def _meaning(status: int, text: str, told: str) -> Reply:
        if status in (400, 403) and any(word in told for word in FILTERED):
            return Reply("filtered", error_code="content_filter", error_message=text)
        code = f"http_{status}"
        if status == 429:
            code = "rate_limit"
        elif status in (400, 413, 422):
            code = "context_overflow" if any(word in told for word in OVERFLOW) else "bad_request"
        return Reply("error", error_code=code, error_message=text)

    def _lost(self, error: openai.APIConnectionError) -> Reply:
        """No whole reply came: nobody was there, the line broke, or it took too long."""
        import openai

        cause = error.__cause__
        if type(cause).__name__ in CONNECT_FAULTS:
            code = "connection"
        else:
            code = "timeout" if isinstance(error, openai.APITimeoutError) else "dropped"
        told = str(cause) or type(cause).__name__ if cause else str(error)
        return Reply("error", error_code=code, error_message=self.brief(told))

    def _message(self, error: openai.APIStatusError) -> str:
        """The endpoint's own sentence, where it sent one."""
        body = error.body
        own = body.get("message") if isinstance(body, dict) else None
        return self.brief(own if isinstance(own, str) and own else error.message)

    def brief(self, text: str) -> str:
        """A sentence of an endpoint, safe to store and to print: one line, short, no control characters, no key."""
        if self._key != NO_KEY:
            text = text.replace(self._key, "[key]")
        return "".join(each if each.isprintable() else "\ufffd" for each in " ".join(text.split()))[:500]

    def read(self, body: Any) -> Reply:
        """A reply from a chat completion; what has no text in it is an error, never an empty answer."""
        choices = _part(body, "choices", list)
        choice = choices[0] if choices else None
        message = _part(choice, "message", dict)
        if message is None:
            return Reply("error", error_code="bad_body", error_message="the reply holds no message", billed=True)
        finish = _part(choice, "finish_reason", str)
        usage = _part(body, "usage", dict)
        told: dict[str, Any] = {
            "finish_reason": finish and self.brief(finish),
            "prompt_tokens": _count(usage, "prompt_tokens"),
            "completion_tokens": _count(usage, "completion_tokens"),
            "system_fingerprint": self._named(body, "system_fingerprint"),
            "reported_model": self._named(body, "model"),
            "billed": True,
        }
        if finish == "content_filter":
            return Reply("filtered", error_code="content_filter", **told)
        text = message.get("content")
        if text is None:
            text = message.get("refusal")  # how OpenAI spells a refusal to fill a schema
        if isinstance(text, str):
            return Reply("completed", text=text, **told)
        if text is None and finish == "length":
            why = "the length limit was reached before any text; raise max_tokens"
            return Reply("error", error_code="cut_before_text", error_message=why, **told)
        return Reply("error", error_code="no_text", error_message="the reply's message holds no text", **told)

    def _named(self, body: Any, name: str) -> str | None:
        value = _part(body, name, str)
        return None if value is None else self.brief(value)


def _client(url: str, key: str, timeout: float) -> openai.AsyncOpenAI:
    """A client that sends a stranger nothing but the request and the key that is meant for it.

    The package's own client adds organisation, project and custom headers out of `OPENAI_*` variables, whatever the
    endpoint.
    """
    import openai

    class Plain(openai.AsyncOpenAI):
        @property
        def default_headers(self) -> dict[str, str | openai.Omit]:
            agent = f"ethicsdb openai-python/{openai.__version__}"
            return {"Accept": "application/json", "User-Agent": agent, "Authorization": f"Bearer {key}"}

    kind = openai.AsyncOpenAI if _official(url) else Plain
    limits = openai.Timeout(timeout, connect=10.0)
    # A proxy of the environment is for the world outside, not for a server on this machine.
    local = urlsplit(url).hostname in LOCAL_HOSTS
    transport = openai.DefaultAsyncHttpxClient(trust_env=not local, timeout=limits)
    return kind(api_key=key, base_url=url, max_retries=0, timeout=limits, http_client=transport)


def _part(whole: Any, name: str, kind: type) -> Any:
    """A part of a JSON object; None where it is missing or of another kind."""
    value = whole.get(name) if isinstance(whole, dict) else None
    return value if isinstance(value, kind) else None


def _count(usage: Any, name: str) -> int | None:
    value = _part(usage, name, int)
    return value if value is not None and not isinstance(value, bool) and 0 <= value <= LARGEST else None


def _retry_after(value: str | None) -> float | None:
    """Seconds from `Retry-After`; dates are left to our own pause."""
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None
