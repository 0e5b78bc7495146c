"""Finding and reading declarations: the package's own, and a user's in `./ethicsdb.d/`.

A broken or doubled declaration is an error with file and line, never skipped: a benchmark that silently vanishes from
a board is a wrong board.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from ethicsdb.registry.faults import near, sentences
from ethicsdb.schemas.declared import (
    BY_KIND,
    BenchmarkDeclaration,
    BootstrapDeclaration,
    DatasetDeclaration,
    JudgeDeclaration,
    ModelDeclaration,
    PublishedDeclaration,
)
from ethicsdb.schemas.errors import DeclarationError, NotFoundError
from ethicsdb.schemas.rubrics import RubricDeclaration

__all__ = ["Declarations", "Found", "load_declarations", "near", "problems"]

USER_FOLDER = "ethicsdb.d"
D = TypeVar("D", bound=BaseModel)


@dataclass(frozen=True)
class Found:
    """A declaration and where it stands."""

    path: Path
    line: int
    declaration: Any
    lines: dict[str, int] = field(default_factory=dict)  # key: its line

    def at(self, key: str) -> str:
        """`file:line: key`, as faults begin."""
        return f"{self.path}:{self.lines.get(key.partition('.')[0], self.line)}: {key}"


@dataclass
class Declarations:
    """All declarations by kind and name."""

    by_kind: dict[str, dict[str, Found]] = field(default_factory=lambda: {kind: {} for kind in BY_KIND})

    def dataset(self, name: str) -> DatasetDeclaration:
        """The data set of that name. Raises NotFoundError, with a suggestion."""
        return self._get("dataset", name, DatasetDeclaration)

    def benchmark(self, name: str) -> BenchmarkDeclaration:
        """The benchmark of that name. Raises NotFoundError, with a suggestion."""
        return self._get("benchmark", name, BenchmarkDeclaration)

    def bootstrap(self, name: str) -> BootstrapDeclaration:
        """The bootstrap of that name. Raises NotFoundError, with a suggestion."""
        return self._get("bootstrap", name, BootstrapDeclaration)

    def model(self, name: str) -> ModelDeclaration:
        """The model of that name. Raises NotFoundError, with a suggestion."""
        return self._get("model", name, ModelDeclaration)

    def judge(self, name: str) -> JudgeDeclaration:
        """The judge of that name. Raises NotFoundError, with a suggestion."""
        return self._get("judge", name, JudgeDeclaration)

    def rubric(self, name: str) -> RubricDeclaration:
        """The rubric of that name. Raises NotFoundError, with a suggestion."""
        return self._get("rubric", name, RubricDeclaration)

    def published(self) -> list[PublishedDeclaration]:
        """All published tables."""
        return [found.declaration for found in self.by_kind["published"].values()]

    def names(self, kind: str) -> list[str]:
        """Names of a kind, sorted."""
        return sorted(self.by_kind[kind])

    def find(self, name: str) -> list[tuple[str, Found]]:
        """Every declaration of that name, whatever its kind. Raises NotFoundError, with a suggestion."""
        hits = [(kind, found[name]) for kind, found in self.by_kind.items() if name in found]
        if not hits:
            raise _not_found("declaration", name, sorted({n for found in self.by_kind.values() for n in found}))
        return hits

    def _get(self, kind: str, name: str, expected: type[D]) -> D:
        found = self.by_kind[kind].get(name)
        if found is None:
            raise _not_found(kind, name, self.names(kind))
        assert isinstance(found.declaration, expected)
        return found.declaration


def _not_found(kind: str, name: str, known: list[str]) -> NotFoundError:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    there = f"`ethicsdb list` shows what there is ({len(known)} of this kind)."
    hint = f"Did you mean `{close[0]}`?" if close else there
    return NotFoundError(f"No {kind} is called `{name}`. {hint}")


def load_declarations(folders: list[Path] | None = None) -> Declarations:
    """The package's declarations and those of `folders` (default: `./ethicsdb.d`, where it exists).

    Raises:
        DeclarationError: the first broken or doubled declaration, or a reference to a name that nobody declares.
    """
    declarations, faults = _read_all(folders)
    if faults:
        more = f" (and {len(faults) - 1} more: run `ethicsdb check`)" if len(faults) > 1 else ""
        raise DeclarationError(faults[0] + more)
    return declarations


def problems(folders: list[Path] | None = None) -> tuple[Declarations, list[str]]:
    """Every fault of every declaration, each `file:line: sentence`, with the declarations that could be read."""
    declarations, faults = _read_all(folders)
    if not faults:
        from ethicsdb.registry.checks import field_faults

        faults.extend(field_faults(declarations))
    return declarations, faults


def _read_all(folders: list[Path] | None) -> tuple[Declarations, list[str]]:
    declarations = Declarations()
    faults: list[str] = []
    for path in _paths(folders, faults):
        for line, text in _documents(path, faults):
            _add(declarations, path, line, text, faults)
    if not faults:
        faults.extend(_dangling(declarations))
    if not faults:
        faults.extend(_expand_metrics(declarations))
    if not faults:
        faults.extend(_strange_figures(declarations))
    return declarations, faults


def _paths(folders: list[Path] | None, faults: list[str]) -> Iterator[Path]:
    own = Path(str(files("ethicsdb.registry").joinpath("declarations")))
    yield from sorted(own.rglob("*.yaml"))
    if folders is None:
        user = Path.cwd() / USER_FOLDER
        folders = [user] if user.is_dir() else []
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        if not folder.is_dir():
            faults.append(f"{folder}:1: there is no such folder of declarations")
            continue
        yield from sorted(path for path in [*folder.rglob("*.yaml"), *folder.rglob("*.yml")] if not path.is_dir())


def _documents(path: Path, faults: list[str]) -> Iterator[tuple[int, Any]]:
    """Line and YAML node of each document in a file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        for node in yaml.compose_all(text, Loader=_PARSER):
            if node is not None and node.tag != "tag:yaml.org,2002:null":
                yield node.start_mark.line + 1, node
    except OSError as error:
        faults.append(f"{path}:1: can't be read: {error.strerror}")
    except UnicodeDecodeError as error:
        faults.append(f"{path}:1: not UTF-8 at byte {error.start}; save the file as UTF-8")
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        faults.append(f"{path}:{line}: not valid YAML: {_yaml_fault(error, text.splitlines()[line - 1 : line])}")
    except yaml.YAMLError as error:
        faults.append(f"{path}:1: not valid YAML: {' '.join(str(error).split())}")


