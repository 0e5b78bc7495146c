"""Fact tables: append-only, content-addressed, filled in bulk."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from ethicsdb.schemas.tables import Fact

__all__ = [
    "Annotation",
    "BatchLine",
    "BatchStep",
    "BootstrapRun",
    "BuildReport",
    "Call",
    "Candidate",
    "Conflict",
    "Embedding",
    "ImportRow",
    "Item",
    "Likelihood",
    "Membership",
    "Request",
    "Response",
    "RunItem",
    "RunTarget",
    "Score",
    "Sheet",
    "SheetUnit",
    "TargetText",
    "TokenCount",
    "Verdict",
    "VerdictLabel",
    "Withdrawal",
]


class Item(Fact, table=True):
    """A thing that can be asked or judged; its payload stands in the table named by `kind`."""

    __mapper_args__: ClassVar = {"primary_key": ["item_id"]}
    content_key: ClassVar = ("item_id",)
    shared: ClassVar = True

    item_id: str  # fingerprint of (kind, data set, payload)
    kind: str  # item kind: the table that holds its payload
    dataset: str  # the data set that it is of; equal texts of two data sets are two items


class Membership(Fact, table=True):
    """A row of a data set version; equal rows share an item, and each occurrence stands here."""

    __mapper_args__: ClassVar = {"primary_key": ["dataset", "version", "row"]}
    content_key: ClassVar = ("dataset", "version", "row")

    dataset: str
    version: str  # v1, v2, ...
    row: int  # 0, 1, ... in the source's order
    item_id: str  # what stands in the row
    split: str  # train | test | ..., as declared
    group_id: str  # the cluster: rows of one group are not independent
    variant: str | None = None  # direct | indirect | harmless; NULL where the data set tells none apart
    base_item: str | None = None  # the direct question that this one varies, where that is unambiguous
    source_id: str | None = None  # as in the source, after repair
    source_file: str  # the file that it came from
    source_row: int  # 1 = the first data row of that file


class BuildReport(Fact, table=True):
    """Why a row was dropped, repaired or looks suspicious."""

    __mapper_args__: ClassVar = {"primary_key": ["dataset", "version", "number"]}
    __tablename__ = "build_report"
    content_key: ClassVar = ("dataset", "version", "number")

    dataset: str
    version: str
    number: int  # 0, 1, ... in the order of the build
    severity: str  # dropped | repaired | suspicious | note
    code: str  # what kind of oddity: duplicate, outer_whitespace, unknown_value, ...
    source_file: str
    source_row: int | None = None  # 1 = the first data row of that file; NULL: about the whole file
    field: str | None = None  # the item field that it is about
    detail: str  # in words


class Request(Fact, table=True):
    """What was sent to a model, once for all who sent it."""

    __mapper_args__: ClassVar = {"primary_key": ["request_hash"]}
    content_key: ClassVar = ("request_hash",)
    shared: ClassVar = True
    exact: ClassVar = ("messages",)

    request_hash: str  # fingerprint of the messages, over their exact text
    messages: str  # JSON list of {role, content}
    messages_exact: bytes | None = None


class Response(Fact, table=True):
    """One try at an answer, of a model or of a judge's model. The view `answer` takes the first completed try."""

    __mapper_args__: ClassVar = {"primary_key": ["response_key", "try_number"]}
    content_key: ClassVar = ("response_key", "try_number")
    shared: ClassVar = True
    exact: ClassVar = ("text",)

    response_key: str  # fingerprint of (model, request, sampling, sample number)
    try_number: int  # 1, 2, ...: calls for this answer
    model_fingerprint: str  # who was asked
    request_hash: str  # what was asked
    sampling: str  # JSON of the sampling settings
    sample_number: int  # 0, 1, ...: which answer to the same request
    status: str  # completed | filtered (the provider withheld it) | error
    text: str | None = None  # the answer; NULL where none came or its text was not released
    text_exact: bytes | None = None
    flags: str  # comma-separated: cut_off, text_not_released, ...
    finish_reason: str | None = None  # why the model stopped, in the words of the endpoint
    error_code: str | None = None  # short name of the error: timeout, no_question, ...
    error_message: str | None = None  # the error in words
    prompt_tokens: int | None = None  # as the endpoint counts
    completion_tokens: int | None = None  # as the endpoint counts
    cost_microusd: int | None = None  # millionths of a US dollar; NULL where price or counts are unknown
    billed: bool | None = None  # a reply of success was read whole, which endpoints charge for; NULL: made elsewhere
    system_fingerprint: str | None = None  # the endpoint's own mark of its state; stored, not part of any key
    reported_model: str | None = None  # the model id in the endpoint's own reply
    duration_s: float | None = None  # seconds from call to answer
    created_at: datetime | None = None  # when the call began


