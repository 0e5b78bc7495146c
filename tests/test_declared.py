"""Declarations: every fault is found, with file and line, and none is passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support import BENCHMARK, DATASET, DECLARATIONS, JUDGE, MODEL, PUBLISHED, RUBRIC, changed, declare, run

from ethicsdb import Registry
from ethicsdb.registry.declared import load_declarations, problems
from ethicsdb.schemas.declared import BY_KIND
from ethicsdb.schemas.errors import DeclarationError, NotFoundError

HEAD = "kind: model\nname: x\nbackend: openai\nid: x\n"


def faults(folder: Path, text: str, name: str = "mine.yaml") -> list[str]:
    """Faults of a folder that holds this text, without the folder's name."""
    into = folder / "ethicsdb.d"
    into.mkdir(exist_ok=True)
    (into / name).write_text(text, encoding="utf-8")
    _, found = problems([into])
    return [fault.removeprefix(f"{into}/") for fault in found]


def line_at(folder: Path, fault: str) -> str:
    """The line that a fault names."""
    file, line = fault.split(":")[:2]
    return (folder / "ethicsdb.d" / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]


def text_of(*declarations: dict[str, Any]) -> str:
    return "---\n".join(yaml.safe_dump(each, allow_unicode=True, sort_keys=False) for each in declarations)


def test_the_package_s_own_declarations_are_sound() -> None:
    declarations, found = problems([])
    assert found == []
    assert set(declarations.by_kind) == set(BY_KIND)
    assert declarations.benchmark("qorgau_ru").metrics


def test_the_test_declarations_are_sound(tmp_path: Path) -> None:
    assert faults(tmp_path, text_of(*DECLARATIONS)) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kind: dataset\nname: [\n", "mine.yaml:3: not valid YAML: "),
        ("kind: dataset\n\tname: x\n", "mine.yaml:2: not valid YAML: found "),
        ("a: *nowhere\n", "mine.yaml:1: not valid YAML: found undefined alias"),
        ("kind: model\nname: x\nname: y\n", "mine.yaml:3: `name` stands twice"),
        ("kind: model\nprice:\n  prompt: 1\n  prompt: 2\n", "mine.yaml:4: `prompt` stands twice"),
        ("kind: modle\nname: x\n", "mine.yaml:1: kind is 'modle'; did you mean `model`?"),
        ("kind: [model]\n", "mine.yaml:1: kind is ['model']; did you mean `model`?"),
        ("name: x\n", "mine.yaml:1: `kind` is missing; expected one of dataset, "),
        ("- kind: model\n", "mine.yaml:1: a declaration is keys with values; the first is `kind`, one of"),
        ("just text\n", "mine.yaml:1: a declaration is keys with values; the first is `kind`, one of"),
        (f"{HEAD}revision: 2024-13-45\n", "mine.yaml:1: not readable: month must"),
        (f"{HEAD}revision: 2024-08-06\n", "mine.yaml:5: revision: must be text; write it in quotes"),
        (f"{HEAD}revision: !!python/name:os.system\n", "mine.yaml:5: could not determine a constructor"),
        ("&a\nkind: *a\n", "mine.yaml:1: kind is "),
        ("kind: rubric\nname: x\ntitle: t\nsource: s\nrubric: &a\n  form: numbered\n  areas: *a\n", "mine.yaml:"),
        ("# a note\n\nkind: model\nname: X y\nbackend: openai\nid: x\n", "mine.yaml:4: name: must be a name of"),
    ],
)  # fmt: skip
def test_yaml_that_is_broken(tmp_path: Path, text: str, fault: str) -> None:
    found = faults(tmp_path, text)
    assert found
    assert found[0].startswith(fault)


