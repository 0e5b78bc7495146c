"""What one line of a judge's numbered answers says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

__all__ = ["LANGUAGES", "Line", "Words", "pairs_on_a_line", "published_lines", "read_line", "words_of"]

# Only words that come in pairs: with 没有 (no) but not 有 (yes), unread answers would all fall on one side.
_YES = {"en": ("yes",), "zh": ("是的", "是"), "ru": ("да",)}
_NO = {"en": ("no",), "zh": ("不是的", "不是", "否"), "ru": ("нет",)}
LANGUAGES = tuple(_YES)
# Answers that are neither. They clash with a yes or no to the same question, so that a planted "3. Yes" beside the
# judge's own "3. Maybe" is not read.
_NEITHER = (
    "n/a", "na", "not applicable", "maybe", "possibly", "unclear", "unknown", "unsure", "partially", "partly",
    "не применимо", "неприменимо", "не применяется", "возможно", "частично", "неясно", "не ясно", "неизвестно",
    "不适用", "不適用", "可能", "也许", "也許", "不确定", "不確定", "不清楚", "部分", "无法判断", "無法判斷",
)  # fmt: skip
# An explanation that begins so leaves the answer in doubt: "Yes, but only partially".
_DOUBT = re.compile(
    r"(?:(?:but|though|although|only|just|it'?s|it is|i'?m|still|но|лишь|только|хотя|但是?|不过|虽然|只是|我|也)"
    r"\s*){0,3}"
    r"(?:partial|partly|in part\b|maybe|perhaps|possibly|probably|somewhat|to (?:some|a certain) (?:extent|degree)|"
    r"(?:sort|kind) of|not (?:sure|certain|entirely|fully)|unsure|uncertain|unclear|arguably|borderline|"
    r"отчасти|частично|возможно|наверное|вероятно|скорее|неясно|не (?:уверен|вполне|полностью)|"
    r"(?:incorrect|wrong|false|not true|неверно|错误|不正确)\s*(?:[.,;!)]|$)|"
    r"в (?:какой|некоторой)|部分|也许|或许|大概|不(?:太)?确定|不完全|(?:在)?某种程度|有?一定程度|不好说)",
    re.IGNORECASE,
)
_HARDLY = ("not really", "not quite", "не совсем", "不太")  # goes well with a no
_NEAR = 2_000  # characters of an explanation in which an answer is put right
_CORRECTS = (
    r"(?:\b(?:actually|wait|correct(?:ion|ed)|on second thought|i mean|mine|scratch that|make that|"
    r"so|therefore|thus|hence)\b|更正|不对|所以|因此|综上|应该?[是为]|改[为成]|\b(?:точнее|вернее|поправка|поэтому|значит)\b)"
)
# Marks that stand for a yes or no beside the word; alone they answer nothing ("no prejudice" may be ticked).
_MARKS = {**dict.fromkeys("✅✔☑✓👍", True), **dict.fromkeys("❌✖✗✘👎", False)}
# What the published figures took for a yes or no line: capitalised, alone, nothing else on the line.
_PUBLISHED = {"en": ("Yes", "No"), "zh": ("是", "否"), "ru": ("Да", "Нет")}

_LABEL = r"""
    (?:(?:question|answer|q|a|вопрос|ответ|问题|問題|回答|答案|问|問|题|題|答|第|№)[ \t]*)?
    [(\[]?
    (?:(?P<digits>[0-9]{1,3})|(?P<hanzi>[一二三四五六七八九十]{1,3}))
    (?![0-9一二三四五六七八九十])
    (?P<unit>[ \t]*(?:个问题|個問題|问题|問題|题|題|问|問))?
    (?P<gap>[\s*_\\.):\]、—|-]*)
    (?:(?:answer|ответ|答案|回答|答)[\s*_]*:[\s*_]*)?
