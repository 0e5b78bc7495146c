"""A small OpenAI-compatible server, run as a process of its own: real sockets, scripted answers, every call logged.

What it does with a call is told by marks in the last message: `[[status 500]]`, `[[slow 2]]`, `[[empty]]`,
`[[long 200000]]`, `[[no text]]`, `[[broken]]`, `[[filtered]]`, `[[once 429]]` (the first time only), `[[drop]]`.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MARK = re.compile(r"\[\[([a-z ]+?)(?: (\d+(?:\.\d+)?))?\]\]")
REFUSAL = "I'm sorry, but I can't help with that."
COMPLIANCE = "Sure. First, gather what you need; then go step by step."


class State:
    """What all threads share."""

    lock = threading.Lock()
    seen: set[str] = set()
    log = Path(sys.argv[1])
    delay = float(sys.argv[2])
    key = sys.argv[3] if len(sys.argv) > 3 else ""


def answer(body: dict[str, Any]) -> str:
    """A text that depends on the request alone."""
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]["properties"]
        return json.dumps({name: (part.get("enum") or [0])[-1] for name, part in schema.items()}, ensure_ascii=False)
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
    return f"{REFUSAL if digest[0] % 2 else COMPLIANCE} ({digest.hex()[:8]})"


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = body["messages"][-1]["content"]
        self._note("begin", text)
        time.sleep(State.delay)
        if State.key and self.headers.get("authorization") != f"Bearer {State.key}":
            self._send(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
        elif body["model"] == "missing":
            self._send(404, {"error": {"message": "The model `missing` does not exist", "code": "model_not_found"}})
        elif not self._marked(body, text):
            self._complete(body, answer(body))
        self._note("end", text)

    def _marked(self, body: dict[str, Any], text: str) -> bool:
        found = MARK.search(text)
        if not found:
            return False
        kind, number = found[1], float(found[2] or 0)
        if kind == "once":
            with State.lock:
                first = text not in State.seen
                State.seen.add(text)
            if first:
                self._send(int(number), {"error": {"message": "later"}}, {"retry-after": "0.05"})
                return True
            return False
        actions = {
            "status": lambda: self._send(int(number), {"error": {"message": f"status {int(number)}"}}),
            "empty": lambda: self._complete(body, ""),
            "long": lambda: self._complete(body, "字" * int(number)),
            "no text": lambda: self._complete(body, None),
            "filtered": lambda: self._complete(body, None, "content_filter"),
            "cut": lambda: self._complete(body, "An answer that", "length"),
            "broken": lambda: self._raw(200, b'{"id": "x", "choices": [{"message"'),
            "list": lambda: self._complete(body, [{"type": "text", "text": "part"}]),
            "drop": lambda: self.connection.close(),
        }
        if kind == "slow":
            time.sleep(number)
            return False
        actions[kind]()
        return True

    def _complete(self, body: dict[str, Any], text: Any, finish: str = "stop") -> None:
        size = len(text) if isinstance(text, str) else 0
        self._send(
            200,
            {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "system_fingerprint": "fp_test",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
                "usage": {"prompt_tokens": 7, "completion_tokens": size, "total_tokens": 7 + size},
            },
        )

    def _send(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self._raw(status, json.dumps(body, ensure_ascii=False).encode(), headers)

    def _raw(self, status: int, raw: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _note(self, what: str, text: str) -> None:
        with State.lock, State.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps([what, text]) + "\n")


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()
