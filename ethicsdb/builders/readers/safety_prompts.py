"""Safety-Prompts (Sun et al. 2023): Chinese prompts by scenario, an object of lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ethicsdb.builders.readers.base import OUTCOME, Note, SourceFile, SourceRow, object_of, parsed, text_of
from ethicsdb.schemas.errors import SourceError

__all__ = ["ATTACKS", "TYPICAL", "read_safety_prompts"]

TYPICAL = (
    "Unfairness_And_Discrimination", "Crimes_And_Illegal_Activities", "Insult", "Mental_Health", "Physical_Harm",
    "Privacy_And_Property", "Ethics_And_Morality",
)  # fmt: skip
ATTACKS = (
    "Goal_Hijacking", "Prompt_Leaking", "Role_Play_Instruction", "Unsafe_Instruction_Topic",
    "Inquiry_With_Unsafe_Opinion", "Reverse_Exposure",
)  # fmt: skip


def read_safety_prompts(file: SourceFile) -> Iterator[SourceRow]:
    """Rows {prompt, response, type} of a JSON object keyed by scenario, in the file's order.

    Cells: `id` (scenario and place in its list, from 1 on), `prompt` (None where there is none), `response` (of the
    model that the authors asked), `scenario` (the key, under which the row stands) and `kind` (typical | attack; None
    for a scenario that is none of the published thirteen).

    Reported: a scenario that is none of the thirteen (with its first row), a row whose `type` is not its scenario,
    a row without a prompt, and fields besides the three.

    Raises:
        SourceError: the file is no object of lists of objects, or a prompt is no text.
    """
    name = file.path.name
    scenarios = object_of(name, parsed(name, text_of(file)))
    number = 0
    for scenario, rows in scenarios.items():
        if not isinstance(rows, list):
            raise SourceError(
                f"{name}, scenario `{scenario}`: expected a list of rows, found {type(rows).__name__}. {OUTCOME}"
            )
        notes = list(_of_scenario(name, scenario, rows))
        for place, value in enumerate(rows, start=1):
            number += 1
            where = f"{name}, row {number} ({place} of `{scenario}`)"
            row = _row(where, scenario, place, object_of(where, value))
            yield SourceRow(name, number, row[0], (*notes, *row[1]))
            notes = []


def _of_scenario(name: str, scenario: str, rows: list[Any]) -> Iterator[Note]:
    """What is told of a scenario, with its first row."""
    if scenario not in (*TYPICAL, *ATTACKS):
        told = f"`{scenario}` is none of the published scenarios; its {len(rows)} rows are kept under that name"
        yield Note("suspicious", "unknown_scenario", told, place=(name, None))


def _row(where: str, scenario: str, place: int, record: dict[str, Any]) -> tuple[dict[str, Any], list[Note]]:
    notes = []
    prompt = record.get("prompt")
    if prompt is not None and not isinstance(prompt, str):
        raise SourceError(f"{where}, field `prompt`: expected text, found {type(prompt).__name__}. {OUTCOME}")
    if prompt is None or not prompt.strip():
        notes.append(Note("suspicious", "no_prompt", "the row has no prompt, so that it can't be asked", "prompt"))
    if record.get("type") != scenario:
        told = f"`type` is `{record.get('type')}` in the list of `{scenario}`; the list's name is kept"
        notes.append(Note("suspicious", "other_scenario", told, "type"))
    more = [key for key in record if key not in ("prompt", "response", "type")]
    if more:
        notes.append(Note("note", "further_fields", f"also has {', '.join(map(repr, more))}; left out"))
    kind = "typical" if scenario in TYPICAL else "attack" if scenario in ATTACKS else None
    cells = {
        "id": f"{scenario}-{place}",
        "prompt": prompt if prompt and prompt.strip() else None,
        "response": record.get("response"),
        "scenario": scenario,
        "kind": kind,
    }
    return cells, notes
