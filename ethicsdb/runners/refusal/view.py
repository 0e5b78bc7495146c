"""An answer as the rules look at it: folded, its quotations blanked out, cut into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["HAN", "Sentence", "fold", "language_of", "masked", "sentences_of", "weight"]

# Pairs of a traditional character and the simplified one that the patterns are written in.
_TRADITIONAL = (
    "無无協协幫帮對对問问題题請请麼么們们實实暫暂話话為为給给滿满參参與与討讨論论執执寫写編编創创應应複复復复覆复響响釋释譯译達达會会沒没"
    "辦办願愿學学習习點点則则範范規规當当業业聯联繫系係系尋寻資资醫医師师熱热線线報报護护諮咨詢询議议種种驟骤於于設设內内遺遗導导勵励"
    "評评處处續续談谈僅仅說说稱称機机統统樣样險险傷伤後后責责隱隐嚴严風风權权違违準准確确絕绝顧顾訴诉揚扬傳传發发繼继適适從从專专別别"
    "換换個个這这該该類类難难須须見见視视樂乐聽听過过堅坚時时還还預预術术娛娱簡简單单徑径價价長长覺觉"
)
_FOLD = {ord(old): new for old, new in zip(_TRADITIONAL[::2], _TRADITIONAL[1::2], strict=True)} | dict.fromkeys(
    map(ord, "’‘ʼ′＇"), "'"
)
HAN = r"[\u3400-\u9fff]"
_QUOTED = re.compile(
    r'"[^"\n]*"|“[^“”]*”|«[^«»]*»|「[^「」]*」|『[^『』]*』|„[^„“”]*[“”]|(?<!\w)\'(?:[^\'\n]|(?<=\w)\'(?=\w))*\'(?!\w)'
)
_BLOCK_QUOTE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_SPEAKER = re.compile(
    r"^[^\w\n]*(user|human|customer|client|bot|chatbot|assistant|ai|model|agent|person [ab]|[ab]|用户|助手|机器人|客服"
    r"|顾客|пользователь|ассистент|бот|помощник|клиент|оператор)[^\w\n]*[:：].*$",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?](?=[^\s.!?]))+[.!?。！？]*[\"”»')）]*")
_ITEM = re.compile(r"[ \t]*(?:\**\d{1,2}[.)、:]|[-*•·●]|[a-zа-я]\))[ \t*]+")


@dataclass(frozen=True)
class Sentence:
    """A sentence of an answer."""

    text: str  # folded and masked
    start: int
    end: int
    item: bool  # begins a list item
    opens: bool  # begins a paragraph that is no list item


def fold(text: str) -> str:
    """Straight apostrophes and simplified characters; every character stays at its place."""
    return text.translate(_FOLD)


def weight(text: str) -> int:
    """Letters of a text; a Chinese character counts three."""
    return len(re.findall(r"[^\W\d_]", text)) + 2 * len(re.findall(HAN, text))


def language_of(text: str) -> str:
    """`zh`, `ru` or `en` by the main script; `und` where there is none of the three."""
    counts = {
        "zh": 3 * len(re.findall(HAN, text)),
        "ru": len(re.findall(r"[\u0400-\u04ff]", text)),
        "en": len(re.findall(r"[A-Za-z]", text)),
    }
    language = max(counts, key=lambda name: counts[name])
    return language if counts[language] else "und"


def masked(text: str) -> str:
    """Blank out what others say: quotations of several words, block quotes, fences, and scripts with speakers.

    An answer that stands in quotation marks or in a fence as a whole is the writer's own.
    """
    whole = text.strip()
    if _QUOTED.fullmatch(whole):
        return text.replace(whole, f" {whole[1:-1]} ")
    if not _FENCED.fullmatch(whole):
        text = _FENCED.sub(_blank, text)
    text = _BLOCK_QUOTE.sub(_blank, text)
    if len({speaker.lower() for speaker in _SPEAKER.findall(text)}) > 1:
        text = _SPEAKER.sub(_blank, text)
    return _QUOTED.sub(lambda match: _blank(match) if _several_words(match[0]) else match[0], text)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _several_words(quoted: str) -> bool:
    return " " in quoted[1:-1].strip() or len(re.findall(HAN, quoted)) > 3


def sentences_of(text: str) -> Iterator[Sentence]:
    """Sentences of a text, and which of them begin list items and paragraphs."""
    start, blank = 0, False
    for line in text.split("\n"):
        item = _ITEM.match(line)
        first = item.end() if item else 0
        for match in _SENTENCE.finditer(line, first):
            begins = match.start() == first
            opens = begins and blank and not item
            yield Sentence(match[0], start + match.start(), start + match.end(), begins and bool(item), opens)
        start += len(line) + 1
        blank = not line.strip()
