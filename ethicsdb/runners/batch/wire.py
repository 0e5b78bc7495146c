"""Lines of a batch: from a request to a line of the input file, and from a line of an output file to a reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ethicsdb.runners.asking import Job
from ethicsdb.runners.backends.base import Reply
from ethicsdb.runners.backends.openai import OpenAIBackend

__all__ = ["ENDPOINT", "Line", "input_line", "lines_of", "reply_of"]

ENDPOINT = "/v1/chat/completions"


@dataclass(frozen=True)
class Line:
    """A line of an output or error file."""

    custom_id: str
    status: int | None  # of HTTP; None where the request was never made
    body: Any
    error: dict[str, Any] | None


def input_line(backend: OpenAIBackend, job: Job) -> bytes:
    """The line that asks a request, as it would be sent online; its answer comes back under its key."""
    body = json.loads(backend.body(job.ask))
    line = {"custom_id": job.response_key, "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(line).encode("ascii") + b"\n"


def lines_of(raw: bytes) -> Iterator[Line]:
    """The whole lines of a file; what is no line of a batch is passed over, and its request counts as missing."""
    for each in raw.split(b"\n"):
        try:
            told = json.loads(each)
        except (ValueError, RecursionError):
            continue
        if not isinstance(told, dict) or not isinstance(told.get("custom_id"), str):
            continue
        response = told.get("response")
        response = response if isinstance(response, dict) else {}
        status = response.get("status_code")
        error = told.get("error")
        yield Line(
            told["custom_id"],
            status if isinstance(status, int) else None,
            response.get("body"),
            error if isinstance(error, dict) else None,
        )


def reply_of(backend: OpenAIBackend, line: Line) -> Reply:
    """What a line says, read as online replies are."""
    if line.status is not None and 200 <= line.status < 300:
        return backend.read(line.body)
    if line.status is not None:
        return backend.failed(line.status, line.body)
    error = line.error or {}
    code = str(error.get("code") or "batch_error")
    return Reply("error", error_code=code, error_message=backend.brief(str(error.get("message") or code)))