class RunItem(Fact, table=True):
    """An asked-for item of a run, and the key under which its answer stands."""

    __mapper_args__: ClassVar = {"primary_key": ["run_id", "row", "sample_number"]}
    __tablename__ = "run_item"
    content_key: ClassVar = ("run_id", "row", "sample_number")
    shared: ClassVar = True

    run_id: str
    row: int  # of the data set version
    item_id: str  # what was asked
    sample_number: int  # 0, 1, ...: which of several answers to the item
    response_key: str  # under which its answer stands; items with equal requests share it


class ImportRow(Fact, table=True):
    """A line of an imported file and the answer that it holds, so that later files can be aligned with it."""

    __mapper_args__: ClassVar = {"primary_key": ["import_name", "row"]}
    __tablename__ = "import_row"
    content_key: ClassVar = ("import_name", "row")
    shared: ClassVar = True

    import_name: str  # the import that the line is of
    row: int  # 0 = the first line of the file
    run_id: str  # the run that the import made
    response_key: str  # the answer that the line holds


class Verdict(Fact, table=True):
    """What a judge said of a subject, as one parser version read it."""

    __mapper_args__: ClassVar = {"primary_key": ["verdict_id"]}
    content_key: ClassVar = ("verdict_id",)
    shared: ClassVar = True

    verdict_id: str  # fingerprint of (subject, judge, judge's answer)
    subject_kind: str  # response
    subject_id: str  # key of the judged answer
    other_id: str | None = None  # the second of a pair
    judge_fingerprint: str  # who judged
    judge_response_key: str | None = None  # the judge's own words stand in `response`; NULL for rules
    judge_try: int | None = None  # which try of the judge's answer was read
    status: str  # parsed | unparsable | refused (the judge declined) | error
    reason: str | None = None  # why it was not parsed: no_answer, too_few, contradictory, ...
    fields: str | None = None  # JSON of what was read: answers, mismatches, keywords, ...


class VerdictLabel(Fact, table=True):
    """A label that a verdict gives. Several rows for one attribute where several values apply."""

    __mapper_args__: ClassVar = {"primary_key": ["verdict_id", "attribute", "value"]}
    __tablename__ = "verdict_label"
    content_key: ClassVar = ("verdict_id", "attribute", "value")
    shared: ClassVar = True

    verdict_id: str
    attribute: str  # safety, safety_published, refusal, action, ...
    value: str  # safe, unsafe, yes, no, a class number, ...


class Annotation(Fact, table=True):
    """A person's label of a subject."""

    __mapper_args__: ClassVar = {"primary_key": ["subject_kind", "subject_id", "annotator", "attribute", "source"]}
    content_key: ClassVar = ("subject_kind", "subject_id", "annotator", "attribute", "source")
    shared: ClassVar = True

    subject_kind: str  # response
    subject_id: str  # key of the labelled answer
    annotator: str  # who labelled
    attribute: str  # what the label is about: safety, refusal, ...
    value: str  # the label
    sampling_probability: float | None = None  # with which the answer was drawn to be labelled; NULL: all alike
    group_id: str  # the cluster
    source: str  # the import that brought it


class Withdrawal(Fact, table=True):
    """A run or an import that was declared a mistake, or reinstated. The view `withdrawn` takes the last word."""

    __mapper_args__: ClassVar = {"primary_key": ["kind", "name", "said_at"]}
    content_key: ClassVar = ("kind", "name", "said_at")
    shared: ClassVar = True

    kind: str  # run | import
    name: str  # the run's id, or the import's name
    withdrawn: bool  # false: reinstated
    said_at: datetime


class Conflict(Fact, table=True):
    """Two journals brought different content under one content key; the first is kept and both are named here."""

    __mapper_args__: ClassVar = {"primary_key": ["table_name", "key", "journal"]}
    content_key: ClassVar = ("table_name", "key", "journal")
    shared: ClassVar = True

    table_name: str  # where
    key: str  # the content key that both have
    journal: str  # the one that came later
    kept: str  # JSON of the row that stands
    other: str  # JSON of the row that was left out


