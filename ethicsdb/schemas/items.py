"""Item kinds: the payload tables, joined to `item` on item_id. A new kind is a class here.

The first field named in `exact` is a kind's main text. Lists and objects are JSON text, and named in `encoded`; indexes
count from 0. Fields named in `later` came to a kind after its first items: where they are empty, an item keeps the id
that it had.
"""

from __future__ import annotations

from typing import ClassVar

from ethicsdb.schemas.tables import Fact

__all__ = [
    "ITEM_KINDS",
    "AssociationTest",
    "Attack",
    "ChoiceQuestion",
    "Conversation",
    "GoldAnswer",
    "LabelledText",
    "SafetyQuestion",
    "SentencePair",
    "TextPrompt",
]


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


class Attack(Fact, table=True):
    """A prompt that is made to draw a biased answer (GPTBIAS)."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True
    exact: ClassVar = ("prompt",)

    item_id: str
    prompt: str | None = None
    prompt_exact: bytes | None = None
    language: str
    bias_type: str | None = None  # which bias it is after: gender, religion, race, ...


class ChoiceQuestion(Fact, table=True):
    """A question with given options (BBQ, MoCa, OpinionQA), and what is known of them and of people's choices."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    __tablename__ = "choice_question"
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True
    exact: ClassVar = ("question", "context")
    encoded: ClassVar = ("options", "distribution", "votes", "option_groups", "stereotyped_groups", "details")

    item_id: str
    question: str | None = None
    question_exact: bytes | None = None
    context: str | None = None  # what is told before the question
    context_exact: bytes | None = None
    language: str
    options: str  # JSON list of texts
    answer: int | None = None  # index of the right option, or of the one that most people chose
    # JSON list: the share of people that chose each option; null for options that refuse to answer (OpinionQA).
    distribution: str | None = None
    votes: str | None = None  # JSON list: a person's choice each, as an index
    category: str | None = None
    subcategory: str | None = None
    template: str | None = None  # the template within its category from which the question was made; a survey's key
    condition: str | None = None  # BBQ: ambig | disambig; MoCa: ambiguous | clear, by people's votes
    polarity: str | None = None  # neg | nonneg: whether the question asks for something bad
    # Index of the option that bias would choose: the stereotyped group where polarity is neg, the other where nonneg.
    target: int | None = None
    unknown: int | None = None  # index of the option that says it can't be known
    option_groups: str | None = None  # JSON list: the group that each option names
    stereotyped_groups: str | None = None  # JSON list
    details: str | None = None  # JSON object: what else the source says


class SentencePair(Fact, table=True):
    """A stereotypical sentence and its counterpart (CrowS-Pairs, StereoSet, RedditBias), for a model to weigh."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    __tablename__ = "sentence_pair"
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True
    exact: ClassVar = ("stereotype", "anti_stereotype", "unrelated", "context")
    encoded: ClassVar = ("details",)

    item_id: str
    stereotype: str | None = None  # the more stereotypical sentence
    stereotype_exact: bytes | None = None
    anti_stereotype: str | None = None  # the less stereotypical one
    anti_stereotype_exact: bytes | None = None
    unrelated: str | None = None  # one that makes no sense here
    unrelated_exact: bytes | None = None
    context: str | None = None  # the sentence before (inter), or the sentence with its BLANK (intra)
    context_exact: bytes | None = None
    language: str
    form: str | None = None  # inter | intra | pair
    category: str | None = None  # kind of bias
    target: str | None = None  # the group that it is about
    direction: str | None = None  # stereo | antistereo: about a disadvantaged group (CrowS-Pairs), which way
    details: str | None = None  # JSON object: sentence ids, people's labels, words replaced


class AssociationTest(Fact, table=True):
    """A word or sentence association test: two sets of targets against two sets of attributes (WEAT, SEAT)."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    __tablename__ = "association_test"
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True
    exact: ClassVar = ("name",)
    encoded: ClassVar = ("target1", "target2", "attribute1", "attribute2")

    item_id: str
    name: str | None = None
    name_exact: bytes | None = None
    language: str
    level: str | None = None  # word | sentence
    target1_category: str
    target1: str  # JSON list of texts, as are the other sets
    target2_category: str
    target2: str
    attribute1_category: str
    attribute1: str
    attribute2_category: str
    attribute2: str


class Conversation(Fact, table=True):
    """What a system said in a conversation, after what, and why it is unethical (Eagle, ToxiGen's generations)."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True
    exact: ClassVar = ("output",)
    encoded: ClassVar = ("context", "labels", "details")
    later: ClassVar = ("target_group", "details")

    item_id: str
    output: str | None = None
    output_exact: bytes | None = None
    context: str  # JSON list of {role: gpt | human, content}, oldest first
    labels: str  # JSON list: social bias, opinion bias, toxic language, morality; or neutral; or none
    language: str | None = None
    conversation_id: str
    conversation_num: int | None = None
    utterance_num: int | None = None
    target_group: str | None = None  # the group that it is about (ToxiGen)
    details: str | None = None  # JSON object: what else the source says


class TextPrompt(Fact, table=True):
    """A text for a model to go on from (ToxiGen)."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    __tablename__ = "text_prompt"
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True
    exact: ClassVar = ("text",)

    item_id: str
    text: str | None = None
    text_exact: bytes | None = None
    language: str
    target_group: str | None = None
    label: str | None = None  # hate | neutral: what its demonstrations are


class LabelledText(Fact, table=True):
    """A text that people labelled, and the phrase in it that the label is about (RedditBias, ToxiGen)."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    __tablename__ = "labelled_text"
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True
    exact: ClassVar = ("text", "phrase")
    encoded: ClassVar = ("details",)
    later: ClassVar = ("details",)

    item_id: str
    text: str | None = None
    text_exact: bytes | None = None
    phrase: str | None = None
    phrase_exact: bytes | None = None
    language: str
    category: str | None = None
    target_group: str | None = None
    label: str | None = None  # of the whole text; NULL where nobody labelled it
    phrase_label: str | None = None
    in_window: str | None = None  # true | false: the attribute's word stands near the group's
    details: str | None = None  # JSON object: what else the source says, such as people's ratings


class GoldAnswer(Fact, table=True):
    """An answer to a question, and the label that people gave it: what judges are measured against."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    __tablename__ = "gold_answer"
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True
    exact: ClassVar = ("question", "answer")
    encoded: ClassVar = ("details",)

    item_id: str
    question: str | None = None
    question_exact: bytes | None = None
    answer: str | None = None  # NULL: an empty answer
    answer_exact: bytes | None = None
    language: str
    category: str | None = None  # what kind of answer it is
    attribute: str  # what the label is about, as judges call it: refusal
    label: str
    model: str  # who gave the answer
    details: str | None = None  # JSON object: how the answer was drawn, and what came before the question


ITEM_KINDS: dict[str, type[Fact]] = {
    "safety_question": SafetyQuestion,
    "choice_question": ChoiceQuestion,
    "sentence_pair": SentencePair,
    "association_test": AssociationTest,
    "attack": Attack,
    "conversation": Conversation,
    "text_prompt": TextPrompt,
    "labelled_text": LabelledText,
    "gold_answer": GoldAnswer,
}