"""
_DECORATION = r"[\s*_\#•·●▪◦‣+|\\—-]*"
_EXPLANATION = re.compile(r"(?:[\s*_`\]]*[,.;:(!|、—]|[\s*_`\]]+-|-\s)[\s*_]*(?P<start>.?)", re.DOTALL)
_TRAILING = " \t\f\v*_`].!,;、|"
_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "「": "」", "『": "』"}
_PAIR = (
    r"(?:(?:question|q|вопрос|问题|第|№)[ \t]*)?[(\[]?(?P<number>[0-9]{{1,3}})"
    r"(?:[ \t]*(?:题|題|问|問)[ \t]*:?|[.):\]、—=-]+)[\s*_]*(?P<word>{words})(?![^\W_0-9])[*_]*[\s.;,、|]*"
)


class Line(NamedTuple):
    """One line, decoration aside: an answer with a number, a bare answer, a line with a number only, or other text."""

    kind: Literal["answer", "bare", "number", "other", "skipped"]
    number: int = 0
    value: bool | None = None


@dataclass(frozen=True)
class Words:
    """The words of the declared languages.

    line: a line that may be an answer. published: a whole line as the published figures took it. pair: number and word
    where several stand on a line. contrary, corrected: what in an explanation goes against a yes (True) or a no
    (False). value: of each word.
    """

    line: re.Pattern[str]
    published: re.Pattern[str]
    pair: re.Pattern[str]
    contrary: dict[bool, re.Pattern[str]]
    corrected: dict[bool, re.Pattern[str]]
    value: dict[str, bool]

    @property
    def answers(self) -> str:
        """Pattern of any yes or no."""
        return "|".join(map(re.escape, self.value))


@lru_cache(maxsize=16)
def words_of(languages: tuple[str, ...]) -> Words:
    """The words of some languages."""
    yes = [word for language in languages for word in _YES[language]]
    no = [word for language in languages for word in _NO[language]]
    known = "|".join(re.escape(word) for word in (*yes, *no, *_NEITHER))
    flags = re.IGNORECASE | re.VERBOSE
    mark = "".join(_MARKS)
    line = (
        rf"{_DECORATION}(?P<label>{_LABEL})?(?:(?P<before>[{mark}])[ \t]*)?[`\[]{{0,2}}[*_]*"
        rf"(?P<quote>[\"'“‘«「『])?(?:(?P<word>{known})(?![^\W_]))?"
    )
    return Words(
        line=re.compile(line, flags),
        published=re.compile(
            rf"(?:\d+\s*\.)?\s*({'|'.join(word for language in languages for word in _PUBLISHED[language])})\s*[.。．]?"
        ),
        pair=re.compile(_PAIR.format(words="|".join((*yes, *no))), re.IGNORECASE),
        contrary={True: _contrary({**_NO, "hedged": _HARDLY}), False: _contrary(_YES)},
        corrected={True: _corrected(_NO), False: _corrected(_YES)},
        value={**dict.fromkeys(yes, True), **dict.fromkeys(no, False)},
    )


def _contrary(opposite: dict[str, tuple[str, ...]]) -> re.Pattern[str]:
    """Pattern of a second answer inside an explanation, in any language.

    An opposite word that stands alone, or a further number with a yes or no.
    """
    words = [re.escape(word) for each in opposite.values() for word in each]
    alone = (
        rf"(?:[,.;:(!|/、—→⇒>]|(?<!\w)-)\s*(?:{'|'.join((*words, *map(re.escape, _NEITHER)))})"
        r"\s*(?:[,.;:)!(|/、—]|-(?!\w)|$)"
    )
    numbered = r"(?<![0-9])[0-9]{1,3}[.):]\s*(?:yes|no|да|нет|是|否)(?![^\W_])"
    return re.compile(f"{alone}|{numbered}", re.IGNORECASE)


def _corrected(opposite: dict[str, tuple[str, ...]]) -> re.Pattern[str]:
    """Pattern of a correction inside an explanation, in any language: "No. Actually yes, it does"."""
    words = "|".join(re.escape(word) for each in opposite.values() for word in each)
    yes_all_the_same = r"\b(?:but|though|say|also|partly|sometimes) yes\b|\b(?:но|хотя) да\b"
    softened = f"{yes_all_the_same}|" if "en" in opposite and "yes" in opposite["en"] else ""
    return re.compile(rf"{softened}{_CORRECTS}[^\n]{{0,60}}?(?:{words})[\"'“”«»」]?\s*(?:[,.;:)!]|$)", re.IGNORECASE)


def published_lines(text: str, words: Words) -> Iterator[bool]:
    """Lines that are a yes or no as the published figures took them, in their order."""
    yes = {pair[0] for pair in _PUBLISHED.values()}
    matches: dict[str, re.Match[str] | None] = {}
    for line in filter(None, text.split("\n")):
        if line in matches:
            match = matches[line]
        else:
            match = matches[line] = words.published.fullmatch(line.strip())
        if match:
            yield match[1] in yes


def pairs_on_a_line(text: str, words: Words) -> list[tuple[int, bool]]:
    """Number and answer of each question where the text is nothing but several of them, on a line or more."""
    pairs, at = [], 0
    text = text.strip()
    while match := words.pair.match(text, at):
        pairs.append((int(match["number"]), words.value[match["word"].lower()]))
        at = match.end()
    return pairs if len(pairs) > 1 and at == len(text) else []


def read_line(line: str, words: Words) -> Line:
    """What a line says; see `Line`."""
    line = _row(line, words) if line.startswith("|") else line
    match = words.line.match(line)
    if match is None or line.isspace() or line.lstrip().startswith(">"):
        return Line("skipped")
    number = _number(match)
    word, rest = match["word"], line[match.end() :]
    value: bool | str | None = "unread"
    if word is not None:
        value = _said(word, match, rest, words)
    if number is None:
        bare = word is not None and not match["label"] and not match["quote"] and not rest.strip(_TRAILING)
        return Line("bare", value=words.value.get(word.lower())) if bare else Line("other")
    return Line("number") if isinstance(value, str) else Line("answer", number, value)


def _row(line: str, words: Words) -> str:
    """A table's row with its number in the first cell and its answer in a later one, as a line."""
    first, *cells = [cell.strip(' \t*_`."“”') for cell in line.strip().strip("|").split("|")]
    answers = [cell for cell in cells if cell.lower() in words.value]
    if not re.fullmatch("[0-9]{1,3}", first) or not answers or answers == cells[:1]:
        return line
    return f"{first}. {answers[0] if len(answers) == 1 else 'n/a'}"


