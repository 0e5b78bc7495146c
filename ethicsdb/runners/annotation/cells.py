"""Texts in the cells of a sheet that people open with a spreadsheet program: safe there, and checked on their return.

A cell that begins like a formula is given an apostrophe, which is taken off again. NUL and half a UTF-16 pair, which no
spreadsheet holds, are shown as signs; the database keeps the text itself.
"""

from __future__ import annotations

import json

from ethicsdb.schemas.fingerprint import fingerprint
from ethicsdb.schemas.text import storable

__all__ = ["asked", "shown_mark", "to_cell"]

FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
ROLES = {"user": "Asked", "assistant": "Answered", "system": "Told"}


def to_cell(text: str) -> str:
    """A text as a cell shows it."""
    plain = storable(text).replace("\x00", "\u2400")
    return f"'{plain}" if plain.startswith(FORMULA) else plain


def shown_mark(question: str, answer: str) -> str:
    """What tells whether cells were edited; line ends and spaces at the ends are the spreadsheet's to change."""
    return fingerprint([_bare(question), _bare(answer)])


def _bare(cell: str) -> str:
    text = cell.replace("\r\n", "\n").replace("\r", "\n").strip()
    return text.removeprefix("'").strip()


def asked(messages: str | None) -> str:
    """What a model was asked, for people: one question as it is, a talk with who said what; no system prompt."""
    if messages is None:
        return ""
    content = json.loads(messages)
    turns = content["messages"] if isinstance(content, dict) else content
    said = [turn for turn in turns if turn["role"] != "system"]
    if len(said) == 1:
        return str(said[0]["content"])
    return "\n\n".join(f"{ROLES.get(turn['role'], turn['role'])}: {turn['content']}" for turn in said)
