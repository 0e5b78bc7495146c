"""Blind sheets: drawn at random with known probabilities, filled in by people, and taken back exactly once."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support import execute, rows_of

from ethicsdb import Registry
from ethicsdb.runners.annotation.cells import shown_mark, to_cell
from ethicsdb.runners.annotation.draw import Answer, draw
from ethicsdb.runners.annotation.export import Exported, SheetPlan
from ethicsdb.schemas.errors import SourceError

PEOPLE = ("ana", "bo", "cy")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run of the Chinese sample, judged by rules."""
    folder = tmp_path_factory.mktemp("annotated")
    registry = Registry(folder / "benchmarks.db")
    registry.build("sample_safety_zh")
    generated, _ = registry.run("sample_safety_zh", model="ngram-obliging", judge="refusal_rules")
    return folder, generated.run_id


@pytest.fixture
def registry(made: tuple[Path, str], tmp_path: Path) -> Registry:
    import shutil

    for path in made[0].iterdir():
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, tmp_path / path.name)
    return Registry(tmp_path / "benchmarks.db")


def exported(registry: Registry, folder: Path, run: str, **more: Any) -> Exported:
    given: dict[str, Any] = {"attribute": "refusal", "n": 5, "annotators": PEOPLE, "by": "risk_area", **more}
    return registry.export_sheets(SheetPlan(run=run, **given), folder)


def cells(file: str | Path) -> list[dict[str, str]]:
    with Path(file).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def filled(file: str | Path, labels: dict[str, str], **changes: str) -> Path:
    """The sheet with labels by unit; `changes` replace other cells of the first row."""
    rows = cells(file)
    for row in rows:
        row["label"] = labels.get(row["unit"], "")
    rows[0] |= changes
    with Path(file).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return Path(file)


def all_of(file: str | Path, value: str) -> dict[str, str]:
    return {row["unit"]: value for row in cells(file)}


def test_a_draw_is_even_and_its_probabilities_are_known() -> None:
    answers = [Answer(f"key{n}", "i", "g", "rare" if n < 7 else "common", "q", "a") for n in range(1007)]
    drawn = draw(answers, 100, ("a", "b", "c", "d"), 1, 0)
    assert Counter(each.answer.stratum for each in drawn) == {"rare": 7, "common": 100}
    assert {each.answer.stratum: each.probability for each in drawn} == {"rare": 1.0, "common": 0.1}
    shares = Counter((each.answer.stratum, *each.annotators) for each in drawn)
    assert {count for (stratum, _), count in shares.items() if stratum == "common"} == {25}
    assert draw(answers[::-1], 100, ("a", "b", "c", "d"), 1, 0) == drawn
    assert draw(answers, 100, ("a", "b", "c", "d"), 1, 1) != drawn
    both = draw(answers, 100, ("a", "b", "c", "d"), 2, 0)
    assert {len(set(each.annotators)) for each in both} == {2}


def test_every_answer_is_as_likely_as_its_probability_says() -> None:
    answers = [Answer(f"key{n}", "i", "g", "all", "q", "a") for n in range(20)]
    times: Counter[str] = Counter()
    for seed in range(2000):
        times.update(each.answer.response_key for each in draw(answers, 5, ("a",), 1, seed))
    # 0.25 each, with a standard deviation of 0.0097 over 2,000 draws.
    assert all(abs(times[each.response_key] / 2000 - 0.25) < 0.045 for each in answers)


@pytest.mark.parametrize(
    "text", ["=1+1", "-3", "@x", "'quoted'", "'=x", "a\nb", '"q", r', "你好\x00", "\ud83d x", "  pad "]
)
def test_cells_are_safe_and_edits_are_seen(text: str) -> None:
    cell = to_cell(text)
    assert not cell.startswith(("=", "+", "-", "@"))
    mark = shown_mark(cell, cell)
    assert shown_mark(cell.replace("\n", "\r\n"), cell.strip()) == mark
    assert shown_mark(f"{cell}!", cell) != mark


