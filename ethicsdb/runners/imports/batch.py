"""OpenAI Batch output: lines of {custom_id, response: {status_code, body}, error}.

Format: https://platform.openai.com/docs/api-reference/batch/request-output. The lines of a batch come in any order;
the number at the end of `custom_id` says which row a line belongs to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ethicsdb.registry.files import looks_like, read_bytes
from ethicsdb.runners.imports.common import OUTCOME
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.fingerprint import fingerprint

__all__ = ["BatchLine", "content_mark", "read_batch"]

_NUMBER = re.compile(r"([0-9]{1,15})$")


@dataclass(frozen=True)
class BatchLine:
    """One answered (or failed) request of a batch."""

    row: int
    custom_id: str
    status: str  # completed | filtered | error
    text: str | None
    model: str | None
    finish_reason: str | None = None
    error_code: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    system_fingerprint: str | None = None

    @property
    def stem(self) -> str:
        """The custom_id without its number, which all requests of a batch share."""
        return _NUMBER.sub("", self.custom_id)


def read_batch(path: Path) -> list[BatchLine]:
    """All lines of a batch output file, by row number.

    Raises:
        SourceError: a line is not JSON, has no row number, or a row is answered twice.
    """
    try:
        return _lines(path)
    except SourceError as error:
        look = looks_like(read_bytes(path, OUTCOME), "jsonl")
        if look is None:
            raise
        raise SourceError(
            f"{path.name}: expected OpenAI Batch output, which is JSON lines, but it looks like {look.words}. {OUTCOME}"
        ) from error


def _lines(path: Path) -> list[BatchLine]:
    found: dict[int, BatchLine] = {}
    places: dict[int, int] = {}  # row: the line of the file that answers it
    for number, record in _objects(path):
        line = _line(path.name, number, record)
        if line.row in found:
            first = found[line.row].custom_id
            raise SourceError(
                f"{path.name}, lines {places[line.row]} and {number}: row {line.row} is answered twice (`{first}` and "
                f"`{line.custom_id}`); leave one out, or import each batch alone. {OUTCOME}"
            )
        found[line.row], places[line.row] = line, number
    if not found:
        raise SourceError(f"{path.name}: the file holds no lines. {OUTCOME}")
    return [found[row] for row in sorted(found)]


def content_mark(lines: list[BatchLine]) -> str:
    """Fingerprint of what a batch says, whatever the order of its lines, and what its requests were called."""
    said = [{name: value for name, value in asdict(line).items() if name != "custom_id"} for line in lines]
    return fingerprint(["batch output", said])


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    raw = read_bytes(path, OUTCOME)
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8-sig", "surrogatepass"))
        except (ValueError, RecursionError) as error:
            what = error.msg if isinstance(error, json.JSONDecodeError) else "not readable as UTF-8 JSON"
            raise SourceError(
                f"{path.name}, line {number}: not a line of OpenAI Batch output ({what}); "
                f"if the file was cut off, download it again. {OUTCOME}"
            ) from error
        if not isinstance(record, dict):
            raise SourceError(f"{path.name}, line {number}: expected a JSON object. {OUTCOME}")
        yield number, record


def _line(name: str, number: int, record: dict[str, Any]) -> BatchLine:
    custom_id = record.get("custom_id")
    match = _NUMBER.search(custom_id) if isinstance(custom_id, str) else None
    if match is None or not isinstance(custom_id, str):
        raise SourceError(
            f"{name}, line {number}, field `custom_id`: expected text that ends in the row number "
            f"(`request-0`), found {custom_id!r}. {OUTCOME}"
        )
    row = int(match[1])
    try:
        response = _typed(record, "response", dict) or {}
        if record.get("error") or response.get("status_code") != 200:
            return BatchLine(row, custom_id, "error", None, None, error_code=_error_code(record, response))
        return _answered(row, custom_id, _typed(response, "body", dict) or {})
    except _ShapeError as error:
        raise SourceError(f"{name}, line {number}, field {error}. {OUTCOME}") from error


class _ShapeError(Exception):
    """A part of a line is not what the format says: `name`: expected what, found what."""


def _typed(value: dict[str, Any], name: str, kind: type) -> Any:
    """A part that is of that type, or absent."""
    found = value.get(name)
    if found is None or (isinstance(found, kind) and not isinstance(found, bool)):
        return found
    raise _ShapeError(f"`{name}`: expected {WORDS[kind]}, found {type(found).__name__}")


WORDS = {dict: "an object", str: "text", int: "a whole number", list: "a list"}


def _error_code(record: dict[str, Any], response: dict[str, Any]) -> str:
    for fault in (record.get("error"), (_typed(response, "body", dict) or {}).get("error")):
        if isinstance(fault, dict) and fault.get("code"):
            return str(fault["code"])
    return f"http_{response['status_code']}" if response.get("status_code") not in (None, 200) else "failed"


def _answered(row: int, custom_id: str, body: dict[str, Any]) -> BatchLine:
    choices = _typed(body, "choices", list)
    if not choices or not isinstance(choices[0], dict):
        raise _ShapeError("`response.body.choices`: expected a list with an answer in it")
    message = _typed(choices[0], "message", dict) or {}
    finish = _typed(choices[0], "finish_reason", str)
    content, refusal = _typed(message, "content", str), _typed(message, "refusal", str)
    if content is None and refusal is None and finish != "content_filter":
        raise _ShapeError("`response.body.choices[0].message.content`: expected the judge's text, found nothing")
    usage = _typed(body, "usage", dict) or {}
    return BatchLine(
        row=row,
        custom_id=custom_id,
        status="filtered" if finish == "content_filter" else "completed",
        text=content if content is not None else refusal,
        model=_typed(body, "model", str),
        finish_reason=finish,
        prompt_tokens=_typed(usage, "prompt_tokens", int),
        completion_tokens=_typed(usage, "completion_tokens", int),
        system_fingerprint=_typed(body, "system_fingerprint", str),
    )
