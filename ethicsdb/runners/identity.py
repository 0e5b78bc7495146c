"""Who answered what: the fingerprints that answers and verdicts are keyed by.

Everything that could change an answer enters its key, and nothing else: a changed prompt, system prompt, model
revision, sampling setting or sample number makes another key, and so does a changed rubric or parser for a verdict.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ethicsdb.runners.parsers import parser_of
from ethicsdb.schemas.declared import BenchmarkDeclaration, JudgeDeclaration, ModelDeclaration, Prompt, Sampling
from ethicsdb.schemas.fingerprint import canonical_json, fingerprint
from ethicsdb.schemas.rubrics import RubricDeclaration

__all__ = [
    "Identity",
    "declared_remote",
    "embedding_key",
    "judge_identity",
    "likelihood_key",
    "model_identity",
    "prompt_identity",
    "request_hash",
    "response_key",
    "run_identity",
    "sampling_json",
    "score_key",
    "target_hash",
    "verdict_identity",
]


@dataclass(frozen=True)
class Identity:
    """A fingerprint and the catalog row that spells it out."""

    fingerprint: str
    record: dict[str, Any]


def model_identity(name: str, backend: str, model_id: str, revision: str | None, parts: dict[str, Any]) -> Identity:
    """Identity of a model.

    Args:
        name: for people; not part of the fingerprint unless `parts` says so.
        parts: all else that makes the model what it is: endpoint, weights, template, precision, file hash.
    """
    identity = {"backend": backend, "id": model_id, "revision": revision, **parts}
    mark = fingerprint(identity)
    record = {
        "fingerprint": mark,
        "name": name,
        "backend": backend,
        "model_id": model_id,
        "revision": revision,
        "identity": _text(identity),
    }
    return Identity(mark, record)


def declared_remote(model: ModelDeclaration) -> Identity:
    """Identity of a model behind an endpoint: endpoint, id and declared revision (design: `system_fingerprint` is
    stored with each answer, not keyed)."""
    return model_identity(model.name, model.backend, model.id, model.revision, {"endpoint": model.base_url})


def prompt_identity(prompt: Prompt) -> Identity:
    """Identity of a prompt template with its system prompt."""
    mark = fingerprint(prompt.model_dump())
    return Identity(mark, {"fingerprint": mark, "template": prompt.template, "system": prompt.system})


@lru_cache(maxsize=64)
def sampling_json(sampling: Sampling) -> str:
    """The sampling settings as they enter keys; the number of samples is not a setting of one answer."""
    return _text(sampling.model_dump(exclude={"samples"}))


def request_hash(messages: list[dict[str, str]]) -> str:
    """Hash of a rendered request, over its exact text."""
    return fingerprint(["request", messages])


def response_key(model: str, request: str, sampling: str, sample_number: int) -> str:
    """Key of an answer: (model fingerprint, request hash, sampling settings, sample number)."""
    return fingerprint(["response", model, request, sampling, sample_number])


def judge_identity(
    judge: JudgeDeclaration,
    rubric: RubricDeclaration,
    model: Identity | None,
    *,
    json_schema: bool = False,
    screen: Identity | None = None,
) -> Identity:
    """Identity of a judge: model, rubric, parser with its version, sampling; all spelled out, so that two can be told
    apart field by field.

    Args:
        model: None for rules.
        json_schema: whether the judge's answers are held to a schema, which makes it another request.
        screen: the judge that reads everything first; None for a judge that is asked about everything.
    """
    parser, version = parser_of(rubric.rubric)
    # What a rubric asks and how it counts; its title and notes do not matter.
    rule = rubric.rubric.model_dump(mode="json")
    identity = {
        "model": json.loads(model.record["identity"]) if model else None,
        "json_schema": json_schema if model else None,
        "rubric": rule,
        "parser": parser,
        "parser_version": version,
        "sampling": judge.sampling.model_dump(exclude={"samples"}) if model else None,
    }
    if screen is not None:  # a judge without one keeps the identity that it had before there were any
        identity["screen"] = json.loads(screen.record["identity"])
    mark = fingerprint(identity)
    record = {
        "fingerprint": mark,
        "name": judge.name,
        "rubric": rubric.name,
        "rubric_fingerprint": fingerprint(rule),
        "model_fingerprint": model.fingerprint if model else None,
        "parser": parser,
        "parser_version": version,
        "identity": _text(identity),
    }
    return Identity(mark, record)


def target_hash(text: str) -> str:
    """Hash of a text whose likelihood is asked for, over its exact form."""
    return fingerprint(["target", text])


def likelihood_key(model: str, request: str, target: str) -> str:
    """Key of a likelihood: (model fingerprint, hash of the context, hash of the text)."""
    return fingerprint(["likelihood", model, request, target])


def embedding_key(model: str, target: str) -> str:
    """Key of a vector: (model fingerprint, hash of the text)."""
    return fingerprint(["embedding", model, target])


def score_key(run: str, judge: str | None, place: tuple[str, str, str], inputs: str, statistics: str) -> str:
    """Key of a measure's number.

    Args:
        place: (quantity, slice, value of the slice).
        inputs: fingerprint of all that it is computed from.
        statistics: version of the measures and statistics.
    """
    return fingerprint(["score", run, judge, list(place), inputs, statistics])


def run_identity(
    benchmark: BenchmarkDeclaration, version: tuple[str, str], model: str, keys: dict[str, Any], role: str
) -> str:
    """Identity of a run: benchmark and its major number, data set version, model, and what shapes its requests.

    Args:
        version: (version name, version fingerprint).
        keys: prompt fingerprint, sampling, and for imports the file.
    """
    return fingerprint(["run", benchmark.name, benchmark.major, benchmark.dataset, *version, model, keys, role])


def verdict_identity(subject: str, judge: str, answer: tuple[str, int] | None) -> str:
    """Key of a verdict: subject, judge, and which of the judge's own answers it was read from."""
    return fingerprint(["verdict", "response", subject, judge, list(answer) if answer else None])


def _text(value: Any) -> str:
    return canonical_json(value).decode("utf-8", "surrogatepass")