def test_sheets_are_blind_and_the_same_again(registry: Registry, made: tuple[Path, str], tmp_path: Path) -> None:
    done = exported(registry, tmp_path / "sheets", made[1])
    assert done.new
    asked = "SELECT risk_area, count(DISTINCT response_key) FROM run_item JOIN safety_question USING (item_id) " \
            "JOIN answer USING (response_key) WHERE text IS NOT NULL GROUP BY 1"  # fmt: skip
    areas = dict(rows_of(registry, asked))
    assert {name: there for name, (_, there) in done.strata.items()} == areas
    assert all(drawn == min(5, there) for drawn, there in done.strata.values())
    assert len(done.files) == 3
    for file in done.files:
        text = Path(file).read_text(encoding="utf-8-sig")
        assert "ngram" not in text
        assert "refusal_rules" not in text
        assert list(cells(file)[0]) == ["unit", "question", "answer", "label", "comment"]
    orders = [[row["unit"] for row in cells(file)] for file in done.files]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1] != orders[2]
    again = exported(registry, tmp_path / "sheets", made[1])
    assert (again.new, again.files) == (False, done.files)
    filled(done.files[0], all_of(done.files[0], "yes"))
    with pytest.raises(SourceError, match="is there already and holds something else"):
        exported(registry, tmp_path / "sheets", made[1])


def test_labels_come_back_and_meet_the_judge(registry: Registry, made: tuple[Path, str], tmp_path: Path) -> None:
    done = exported(registry, tmp_path / "sheets", made[1])
    for number, (person, file) in enumerate(zip(PEOPLE, done.files, strict=True)):
        spelled = ("yes", "是", "TRUE")[number]
        path = filled(file, all_of(file, spelled))
        taken = registry.import_sheet(path, annotator=person)
        assert (taken.new, taken.counts) == (True, {"yes": len(cells(file))})
        assert registry.import_sheet(path, annotator=person).new is False
    total = sum(drawn for drawn, _ in done.strata.values())
    assert rows_of(registry, "SELECT count(*), count(DISTINCT subject_id), count(DISTINCT source) FROM annotation") == [
        (3 * total, total, 3)
    ]
    odd = "SELECT count(*) FROM annotation JOIN sheet_unit ON response_key = subject_id " \
          "WHERE annotation.sampling_probability <> drawn / population"  # fmt: skip
    assert rows_of(registry, odd) == [(0,)]
    rows = [row for row in registry.agreement("sample_safety_zh") if row["slice"] == "overall"]
    assert {row["annotator"] for row in rows} == set(PEOPLE)
    assert all(row["n_expected"] == total for row in rows)
    found = {each.value: each for each in registry.detection("sample_safety_zh")}
    assert set(found) == {"yes", "no"}
    yes = found["yes"]
    assert (yes.n, yes.tied, yes.without_verdict, yes.people) == (total, 0, 0, list(PEOPLE))
    # Everybody calls everything a refusal: the judge's recall is the weighted share of what it calls one.
    asked = "SELECT sum((value = 'yes')::INTEGER * population / drawn), sum(population / drawn) FROM sheet_unit " \
            "JOIN current_verdict ON subject_id = response_key JOIN verdict_label USING (verdict_id) " \
            "WHERE attribute = 'refusal'"  # fmt: skip
    shares = rows_of(registry, asked)[0]
    assert yes.prevalence is not None
    assert yes.prevalence.value == 1
    assert (yes.recall.value if yes.recall else None) == pytest.approx(shares[0] / shares[1])
    (people,) = registry.people("sample_safety_zh")
    assert (people.units, people.alpha, people.reason) == (total, None, "everybody gave one and the same label")
    told = execute("agreement", "sample_safety_zh", "--sheets", cwd=tmp_path)
    assert told.code == 0, told.err
    assert "refusal_rules against the majority of people: refusal" in told.out
    before = registry.checksums()
    assert registry.rebuild() == before


def test_people_are_compared_with_each_other(registry: Registry, made: tuple[Path, str], tmp_path: Path) -> None:
    done = exported(registry, tmp_path / "sheets", made[1], annotators=("ana", "bo"), by=None, n=20)
    units = sorted(row["unit"] for row in cells(done.files[0]))
    one = {unit: "yes" if at % 2 else "no" for at, unit in enumerate(units)}
    two = {unit: "yes" if at % 2 or at < 8 else "no" for at, unit in enumerate(units)}
    registry.import_sheet(filled(done.files[0], one), annotator="ana")
    registry.import_sheet(filled(done.files[1], two), annotator="bo")
    (people,) = registry.people("sample_safety_zh")
    pairs = [(one[unit], two[unit]) for unit in units]
    observed = sum(a == b for a, b in pairs) / len(pairs)
    chance = sum((sum(a == v for a, _ in pairs) / len(pairs)) * (sum(b == v for _, b in pairs) / len(pairs))
                 for v in ("yes", "no"))  # fmt: skip
    assert people.kappa == pytest.approx((observed - chance) / (1 - chance))
    # Krippendorff 2011: alpha = 1 - (n - 1) * disagreements / (n_yes * n_no) with n values in all, two a unit.
    values = [value for pair in pairs for value in pair]
    expected = values.count("yes") * values.count("no") / (len(values) - 1)
    assert people.alpha == pytest.approx(1 - sum(a != b for a, b in pairs) / expected)
    tied = {each.tied for each in registry.detection("sample_safety_zh")}
    assert tied == {sum(a != b for a, b in pairs)}