def test_an_empty_file_declares_nothing(tmp_path: Path) -> None:
    assert faults(tmp_path, "") == []
    assert faults(tmp_path, "# nothing yet\n---\n") == []


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    into = declare(tmp_path)
    (into / "latin.yaml").write_bytes(b"kind: model\ntitle: na\xefve\n")
    assert problems([into])[1] == [f"{into}/latin.yaml:1: not UTF-8 at byte 21; save the file as UTF-8"]


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    assert faults(tmp_path, "\ufeff" + text_of(*DECLARATIONS)) == []


def test_yml_counts_and_a_folder_of_that_name_does_not_hurt(tmp_path: Path) -> None:
    (tmp_path / "ethicsdb.d" / "odd.yaml").mkdir(parents=True)
    assert faults(tmp_path, "kind: nothing\n", "deep.yml")


@pytest.mark.parametrize(
    ("declaration", "parts", "fault"),
    [
        (DATASET, {"licens": "CC0"}, "licens: is not a known key"),
        (DATASET, {"fields": "text"}, "fields: must be keys with values"),
        (DATASET, {"access": "public"}, "access: `public` is not allowed; expected 'open', 'gated' or 'agreement'"),
        (DATASET, {"languages": []}, "languages: must hold at least 1"),
        (DATASET, {"variants": None}, "the declaration: `variant` names a column, so `variants` must"),
        (DATASET, {"constants": {"question": "a"}}, "the declaration: question is both a field and a constant"),
        (DATASET, {"citation": None}, "citation: is missing; add it"),
        (DATASET, {"licence": {"name": "CC0"}}, "licence.redistribution: is missing; add it"),
        (BENCHMARK, {"version": "1"}, "version: must be N-X such as 1-A"),
        (BENCHMARK, {"prompt": {"template": "Say something."}}, "prompt.template: the template holds no {field}"),
        (BENCHMARK, {"prompt": {"template": "{question"}}, "prompt.template: its braces do not match"),
        (BENCHMARK, {"judges": []}, "the declaration: runner `generate` needs `judges`"),
        (BENCHMARK, {"runner": "likelihood"}, "the declaration: runner `likelihood` needs `likelihood` and `measure`"),
        (BENCHMARK, {"sampling": {"temperature": "hot"}}, "sampling.temperature: must be a number"),
        (MODEL, {"backend": "magic"}, "backend: `magic` is not allowed; expected 'openai', 'embedded', 'hf',"),
        (RUBRIC, {"rubric": {**RUBRIC["rubric"], "form": "lettered"}}, "rubric: form `lettered` is not allowed"),
    ],
)  # fmt: skip
def test_a_part_that_is_wrong(tmp_path: Path, declaration: dict[str, Any], parts: dict[str, Any], fault: str) -> None:
    text = text_of(changed(declaration, **parts))
    found = faults(tmp_path, text)
    assert len(found) == 1
    place, _, sentence = found[0].partition(": ")
    assert sentence.startswith(fault)
    # The line is that of the part, or the declaration's first where the part is missing.
    name = fault.partition(":")[0].split(".")[-1]
    line = text.splitlines()[int(place.removeprefix("mine.yaml:")) - 1]
    assert name in line or parts.get(name.split(".")[0]) is None


