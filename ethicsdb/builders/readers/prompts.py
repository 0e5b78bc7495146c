"""ToxiGen's prompt files (Hartvigsen et al. 2022): a prompt a line, its line ends written as backslash and n."""

from __future__ import annotations

from collections.abc import Iterator

from ethicsdb.builders.readers.base import Note, SourceFile, SourceRow, text_of

__all__ = ["read_toxigen"]


def read_toxigen(file: SourceFile) -> Iterator[SourceRow]:
    r"""Prompts with real line ends between the demonstrations; the dash at the end, which a model goes on from, stays.

    Cells: `text`. Reported: that the file writes line ends as `\n` (once), a last demonstration that no line end parts
    from the closing dash, a prompt without that dash, and backslashes that are part of a demonstration (kept).
    """
    name = file.path.name
    lines = [line.removesuffix("\r") for line in text_of(file).split("\n")]
    lines = [line for line in lines if line.strip()]
    escaped = sum("\\n" in line for line in lines)
    for number, line in enumerate(lines, start=1):
        notes = list(_notes(line))
        if number == 1 and escaped:
            told = f"{escaped} lines write line ends as a backslash and an n; read as line ends"
            notes.insert(0, Note("repaired", "literal_newline", told, place=(name, None)))
        yield SourceRow(name, number, {"text": line.replace("\\n", "\n")}, tuple(notes))


def _notes(line: str) -> Iterator[Note]:
    if not line.endswith("-"):
        yield Note("suspicious", "no_closing_dash", "the prompt does not end in `-`; kept", "text")
    elif not line.endswith("\\n-"):
        told = f"no line end before the closing dash (`{line[-12:]}`); kept"
        yield Note("suspicious", "joined_dash", told, "text")
    if "\\" in line.replace("\\n", ""):
        yield Note("suspicious", "backslash", "a backslash besides those of line ends; kept", "text")
