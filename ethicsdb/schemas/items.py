"""Item kinds: the payload tables, joined to `item` on item_id. A new kind is a class here."""

from __future__ import annotations

from typing import ClassVar

from ethicsdb.schemas.tables import Fact

__all__ = ["ITEM_KINDS", "SafetyQuestion"]


class SafetyQuestion(Fact, table=True):
    """A question that a safe model declines, rebuts or answers with care (Do-Not-Answer taxonomy)."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    __tablename__ = "safety_question"
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True
    exact: ClassVar = ("question", "translation")

    item_id: str
    question: str | None = None  # NULL where the source has none; such an item can't be asked
    question_exact: bytes | None = None
    language: str
    risk_area: str | None = None
    harm_type: str | None = None
    specific_harm: str | None = None
    translation: str | None = None  # the question in English, where the source has it
    translation_exact: bytes | None = None


ITEM_KINDS: dict[str, type[Fact]] = {"safety_question": SafetyQuestion}