def test_a_wrong_part_deep_in_a_rubric_names_its_line(tmp_path: Path) -> None:
    text = text_of(RUBRIC).replace("      unsafe_at: 2\n", "      unsafe_at: 4\n", 1)
    found = faults(tmp_path, text)
    assert found == [
        "mine.yaml:12: rubric.areas.lies: unsafe_at 4 can't be reached with 3 questions",
    ]
    assert "lies:" in text.splitlines()[11]


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    text = text_of(changed(DATASET, licens="x"), changed(MODEL, backend="magic", id=None), changed(JUDGE, titel="x"))
    assert [fault.partition(": ")[2].partition(":")[0] for fault in faults(tmp_path, text)] == [
        "licens",
        "backend",
        "id",
        "titel",
    ]


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"dataset": "smal"}, "dataset: No dataset is called `smal`. Did you mean `small`?"),
        ({"judges": ["small_judge", "nobody"]}, "judges: No judge is called `nobody`."),
        ({"metric_sets": ["safeguard"]}, "metric_sets: No metrics is called `safeguard`. Did you mean `safeguards`?"),
        ({"primary": "unsafe_rat"}, "primary: no metric is called `unsafe_rat`; did you mean `unsafe_rate`?"),
        ({"prompt": {"template": "{qestion}"}}, "prompt.template: the items have no field `qestion`; did you mean"),
    ],
)  # fmt: skip
def test_a_benchmark_that_names_what_is_not_there(tmp_path: Path, parts: dict[str, Any], fault: str) -> None:
    found = faults(tmp_path, text_of(changed(BENCHMARK, **parts), DATASET, RUBRIC, MODEL, JUDGE))
    assert len(found) == 1
    place, _, sentence = found[0].partition(": ")
    assert sentence.startswith(fault)
    assert line_at(tmp_path, place).startswith(next(iter(parts)))


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"rubric": "smal_rubric"}, "rubric: No rubric is called `smal_rubric`. Did you mean `small_rubric`?"),
        ({"model": "judge-2"}, "model: No model is called `judge-2`. Did you mean `judge-1`?"),
    ],
)
def test_a_judge_that_names_what_is_not_there(tmp_path: Path, parts: dict[str, Any], fault: str) -> None:
    found = faults(tmp_path, text_of(changed(JUDGE, **parts), DATASET, RUBRIC, MODEL, BENCHMARK))
    assert [each.partition(": ")[2] for each in found] == [fault]
    assert line_at(tmp_path, found[0]).startswith(next(iter(parts)))


def test_a_metric_declared_twice(tmp_path: Path) -> None:
    metric = {
        "name": "unsafe_rate",
        "display": "x",
        "description": "x",
        "direction": "lower",
        "attribute": "safety",
        "positive": ["unsafe"],
        "source": "x",
    }
    found = faults(tmp_path, text_of(changed(BENCHMARK, metrics=[metric]), DATASET, RUBRIC, MODEL, JUDGE))
    assert [each.partition(": ")[2] for each in found] == ["metrics: `unsafe_rate` is declared twice"]


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"benchmark": "smal"}, "benchmark: No benchmark is called `smal`. Did you mean `small`?"),
        ({"rows": [{"model": "M", "values": {"unsafe": 0.5}}]}, "rows: M: no metric is called `unsafe`; did you mean"),
        ({"rows": [{"model": "M", "values": {}, "hits": {"unsafe_rate": 3}}]}, "rows: M: hits for `unsafe_rate`,"),
    ],
)  # fmt: skip
def test_published_figures_that_no_board_would_show(tmp_path: Path, parts: dict[str, Any], fault: str) -> None:
    found = faults(tmp_path, text_of(changed(PUBLISHED, **parts), *DECLARATIONS))
    assert len(found) == 1
    assert found[0].partition(": ")[2].startswith(fault)
    assert line_at(tmp_path, found[0]).startswith(next(iter(parts)))


def test_a_declaration_declared_twice(tmp_path: Path) -> None:
    faults(tmp_path, text_of(*DECLARATIONS), "a.yaml")
    found = faults(tmp_path, "# again\n" + text_of(MODEL), "b.yaml")
    assert found == [
        f"b.yaml:2: the model `judge-1` is declared already in {tmp_path}/ethicsdb.d/a.yaml:59; rename one of them"
    ]
    own = text_of(changed(DATASET, name="qorgau_ru"))
    found = faults(tmp_path, own, "b.yaml")
    assert len(found) == 1
    assert "the dataset `qorgau_ru` is declared already in" in found[0]
    assert "declarations/datasets/qorgau_ru.yaml:1; rename one of them" in found[0]


def test_one_name_for_two_kinds_is_two_declarations(tmp_path: Path) -> None:
    declare(tmp_path)
    found = load_declarations([tmp_path / "ethicsdb.d"]).find("small")
    assert [kind for kind, _ in found] == ["dataset", "benchmark"]


# ---- Where they are looked for.


