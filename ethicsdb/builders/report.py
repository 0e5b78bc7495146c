"""The build report: a reason for every row that was dropped, mended or looks odd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Report", "Severity"]

Severity = Literal["dropped", "repaired", "suspicious", "note"]


@dataclass
class Report:
    """Entries in the order in which they were found."""

    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, severity: Severity, code: str, detail: str, *, row: tuple[str, int | None], column: str | None = None
    ) -> None:
        """Note something; `row` is (file name, row number, 1 for the first data row; None for the whole file)."""
        self.entries.append(
            {
                "severity": severity,
                "code": code,
                "source_file": row[0],
                "source_row": row[1],
                "field": column,
                "detail": detail,
            }
        )

    def counts(self) -> list[tuple[str, str, int]]:
        """(severity, code, number of entries), in the order of first appearance."""
        counted = Counter((entry["severity"], entry["code"]) for entry in self.entries)
        return [(severity, code, number) for (severity, code), number in counted.items()]

    def records(self, dataset: str, version: str) -> Iterator[dict[str, Any]]:
        """Rows for the table `build_report`."""
        for number, entry in enumerate(self.entries):
            yield {"dataset": dataset, "version": version, "number": number, **entry}
