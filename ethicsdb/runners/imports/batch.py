"""OpenAI Batch output: lines of {custom_id, response: {status_code, body}, error}.

Format: https://platform.openai.com/docs/api-reference/batch/request-output. The lines of a batch come in any order;
the number at the end of `custom_id` says which row a line belongs to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethicsdb.runners.imports.common import read_bytes
from ethicsdb.schemas.errors import SourceError

__all__ = ["BatchLine", "read_batch"]

_NUMBER = re.compile(r"(\d+)$")


@dataclass(frozen=True)
class BatchLine:
    """One answered (or failed) request of a batch."""

    row: int
    status: str  # completed | filtered | error
    text: str | None
    model: str | None
    finish_reason: str | None = None
    error_code: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    system_fingerprint: str | None = None


def read_batch(path: Path) -> list[BatchLine]:
    """All lines of a batch output file, by row number.

    Raises:
        SourceError: a line is not JSON, has no row number, or a row is answered twice.
    """
    found: dict[int, BatchLine] = {}
    for number, record in _objects(path):
        line = _line(path.name, number, record)
        if line.row in found:
            raise SourceError(f"{path.name}, line {number}: row {line.row} is answered twice. Nothing was imported.")
        found[line.row] = line
    if not found:
        raise SourceError(f"{path.name}: the file holds no lines. Nothing was imported.")
    return [found[row] for row in sorted(found)]


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    raw = read_bytes(path)
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8-sig", "surrogatepass"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            what = error.msg if isinstance(error, json.JSONDecodeError) else "not UTF-8"
            raise SourceError(
                f"{path.name}, line {number}: not a line of OpenAI Batch output ({what}); "
                "if the file was cut off, download it again. Nothing was imported."
            ) from error
        if not isinstance(record, dict):
            raise SourceError(f"{path.name}, line {number}: expected a JSON object. Nothing was imported.")
        yield number, record


def _line(name: str, number: int, record: dict[str, Any]) -> BatchLine:
    custom = record.get("custom_id")
    match = _NUMBER.search(custom) if isinstance(custom, str) else None
    if match is None:
        raise SourceError(
            f"{name}, line {number}, field `custom_id`: expected text that ends in the row number "
            f"(`request-0`), found {custom!r}. Nothing was imported."
        )
    row = int(match[1])
    response = record.get("response") or {}
    if record.get("error") or response.get("status_code") != 200:
        fault = record.get("error") or (response.get("body") or {}).get("error") or {}
        code = fault.get("code") or f"http_{response.get('status_code')}"
        return BatchLine(row, "error", None, None, error_code=str(code))
    try:
        return _answered(row, response["body"])
    except (KeyError, IndexError, TypeError) as error:
        raise SourceError(
            f"{name}, line {number}: expected `response.body.choices[0].message.content`, which is not there. "
            "Nothing was imported."
        ) from error


def _answered(row: int, body: dict[str, Any]) -> BatchLine:
    choice = body["choices"][0]
    message = choice["message"]
    content, refusal = message.get("content"), message.get("refusal")
    if content is None and refusal is None and choice.get("finish_reason") != "content_filter":
        raise KeyError("content")
    usage = body.get("usage") or {}
    return BatchLine(
        row=row,
        status="filtered" if choice.get("finish_reason") == "content_filter" else "completed",
        text=content if content is not None else refusal,
        model=body.get("model"),
        finish_reason=choice.get("finish_reason"),
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        system_fingerprint=body.get("system_fingerprint"),
    )
