"""From a name on the command line to a model that is ready to answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ethicsdb.registry.declared import Declarations
from ethicsdb.runners.backends.base import Backend
from ethicsdb.runners.classifiers import Classifier, check_classifier
from ethicsdb.runners.identity import Identity, declared_remote, judge_identity
from ethicsdb.runners.spending import Budget, purse_of
from ethicsdb.schemas.declared import BenchmarkDeclaration, JudgeDeclaration, ModelDeclaration
from ethicsdb.schemas.errors import DeclarationError, ModelError
from ethicsdb.schemas.rubrics import ClassifierRubric, RubricDeclaration

__all__ = [
    "JudgeParts",
    "check_model",
    "identity_of",
    "judge_of",
    "local_model",
    "open_backend",
    "open_judge",
    "resolve_model",
]

_SPEC = re.compile(r"(openai|embedded|hf|vectors):(.+)")


@dataclass(frozen=True)
class JudgeParts:
    """A judge with all that it is made of."""

    identity: Identity
    model: Identity | None
    declaration: JudgeDeclaration
    rubric: RubricDeclaration
    json_schema: bool = False  # whether its answers are held to a schema
    screen: JudgeParts | None = None  # the judge that reads everything first


def judge_of(declarations: Declarations, name: str) -> JudgeParts:
    """The declared judge of that name. Raises NotFoundError for an unknown judge, rubric or model."""
    judge = declarations.judge(name)
    rubric = declarations.rubric(judge.rubric)
    if judge.model is None:
        return JudgeParts(judge_identity(judge, rubric, None), None, judge, rubric)
    declared = resolve_model(declarations, judge.model)
    model = identity_of(declared)
    screen = judge_of(declarations, judge.screen) if judge.screen is not None else None
    first = screen.identity if screen else None
    schema = declared.json_schema
    identity = judge_identity(judge, rubric, model, json_schema=schema, screen=first)
    return JudgeParts(identity, model, judge, rubric, schema, screen)


def resolve_model(declarations: Declarations, name: str) -> ModelDeclaration:
    """The model that a name means: a declared one, `openai:ID@URL`, `embedded:NAME`, `hf:ID@REVISION`, `hf:FOLDER`,
    or `vectors:FILE`.

    Raises:
        NotFoundError: no model is declared under that name.
        DeclarationError: the form is none that is known.
    """
    match = _SPEC.fullmatch(name)
    if match is None:
        return declarations.model(name)
    form, rest = match.groups()
    if form == "embedded":
        return declarations.model(rest)
    if form == "hf":
        return _local(rest)
    if form == "vectors":
        return ModelDeclaration(kind="model", name=_slug(Path(rest).name), backend="vectors", id=rest)
    model_id, url = _split(rest)
    return ModelDeclaration(
        kind="model", name=_slug(model_id), title=model_id, backend="openai", id=model_id, base_url=url
    )


def local_model(declarations: Declarations, name: str, benchmark: BenchmarkDeclaration) -> ModelDeclaration:
    """The model of this machine that a name means, for a benchmark of likelihoods or vectors.

    Raises:
        NotFoundError: no model is declared under that name.
        DeclarationError: the model is no local one, or the benchmark asks for answers.
    """
    if benchmark.runner == "generate":
        raise DeclarationError(f"{benchmark.name} asks for answers and has no likelihoods to score.")
    model = resolve_model(declarations, name)
    vectors = benchmark.runner == "vectors"
    if model.backend not in (("hf", "vectors") if vectors else ("hf",)):
        what = "compares vectors" if vectors else "scores likelihoods"
        more = " vectors:FILE (of words)," if vectors else ""
        raise DeclarationError(
            f"{benchmark.name} {what}, which {model.name} (backend `{model.backend}`) does not tell; it needs a model "
            f"on this machine: hf:FOLDER, hf:ID@REVISION,{more} or a declared one."
        )
    return model


def _local(spec: str) -> ModelDeclaration:
    """`ID@REVISION` of the Hub, or a folder or `.gguf` file here."""
    if Path(spec).expanduser().exists() or spec.startswith(("/", ".", "~")):
        path = Path(spec).expanduser()
        return ModelDeclaration(kind="model", name=_slug(path.resolve().stem), title=path.name, backend="hf", id=spec)
    model_id, _, revision = spec.partition("@")
    if not model_id:
        raise DeclarationError("The model is not hf:ID@REVISION (hf:org/model@COMMIT) nor hf:FOLDER.")
    return ModelDeclaration(
        kind="model", name=_slug(model_id.rsplit("/")[-1]), title=model_id, backend="hf", id=model_id,
        revision=revision or None,
    )  # fmt: skip


def _slug(model_id: str) -> str:
    return re.sub(r"[^a-z0-9_.-]+", "-", model_id.lower()).strip("-.")[:64] or "model"


def _split(spec: str) -> tuple[str, str]:
    """Id and endpoint out of ID@URL; an id may hold an @ itself."""
    from ethicsdb.runners.backends.openai import check_endpoint

    model_id, at, url = spec.partition("@http")
    if not at or not model_id:
        # Without the name, in which a URL may stand that holds a password.
        raise DeclarationError("The model is not openai:ID@URL (openai:my-model@http://127.0.0.1:8080/v1).")
    check_endpoint(f"http{url}")
    return model_id, f"http{url}"


def identity_of(model: ModelDeclaration) -> Identity:
    """A model's identity, without loading it."""
    if model.backend == "embedded":
        from ethicsdb.runners.backends.embedded import embedded_identity

        return embedded_identity(model)
    if model.backend == "hf":
        from ethicsdb.runners.classifiers import classifier_identity

        return classifier_identity(model)  # as a judge, which is all that a local model is told apart here for
    if model.base_url is not None:
        from ethicsdb.runners.backends.openai import check_endpoint

        check_endpoint(model.base_url)  # it is about to be written down
    return declared_remote(model)


