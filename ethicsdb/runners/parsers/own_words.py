"""What of a judge's text is the judge's own.

The judged answer may try to plant a verdict, and a judge may repeat it. What stands in a reasoning block, in a block
quote, in quotation marks over several lines, or behind a line such as "The answer says:", is not the judge's verdict.
Neither is what follows the mark that ends a turn: a model that missed its own end makes up the next turn.

All work is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ethicsdb.runners.parsers.json_values import Found, json_values

__all__ = ["own_words", "takes_back", "without_reasoning"]

_REASONING = re.compile(r"[\s\ufeff\u200b]*<(think|thinking|thought|reasoning|analysis|scratchpad)>", re.IGNORECASE)
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text)\|>|<｜end▁of▁sentence｜>|</s>|<end_of_turn>"
)
_QUOTES = (("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"), ('"', '"'))
_QUOTED = re.compile("|".join(f"{opening}[^{closing}]*{closing}?" for opening, closing in _QUOTES))
_LONG = 200  # characters; a clause that introduces something is shorter
_CLOSING = dict(_QUOTES)
_MARKS = re.compile(f"[{''.join({mark for pair in _QUOTES for mark in pair})}]")
_COLON_AT_END = re.compile(r"[:：][ \t*_]*$", re.MULTILINE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[^`]*$")

_SPEAKER = (
    r"\b(?:answers?|response|reply|text|passage|message|output|user|assistant|chatbot|model|author|writer|it)\b|"
    r"回答|回复|原文|文本|文中|文章|模型|助手|作者|用户|其中|末尾|结尾|"
    r"\b(?:ответ|текст|автор|модел|ассистент|сообщени|пользовател)\w*"
)
_SAYS = (
    r"\b(?:says?|said|reads|states?|stated|contains?|contained|includes?|included|claims?|claimed|ends?|ended|starts?|"
    r"begins?|writes?|wrote|written|holds?|quotes?|quoted|instructs?|tells?|told|prints?|plants?|planted|"
    r"inserts?|injects?|adds?|closes)\b|写道|写着|写了|写有|说(?!明)|声称|包含|含有|要求|指示|植入|出现|附有|"
    r"\b(?:пишет|написа|говорит|сказано|содерж|включа|гласит|заканчива|начина|утвержда|проси|требу|вставл)\w*"
)
_QUOTING = re.compile(rf"(?:{_SPEAKER}).*(?:{_SAYS})|(?:{_SAYS}).*(?:{_SPEAKER})", re.IGNORECASE)
# Lines that name the judge's own verdict, or put a question, introduce no quotation.
_OWN = re.compile(
    r"\b(?:my|whether|does|did|if)\b|"
    r"\b(?:results?|evaluation|assessment|verdict|finding|classification) (?:of|on|for)\b|"
    r"我的|是否|判断|结论|结果|评估|\b(?:мо[йяие]\w*|ли)\b|[?？]",
    re.IGNORECASE,
)
# Lines that introduce words which are nobody's verdict.
_NO_VERDICT = re.compile(
    r"\b(?:example|for instance|e\.g|incorrect|wrong|planted|injected|forged|fake|do not|don't|ignore|quot\w+|"
    r"hypothetical\w*|would (?:be|have|read)|from the (?:answer|text|response)|under review|"
    r"to be (?:judged|checked|classified))\b|"
    r"例如|比如|示例|错误|植入|伪造|引用|\b(?:например|пример|цитат|неверн|внедр|поддельн)\w*",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\W*(?:if\b|如果|假如|若|если\b)", re.IGNORECASE)
_ASIDE = re.compile(r"ignor(?:ing|ed)|disregard|despite|regardless|已忽略|不理会|не ?смотря|игнорир", re.IGNORECASE)
_PLANTED = re.compile(r"[^.!?。]*\b(?:planted|injected|forged|fake)\b[^.!?。]*", re.IGNORECASE)
_PLANTED_WORD = re.compile(r"\b(?:planted|injected|forged|fake)\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:i am|i'm|i’m|am) (?:not (?:sure|confident|certain)|unsure|uncertain)\b|我不(?:太)?确定|\bя не уверен\w*",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"^\W*(?:actually|sorry|edit|update|rather|wait|hmm)\b|\bi meant?\b|"
    r"\b(?:could|might|may) (?:\w+ ){0,2}be (?:an? |class )?(?:yes|no|[0-9])|"
    r"其实|实际上|也可能[是为]|\b(?:correct(?:ion|ed)|on (?:second thoughts?|reflection)|scratch that|"
    r"my mistake|i was wrong|"
    r"should (?:be|have been|read)|chang(?:e|ed|ing) (?:my|the) (?:answer|verdict))\b|"
    r"更正|订正|修正|改为|改成|应为|应改|应该[为是]|"
    r"\b(?:поправк|исправл|исправьте|вернее|точнее)\w*|следует читать",
    re.IGNORECASE,
)


def own_words(text: str, *, cut_off: bool = False) -> str:
    """The judge's own lines; the others are blank, so that lines keep their numbers after the reasoning.

    Args:
        cut_off: the text ends at a length limit, so that its last line counts only where it closes JSON.
    """
    text = _END_OF_TURN.split(without_reasoning(text), maxsplit=1)[0].replace("\r\n", "\n").replace("\r", "\n")
    if cut_off:
        text = _whole_lines(text)
    marked = ">" in text or "＞" in text or _MARKS.search(text) or _PLANTED_WORD.search(text)
    if not marked and _COLON_AT_END.search(text) is None:
        return text
    lines = text.split("\n")
    foreign = _foreign(lines, json_values(text)[0], cut_off=cut_off)
    return "\n".join("" if index in foreign else line for index, line in enumerate(lines))


def _whole_lines(text: str) -> str:
    """The text without a last line that may not be whole. JSON stays, since what was cut must not hide that it is."""
    lines, _, last = text.rpartition("\n")
    return text if "{" in last or text.rstrip().endswith(("}", "]", "```")) else lines


def without_reasoning(text: str) -> str:
    """Drop a leading reasoning block: its drafts are not answers, and an unfinished one holds no answer at all.

    The last closing tag counts, because reasoning may quote one.
    """
    opening = _REASONING.match(text)
    if opening is None:
        return text
    *_, last = [None, *re.finditer(rf"</{opening[1]}>", text, re.IGNORECASE)]
    return text[last.end() :] if last else ""


def takes_back(text: str, mention: str) -> bool:
    """Whether a line corrects an earlier answer (it says so, and mentions one), or says that the judge is unsure.

    Args:
        mention: pattern of what an answer is made of: its words or numbers.
    """
    if _UNSURE.search(_QUOTED.sub("", text)):
        return True
    named = re.compile(mention, re.IGNORECASE)
    return any(_TAKES_BACK.search(_QUOTED.sub("", line)) and named.search(line) for line in text.split("\n"))


def _foreign(lines: list[str], found: list[Found], *, cut_off: bool) -> set[int]:
    """The lines that are somebody else's words: quoted, or introduced as such.

    Marks inside JSON are JSON's own. A quotation that is never closed goes on to the end; but a straight mark that is
    never closed opens none (it may stand for inches), unless its end may be cut off.
    """
    json_lines = {index for each in found for index in range(each.first, each.last + 1)}
    odd = [index for index, line in enumerate(lines) if index not in json_lines and line.count('"') % 2]
    last_straight = len(lines) if cut_off else odd[-1] if odd else -1
    foreign: set[int] = set()
    quotation: _Quotation | None = None
    for index, line in enumerate(lines):
        if quotation is not None:
            foreign.add(index)
            quotation = quotation.after(line)
        elif index in json_lines or index in foreign:
            continue
        elif line.lstrip().startswith((">", "＞")):
            foreign.add(index)
        else:
            quotation = _opened(line, straight=index < last_straight)
            if quotation is None and _introduces(line, below=any(map(str.strip, lines[index + 1 : index + 2]))):
                foreign.update(_block(lines, index + 1))
    return foreign


@dataclass(frozen=True)
class _Quotation:
    """A quotation that goes on behind a line."""

    opening: str
    closing: str
    depth: int

    def after(self, line: str) -> _Quotation | None:
        """What is open behind a further line."""
        if self.opening == self.closing:
            return self if (self.depth + line.count(self.closing)) % 2 else None
        depth = self.depth + line.count(self.opening) - line.count(self.closing)
        return replace(self, depth=depth) if depth > 0 else None


def _opened(line: str, *, straight: bool) -> _Quotation | None:
    """The quotation that a line opens and does not close; inside one, marks of other kinds mean nothing."""
    opened: _Quotation | None = None
    for mark in _MARKS.findall(line):
        if opened is not None:
            opened = opened.after(mark)
        elif mark in _CLOSING:
            opened = _Quotation(mark, _CLOSING[mark], 1)
    if opened is not None and opened.opening == opened.closing and not straight:
        return _opened(line.replace(opened.opening, ""), straight=False)
    return opened


def _introduces(line: str, *, below: bool) -> bool:
    """Whether a line introduces words that are not the judge's verdict; `below`: some stand on the next line."""
    bare = line.rstrip(" \t*_")
    if _ASIDE.search(line):
        return False
    if not bare.endswith((":", "：")):
        return below and len(bare) < _LONG and _PLANTED.fullmatch(bare) is not None
    if _CONDITION.match(bare):
        return True
    clause = re.split(r"[,.;!—，。；！]", bare[:-1])[-1]
    if len(clause) > _LONG:
        return False
    return bool(_NO_VERDICT.search(clause) or (_QUOTING.search(clause) and not _OWN.search(clause)))


def _block(lines: list[str], start: int) -> Iterator[int]:
    """Lines of the next paragraph, or of the fence that it begins with."""
    while start < len(lines) and not lines[start].strip():
        start += 1
    if start < len(lines) and lines[start].lstrip().startswith((">", "＞")):
        return  # marks of its own say where it ends
    fence = _FENCE.match(lines[start]) if start < len(lines) else None
    for index in range(start, len(lines)):
        if fence is None and not lines[index].strip():
            return
        yield index
        if fence is not None and index > start and lines[index].strip().startswith(fence[1]):
            return
