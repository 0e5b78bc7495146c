"""The OpenAI-compatible backend over real sockets: what is sent, what comes back, and what becomes of every fault."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_server import Endpoint, serving
from pydantic import ValidationError

from ethicsdb.registry.declared import Declarations
from ethicsdb.runners.backends.base import Ask, Reply
from ethicsdb.runners.backends.openai import OpenAIBackend, api_key, check_endpoint
from ethicsdb.runners.models import identity_of, resolve_model
from ethicsdb.runners.spending import purse_of
from ethicsdb.schemas.declared import ModelDeclaration, Sampling
from ethicsdb.schemas.errors import DeclarationError, ModelError

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with serving(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ETHICSDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def backend(url: str, model_id: str = "target", timeout: float = 20.0, **parts: Any) -> OpenAIBackend:
    model = ModelDeclaration(kind="model", name="target", backend="openai", id=model_id, base_url=url, **parts)
    return OpenAIBackend(model, identity_of(model), purse_of(model), timeout=timeout)


def asked(one: OpenAIBackend, text: str, sampling: Sampling | None = None, number: int = 0, **parts: Any) -> Reply:
    async def ask() -> Reply:
        await one.open()
        try:
            return await one.ask(Ask([{"role": "user", "content": text}], sampling or Sampling(), number, **parts))
        finally:
            await one.close()

    return asyncio.run(ask())


def test_request_holds_the_settings_and_nothing_else(endpoint: Endpoint) -> None:
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=7, seed=11, samples=3)
    reply = asked(backend(endpoint.url), "what is sent?", sampling, number=2)
    assert endpoint.events()[-1]["body"] == {
        "model": "target",
        "messages": [{"role": "user", "content": "what is sent?"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 7,
        "seed": 13,  # a sample's own
    }
    assert reply.status == "completed"
    assert (reply.finish_reason, reply.prompt_tokens, reply.completion_tokens) == ("stop", 7, len(reply.text or ""))
    assert (reply.system_fingerprint, reply.reported_model) == ("fp_test", "target")


def test_no_seed_is_sent_where_none_is_declared(endpoint: Endpoint) -> None:
    asked(backend(endpoint.url), "no seed?", Sampling(seed=None))
    assert "seed" not in endpoint.events()[-1]["body"]


def test_schema_is_sent_as_a_strict_one(endpoint: Endpoint) -> None:
    schema = {"type": "object", "properties": {"1": {"type": "string", "enum": ["yes", "no"]}}, "required": ["1"]}
    reply = asked(backend(endpoint.url), "schema?", schema=schema)
    sent = endpoint.events()[-1]["body"]["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
    assert reply.text in ('{"1": "yes"}', '{"1": "no"}')


@pytest.mark.parametrize("text", ["半 \ud83d 对", "NUL \x00 here", "\U0001f600\u202eabc", "\r\n\t \u2028", "Ж" * 5000])
def test_text_arrives_as_it_is_both_ways(endpoint: Endpoint, text: str) -> None:
    reply = asked(backend(endpoint.url), f"[[echo]]{text}")
    assert endpoint.texts()[-1] == f"[[echo]]{text}"
    assert reply.text == f"[[echo]]{text}"


@pytest.mark.parametrize(
    ("mark", "status", "code", "final"),
    [
        ("[[status 500]]", "error", "http_500", False),
        ("[[status 503]]", "error", "http_503", False),
        ("[[status 408]]", "error", "http_408", False),
        ("[[status 429]]", "error", "rate_limit", False),
        ("[[status 400]]", "error", "bad_request", True),
        ("[[status 422]]", "error", "bad_request", True),
        ("[[overflow]]", "error", "context_overflow", True),
        ("[[null]]", "error", "no_text", False),
        ("[[list]]", "error", "no_text", False),
        ("[[mute]]", "error", "cut_before_text", True),
        ("[[broken]]", "error", "bad_body", False),
        ("[[html]]", "error", "bad_body", False),
        ("[[odd]]", "error", "bad_body", False),
        ("[[drop]]", "error", "dropped", False),
        ("[[filtered]]", "filtered", "content_filter", True),
        ("[[flagged]]", "filtered", "content_filter", True),
        ("[[cut]]", "completed", None, True),
        ("[[empty]]", "completed", None, True),
    ],
)
def test_every_fault_is_one_of_the_outcomes(
    endpoint: Endpoint, mark: str, status: str, code: str | None, final: bool
) -> None:
    reply = asked(backend(endpoint.url), mark)
    assert (reply.status, reply.error_code, reply.final) == (status, code, final)
    assert (reply.text is not None) == (status == "completed")


def test_empty_answer_is_an_answer(endpoint: Endpoint) -> None:
    assert asked(backend(endpoint.url), "[[empty]]").text == ""


def test_retry_after_is_read(endpoint: Endpoint) -> None:
    assert asked(backend(endpoint.url), "[[status 429]]").retry_after == 0.05
    assert asked(backend(endpoint.url), "[[overflow]]").retry_after is None


def test_nobody_there_is_told_from_a_broken_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    reply = asked(backend(f"http://127.0.0.1:{port}/v1"), "anybody?")
    assert (reply.error_code, reply.unreachable, reply.silent) == ("connection", True, True)
    assert reply.error_message


def test_a_slow_answer_is_a_timeout(endpoint: Endpoint) -> None:
    reply = asked(backend(endpoint.url, timeout=0.2), "[[slow 1]]")
    assert (reply.error_code, reply.unreachable, reply.silent) == ("timeout", False, True)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n[1,2]", "bad_body"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull", "bad_body"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n" + b"[" * 14, "bad_body"),
        (b'HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{"choices": [5]}', "bad_body"),
        (b'HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{"choices": []}', "bad_body"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\ncut off", "dropped"),
        (b"not HTTP at all\r\n\r\n", "dropped"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc", "dropped"),
        (b"", "dropped"),
    ],
)
def test_whatever_a_server_writes_ends_in_an_error_of_the_call(raw: bytes, code: str) -> None:
    with answering(raw) as url:
        reply = asked(backend(url), "well?")
    assert (reply.status, reply.error_code) == ("error", code)


def test_odd_numbers_and_names_are_left_out_and_the_answer_kept() -> None:
    body = (
        b'{"choices": [{"message": {"content": "fine"}, "finish_reason": 3}], "model": ["x"], "system_fingerprint": 1,'
        b' "usage": {"prompt_tokens": "7", "completion_tokens": 99999999999999999999, "total_tokens": true}}'
    )
    with answering(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)) as url:
        assert asked(backend(url), "well?") == Reply("completed", text="fine", billed=True)


@contextlib.contextmanager
def answering(raw: bytes) -> Iterator[str]:
    """A socket that answers one request with these bytes and closes."""
    import threading

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 20)
                connection.sendall(raw)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join(20)


def test_unknown_model_stops_everything(endpoint: Endpoint) -> None:
    with pytest.raises(ModelError, match="no model `missing`"):
        asked(backend(endpoint.url, "missing"), "anything")


def test_empty_account_stops_everything(endpoint: Endpoint) -> None:
    with pytest.raises(ModelError, match="pay first"):
        asked(backend(endpoint.url), "[[money]]")


def test_refused_key_is_named_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETHICSDB_API_KEY", KEY)
    with serving(tmp_path, key="another") as closed, pytest.raises(ModelError) as error:
        asked(backend(closed.url), "open?")
    assert "refuses the key" in str(error.value)
    assert KEY not in str(error.value)
    assert "[key]" in str(error.value)  # the server repeats what it was sent


def test_key_of_openai_goes_to_openai_only(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: team-secret\nAuthorization: Bearer header-secret")
    asked(backend(endpoint.url), "whose key?")
    headers = {name.lower(): value for name, value in endpoint.events()[-1]["headers"].items()}
    assert headers["authorization"] == "Bearer none"
    assert not [value for value in headers.values() if KEY in value or "secret" in value]
    assert set(headers) <= {
        "host", "accept", "accept-encoding", "connection", "user-agent", "authorization", "content-type",
        "content-length", "x-stainless-retry-count", "x-stainless-read-timeout",
    }  # fmt: skip


def test_key_of_others_is_sent(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETHICSDB_API_KEY", f"{KEY}\n")  # as a careless export leaves it
    asked(backend(endpoint.url), "key?")
    assert endpoint.events()[-1]["headers"]["authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv("MY_KEY", "mine")
    asked(backend(endpoint.url, api_key_env="MY_KEY"), "key?")
    assert endpoint.events()[-1]["headers"]["authorization"] == "Bearer mine"


def test_missing_or_broken_keys_are_named_by_their_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ModelDeclaration(kind="model", name="m", backend="openai", id="m")
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        api_key(model)
    mine = model.model_copy(update={"api_key_env": "MY_KEY", "base_url": "http://127.0.0.1:1/v1"})
    with pytest.raises(ModelError, match="MY_KEY"):
        api_key(mine)
    monkeypatch.setenv("MY_KEY", "ключ")
    with pytest.raises(ModelError, match="MY_KEY holds") as error:
        api_key(mine)
    assert "ключ" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    ["http://me:pass-word@host/v1", "http://pass-word@host/v1", "me:pass-word@host/v1", "http://host/v1?key=pass-word",
     "http://host/v1#pass-word"],
)  # fmt: skip
def test_endpoint_with_a_secret_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(DeclarationError) as error:
        check_endpoint(url)
    assert "pass-word" not in str(error.value)
    with pytest.raises(DeclarationError) as error:
        resolve_model(Declarations(), f"openai:m@{url}")
    assert "pass-word" not in str(error.value)
    with pytest.raises(ValidationError) as refused:
        backend(url)
    assert "pass-word" not in str(refused.value)


@pytest.mark.parametrize("url", ["ftp://host/v1", "host/v1", "http://", "http://[::1/v1", "http://h:99999/v1", ""])
def test_endpoint_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(DeclarationError, match="no endpoint"):
        check_endpoint(url)


def test_model_ids_may_hold_an_at_sign() -> None:
    found = resolve_model(Declarations(), "openai:org/m@v2@https://host/v1")
    assert (found.id, found.base_url, found.name) == ("org/m@v2", "https://host/v1", "org-m-v2")
    with pytest.raises(DeclarationError, match="openai:ID@URL"):
        resolve_model(Declarations(), "openai:only-an-id")


def test_sentences_of_an_endpoint_can_not_move_the_cursor(tmp_path: Path) -> None:
    raw = b'{"error": {"message": "\\u001b[31mred\\n\\u009b2J \\u202e %s"}}' % (b"x" * 600)
    with answering(b"HTTP/1.1 500 Oh\r\ncontent-length: %d\r\n\r\n%s" % (len(raw), raw)) as url:
        message = asked(backend(url), "well?").error_message
    assert message is not None
    assert message.isprintable()
    assert len(message) == 500


def test_backend_opens_again_after_it_was_closed(endpoint: Endpoint) -> None:
    one = backend(endpoint.url)
    assert asked(one, "first").status == "completed"
    assert asked(one, "second, in another event loop").status == "completed"


def test_marks_of_judges_are_theirs(endpoint: Endpoint) -> None:
    assert asked(backend(endpoint.url, "judge"), "[[empty]]\n1. Is it?\n=====").text in ("1. Yes", "1. No")
    assert asked(backend(endpoint.url, "judge"), "[[judge empty]]").text == ""
    assert asked(backend(endpoint.url), "[[judge empty]]").text