def test_a_sheet_may_come_in_parts_and_be_corrected(registry: Registry, made: tuple[Path, str], tmp_path: Path) -> None:
    file = exported(registry, tmp_path / "sheets", made[1]).files[0]
    units = [row["unit"] for row in cells(file)]
    half = dict.fromkeys(units[: len(units) // 2], "no")
    assert registry.import_sheet(filled(file, half), annotator="ana").counts == {"no": len(half)}
    whole = {**dict.fromkeys(units, "yes"), **half}
    assert registry.import_sheet(filled(file, whole), annotator="ana").new
    current = "SELECT value, count(*) FROM annotation WHERE source NOT IN (FROM withdrawn SELECT name) GROUP BY 1"
    assert dict(rows_of(registry, current)) == {"no": len(half), "yes": len(units) - len(half)}
    other = filled(file, dict.fromkeys(units, "yes"))
    with pytest.raises(SourceError, match=r"is labelled `yes` here and `no` in the import .* say --replace"):
        registry.import_sheet(other, annotator="ana")
    assert registry.import_sheet(other, annotator="ana", replace=True).new
    assert dict(rows_of(registry, current)) == {"yes": len(units)}
    assert registry.import_sheet(other, annotator="ana", replace=True).new is False
    assert registry.checksums() == registry.rebuild()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "maybe"}, r"row 1, field `label`: `maybe` is no value of `refusal`"),
        ({"unit": "000000000000"}, r"row 1: no sheet of this database has the unit `000000000000`"),
        ({"answer": "Something else."}, r"row 1: the question or the answer was edited"),
    ],
)
def test_what_does_not_fit_is_told(
    registry: Registry, made: tuple[Path, str], tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    file = exported(registry, tmp_path / "sheets", made[1]).files[0]
    with pytest.raises(SourceError, match=message):
        registry.import_sheet(filled(file, all_of(file, "no"), **changes), annotator="ana")
    assert rows_of(registry, "SELECT count(*) FROM annotation") == [(0,)]


def test_people_have_their_own_units(registry: Registry, made: tuple[Path, str], tmp_path: Path) -> None:
    done = exported(registry, tmp_path / "sheets", made[1], overlap=1, by=None, judge="refusal_rules", n=9)
    assert set(done.strata) <= {"yes", "no"}
    seen = [{row["unit"] for row in cells(file)} for file in done.files]
    assert not seen[0] & seen[1]
    path = filled(done.files[0], all_of(done.files[0], "no"))
    with pytest.raises(SourceError, match="row 1: this unit was given to ana, not to bo"):
        registry.import_sheet(path, annotator="bo")
    doubled = tmp_path / "doubled.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    doubled.write_text("".join([*lines, lines[1]]), encoding="utf-8")
    with pytest.raises(SourceError, match=r"stands above already|row \d+"):
        registry.import_sheet(doubled, annotator="ana")
    with pytest.raises(SourceError, match="no row has a label yet"):
        registry.import_sheet(filled(path, {}), annotator="ana")


def test_the_command_line(registry: Registry, made: tuple[Path, str], tmp_path: Path) -> None:
    command = ("annotate", "export", made[1], "--annotator", "ana", "--n", "3", "--out", "s", "--json")
    ran = execute(*command, "--attribute", "refusal", cwd=tmp_path)
    assert ran.code == 0, ran.err
    (file,) = json.loads(ran.out)["files"]
    path = filled(tmp_path / file, all_of(tmp_path / file, "no"))
    taken = execute("annotate", "import", path, "--annotator", "ana", cwd=tmp_path)
    assert taken.code == 0, taken.err
    assert "3 no" in taken.out
    wrong = execute("annotate", "export", made[1], "--attribute", "refusl", "--annotator", "ana", cwd=tmp_path)
    assert wrong.code == 1
    assert "did you mean `refusal`?" in wrong.err
    assert rows_of(registry, "SELECT count(*) FROM annotation") == [(3,)]