class Call(Fact, table=True):
    """A call that was begun. One without a `response` of its number was in flight when the run was stopped."""

    __mapper_args__: ClassVar = {"primary_key": ["response_key", "try_number", "started_at"]}
    content_key: ClassVar = ("response_key", "try_number", "started_at")
    shared: ClassVar = True

    response_key: str  # the answer that it was for
    try_number: int  # 1, 2, ...
    started_at: datetime


class TargetText(Fact, table=True):
    """A text whose likelihood was asked for, once for all contexts."""

    __mapper_args__: ClassVar = {"primary_key": ["target_hash"]}
    __tablename__ = "target_text"
    content_key: ClassVar = ("target_hash",)
    shared: ClassVar = True
    exact: ClassVar = ("text",)

    target_hash: str  # fingerprint of the text, over its exact form
    text: str
    text_exact: bytes | None = None


class Likelihood(Fact, table=True):
    """How likely a model finds a text after a context. The context stands in `request`, the text in `target_text`."""

    __mapper_args__: ClassVar = {"primary_key": ["likelihood_key"]}
    content_key: ClassVar = ("likelihood_key",)
    shared: ClassVar = True

    likelihood_key: str  # fingerprint of (model, context, target)
    model_fingerprint: str  # who was asked
    request_hash: str  # the context
    target_hash: str  # the text
    logprob_sum: float | None = None  # log p(target | context), natural logarithm; NULL where `error` says why
    tokens: int | None = None  # over which the sum runs; NULL: a released score, whose scale is its author's own
    flags: str  # comma-separated: context_truncated, boundary_unstable
    error: str | None = None  # short name: empty_target, target_too_long, ...
    detail: str | None = None  # the error in words
    created_at: datetime  # when it was computed, or imported


class RunTarget(Fact, table=True):
    """An asked-for text of a run's item, and the key under which its likelihood stands."""

    __mapper_args__: ClassVar = {"primary_key": ["run_id", "row", "target"]}
    __tablename__ = "run_target"
    content_key: ClassVar = ("run_id", "row", "target")
    shared: ClassVar = True

    run_id: str
    row: int  # of the data set version
    item_id: str  # what was asked
    target: str  # unethical, ethical, refusal, choice_0, stereotype, ...
    likelihood_key: str  # under which its likelihood stands; equal requests share it


class Score(Fact, table=True):
    """A number of a measure, with its interval, as one version of the statistics gave it."""

    __mapper_args__: ClassVar = {"primary_key": ["score_key"]}
    content_key: ClassVar = ("score_key",)
    shared: ClassVar = True

    score_key: str  # fingerprint of (run, judge, quantity, slice, inputs, statistics)
    run_id: str
    judge_fingerprint: str | None = None  # whose labels it rests on; NULL where it rests on likelihoods
    quantity: str  # what the measure calls it
    slice: str  # overall, or the field that the board is cut by
    slice_value: str  # value of that field; empty where overall
    value: float | None = None  # NULL where there is nothing to divide by
    stderr: float | None = None
    df: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    method: str | None = None  # of the interval, as in docs/statistics.md
    n: int  # items that have a value
    n_expected: int  # asked-for items that the number is about
    clusters: int  # that the items came in
    inputs: str  # fingerprint of all that it was computed from
    statistics: str  # version of the measures and statistics
    computed_at: datetime


class TokenCount(Fact, table=True):
    """Lengths of a conversation in the tokens of one tokenizer."""

    __mapper_args__: ClassVar = {"primary_key": ["tokenizer_fingerprint", "item_id"]}
    __tablename__ = "token_count"
    content_key: ClassVar = ("tokenizer_fingerprint", "item_id")
    shared: ClassVar = True

    tokenizer: str  # as it was named
    tokenizer_fingerprint: str  # of its files
    item_id: str
    context_tokens: int  # of all turns before the output, without roles or a chat's template
    output_tokens: int | None = None  # NULL where the item has no output
    turns: int  # utterances, the output included


class Embedding(Fact, table=True):
    """The vector that a model gives a text, which stands in `target_text`."""

    __mapper_args__: ClassVar = {"primary_key": ["embedding_key"]}
    content_key: ClassVar = ("embedding_key",)
    shared: ClassVar = True

    embedding_key: str  # fingerprint of (model, text)
    model_fingerprint: str  # whose it is
    target_hash: str  # the text
    vector: str | None = None  # JSON list of numbers; NULL: the model does not know the text, or can't read it whole
    created_at: datetime


