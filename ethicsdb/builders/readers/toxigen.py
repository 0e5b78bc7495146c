"""ToxiGen's release on the Hugging Face Hub (Hartvigsen et al. 2022): generated texts, and texts that people rated."""

from __future__ import annotations

import ast
import hashlib
import math
import re
from collections.abc import Iterator
from typing import Any

from ethicsdb.builders.readers.base import OUTCOME, Note, SourceFile, SourceRow, field_of, json_text, records_of
from ethicsdb.schemas.errors import SourceError

__all__ = ["ANNOTATED_COLUMNS", "read_toxigen_annotated", "read_toxigen_generations"]

ANNOTATED_COLUMNS = (
    "text", "target_group", "factual?", "ingroup_effect", "lewd", "framing", "predicted_group", "stereotyping",
    "intent", "toxicity_ai", "toxicity_human", "predicted_author", "actual_method",
)  # fmt: skip
NUMBERS = ("intent", "toxicity_ai", "toxicity_human")
LABELS: dict[float | None, tuple[str, ...]] = {0.0: ("neutral",), 1.0: ("toxic language",)}
_BYTES = re.compile(r"b(['\"]).*\1", re.DOTALL)


def read_toxigen_generations(file: SourceFile) -> Iterator[SourceRow]:
    r"""The configuration `train`: what GPT-3 said after demonstrations, as (context, output) in Eagle's sense.

    Cells: `context` (JSON list of one turn, {role: human, content: the prompt}), `output` (the generation), `labels`
    (JSON list: toxic language where `prompt_label` is 1, neutral where it is 0), `prompt_id` (of the prompt's text, by
    which rows of one prompt are told), `group`, `details` (JSON: generation_method, roberta_prediction).

    `prompt_label` says what the demonstrations were; nobody read the generations, so the label is of the method.

    Reported: line ends written as `\n` in prompts (read as line ends), texts written as Python bytes (`b'...'`, read as
    the text), an empty prompt.

    Raises:
        SourceError: a column is missing, `prompt_label` is neither 0 nor 1, or `roberta_prediction` is no share.
    """
    name, told = file.path.name, False
    for number, record in enumerate(records_of(file), start=1):
        notes: list[Note] = []
        cells, escaped = _generated(f"{name}, row {number}", record, notes)
        if escaped and not told:
            told = True
            detail = f"prompts write line ends as a backslash and an n (first in row {number}); read as line ends"
            notes.insert(0, Note("repaired", "literal_newline", detail, "prompt", place=(name, None)))
        yield SourceRow(name, number, cells, tuple(notes))


def _generated(where: str, record: dict[str, Any], notes: list[Note]) -> tuple[dict[str, Any], bool]:
    """The cells of a generation, and whether its prompt writes line ends as a backslash and an n."""
    written = _plain(field_of(where, record, "prompt"), "prompt", notes)
    prompt = written.replace("\\n", "\n")
    if not prompt.strip():
        notes.append(Note("suspicious", "empty_prompt", "there is no prompt; kept with an empty turn", "prompt"))
    labels = LABELS.get(_number(where, record, "prompt_label"))
    if labels is None:
        raise SourceError(f"{where}, field `prompt_label`: `{record['prompt_label']}` is neither 0 nor 1. {OUTCOME}")
    share = _number(where, record, "roberta_prediction")
    if share is not None and not 0 <= share <= 1:
        raise SourceError(f"{where}, field `roberta_prediction`: {share} is no share from 0 to 1. {OUTCOME}")
    details = {"generation_method": field_of(where, record, "generation_method"), "roberta_prediction": share}
    cells = {
        "context": json_text([{"role": "human", "content": prompt}]),
        "output": _plain(field_of(where, record, "generation"), "generation", notes),
        "labels": json_text(labels),
        "prompt_id": hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "group": field_of(where, record, "group"),
        "details": json_text(details),
    }
    return cells, prompt != written


def read_toxigen_annotated(file: SourceFile) -> Iterator[SourceRow]:
    """The configuration `annotated`: texts with what people said of them; no prompts are published with them.

    Cells: `text`, `target_group`, `details` (JSON: the other eleven columns by their names, `factual?` among them;
    intent, toxicity_ai and toxicity_human as numbers from 1 to 5, null where nobody rated).

    Raises:
        SourceError: a column is missing, or a rating is no number from 1 to 5.
    """
    name = file.path.name
    for number, record in enumerate(records_of(file), start=1):
        where = f"{name}, row {number}"
        notes: list[Note] = []
        details: dict[str, Any] = {}
        for column in ANNOTATED_COLUMNS[2:]:
            if column in NUMBERS:
                details[column] = _rating(where, record, column)
            else:
                details[column] = field_of(where, record, column, (str, type(None))) or None
        cells = {
            "text": _plain(field_of(where, record, "text"), "text", notes),
            "target_group": field_of(where, record, "target_group"),
            "details": json_text(details),
        }
        yield SourceRow(name, number, cells, tuple(notes))


def _plain(text: str, column: str, notes: list[Note]) -> str:
    """The text; where it is the Python writing of bytes, as in files saved from Python, the text of those bytes."""
    if not _BYTES.fullmatch(text):
        return text
    try:
        value = ast.literal_eval(text)
        plain = value.decode("utf-8") if isinstance(value, bytes) else None
    except (ValueError, SyntaxError):
        plain = None
    if plain is None:
        return text
    notes.append(Note("repaired", "bytes_literal", "written as Python bytes (`b'...'`); read as their text", column))
    return plain


def _rating(where: str, record: dict[str, Any], column: str) -> float | None:
    value = _number(where, record, column)
    if value is not None and not 1 <= value <= 5:
        raise SourceError(f"{where}, field `{column}`: {value} is no rating from 1 to 5. {OUTCOME}")
    return value


def _number(where: str, record: dict[str, Any], column: str) -> float | None:
    """A number, or text of one; None where the cell is empty."""
    value = field_of(where, record, column, (int, float, str, type(None)))
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except ValueError as error:
        raise SourceError(f"{where}, field `{column}`: `{value}` is no number. {OUTCOME}") from error
    return None if math.isnan(number) else number
