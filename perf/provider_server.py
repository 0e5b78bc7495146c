"""A provider for `providers.py`, in a process of its own: OpenAI's chat completions, with limits and scheduled faults.

    python perf/provider_server.py RATE SEED

A token bucket admits RATE requests a second, in bursts of a quarter of a second; what it does not admit gets 429 with
`Retry-After`. Of admitted first requests for an item some fail by the item's hash: a 500, a body that breaks off, a
line that is cut before a word, an answer that takes two seconds, an answer that a filter withholds. All others take 0.1
to 0.2 seconds. An answer is paid for once its body was written whole and taken. `GET /stats` tells what was counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sys
import time
from collections import Counter
from typing import Any

BURST = 0.25  # seconds of the rate
SHARES = {"500": 2, "truncated": 1, "disconnected": 1, "slow": 1, "filtered": 2}  # of a hundred items


class Provider:
    """What is admitted, what goes wrong, and what is paid."""

    def __init__(self, rate: float, seed: str) -> None:
        self.rate, self.seed = rate, seed
        self.tokens, self.at = rate * BURST, time.monotonic()
        self.first = self.last = 0.0
        self.count: Counter[str] = Counter()
        self.paid: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()

    def admit(self) -> float:
        """0 where the bucket has a token, else the seconds until there are some."""
        now = time.monotonic()
        self.tokens = min(self.rate * BURST, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < 1:
            return (2 - self.tokens) / self.rate
        self.tokens -= 1
        return 0.0

    def fate(self, item: str) -> tuple[str, float]:
        """What becomes of an item's next admitted request, and how long it takes."""
        number = int.from_bytes(hashlib.sha256(f"{self.seed} {item}".encode()).digest()[:8], "big")
        self.asked[item] += 1
        place, delay = number % 100, 0.1 + (number // 100 % 1000) / 10_000
        for kind, share in SHARES.items():
            if place < share:
                lasting = kind in ("filtered", "slow")
                return (kind if lasting or self.asked[item] == 1 else "answer"), 2.0 if kind == "slow" else delay
            place -= share
        return "answer", delay

    async def answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        """Answer a request; False where the line is cut."""
        wait = self.admit()
        self.last = time.monotonic()
        self.first = self.first or self.last
        if wait:
            self.count["refused"] += 1
            return await _send(writer, 429, {"error": {"message": "slow down"}}, {"retry-after": f"{wait:.3f}"})
        self.count["admitted"] += 1
        item = body["messages"][-1]["content"]
        kind, delay = self.fate(item)
        self.count[kind] += 1
        await asyncio.sleep(delay)
        if kind == "500":
            return await _send(writer, 500, {"error": {"message": "an accident"}})
        if kind == "disconnected":
            return False
        reply = _reply(body, None if kind == "filtered" else f"An answer about {item}", kind)
        whole = await _send(writer, 200, reply, cut=kind == "truncated")
        if whole:
            self.paid[item] += 1
            self.count["prompt_tokens"] += reply["usage"]["prompt_tokens"]
            self.count["completion_tokens"] += reply["usage"]["completion_tokens"]
        self.last = time.monotonic()
        return whole

    def stats(self) -> dict[str, Any]:
        """Everything that was counted."""
        return {
            **self.count,
            "items_paid": len(self.paid),
            "paid": self.paid.total(),
            "paid_twice": sum(times > 1 for times in self.paid.values()),
            "seconds": self.last - self.first,
            "permitted": self.rate * (self.last - self.first) + self.rate * BURST,
        }


def _reply(body: dict[str, Any], text: str | None, kind: str) -> dict[str, Any]:
    finish = "content_filter" if kind == "filtered" else "stop"
    usage = {"prompt_tokens": 12, "completion_tokens": 0 if text is None else 9}
    message = {"role": "assistant", "content": text or ""}
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }  # fmt: skip


async def _send(
    writer: asyncio.StreamWriter,
    status: int,
    body: dict[str, Any],
    headers: dict[str, str] | None = None,
    *,
    cut: bool = False,
) -> bool:
    raw = json.dumps(body).encode()
    lines = {"content-type": "application/json", "content-length": str(len(raw)), **(headers or {})}
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
    writer.write(head.encode() + (raw[: len(raw) // 2] if cut else raw))
    await writer.drain()
    return not cut


async def _serve(provider: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            first, *lines = head.decode("latin-1").split("\r\n")
            size = next((int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length")), 0)
            raw = await reader.readexactly(size)
            if first.startswith("GET"):
                await _send(writer, 200, provider.stats())
            elif not await provider.answer(json.loads(raw), writer):
                break
    with contextlib.suppress(ConnectionError):
        writer.close()


async def main() -> None:
    """Listen on a free port, tell it, and serve until the end."""
    provider = Provider(float(sys.argv[1]), sys.argv[2])
    server = await asyncio.start_server(lambda r, w: _serve(provider, r, w), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
