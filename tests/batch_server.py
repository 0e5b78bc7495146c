"""A server of OpenAI's Batch API, run as a process of its own; it goes on while its clients are killed.

    python tests/batch_server.py LOG POLLS FATE

A batch ends after POLLS looks at it. FATE: `complete`, `expire` (every second request is answered), `fail` (the file
is refused), `errors` (some requests fail). Answers are those of `llm_server`. Calls are logged as they begin and end.
A call whose start stands in the file LOG.hold waits three seconds before its answer, one in LOG.holdbefore before
anything is done; once.
"""

from __future__ import annotations

import contextlib
import email
import email.policy
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from llm_server import answer


@dataclass
class BatchEndpoint:
    """The server as a test sees it."""

    url: str
    log: Path

    def calls(self, what: str = "done") -> list[str]:
        """Calls that were begun or done, in order: `POST /v1/files`."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{what} ")]

    def billed(self) -> list[str]:
        """Keys of requests that batches were created for: each costs money once it is in a batch."""
        return [key for line in self.calls("billed") for key in line.split(",")]


@contextlib.contextmanager
def batches_at(folder: Path, polls: int = 1, fate: str = "complete") -> Iterator[BatchEndpoint]:
    """The server, for as long as the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "batch.log"
    command = [sys.executable, __file__, str(log), str(polls), fate]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield BatchEndpoint(f"http://127.0.0.1:{int(process.stdout.readline())}/v1", log)
        finally:
            process.kill()


class Store:
    """Files and batches."""

    def __init__(self, log: Path, polls: int, fate: str) -> None:
        self.log, self.polls, self.fate = log, polls, fate
        self.files: dict[str, dict[str, Any]] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.contents: dict[str, bytes] = {}
        self.lock = threading.Lock()

    def note(self, what: str, line: str) -> None:
        """A line of the log."""
        with self.log.open("a", encoding="utf-8") as out:
            out.write(f"{what} {line}\n")

    def keep(self, name: str, raw: bytes) -> dict[str, Any]:
        """A new file."""
        number = f"file-{len(self.files)}"
        self.contents[number] = raw
        self.files[number] = {"id": number, "object": "file", "bytes": len(raw), "created_at": len(self.files),
                              "filename": name, "purpose": "batch", "status": "processed"}  # fmt: skip
        return self.files[number]

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        """A new batch."""
        requests = [json.loads(line) for line in self.contents[body["input_file_id"]].splitlines()]
        number = f"batch-{len(self.batches)}"
        self.batches[number] = {
            "id": number, "object": "batch", "endpoint": body["endpoint"], "completion_window": "24h",
            "input_file_id": body["input_file_id"], "created_at": len(self.batches), "metadata": body.get("metadata"),
            "status": "validating", "looks": 0, "output_file_id": None, "error_file_id": None, "errors": None,
            "request_counts": {"total": len(requests), "completed": 0, "failed": 0},
        }  # fmt: skip
        if self.fate != "fail":
            self.note("billed", ",".join(each["custom_id"] for each in requests))
        return self.batches[number]

    def look(self, number: str) -> dict[str, Any]:
        """A batch, which comes nearer to its end with every look."""
        batch = self.batches[number]
        batch["looks"] += 1
        if batch["status"] in ("validating", "in_progress"):
            batch["status"] = "in_progress"
            if batch["looks"] > self.polls:
                self._end(batch)
        return batch

    def _end(self, batch: dict[str, Any]) -> None:
        if self.fate == "fail":
            fault = {"code": "invalid", "message": "line 1 is not valid", "line": 1, "param": None}
            batch |= {"status": "failed", "errors": {"object": "list", "data": [fault]}}
            return
        requests = [json.loads(line) for line in self.contents[batch["input_file_id"]].splitlines()]
        good, bad = [], []
        for at, each in enumerate(requests):
            if self.fate == "expire" and at % 2:
                lost = {"code": "batch_expired", "message": "This request could not be executed in time."}
                bad.append({"custom_id": each["custom_id"], "response": None, "error": lost})
            elif self.fate == "errors" and at % 5 == 1:
                body = {"error": {"message": "too many tokens", "code": "context_length_exceeded"}}
                bad.append(_line(each, 400, body))
            elif self.fate == "errors" and at % 5 == 2:
                bad.append(_line(each, 500, {"error": {"message": "an accident"}}))
            elif self.fate == "errors" and at % 5 == 3:
                pass  # no line at all
            else:
                good.append(_line(each, 200, _completion(each["body"])))
        good.append({"custom_id": "nobody-asked", "response": {"status_code": 200, "body": {}}, "error": None})
        batch["output_file_id"] = self.keep("output.jsonl", _jsonl(good[::-1]))["id"]
        batch["error_file_id"] = self.keep("errors.jsonl", _jsonl(bad))["id"] if bad else None
        batch["request_counts"] = {"total": len(requests), "completed": len(good) - 1, "failed": len(bad)}
        batch["status"] = "expired" if self.fate == "expire" else "completed"


def _line(request: dict[str, Any], status: int, body: Any) -> dict[str, Any]:
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "l", "custom_id": request["custom_id"], "response": response, "error": None}


def _completion(body: dict[str, Any]) -> dict[str, Any]:
    text = answer(body)
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": body["model"], "system_fingerprint": "fp_test",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": len(text), "total_tokens": 7 + len(text)},
    }  # fmt: skip


def _jsonl(lines: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


class Handler(BaseHTTPRequestHandler):
    """Files and batches over HTTP."""

    protocol_version = "HTTP/1.1"
    store: Store

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers["content-length"])))

    def _serve(self, raw: bytes) -> None:
        path = self.path.partition("?")[0]
        name = f"{self.command} {path}"
        self.store.note("begin", name)
        self._wait("holdbefore", name)
        with self.store.lock:
            status, body = self._answered(path, raw)
            self.store.note("done", name)
        self._wait("hold", name)
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/octet-stream" if isinstance(body, bytes) else "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(sent)

    def _wait(self, what: str, name: str) -> None:
        """Hold the call where a test asks for it: the line that names it is used up."""
        file = self.store.log.with_suffix(f".{what}")
        with self.store.lock:
            wanted = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            if not any(name.startswith(each) for each in wanted):
                return
            file.unlink()
        self.store.note("held", name)
        time.sleep(3)

    def _answered(self, path: str, raw: bytes) -> tuple[int, Any]:
        parts = path.removeprefix("/v1/").split("/")
        if self.command == "POST" and parts == ["files"]:
            return 200, self.store.keep(*self._uploaded(raw))
        if self.command == "POST" and parts == ["batches"]:
            return 200, self.store.create(json.loads(raw))
        if parts in (["files"], ["batches"]):
            found = self.store.files if parts == ["files"] else self.store.batches
            return 200, {"object": "list", "data": list(found.values())[::-1], "has_more": False}
        if parts[0] == "batches":
            return 200, self.store.look(parts[1])
        if parts[0] == "files" and parts[2:] == ["content"]:
            return 200, self.store.contents[parts[1]]
        return 404, {"error": {"message": f"no {path}"}}

    def _uploaded(self, raw: bytes) -> tuple[str, bytes]:
        head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
        message = email.message_from_bytes(head + raw, policy=email.policy.HTTP)
        part = next(each for each in message.iter_parts() if each.get_filename())
        return str(part.get_filename()), bytes(part.get_payload(decode=True))


def main() -> None:
    """Listen on a free port and tell it."""
    Handler.store = Store(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
