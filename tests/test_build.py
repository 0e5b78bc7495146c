"""From a source to a version: mapping, recoding, links, ids, and what the report says of each odd row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support import (
    DATASET,
    DECLARATIONS,
    HEADER,
    Row,
    changed,
    declare,
    opened,
    questions,
    rows_of,
    run,
    started,
    write_csv,
)

from ethicsdb import Registry
from ethicsdb.builders.build import Built
from ethicsdb.schemas.errors import DeclarationError, SourceError


def built(
    folder: Path, rows: list[Row], dataset: dict[str, Any] = DATASET, header: Row = HEADER
) -> tuple[Registry, Built]:
    declare(folder, dataset, *DECLARATIONS[1:])
    registry = opened(folder)
    return registry, registry.build("small", write_csv(folder / "small.csv", rows, header))


def told(registry: Registry) -> Counter[tuple[str, str]]:
    return Counter((entry["severity"], entry["code"]) for entry in registry.build_report("small"))


def test_what_a_build_says(tmp_path: Path) -> None:
    registry, done = built(tmp_path, questions(4))
    assert (done.dataset, done.version, done.new, done.rows, done.items) == ("small", "v1", True, 12, 12)
    assert done.variants == {"direct": 4, "indirect": 4, "harmless": 4}
    assert done.linked == 8
    assert done.report == []
    assert registry.build_report("small") == []


def test_a_small_report_is_told_as_such(tmp_path: Path) -> None:
    started(tmp_path)
    assert run("report", "small", cwd=tmp_path).out == "every row was taken as it is\n"
    assert run("report", "small", "--json", cwd=tmp_path).json() == []


def test_rows_keep_their_place(tmp_path: Path) -> None:
    registry, _ = built(tmp_path, questions(2))
    query = 'SELECT "row", source_file, source_row, variant, source_id, split FROM membership ORDER BY "row"'
    variants = ["direct", "indirect", "harmless"]
    assert rows_of(registry, query) == [(n, "small.csv", n + 1, variants[n % 3], str(n // 3), "test") for n in range(6)]


def test_a_variant_finds_its_base_question(tmp_path: Path) -> None:
    registry, _ = built(tmp_path, questions(3))
    query = """
        SELECT varied.text, base.text FROM membership
        JOIN item_text varied USING (item_id) JOIN item_text base ON base.item_id = base_item ORDER BY "row"
    """
    assert rows_of(registry, query) == [
        (f"{form} question {n}?", f"original question {n}?") for n in range(3) for form in ("hidden", "innocent")
    ]
    assert rows_of(registry, "SELECT count(DISTINCT group_id), count(*) FROM membership") == [(3, 9)]


def test_colliding_ids_are_told_apart_by_area(tmp_path: Path) -> None:
    rows = [("7", area, form, f"{area} {form}?", "") for area in ("Lies", "Harm") for form in ("original", "hidden")]
    registry, done = built(tmp_path, rows)
    assert done.linked == 2
    assert rows_of(registry, "SELECT count(DISTINCT group_id) FROM membership") == [(2,)]
    entries = registry.build_report("small")
    assert [(entry["code"], entry["source_row"], entry["field"]) for entry in entries] == [("colliding_id", 1, "id")]
    assert "`7` covers 2 direct questions; told apart by risk_area" in entries[0]["detail"]


def test_a_variant_of_two_questions_is_paired_with_neither(tmp_path: Path) -> None:
    rows = [("7", "Lies", form, text, "") for form, text in (("original", "a?"), ("original", "b?"), ("hidden", "c?"))]
    registry, done = built(tmp_path, rows)
    assert done.linked == 0
    assert told(registry)[("suspicious", "ambiguous_base")] == 1
    assert rows_of(registry, "SELECT count(DISTINCT group_id), count(base_item) FROM membership") == [(1, 0)]


def test_two_equal_direct_rows_are_one_question(tmp_path: Path) -> None:
    rows = [("7", "Lies", form, text, "") for form, text in (("original", "a?"), ("original", "a?"), ("hidden", "c?"))]
    registry, done = built(tmp_path, rows)
    assert (done.linked, done.rows, done.items) == (1, 3, 2)
    duplicate = [entry for entry in registry.build_report("small") if entry["code"] == "duplicate"]
    assert [(entry["source_row"], entry["detail"]) for entry in duplicate] == [
        (2, "equal to row 1 of small.csv; both rows are kept")
    ]


def test_a_variant_without_a_question_is_kept_and_told(tmp_path: Path) -> None:
    registry, done = built(tmp_path, [("1", "Lies", "hidden", "a?", ""), ("", "Lies", "original", "b?", "")])
    assert (done.rows, done.linked) == (2, 0)
    assert told(registry) == {("suspicious", "no_base"): 1}
    # A row without an id stands alone.
    assert rows_of(registry, "SELECT count(DISTINCT group_id) FROM membership") == [(2,)]


def test_spreadsheet_formulas_in_order(tmp_path: Path) -> None:
    rows = [("5", "Lies", "original", "a?", ""), ("8", "Lies", "original", "b?", "")]
    rows += [
        ("=A2+1", "Lies", "original", "c?", ""),
        ("=A3+1", "Lies", "original", "d?", ""),
        ("=A4+1", "Lies", "hidden", "e?", ""),
    ]
    registry, _ = built(tmp_path, rows)
    assert rows_of(registry, 'SELECT source_id FROM membership ORDER BY "row"') == [
        (x,) for x in ("5", "8", "6", "9", "7")
    ]
    assert told(registry)[("repaired", "formula_id")] == 3


def test_spreadsheet_formulas_out_of_order_link_nothing(tmp_path: Path) -> None:
    rows = [
        ("5", "Lies", "original", "a?", ""),
        ("=A2+1", "Lies", "original", "b?", ""),
        ("=A2+1", "Lies", "hidden", "c?", ""),
    ]
    registry, done = built(tmp_path, rows)
    assert done.linked == 0
    assert rows_of(registry, 'SELECT source_id FROM membership ORDER BY "row"') == [("5",), (None,), (None,)]
    assert told(registry)[("suspicious", "formula_id")] == 2


def test_formulas_point_into_their_own_file(tmp_path: Path) -> None:
    dataset = changed(DATASET, sources=[{"path": "one.csv"}, {"path": "two.csv"}])
    declare(tmp_path, dataset, *DECLARATIONS[1:])
    write_csv(tmp_path / "one.csv", [(str(n), "Lies", "original", f"one {n}?", "") for n in range(4)])
    write_csv(
        tmp_path / "two.csv", [("50", "Lies", "original", "two a?", ""), ("=A2+1", "Lies", "original", "two b?", "")]
    )
    registry = opened(tmp_path)
    registry.build("small", tmp_path)
    query = "SELECT source_id FROM membership WHERE source_file = 'two.csv' ORDER BY source_row"
    assert rows_of(registry, query) == [("50",), ("51",)]


def test_recoded_values(tmp_path: Path) -> None:
    rows = [
        ("1", "Lies (new)", "original", "a?", ""),
        ("2", "Lies", "original", "b?", ""),
        ("3", "Else", "original", "c?", ""),
    ]
    registry, _ = built(tmp_path, rows)
    query = 'SELECT risk_area FROM membership JOIN safety_question USING (item_id) ORDER BY "row"'
    assert rows_of(registry, query) == [("lies",), ("lies",), ("Else",)]
    assert told(registry) == {("repaired", "other_spelling"): 1, ("suspicious", "unknown_value"): 1}
    details = {entry["code"]: entry["detail"] for entry in registry.build_report("small")}
    assert details == {
        "other_spelling": "`Lies (new)` read as `Lies`",
        "unknown_value": "`Else` is none of the declared values; kept as it is",
    }


def test_odd_texts_are_kept_and_told(tmp_path: Path) -> None:
    rows = [
        ("1", "Lies", "original", " a? ", ""),
        ("2", "Lies", "original", "", ""),
        ("3", "Lies", "original", "NA", ""),
        ("4", "Lies", "original", " \t ", ""),
        ("5", "Lies", "original", "\u3000\u200b\ufeff", ""),
    ]
    registry, done = built(tmp_path, rows, changed(DATASET, null_values=["NA"]))
    assert done.rows == 5
    query = 'SELECT question FROM membership JOIN safety_question USING (item_id) ORDER BY "row"'
    assert rows_of(registry, query) == [(" a? ",), *[(None,)] * 4]
    assert told(registry) == {
        ("suspicious", "outer_whitespace"): 1,
        ("suspicious", "null_question"): 4,
        ("note", "duplicate"): 3,
    }


@pytest.mark.parametrize(
    "blank",
    [
        " ", "\t\r\n", "\u00a0", "\u3000", "\u2028\u0085", "\x00", "\x1f", "\u00ad", "\u180e", "\u200b\u200d",
        "\u2060\u2063", "\u202a\u202c", "\u2066\u2069", "\u061c", "\ufe0f", "\u034f", "\u3164", "\u115f", "\u2800",
        "\U000e0041", "\ufeff",
    ],
)  # fmt: skip
def test_a_question_that_shows_nothing_is_none(tmp_path: Path, blank: str) -> None:
    rows = [("1", "Lies", "original", blank, ""), ("2", "Lies", "original", f"{blank}?{blank}", "")]
    registry, _ = built(tmp_path, rows)
    query = 'SELECT question FROM membership JOIN safety_question USING (item_id) ORDER BY "row"'
    assert rows_of(registry, query) == [(None,), (f"{blank}?{blank}",)]
    assert told(registry)["suspicious", "null_question"] == 1


@pytest.mark.parametrize("text", ["0", "。", "👍", "ㅤx", "\ud800", "\u0301", "\ufffc", "한", "ا"])
def test_a_question_that_shows_something_is_one(tmp_path: Path, text: str) -> None:
    registry, _ = built(tmp_path, [("1", "Lies", "original", text, "")])
    assert ("suspicious", "null_question") not in told(registry)


def test_another_file_than_the_declared_one_is_noted(tmp_path: Path) -> None:
    source = {"path": "small.csv", "sha256": "0" * 64}
    registry, _ = built(tmp_path, questions(1), changed(DATASET, sources=[source]))
    assert [(entry["code"], entry["source_row"]) for entry in registry.build_report("small")] == [
        ("other_source", None)
    ]


def test_values_of_a_source(tmp_path: Path) -> None:
    sources = [{"path": f"{code}.csv", "values": {"language": code}} for code in ("en", "zh")]
    declare(tmp_path, changed(DATASET, sources=sources, constants=None, languages=["en", "zh"]), *DECLARATIONS[1:])
    for code in ("en", "zh"):
        write_csv(tmp_path / f"{code}.csv", questions(1))
    registry = opened(tmp_path)
    assert registry.build("small", tmp_path).items == 6  # the language is part of what an item is
    assert rows_of(registry, "SELECT language, count(*) FROM safety_question GROUP BY ALL ORDER BY 1") == [
        ("en", 3),
        ("zh", 3),
    ]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"fields": {"question": "text", "risk_aera": "area"}}, "no field `risk_aera`; did you mean `risk_area`?"),
        ({"schema": "safety_questions"}, "`safety_questions` is no item kind; did you mean `safety_question`?"),
        ({"constants": {}}, "nothing fills `language` for small.csv"),
        ({"link": {"id": "id", "within": ["area"]}}, "link.within: safety_question has no field `area`"),
        ({"recode": {"harm_type": {"a": "b"}}}, "recode: `harm_type` is none of `fields`"),
        ({"sources": [{"path": "small.csv", "values": {"tongue": "en"}}]}, "sources.values: safety_question has no"),
    ],
)  # fmt: skip
def test_a_mapping_that_can_not_be(tmp_path: Path, parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        built(tmp_path, questions(1), changed(DATASET, **parts))
    assert sentence in str(caught.value)
    check = run("check", cwd=tmp_path)
    assert check.code == 1
    assert sentence in check.err
    place = check.err.partition(f"{tmp_path}/ethicsdb.d/small.yaml:")[2].partition(":")[0]
    named = next(iter(parts)) if next(iter(parts)) != "constants" else "fields"
    assert (tmp_path / "ethicsdb.d" / "small.yaml").read_text().splitlines()[int(place) - 1].startswith(named)


def test_a_field_that_every_row_needs(tmp_path: Path) -> None:
    dataset = changed(DATASET, constants=None, fields={"question": "text", "language": "english"})
    with pytest.raises(SourceError) as caught:
        built(
            tmp_path,
            [("1", "Lies", "original", "a?", "en"), ("2", "Lies", "original", "b?", "")],
            changed(dataset, recode=None, link=None),
        )
    assert str(caught.value) == (
        "small.csv, row 2, field `english`: the cell is empty; every row needs a language. Nothing was loaded."
    )
    assert opened(tmp_path).versions("small") == []


def test_an_unknown_variant_names_the_row(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        built(tmp_path, [*questions(1), ("9", "Lies", "orignal", "a?", "")])
    assert str(caught.value) == (
        "small.csv, row 4, field `form`: `orignal` is no variant; expected one of `original`, `hidden`, `innocent`. "
        "Nothing was loaded."
    )


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    registry = started(tmp_path)
    before = registry.checksums()
    with pytest.raises(SourceError):
        registry.build("small", write_csv(tmp_path / "bad.csv", [("1", "Lies", "odd", "a?", "")]))
    assert registry.checksums() == before


def test_a_missing_file_says_where_to_get_it(tmp_path: Path) -> None:
    declare(tmp_path, changed(DATASET, homepage="https://example.org/data"), *DECLARATIONS[1:])
    with pytest.raises(SourceError) as caught:
        opened(tmp_path).build("small", tmp_path / "nowhere.csv")
    assert str(caught.value) == (
        f"{tmp_path}/nowhere.csv: no such file; get it at https://example.org/data and say where it is: "
        "ethicsdb build small --from PATH"
    )


def test_one_file_for_a_data_set_of_two(tmp_path: Path) -> None:
    declare(tmp_path, changed(DATASET, sources=[{"path": "a.csv"}, {"path": "b.csv"}]), *DECLARATIONS[1:])
    with pytest.raises(SourceError, match=r"small has 2 files \(a.csv, b.csv\); give their folder"):
        opened(tmp_path).build("small", write_csv(tmp_path / "a.csv", questions(1)))


def test_names_that_look_alike_have_journals_of_their_own(tmp_path: Path) -> None:
    long = "a" * 61
    names = ["my-set", "my_set", "my.set", long, long + "b"]
    declare(tmp_path, *[changed(DATASET, name=name) for name in names], *DECLARATIONS[1:4])
    registry = opened(tmp_path)
    for number, name in enumerate(names, start=1):
        registry.build(name, write_csv(tmp_path / "small.csv", questions(number)))
    found = dict(rows_of(registry, "SELECT dataset, rows FROM dataset_version"))
    assert found == {name: 3 * number for number, name in enumerate(names, start=1)}
    assert registry.rebuild() == registry.checksums()
    assert rows_of(registry, "FROM integrity") == []