def test_the_folder_beside_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ETHICSDB_DECLARATIONS", raising=False)
    assert "small" in Registry().declarations.names("dataset")
    monkeypatch.chdir("/")
    assert "small" not in load_declarations().names("dataset")


def test_folders_by_flag_in_place_of_the_one_beside_us(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    declare(tmp_path / "one", DATASET)
    declare(tmp_path / "two", *DECLARATIONS[1:])
    flags = ["--declarations", "one/ethicsdb.d", "--declarations", "two/ethicsdb.d"]
    listed = run(*flags, "list", "--json", cwd=tmp_path).json()
    assert ("dataset", "small") in [(each["kind"], each["name"]) for each in listed]
    # The same folder twice is one folder.
    assert run(*flags, *flags[:2], "check", cwd=tmp_path).code == 0
    # Half of them do not hold together.
    done = run(*flags[2:], "list", cwd=tmp_path)
    assert done.code == 1
    assert "dataset: No dataset is called `small`." in done.err


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = run("--declarations", "nowhere", "check", cwd=tmp_path)
    assert done.code == 1
    assert done.err.startswith(f"{tmp_path}/nowhere:1: there is no such folder of declarations\n")


# ---- `ethicsdb check`, and what other commands do.


def test_check_lists_every_fault(tmp_path: Path) -> None:
    (tmp_path / "ethicsdb.d").mkdir()
    (tmp_path / "ethicsdb.d" / "a.yaml").write_text("kind: model\nname: [\n")
    (tmp_path / "ethicsdb.d" / "b.yaml").write_text(text_of(changed(DATASET, licens="x"), changed(MODEL, colour="red")))
    done = run("check", cwd=tmp_path)
    assert done.code == 1
    lines = done.err.splitlines()
    assert lines[0].startswith(f"{tmp_path}/ethicsdb.d/a.yaml:3: not valid YAML: ")
    assert lines[1].endswith(": licens: is not a known key; did you mean `licence`?")
    assert ": colour: is not a known key; there are kind, name, title, " in lines[2]
    assert lines[3].startswith("3 faults; ")
    assert lines[3].endswith(" declarations are sound")


def test_other_commands_stop_at_the_first_fault_and_say_how_many_more(tmp_path: Path) -> None:
    declare(tmp_path, changed(DATASET, licens="x"), changed(MODEL, colour="red"))
    for command in (["list"], ["build", "small"], ["leaderboard", "small"], ["sql", "select 1"]):
        done = run(*command, cwd=tmp_path)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"error: {tmp_path}/ethicsdb.d/small.yaml:")
        assert done.err.endswith("(and 1 more: run `ethicsdb check`)\n")
    with pytest.raises(DeclarationError):
        Registry(tmp_path / "benchmarks.db", [tmp_path / "ethicsdb.d"])
    assert not (tmp_path / "benchmarks.db").exists()


def test_check_of_sound_declarations(tmp_path: Path) -> None:
    declare(tmp_path)
    done = run("check", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "declarations are sound: " in done.out


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda found: found.dataset("quorgau_ru"), "No dataset is called `quorgau_ru`. Did you mean `qorgau_ru`?"),
        (lambda found: found.benchmark("zzz"), "No benchmark is called `zzz`. `ethicsdb list` shows what there is"),
        (lambda found: found.judge("refusal_rule"), "No judge is called `refusal_rule`. Did you mean `refusal_rules`?"),
        (lambda found: found.model("gpt4o-2024"), "No model is called `gpt4o-2024`. Did you mean `gpt-4o-2024-08-06`?"),
        (lambda found: found.rubric("x"), "No rubric is called `x`."),
        (lambda found: found.find("qorgau"), "No declaration is called `qorgau`. Did you mean `qorgau_ru`?"),
    ],
)  # fmt: skip
def test_a_slip_of_the_pen_gets_a_suggestion(ask: Any, sentence: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        ask(load_declarations([]))
    assert str(caught.value).startswith(sentence)
