"""What the commands share: the registry, output as a table or JSON, safe text."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ethicsdb.cli.values import plain

if TYPE_CHECKING:
    from ethicsdb.api import Registry

__all__ = [
    "as_json",
    "figure",
    "json_option",
    "notices",
    "open_registry",
    "percent",
    "print_table",
    "say",
    "shown",
    "visible",
]

# Control characters could move the cursor, colour the screen or turn a line around; texts of models must not.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

json_option = click.option("--json", "json_", is_flag=True, help="Print JSON, for programs.")


def open_registry(context: click.Context) -> Registry:
    """The registry that the command's options name."""
    from ethicsdb.api import Registry

    options = context.find_root().obj
    return Registry(options["database"], options["declarations"] or None)


def notices(registry: Registry) -> None:
    """Say on stderr what a person should hear."""
    for sentence in registry.context.notices:
        say(f"note: {sentence}", err=True)


def as_json(value: Any) -> str:
    """JSON with text as it is; see `ethicsdb.cli.values` for what JSON has no kinds for.

    Lone surrogates keep their escape, and where standard output can't show all of Unicode, so does all that is not
    ASCII.
    """

    ascii_ = "utf" not in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    text = json.dumps(plain(value), ensure_ascii=ascii_, indent=2, allow_nan=False)
    return re.sub("[\ud800-\udfff]", lambda hit: f"\\u{ord(hit[0]):04x}", text)


def visible(text: str) -> str:
    """Text with control characters as their escapes; newlines and tabs stay."""

    def escape(hit: re.Match[str]) -> str:
        code = ord(hit[0])
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    return _CONTROL.sub(escape, text)


def say(text: str, *, err: bool = False) -> None:
    """Print text that may hold what came from a file or a model."""
    click.echo(visible(text), err=err)


def shown(value: Any, width: int = 60) -> str:
    """A value as a cell: one line, no control characters, cut with an ellipsis."""
    if value is None:
        return "–"
    text = visible(" ".join(str(value).split()))
    return text if len(text) <= width else text[: width - 1] + "…"


def figure(value: float | None, unit: str, digits: int = 1) -> str:
    """A number in its unit: shares in per cent, others with a digit more."""
    return percent(value, digits) if unit == "share" else "–" if value is None else f"{value:.{digits + 1}f}"


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage; a dash where there is nothing to show."""
    return "–" if value is None else f"{100 * value:.{digits}f}%"


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """A table that a log can hold: plain text, columns padded by display width.

    Args:
        left: the number of columns, from the first, that are set flush left; the rest holds numbers.
    """
    from rich.cells import cell_len

    lines = [[visible(re.sub(r"[\n\t]", " ", cell)) for cell in line] for line in (header, *rows)]
    widths = [max(cell_len(line[column]) for line in lines) for column in range(len(header))]

    def text(line: list[str]) -> str:
        cells = []
        for column, cell in enumerate(line):
            gap = " " * (widths[column] - cell_len(cell))
            cells.append(cell + gap if column < left else gap + cell)
        return "  ".join(cells).rstrip()

    if title:
        click.echo(click.style(visible(title), bold=True))
    click.echo(text(lines[0]))
    click.echo("  ".join("─" * width for width in widths))
    for line in lines[1:]:
        click.echo(text(line))