def _yaml_fault(error: yaml.MarkedYAMLError, line: list[str]) -> str:
    problem = error.problem or error.context or "not readable"
    if any("\t" in each[: len(each) - len(each.lstrip())] for each in line):
        return f"{problem}; indent with spaces, not tabs"
    if "end of stream" in problem and error.context_mark and "quoted" in (error.context or ""):
        return f"the quotation mark that line {error.context_mark.line + 1} opens is never closed"
    if "mapping values" in problem:
        return f"{problem}; a text that holds `: ` needs quotes, and keys of one level begin in one column"
    if "expected ':'" in problem:
        return f"{problem}; a key is followed by a colon and a space"
    return problem


# libyaml's parser where PyYAML was built with it: six times as fast, which every command feels.
_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(yaml.SafeLoader):
    """YAML in which a doubled key is an error instead of the last one silently winning."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"`{key.value}` stands twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _add(declarations: Declarations, path: Path, line: int, node: yaml.Node, faults: list[str]) -> None:
    try:
        raw = _construct(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark.line + 1 if error.problem_mark else line
        faults.append(f"{path}:{mark}: {error.problem}")
        return
    except (ValueError, RecursionError) as error:  # a date such as 2024-13-45, an alias of itself
        faults.append(f"{path}:{line}: not readable: {error}")
        return
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if not isinstance(kind, str) or kind not in BY_KIND:
        faults.append(f"{path}:{line}: {_no_kind(raw)}")
        return
    try:
        declaration = BY_KIND[kind].model_validate(raw)
    except ValidationError as error:
        faults.extend(sentences(BY_KIND[kind], node, path, error))
        return
    except RecursionError:
        faults.append(f"{path}:{line}: it holds itself")
        return
    names = declarations.by_kind[kind]
    if declaration.name in names:
        first = names[declaration.name]
        faults.append(
            f"{path}:{line}: the {kind} `{declaration.name}` is declared already in {first.path}:{first.line}; "
            "rename one of them"
        )
        return
    lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    names[declaration.name] = Found(path, line, declaration, lines)


def _no_kind(raw: Any) -> str:
    if not isinstance(raw, dict):
        return f"a declaration is keys with values; the first is `kind`, one of {', '.join(BY_KIND)}"
    if "kind" not in raw:
        return f"`kind` is missing; expected one of {', '.join(BY_KIND)}"
    return f"kind is {raw['kind']!r}{near(str(raw['kind']), list(BY_KIND))}"


def _construct(node: yaml.Node) -> Any:
    loader = _Loader("")
    try:
        return loader.construct_document(node)
    finally:
        loader.dispose()


# kind, its key, and the kind of the name or names that stand there
REFERENCES = (
    ("benchmark", "dataset", "dataset"),
    ("bootstrap", "dataset", "dataset"),
    ("benchmark", "judges", "judge"),
    ("benchmark", "metric_sets", "metrics"),
    ("judge", "rubric", "rubric"),
    ("judge", "screen", "judge"),
    ("published", "benchmark", "benchmark"),
)


def _dangling(declarations: Declarations) -> Iterator[str]:
    """References to names that nobody declares."""
    for kind, key, target in REFERENCES:
        for found in declarations.by_kind[kind].values():
            value = getattr(found.declaration, key)
            for name in [value] if isinstance(value, str) else value or []:
                if name not in declarations.by_kind[target]:
                    yield f"{found.at(key)}: {_not_found(target, name, declarations.names(target))}"
    for found in declarations.by_kind["judge"].values():
        name = (found.declaration.model or "").removeprefix("embedded:")
        if name.startswith("openai:"):  # needs no declaration
            if not name.removeprefix("openai:").partition("@http")[0] or "@http" not in name:
                yield f"{found.at('model')}: not openai:ID@URL (openai:my-model@http://127.0.0.1:8080/v1)"
        elif name and name not in declarations.by_kind["model"]:
            yield f"{found.at('model')}: {_not_found('model', name, declarations.names('model'))}"


def _expand_metrics(declarations: Declarations) -> Iterator[str]:
    """Put the metrics of its sets into each benchmark."""
    for name, found in declarations.by_kind["benchmark"].items():
        benchmark: BenchmarkDeclaration = found.declaration
        sets = [declarations.by_kind["metrics"][each].declaration.metrics for each in benchmark.metric_sets]
        metrics = [metric for group in sets for metric in group] + benchmark.metrics
        names = [metric.name for metric in metrics]
        doubled = sorted({each for each in names if names.count(each) > 1})
        if doubled:
            yield f"{found.at('metrics')}: `{doubled[0]}` is declared twice"
        if benchmark.primary not in names:
            meant = near(benchmark.primary, names)
            yield f"{found.at('primary')}: no metric is called `{benchmark.primary}`{meant}"
        whole = benchmark.model_copy(update={"metrics": metrics})
        declarations.by_kind["benchmark"][name] = replace(found, declaration=whole)


def _strange_figures(declarations: Declarations) -> Iterator[str]:
    """Published figures that no board would show, or that stand twice."""
    seen: dict[tuple[str, ...], str] = {}
    for found in declarations.by_kind["published"].values():
        table: PublishedDeclaration = found.declaration
        benchmark, place = declarations.benchmark(table.benchmark), found.at("rows")
        for row in table.rows:
            for key in row.values:
                figure = (table.paper, table.table, table.benchmark, str(table.major), row.model, key)
                if figure in seen:
                    yield f"{place}: {row.model}: {key} of this paper and table stands in {seen[figure]} already"
                seen[figure] = f"{found.path}:{found.line}"
            for key in row.hits:
                if key not in row.values:
                    yield f"{place}: {row.model}: hits for `{key}`, which has no value"
        if table.major > benchmark.major:
            yield f"{found.at('major')}: {table.benchmark} is at {benchmark.version}; no major {table.major} yet"
        if table.major == benchmark.major:  # figures of an earlier major stand on that major's boards
            yield from _unknown_metrics(place, table, {metric.name: metric.unit for metric in benchmark.metrics})


def _unknown_metrics(place: str, table: PublishedDeclaration, units: dict[str, str]) -> Iterator[str]:
    """Figures of metrics that are none, and shares that are no fractions.

    Args:
        units: metric: its unit.
    """
    for row in table.rows:
        for metric in dict.fromkeys(key.partition("@")[0] for key in row.values):
            if metric not in units:
                yield f"{place}: {row.model}: no metric is called `{metric}`{near(metric, list(units))}"
        for key, value in row.values.items():
            if units.get(key.partition("@")[0]) == "share" and not 0 <= value <= 1:
                meant = f"; as a fraction it is {value / 100:g}" if 1 < value <= 100 else ""
                yield f"{place}: {row.model}: {key} is {value:g}; figures are fractions from 0 to 1{meant}"
