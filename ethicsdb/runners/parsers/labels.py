"""Reads the names that a judge lists: words separated by commas, or the one word that excludes them.

The list counts where the judge's text is nothing else, or where it is marked as the answer: behind "Answer:",
"Labels:", "答案：" or the like at the start of a line, or as `{"labels": ...}`. Every name in it must be known; the
word that excludes the others may not stand beside one. Names inside prose are no answer, and neither is what is not the
judge's own (`own_words`). Two lists that differ contradict each other: a model that goes on with a next example of its
own making has given no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ethicsdb.runners.parsers.json_values import Found, json_values, unique
from ethicsdb.runners.parsers.own_words import own_words, takes_back
from ethicsdb.runners.parsers.plain import plain

if TYPE_CHECKING:
    from ethicsdb.schemas.rubrics import LabelsRubric

__all__ = ["PARSER_VERSION", "LabelsAnswer", "parse_labels"]

PARSER_VERSION = "labels-1"
"""Goes into the fingerprint of every verdict; changes when any text would be read differently."""

_LONGEST = 20_000  # a verdict is short; of a longer text only its ends are looked at, where answers stand
_MARKED = re.compile(
    r"[\s*_#-]*(?:the )?(?:(?:final )?(?:answers?|labels?|categor(?:y|ies)|verdict|result|output)|"
    r"(?:最终)?(?:答案|标签|标注|类别|分类|结果|结论))[\s*_]*(?:is|are|是|为)?[\s*_]*:(?P<rest>.*)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:[-*•·]|[0-9]{1,2}[.)])\s+(?=\S)")
_SEPARATOR = re.compile(r"[,;、]")
_AROUND = " \t*_`.\"'“”‘’"
_KEYS = ("labels", "label", "标签")

Names = tuple[str, ...]


@dataclass(frozen=True)
class LabelsAnswer:
    """The names that apply in the rubric's order, or the one that excludes them; or why there are none."""

    names: Names = ()
    reason: str | None = None


def parse_labels(text: str, rubric: LabelsRubric, *, cut_off: bool = False) -> LabelsAnswer:
    """The names that the text gives as its answer.

    `reason` is no_answer (no list is the answer), unknown_value (the list holds a name that the rubric does not know),
    or contradictory (`none` beside another name, lists that differ, or one that is taken back).

    Args:
        cut_off: whether the text ends at a length limit, so that its last line may not be whole.
    """
    shown = text if len(text) <= _LONGEST else text[: _LONGEST // 2] + "\n" + text[-_LONGEST // 2 :]
    own = plain(own_words(shown, cut_off=cut_off))
    values, broken = json_values(own, unique)
    if broken:
        return LabelsAnswer(reason="no_answer")
    lines = own.split("\n")
    for each in values:
        lines[each.first : each.last + 1] = [""] * (each.last + 1 - each.first)
    known = _known(rubric)
    said = [line for line in lines if line.strip() and not line.strip().startswith(("```", "~~~"))]
    answer = _agreed([*_from_json(values, known)], said, known)
    if cut_off and answer.reason is None and not values and not any(map(_marked, said)):
        return LabelsAnswer(reason="no_answer")  # a list with a name a line may go on
    if answer.reason is None and takes_back("\n".join(said), "|".join(re.escape(name) for name in known)):
        return LabelsAnswer(reason="contradictory")
    if answer.reason is None and rubric.none in answer.names and len(answer.names) > 1:
        return LabelsAnswer(reason="contradictory")
    return LabelsAnswer(tuple(name for name in (*rubric.labels, rubric.none) if name in answer.names), answer.reason)


def _agreed(listed: list[Names | None], lines: list[str], known: Mapping[str, str]) -> LabelsAnswer:
    """What marked lists and bare lines come to together; an unknown name in a marked list spoils it."""
    bare: list[Names] = []
    prose: list[str] = []
    for line in lines:
        marked = _marked(line)
        if marked:
            listed.append(_names(marked, known))
        elif marked is None:
            found = _names(_BULLET.sub("", line, count=1), known)
            prose += [line] if found is None else []
            bare += [found] if found is not None else []
    if None in listed:
        return LabelsAnswer(reason="unknown_value")
    told = {frozenset(each) for each in (*listed, *bare) if each is not None}
    if not listed and prose:
        return LabelsAnswer(reason="unknown_value" if _is_list(prose, bare, known) else "no_answer")
    if not listed and all(len(each) == 1 for each in bare):  # one name a line
        told = {frozenset(name for each in bare for name in each)} if bare else set()
    if len(told) > 1:
        return LabelsAnswer(reason="contradictory")
    names = tuple(told.pop()) if told else ()
    return LabelsAnswer(names) if names else LabelsAnswer(reason="no_answer")


def _marked(line: str) -> str | None:
    """What a line marks as the answer; nothing where it stands below, None where the line marks none."""
    found = _MARKED.fullmatch(line)
    return found["rest"].strip(_AROUND) if found else None


def _is_list(prose: list[str], bare: list[Names], known: Mapping[str, str]) -> bool:
    """Whether the whole text is one list of which some names are known."""
    parts = _SEPARATOR.split(prose[0])
    return not bare and len(prose) == 1 and len(parts) > 1 and any(_key(part) in known for part in parts)


def _from_json(values: list[Found], known: Mapping[str, str]) -> Iterator[Names | None]:
    """The lists in objects that name one; None for one that can't be read."""
    for each in values:
        if isinstance(each.value, dict):
            yield from (_listed(told, known) for key, told in each.value.items() if _key(key) in _KEYS)
        elif isinstance(each.value, list) and all(isinstance(part, str) for part in each.value):
            yield _listed(each.value, known)


def _listed(told: Any, known: Mapping[str, str]) -> Names | None:
    if isinstance(told, str):
        return _names(plain(told), known)
    if not isinstance(told, list) or not told or not all(isinstance(part, str) for part in told):
        return None
    found = [known.get(_key(plain(part))) for part in told]
    return None if None in found else tuple(name for name in found if name is not None)


def _names(text: str, known: Mapping[str, str]) -> Names | None:
    """The names of a list; None where one is not known."""
    found = [known.get(_key(part)) for part in _SEPARATOR.split(text.strip(_AROUND))]
    return None if None in found else tuple(name for name in found if name is not None)


def _known(rubric: LabelsRubric) -> dict[str, str]:
    """The rubric's name for every way to write it."""
    told = {**rubric.labels, rubric.none: rubric.none_also}
    return {_key(plain(each)): name for name, also in told.items() for each in (name, *also)}


def _key(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", text.strip(_AROUND)).strip().casefold()
