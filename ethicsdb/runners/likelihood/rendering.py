"""From turns to the text that stands before a target.

By the model's chat template, the text ends where the template would put the first character of the assistant's answer:
the turns are rendered with a marker as the answer and cut at the marker. The generation prompt is not enough, since
templates write more before an answer than that prompt (the space after Llama 2's `[/INST]`, an empty `<think>` block, a
channel name), and a target scored without it is off by nats. It is used only where a template hides the marker.

Plainly (`plain-1`), each turn is `Role:`, a line end, its content and an empty line, and `Assistant:` with a line end
comes last. The line end keeps tokenizers from joining the label with the target.

Templates that print today's date are given one fixed date, so that a score does not change overnight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ethicsdb.runners.likelihood.base import Context, Turn

__all__ = ["FIXED_DATE", "PLAIN", "Refused", "Rendered", "Renderer"]

PLAIN = "plain-1"
FIXED_DATE = "2024-07-26"

_MARKER = "ANSWER0MARKER"
_DATE_PARTS = {
    "%d": "26", "%-d": "26", "%e": "26", "%m": "07", "%-m": "7", "%b": "Jul", "%B": "July", "%Y": "2024", "%y": "24",
    "%A": "Friday", "%a": "Fri", "%H": "00", "%M": "00", "%S": "00",
}  # fmt: skip
# A macro of this name hides the clock that the template would otherwise read.
_FIXED_CLOCK = (
    "{% macro strftime_now(form) %}{{ form"
    + "".join(f"|replace('{part}', '{value}')" for part, value in _DATE_PARTS.items())
    + " }}{% endmacro +%}"
)


class Refused(Exception):
    """The chat template can't render these turns; the message is the template's own."""


@dataclass(frozen=True)
class Rendered:
    """The text before the target.

    Attributes:
        text: all of it.
        settled: the same without a space at its end that the template puts between prompt and answer. Where that space
            becomes part of the answer's first token, as it does with most tokenizers, nothing is unstable about it.
    """

    text: str
    settled: str


class Renderer:
    """Renders contexts for one model."""

    def __init__(self, tokenizer: Any, template: str | None) -> None:
        """`template` is the chat template's text, or None for the plain form."""
        self._tokenizer = tokenizer
        self._template = template if template is None or "strftime_now" not in template else _FIXED_CLOCK + template

    def render(self, context: Context) -> Rendered:
        """The text before the target. A text is taken as it is, no turns at all are an empty text.

        Raises:
            Refused: the model's template does not take these turns.
        """
        if isinstance(context, str):
            return Rendered(context, context)
        if not context:
            return Rendered("", "")
        if self._template is None:
            text = "".join(f"{turn.role.capitalize()}:\n{turn.content}\n\n" for turn in context) + "Assistant:\n"
            return Rendered(text, text)
        text = self._before_answer(context)
        return Rendered(text, text.rstrip(" "))

    def _before_answer(self, turns: tuple[Turn, ...]) -> str:
        from jinja2 import TemplateError

        try:
            whole = self._apply([*turns, Turn("assistant", _MARKER)], prompt=False)
        except TemplateError:
            whole = ""
        at = whole.rfind(_MARKER)
        if at >= 0:
            return whole[:at]
        try:
            return self._apply([*turns], prompt=True)
        except TemplateError as error:
            raise Refused(str(error)) from error

    def _apply(self, turns: list[Turn], *, prompt: bool) -> str:
        messages = [{"role": turn.role, "content": turn.content} for turn in turns]
        text: str = self._tokenizer.apply_chat_template(
            messages, chat_template=self._template, tokenize=False, add_generation_prompt=prompt
        )
        return text
