"""Any endpoint that speaks OpenAI's chat completions, through the `openai` client.

The client's own retries are off: a retry is a call, calls cost money, and ours are counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ethicsdb.runners.backends.base import Ask, Reply
from ethicsdb.runners.identity import Identity
from ethicsdb.schemas.declared import ModelDeclaration
from ethicsdb.schemas.errors import DeclarationError, ModelError

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion

__all__ = ["OpenAIBackend", "api_key"]

OFFICIAL = "https://api.openai.com/v1"
LOCAL_HOSTS = {"127.0.0.1", "::1", "localhost", "0.0.0.0"}
# What endpoints call a prompt that does not fit: OpenAI's code, llama.cpp's type, and words that others use.
OVERFLOW = ("context_length_exceeded", "exceed_context_size", "context size", "context length", "maximum context")


def api_key(model: ModelDeclaration) -> str:
    """The key for a model's endpoint, from the environment only.

    A declared `api_key_env` names the variable. Without it OpenAI's own endpoint takes `OPENAI_API_KEY`, and no other
    endpoint ever does, so that a key is not sent to a stranger; others take `ETHICSDB_API_KEY`, or none.

    Raises:
        ModelError: the endpoint needs a key and the variable is not set.
    """
    url = model.base_url or OFFICIAL
    official = urlsplit(url).hostname == "api.openai.com"
    name = model.api_key_env or ("OPENAI_API_KEY" if official else "ETHICSDB_API_KEY")
    value = os.environ.get(name)
    if value:
        return value
    if official or model.api_key_env:
        raise ModelError(f"{model.name} needs a key: set the environment variable {name}.")
    return "none"


def check_endpoint(url: str) -> None:
    """Refuse an endpoint that holds a secret or is no URL.

    Raises:
        DeclarationError: the URL has a user or password in it, or is not http(s).
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DeclarationError(f"`{url}` is no endpoint; expected a URL such as http://127.0.0.1:8080/v1")
    if parts.username or parts.password or parts.query:
        raise DeclarationError("An endpoint's URL must hold no user, password or key; put the key in the environment.")


class OpenAIBackend:
    """An endpoint and a model id."""

    def __init__(self, model: ModelDeclaration, identity: Identity, *, timeout: float = 600.0) -> None:
        import openai

        self.model = model
        self.identity = identity
        self.concurrency = model.concurrency
        self.json_schema = model.json_schema
        self.url = model.base_url or OFFICIAL
        check_endpoint(self.url)
        self._client = openai.AsyncOpenAI(
            api_key=api_key(model), base_url=self.url, max_retries=0, timeout=openai.Timeout(timeout, connect=10.0)
        )

    async def ask(self, ask: Ask) -> Reply:
        """Ask once. Raises ModelError where no request can succeed."""
        import openai

        try:
            return _read(await self._client.chat.completions.create(**self._request(ask)))
        except openai.APIStatusError as error:
            return self._refused(error)
        except openai.APITimeoutError as error:
            return _failed("timeout", error)
        except openai.APIConnectionError as error:
            return _failed("connection", error)
        except (openai.APIError, ValueError) as error:
            # A 2xx whose body is no chat completion: cut off, or not JSON.
            return _failed("bad_body", error)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _request(self, ask: Ask) -> dict[str, Any]:
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
        return request

    def _refused(self, error: openai.APIStatusError) -> Reply:
        """What a 4xx or 5xx means."""
        status = error.status_code
        text = _message(error)
        if status in (401, 403):
            raise ModelError(f"{self.url} refuses the key for `{self.model.id}` ({status}: {text}).")
        if status == 404:
            raise ModelError(f"{self.url} has no model `{self.model.id}` ({status}: {text}).")
        code = f"http_{status}"
        if status == 429:
            code = "rate_limit"
        elif status in (400, 413, 422):
            code = (
                "context_overflow"
                if any(each in f"{error.code} {error.body}".lower() for each in OVERFLOW)
                else "bad_request"
            )
            if "content_filter" in f"{error.code} {error.body}":
                return Reply("filtered", error_code="content_filter", error_message=text)
        return Reply("error", error_code=code, error_message=text, retry_after=_retry_after(error.response.headers.get))


def _retry_after(header: Callable[[str], str | None]) -> float | None:
    """Seconds from `Retry-After`; dates are left to our own pause."""
    value = header("retry-after")
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None


def _message(error: openai.APIStatusError) -> str:
    """The endpoint's own sentence, where it sent one."""
    body = error.body
    own = body.get("message") if isinstance(body, dict) else None
    return _brief(own if isinstance(own, str) else error.message)


def _failed(code: str, error: Exception) -> Reply:
    return Reply("error", error_code=code, error_message=_brief(str(error)))


def _brief(text: str) -> str:
    """A message short enough to store, on one line."""
    return " ".join(text.split())[:500]


def _read(completion: ChatCompletion) -> Reply:
    """A reply from a chat completion; what has no text in it is an error, never an empty answer."""
    choices = getattr(completion, "choices", None)
    if not choices or getattr(choices[0], "message", None) is None:
        return Reply("error", error_code="bad_body", error_message="the reply holds no message")
    choice = choices[0]
    usage = completion.usage
    told: dict[str, Any] = {
        "finish_reason": choice.finish_reason,
        "prompt_tokens": usage.prompt_tokens if usage else None,
        "completion_tokens": usage.completion_tokens if usage else None,
        "system_fingerprint": completion.system_fingerprint,
        "reported_model": completion.model,
    }
    if choice.finish_reason == "content_filter":
        return Reply("filtered", error_code="content_filter", **told)
    text = choice.message.content
    if text is None:
        text = getattr(choice.message, "refusal", None)
    if not isinstance(text, str):
        return Reply("error", error_code="no_text", error_message="the reply's message holds no text", **told)
    return Reply("completed", text=text, **told)
