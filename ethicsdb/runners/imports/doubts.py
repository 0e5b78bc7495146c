"""What makes one doubt that imported outputs are what they were said to be; none of it proves that they are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ethicsdb.registry.context import Context
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.imports.batch import BatchLine
from ethicsdb.runners.reading import Reading
from ethicsdb.schemas.fingerprint import short
from ethicsdb.schemas.outcomes import VerdictStatus

__all__ = ["about_alignment", "about_other_runs", "about_reading"]


def about_reading(judge: str, readings: Sequence[Reading]) -> list[str]:
    """Less than half of the outputs could be read: most likely another judge wrote them."""
    parsed = sum(reading.status == VerdictStatus.PARSED for reading in readings)
    if 2 * parsed >= len(readings):
        return []
    reasons = Counter(reading.reason for reading in readings if reading.status != VerdictStatus.PARSED)
    common, times = reasons.most_common(1)[0]
    return [
        f"only {parsed:,} of {len(readings):,} outputs could be read by the judge `{judge}` (of the others, {times:,}: "
        f"{common}); was another judge or benchmark meant?"
    ]


def about_alignment(lines: Sequence[BatchLine], readings: Sequence[Reading]) -> list[str]:
    """Signs that lines are about other rows than they are counted for.

    A judge hardly ever answers more questions than it was asked, and a batch has one form of `custom_id`.
    """
    told = []
    extra = [line.row for line, reading in zip(lines, readings, strict=True) if reading.reason == "extra"]
    if extra:
        told.append(
            f"{len(extra):,} of {len(lines):,} outputs answer more questions than the rubric has for their row (row "
            f"{extra[0]} is the first); are the lines about these rows, in this order?"
        )
    stems = Counter(line.stem for line in lines)
    if len(stems) > 1:
        (first, many), (second, fewer) = stems.most_common(2)
        told.append(
            f"the custom_ids are of {len(stems):,} forms (`{first}N` {many:,} times, `{second}N` {fewer:,} times); is "
            "the file made of several batches?"
        )
    return told


def about_other_runs(context: Context, run_id: str) -> list[str]:
    """Another import about the same model stands on the same board."""
    with context.reading() as connection:
        found = connection.execute(read_sql("imports_about_model"), {"run": run_id}).fetchall()
    return [
        f"an earlier import about `{model}` stands on the board beside this one ({asked:,} answers); if this one is "
        f"meant instead, take it back: ethicsdb withdraw {short(other)}"
        for other, model, asked in found
    ]