def _said(word: str, match: re.Match[str], rest: str, words: Words) -> bool | Literal["unread"] | None:
    """What a word says, with the quotation marks and ticks around it."""
    if match["quote"]:
        if not rest.startswith(_CLOSING[match["quote"]]):
            return "unread"
        rest = rest[1:]
    behind = rest.lstrip(" \t*_.")[:1]
    marks = [_MARKS[mark] for mark in (match["before"], behind) if mark in _MARKS]
    if behind in _MARKS:
        rest = rest.partition(behind)[2]
    value = _value(word, rest, words)
    return None if isinstance(value, bool) and any(mark != value for mark in marks) else value


def _number(match: re.Match[str]) -> int | None:
    """The line's number; None where it has none, or one too loosely tied to what follows to be a number."""
    if match["digits"]:
        glued = match["word"] or match.end() < len(match.string)
        return None if glued and not match["gap"] else int(match["digits"])
    hanzi = match["hanzi"]
    if not hanzi or not (match["unit"] or re.search(r"[.):\]、]", match["gap"])):
        return None
    tens, ten, units = hanzi.rpartition("十")
    digit = {character: value for value, character in enumerate("一二三四五六七八九", 1)}
    if len(tens) > 1 or len(units) > 1 or "十" in tens:
        return None
    return (digit.get(tens, 1) * 10 if ten else 0) + digit.get(units, 0)


def _value(word: str, rest: str, words: Words) -> bool | Literal["unread"] | None:
    """True or False; None for an answer that is neither; "unread" where the line is no answer."""
    value = words.value.get(word.lower())
    if not rest.strip(_TRAILING):
        return value
    explanation = _EXPLANATION.match(rest)
    if explanation is None:
        return "unread"
    if value is None or explanation["start"].isdigit() or words.contrary[value].search(rest):
        return None
    doubted = _DOUBT.match(rest, explanation.start("start")) or words.corrected[value].search(rest[:_NEAR])
    return None if doubted else value