class BootstrapRun(Fact, table=True):
    """A data set that a model wrote out of demonstrations: what shaped its candidates."""

    __mapper_args__: ClassVar = {"primary_key": ["bootstrap_id"]}
    __tablename__ = "bootstrap_run"
    content_key: ClassVar = ("bootstrap_id",)
    shared: ClassVar = True

    bootstrap_id: str  # fingerprint of declaration, demonstrations, model and rules; the limit of rounds is no part
    name: str  # of the declared bootstrap
    dataset: str  # that the kept candidates become
    model_fingerprint: str  # who wrote
    demonstrations_sha256: str  # of their file
    declaration: str  # JSON, as it was
    started_at: datetime


class Candidate(Fact, table=True):
    """A prompt that a model wrote in a bootstrap, and what became of it."""

    __mapper_args__: ClassVar = {"primary_key": ["bootstrap_id", "candidate"]}
    content_key: ClassVar = ("bootstrap_id", "candidate")
    shared: ClassVar = True
    exact: ClassVar = ("text",)

    bootstrap_id: str
    candidate: str  # its name: type:round:request:number; as `source_id` in the data set
    type: str  # which type it was asked for
    round: int  # 0, 1, ...
    request: int  # 0, 1, ... in the round
    number: int  # 0, 1, ... in the answer
    response_key: str  # the answer that it stands in
    text: str | None = None  # NULL where no answer came
    text_exact: bytes | None = None
    outcome: str  # kept | malformed | cut_off | refusal | off_type | duplicate | near_duplicate | filtered | error
    nearest: str | None = None  # the kept candidate or demonstration (type:seed:number) that it is most like
    similarity: float | None = None  # ROUGE-L with that one, 0 to 1
    parents: str  # JSON list: the demonstrations and candidates that the request showed


class Sheet(Fact, table=True):
    """A draw of a run's answers for people to label."""

    __mapper_args__: ClassVar = {"primary_key": ["sheet_id"]}
    content_key: ClassVar = ("sheet_id",)
    shared: ClassVar = True

    sheet_id: str  # fingerprint of all that shapes the draw
    name: str  # as its files are called
    run_id: str
    attribute: str  # the label that people give
    allowed: str  # JSON list: the values that it may have
    strata: str  # JSON: the item field or the judge that the strata are of; both null: one stratum
    per_stratum: int  # answers that were wanted of each
    annotators: str  # JSON list of names
    seed: int
    created_at: datetime


class SheetUnit(Fact, table=True):
    """An answer that was drawn, and with what probability; people are not shown it."""

    __mapper_args__: ClassVar = {"primary_key": ["sheet_id", "unit_id"]}
    __tablename__ = "sheet_unit"
    content_key: ClassVar = ("sheet_id", "unit_id")
    shared: ClassVar = True

    sheet_id: str
    unit_id: str  # as it stands on the sheets
    response_key: str  # the answer
    item_id: str  # what it answers
    group_id: str  # the cluster
    stratum: str
    population: int  # answers of the stratum
    drawn: int  # of them
    sampling_probability: float  # drawn / population
    annotators: str  # JSON list: who labels it
    shown: str  # fingerprint of the cells, by which edits are seen


class BatchLine(Fact, table=True):
    """A request that was planned to go in a batch (OpenAI's Batch API)."""

    __mapper_args__: ClassVar = {"primary_key": ["batch", "response_key"]}
    __tablename__ = "batch_line"
    content_key: ClassVar = ("batch", "response_key")
    shared: ClassVar = True

    batch: str  # its name, made of the requests that it holds
    response_key: str  # the answer that it asks for
    try_number: int  # which try of it this is
    request_hash: str  # what is asked
    sampling: str  # JSON of the sampling settings
    sample_number: int  # which answer to the same request


class BatchStep(Fact, table=True):
    """A step of a batch that was taken."""

    __mapper_args__: ClassVar = {"primary_key": ["batch", "step"]}
    __tablename__ = "batch_step"
    content_key: ClassVar = ("batch", "step")
    shared: ClassVar = True

    batch: str
    step: str  # planned | uploaded | creating | created | collected
    value: str  # number of requests; the file's id; the batch's id at the provider; how it ended
    taken_at: datetime
