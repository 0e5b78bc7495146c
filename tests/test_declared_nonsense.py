"""Declarations that have the right form and can't be meant: each is found, and the sentence says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support import BENCHMARK, DATASET, DECLARATIONS, JUDGE, MODEL, PUBLISHED, RUBRIC, changed, run

from ethicsdb.registry.declared import problems
from ethicsdb.schemas.rubrics import RubricDeclaration, attributes_of

Part = dict[str, Any]

SOURCE = {"path": "small.csv"}
BODY = RUBRIC["rubric"]
CLASSES = {
    "form": "classes",
    "attribute": "action",
    "classes": {0: "declines", 1: "warns", 2: "follows"},
    "safe": [0, 1],
    "refusal": [0],
}
METRIC = {
    "name": "mine",
    "display": "Mine",
    "description": "x",
    "direction": "lower",
    "attribute": "safety",
    "positive": ["unsafe"],
    "source": "x",
}


def quantity(name: str) -> Part:
    """The metric as a number of a measure."""
    return {**{key: METRIC[key] for key in METRIC if key not in ("attribute", "positive")}, "quantity": name}


LIKELIHOOD = {
    "runner": "likelihood", "measure": "choices", "judges": [], "metric_sets": [], "primary": "mine",
    "metrics": [quantity("accuracy")],
}  # fmt: skip


def found(folder: Path, *instead: Part) -> list[tuple[str, str]]:
    """Faults of the test declarations with some replaced or added: (the line that is named, sentence)."""
    names = {(each["kind"], each["name"]): each for each in [*DECLARATIONS, *instead]}
    text = "---\n".join(yaml.safe_dump(each, allow_unicode=True, sort_keys=False) for each in names.values())
    into = folder / "ethicsdb.d"
    into.mkdir()
    (into / "mine.yaml").write_text(text, encoding="utf-8")
    lines = text.splitlines()
    out = []
    for fault in problems([into])[1]:
        place, _, sentence = fault.removeprefix(f"{into}/mine.yaml:").partition(": ")
        out.append((lines[int(place) - 1].strip(), sentence))
    return out


@pytest.mark.parametrize(
    ("declaration", "parts", "line", "sentence"),
    [
        # Data sets: files.
        (DATASET, {"sources": [{**SOURCE, "encoding": "utf8mb4"}]}, "encoding: utf8mb4",
         "sources.0.encoding: `utf8mb4` is no text encoding that Python knows; usual ones are utf-8"),
        (DATASET, {"sources": [{**SOURCE, "encoding": "hex"}]}, "encoding: hex",
         "sources.0.encoding: `hex` is no text encoding"),
        (DATASET, {"sources": [{**SOURCE, "encoding": "base64"}]}, "encoding: base64",
         "sources.0.encoding: `base64` is no text encoding"),
        (DATASET, {"sources": [{"path": "a.jsonl", "format": "csv"}]}, "- path: a.jsonl",
         "sources.0: `a.jsonl` would be read as csv; write `format: jsonl`, or leave it out"),
        (DATASET, {"sources": [SOURCE, SOURCE]}, "sources:",
         "the declaration: `sources` names small.csv twice, so its rows would count twice"),
        (DATASET, {"sources": [{**SOURCE, "sha256": "ABC"}]}, "sha256: ABC",
         "sources.0.sha256: must be 64 lower-case hexadecimal digits, as `sha256sum FILE` prints them"),
        (DATASET, {"sources": [{"path": " "}]}, "- path: ' '", "sources.0.path: must not be empty"),
        (DATASET, {"sources": [{**SOURCE, "reader": "crowspairs"}]}, "reader: crowspairs",
         "sources.0.reader: `crowspairs` is not allowed; expected 'association'"),
        # Data sets: what the rows are.
        (DATASET, {"fields": {"risk_area": "area"}}, "fields:",
         "fields: no column is mapped to `question`, the main text of safety_question; add `question: COLUMN`"),
        (DATASET, {"fields": {"question": "text", "risk_area": "area"}, "group": ["harm_type"], "link": None},
         "group:", "group: nothing fills `harm_type`, so all rows would agree in it"),
        (DATASET, {"link": {"id": "id", "within": ["harm_type"]}}, "link:", "link.within: nothing fills `harm_type`"),
        (DATASET, {"languages": ["english"]}, "- english",
         "languages.0: `english` is no BCP 47 language code; did you mean `en`?"),
        (DATASET, {"languages": ["cn", "en"]}, "- cn",
         "languages.0: `cn` is no BCP 47 language code; did you mean `zh`?"),
        (DATASET, {"languages": ["en_US", "en"]}, "- en_US",
         "languages.0: `en_US` is no BCP 47 language code, such as"),
        (DATASET, {"languages": ["zh"]}, "constants:", "constants: language `en` is none of `languages` (zh)"),
        (DATASET, {"variant": None}, "variants:", "the declaration: `variants` says what a column's values mean"),
        (DATASET, {"variants": {"original": "directly"}}, "original: directly",
         "variants.original: `directly` is not allowed; expected 'direct', 'indirect' or 'harmless'; did you mean"),
        (DATASET, {"schema": "safety_questions"}, "schema: safety_questions",
         "schema: `safety_questions` is no item kind; did you mean `safety_question`?"),
        (DATASET, {"languages": "en"}, "languages: en", "languages: must be a list: [en]"),
        (DATASET, {"sources": "small.csv"}, "sources: small.csv",
         "sources: must be a list of entries with keys: [{path: ...}]"),
        # Data sets: terms.
        (DATASET, {"licence": "CC0"}, "licence: CC0",
         "licence: must be keys with values: {name: ..., redistribution: ...}"),
        (DATASET, {"homepage": "www.example.org"}, "homepage: www.example.org",
         "homepage: is no web address; expected one that begins with https://"),
        (DATASET, {"licence": {"name": "CC0", "redistribution": "no"}}, "redistribution: 'no'",
         "licence.redistribution: must be true or false, without quotes"),
        (DATASET, {"licence": {"nam": "CC0", "redistribution": True}}, "nam: CC0",
         "licence.nam: is not a known key; did you mean `name`?"),
        (DATASET, {"citation": "  "}, "citation: '  '", "citation: must not be empty"),
        (DATASET, {"access": "opened"}, "access: opened",
         "access: `opened` is not allowed; expected 'open', 'gated' or 'agreement'; did you mean `open`?"),
        # Models.
        (MODEL, {"api_key_env": "sk-proj-abc123"}, "api_key_env: sk-proj-abc123",
         "api_key_env: must be the name of an environment variable"),
        (MODEL, {"api_key_env": "AKIAIOSFODNN7EXAMPLE"}, "api_key_env: AKIAIOSFODNN7EXAMPLE",
         "api_key_env: must be the name of an environment variable"),
        (MODEL, {"base_url": "https://me:secret@host/v1"}, "base_url: https://me:secret@host/v1",
         "base_url: An endpoint's URL must hold no user, password or key"),
        (MODEL, {"base_url": "https://host/v1?api_key=secret"}, "base_url: https://host/v1?api_key=secret",
         "base_url: An endpoint's URL must hold no user, password or key"),
        (MODEL, {"base_url": "host:8080/v1"}, "base_url: host:8080/v1", "base_url: `host:8080/v1` is no endpoint"),
        (MODEL, {"backend": "import"}, "base_url: http://127.0.0.1:9/v1",
         "the declaration: `base_url` belongs to the backend `openai`; this one is `import`"),
        (MODEL, {"weights_sha256": "0" * 64}, "weights_sha256:",
         "the declaration: `weights_sha256` belongs to the backend"),
        (MODEL, {"price": {"prompt": 1.0}}, "price:", "price.completion: is missing; add it"),
        (MODEL, {"price": {"prompt": 1, "completion": float("inf")}}, "completion: .inf",
         "price.completion: must be a finite number"),
        (MODEL, {"price": {"prompt": 1, "completion": -1}}, "completion: -1", "price.completion: must be at least 0"),
        (MODEL, {"price": {"prompt": 1, "completion": 1, "currency": "EUR"}}, "currency: EUR",
         "price.currency: is not a known key; there are prompt, completion"),
        (MODEL, {"context": "8k"}, "context: 8k", "context: must be a whole number, without quotes"),
        (MODEL, {"concurrency": 0}, "concurrency: 0", "concurrency: must be at least 1"),
        (MODEL, {"revision": 2.5}, "revision: 2.5", "revision: must be text; write it in quotes"),
        # Judges and rubrics.
        (JUDGE, {"rubric": "refusal_rules"}, "model: judge-1",
         "model: the rubric `refusal_rules` is rules, which ask nobody; leave `model` out"),
        (JUDGE, {"model": None}, "rubric: small_rubric", "rubric: `small_rubric` is applied by a model; name it in"),
        (JUDGE, {"model": "opnai:x@http://127.0.0.1/v1"}, "model: opnai:x@http://127.0.0.1/v1",
         "model: No model is called"),
        (JUDGE, {"model": "openai:gpt"}, "model: openai:gpt", "model: not openai:ID@URL"),
        (JUDGE, {"model": "openai:x@http://me:secret@h/v1"}, "model: openai:x@http://me:secret@h/v1",
         "model: An endpoint's URL must hold no user"),
        (JUDGE, {"sampling": {"samples": 3}}, "sampling:", "the declaration: `sampling` asks for several"),
        (RUBRIC, {"rubric": {**BODY, "prompt": "{question}{questions}"}}, "rubric:",
         "rubric: the prompt holds no {answer}, so the judge would not see it"),
        (RUBRIC, {"rubric": {**BODY, "prompt": "{answer}"}}, "rubric:", "rubric: the prompt holds no {questions}"),
        (RUBRIC, {"rubric": {**BODY, "prompt": "{answer}{questions}"}}, "rubric:",
         "rubric: there is a prompt, so the area `lies` needs its `questions`"),
        (RUBRIC, {"rubric": {**BODY, "prompt": "{answer"}}, "rubric:", "rubric: its braces do not match"),
        (RUBRIC, {"rubric": {**BODY, "areas": {"lies": {"expected": [True, False], "unsafe_at": 2}}}}, "rubric:",
         "rubric: unsafe_at 2 of `lies` can't be reached: question 1 does not count (first_counts), which leaves 1"),
        (RUBRIC, {"rubric": {**BODY, "by": "risk_areas"}}, "judges:",
         "judges: the rubric of `small_judge` goes by `risk_areas`, a field that the items do not have"),
        (RUBRIC, {"rubric": {**BODY, "langauges": ["en"]}}, "langauges:",
         "rubric.langauges: is not a known key; did you mean `languages`?"),
        (RUBRIC, {"rubric": {**CLASSES, "attribute": "safety"}}, "rubric:", "rubric: `safety` is a label that"),
        (RUBRIC, {"rubric": {**CLASSES, "prompt": "{classes} {answer} {qestion}"}}, "judges:",
         "judges: the prompt of `small_judge` names `qestion`, a field that the items do not have"),
        # Benchmarks.
        (BENCHMARK, {"judges": ["small_judge", "small_judge"]}, "judges:",
         "the declaration: `judges` names `small_judge`"),
        (BENCHMARK, {"sampling": {"temperature": "0.7"}}, "temperature: '0.7'",
         "sampling.temperature: must be a number, without quotes"),
        (BENCHMARK, {"sampling": {"temperature": 3.0}}, "temperature: 3.0", "sampling.temperature: must be at most 2"),
        (BENCHMARK, {"sampling": {"max_token": 3}}, "max_token: 3",
         "sampling.max_token: is not a known key; did you mean `max_tokens`?"),
        (BENCHMARK, {"prompt": {"template": "{harm_type}"}}, "prompt:",
         "prompt.template: nothing fills `harm_type` in small; map a column in its `fields`"),
        (BENCHMARK, {"judges": ["refusal_rules", "small_judge"]}, "primary: unsafe_rate",
         "primary: `unsafe_rate` counts `safety`, which the default judge `refusal_rules` does not give; put "
         "small_judge first in `judges`, or make one of refusal_rate, over_refusal_rate the primary metric"),
        (BENCHMARK, {"judges": ["refusal_rules"]}, "metric_sets:",
         "metric_sets: `unsafe_rate` counts `safety`, which no judge of this benchmark gives; there are"),
        (BENCHMARK, {"metrics": [{**METRIC, "attribute": "safty"}]}, "metrics:",
         "metrics: `mine` counts `safty`, which no judge of this benchmark gives; did you mean `safety`?"),
        (BENCHMARK, {"metrics": [{**METRIC, "positive": ["unsave"]}]}, "metrics:",
         "metrics: `mine` counts `unsave`, no value of `safety`; did you mean `unsafe`?"),
        (BENCHMARK, {"metrics": [{**METRIC, "positive": "unsafe"}]}, "positive: unsafe",
         "metrics.0.positive: must be a list: [unsafe]"),
        (BENCHMARK, {"metrics": [{**METRIC, "variants": []}]}, "variants: []",
         "metrics.0.variants: must hold at least 1"),
        (BENCHMARK, {"metrics": [{**METRIC, "direction": "down"}]}, "direction: down",
         "metrics.0.direction: `down` is not allowed; expected 'lower' or 'higher'"),
        (BENCHMARK, {"metrics": [{**METRIC, "quantity": "icat"}]}, "- name: mine",
         "metrics.0: give `attribute` with `positive` (a share of verdicts), or `quantity` (of a measure)"),
        (BENCHMARK, {"metrics": [quantity("icat")]}, "metrics:",
         "metrics: `mine` is the number `icat` of a measure; the benchmark's measure: none is named"),
        (BENCHMARK, {"metrics": [quantity("icat")], "measure": "choices"}, "metrics:",
         "metrics: `mine` is the number `icat` of a measure; the benchmark's measure: choices, which gives accuracy"),
        (BENCHMARK, {"metrics": [{**METRIC, "ideal": 0.5}]}, "ideal: 0.5",
         "metrics.0: `ideal` belongs to a `quantity` whose direction is `lower`"),
        (BENCHMARK, {"items": {"langage": ["en"]}}, "items:",
         "items: the items have no field `langage`; did you mean `language`?"),
        (BENCHMARK, LIKELIHOOD | {"likelihood": {"form": "choice", "template": "{contxt}"}}, "likelihood:",
         "likelihood.form: `choice` asks items of kind choice_question; small holds safety_question"),
        (BENCHMARK, LIKELIHOOD | {"likelihood": {"form": "exchange"}}, "likelihood:",
         "likelihood: `refusal` belongs to the form `exchange`, which needs it"),
        # Published figures.
        (PUBLISHED, {"rows": [{"model": "M", "values": {"unsafe_rate": 93.57}}]}, "rows:",
         "rows: M: unsafe_rate is 93.57; figures are fractions from 0 to 1; as a fraction it is 0.9357"),
        (PUBLISHED, {"rows": [{"model": "M", "values": {"unsafe_rate@variant": 0.5}}]}, "- model: M",
         "rows.0: `unsafe_rate@variant` is no metric@slice=value"),
        (PUBLISHED, {"rows": [{"model": "M", "values": {"unsafe_rate": 0.5}, "hits": {"unsafe_rate": 9}, "n": 8}]},
         "- model: M", "rows.0: 9 hits for unsafe_rate can't be, of 8 items"),
        (PUBLISHED, {"rows": [{"model": "M", "values": {"unsafe_rate": 0.5}, "hits": {"unsafe_rate": 3}, "n": 8}]},
         "- model: M", "rows.0: unsafe_rate is 0.5, but 3 of 8 are 0.3750"),
        (PUBLISHED, {"rows": [PUBLISHED["rows"][0], PUBLISHED["rows"][0]]}, "rows:",
         "rows: M: unsafe_rate of this paper and table stands in "),
        (PUBLISHED, {"major": 2}, "major: 2", "major: small is at 1-A; no major 2 yet"),
    ],
)  # fmt: skip
def test_nonsense_is_found(tmp_path: Path, declaration: Part, parts: Part, line: str, sentence: str) -> None:
    faults = found(tmp_path, changed(declaration, **parts))
    assert any(where.startswith(line) and said.startswith(sentence) for where, said in faults), faults


def test_a_fault_says_no_secret(tmp_path: Path) -> None:
    secrets = changed(MODEL, api_key_env="sk-proj-abc123", base_url="https://me:hunter2@host/v1?key=hunter3")
    told = " ".join(sentence for _, sentence in found(tmp_path, secrets))
    assert "api_key_env" in told
    assert "base_url" in told
    for secret in ("abc123", "hunter2", "hunter3"):
        assert secret not in told


@pytest.mark.parametrize(
    "parts",
    [
        {"languages": ["en", "zh-Hant", "pt-BR", "sr-Latn-RS", "es-419", "mul", "und"]},
        {"sources": [{**SOURCE, "encoding": "cp1251"}]},
        {"sources": [{"path": "small.txt"}]},
        {"homepage": "https://example.org/a?b=c"},
    ],
)
def test_sense_is_let_through(tmp_path: Path, parts: Part) -> None:
    assert found(tmp_path, changed(DATASET, **parts)) == []


def test_published_rounding_is_let_through(tmp_path: Path) -> None:
    row = {"model": "M", "values": {"unsafe_rate": 0.33}, "hits": {"unsafe_rate": 1}, "n": 3}
    assert found(tmp_path, changed(PUBLISHED, rows=[row])) == []


def test_tabs_are_named(tmp_path: Path) -> None:
    into = tmp_path / "ethicsdb.d"
    into.mkdir()
    (into / "a.yaml").write_text("kind: model\nprice:\n\tprompt: 1\n")
    done = run("check", cwd=tmp_path)
    assert done.code == 1
    assert done.err.splitlines()[0].startswith(f"{into}/a.yaml:3: not valid YAML: ")
    assert done.err.splitlines()[0].endswith("; indent with spaces, not tabs")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('name: "q\n', "the quotation mark that line 2 opens is never closed"),
        ("title: my: model\n", "a text that holds `: ` needs quotes, and keys of one level begin in one column"),
        ("name model\n", "a key is followed by a colon and a space"),
    ],
)
def test_yaml_slips_are_told_in_words(tmp_path: Path, text: str, end: str) -> None:
    into = tmp_path / "ethicsdb.d"
    into.mkdir()
    (into / "a.yaml").write_text("kind: model\n" + text)
    assert run("check", cwd=tmp_path).err.splitlines()[0].endswith(end)


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        (BODY, ["1. No\n2. Yes\n3. No", "1. No\n2. No\n3. Yes", "1. Yes\n2. Yes\n3. No"]),
        (CLASSES, ["0", "1", "2"]),
        ({**CLASSES, "recode": {0: 0, 1: 1, 2: 1}, "safe": [0], "refusal": []}, ["0", "1", "2"]),
        ({"form": "refusal_rules", "languages": ["en"]},
         ["I'm sorry, but I can't help with that.", "Sure: first, fold the paper.", "",
          "I'm sorry, but I can't help with that. One way is to first fold the paper. Step 1: fold it."]),
    ],
)  # fmt: skip
def test_attributes_are_those_that_verdicts_give(body: Part, texts: list[str]) -> None:
    """Against the parsers themselves: what they give is promised, and every promised attribute is given."""
    from ethicsdb.runners.reading import read_verdict

    rubric = RubricDeclaration.model_validate(changed(RUBRIC, rubric=body)).rubric
    promised = attributes_of(rubric)
    given = [label for text in texts for label in read_verdict(rubric, {"risk_area": "lies"}, text).labels]
    assert {attribute for attribute, _ in given} == set(promised)
    for attribute, value in given:
        assert value in promised[attribute]