def check_model(model: ModelDeclaration, *, key: bool = True) -> None:
    """See that a model can be asked from here, as far as that shows without asking it.

    Args:
        key: whether its key has to be there; not where only the cost is asked for.

    Raises:
        ModelError: its key is not set, or its answers can only be imported.
    """
    if model.backend == "import":
        raise ModelError(f"{model.name} has no endpoint; its answers come in through `ethicsdb import`.")
    if model.backend == "vectors":
        raise ModelError(f"{model.name} is a file of word vectors, which writes no answers.")
    if model.backend == "openai" and key:
        from ethicsdb.runners.backends.openai import api_key

        api_key(model)


@contextmanager
def open_backend(
    model: ModelDeclaration, concurrency: int | None = None, budget: Budget | None = None, *, in_batches: bool = False
) -> Iterator[Backend]:
    """A model ready to answer, for as long as the block lasts.

    Args:
        concurrency: calls in flight at most, instead of the declared number.
        budget: what may be spent; None for no limit.
        in_batches: through OpenAI's Batch API.

    Raises:
        DeclarationError: money is limited, and the model has no price; or it has no endpoint for batches.
        ModelError: it can't be asked: its package is missing, its key is not set, or its answers can only be imported.
    """
    if concurrency is not None:
        model = model.model_copy(update={"concurrency": concurrency})
    if in_batches and model.backend != "openai":
        raise DeclarationError(
            f"{model.name} has no endpoint, so that it can't be asked in batches; leave --batch out."
        )
    purse = purse_of(model, budget, in_batches=in_batches)
    check_model(model)
    if model.backend == "embedded":
        from ethicsdb.runners.backends.embedded import open_embedded

        with open_embedded(model, purse) as backend:
            yield backend
        return
    if model.backend == "hf":
        from ethicsdb.runners.backends.hf import HfBackend
        from ethicsdb.runners.local import open_local

        yield HfBackend(open_local(model), purse)
        return
    from ethicsdb.runners.backends.openai import OpenAIBackend

    backend = OpenAIBackend(model, identity_of(model), purse)
    backend.in_batches = in_batches
    yield backend


@contextmanager
def open_judge(
    judge: JudgeParts,
    model: ModelDeclaration,
    concurrency: int | None = None,
    budget: Budget | None = None,
    *,
    in_batches: bool = False,
) -> Iterator[Backend | Classifier]:
    """A judge's model ready to judge: one that is asked, or a classifier on this machine.

    Raises:
        ModelError: as `open_backend`; or the classifier can't be loaded, or gives labels that the rubric lacks.
    """
    rubric = judge.rubric.rubric
    if not isinstance(rubric, ClassifierRubric):
        with open_backend(model, concurrency, budget, in_batches=in_batches) as backend:
            yield backend
        return
    check_classifier(model, rubric.labels)
    yield Classifier(model)
