"""A source is read faithfully, byte for byte, or refused in one sentence that says where and how to mend it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from support import DATASET, DECLARATIONS, HEADER, changed, declare, execute, opened, questions, rows_of, run, write_csv

from ethicsdb import Registry
from ethicsdb.registry.items import item_rows
from ethicsdb.registry.versions import find_version
from ethicsdb.schemas.errors import SourceError

CSV_HEAD = ",".join(HEADER)
ROW = "1,Lies,original,what?,"
QUOTES = "put quotes around cells that hold a delimiter or a line end."


def build_bytes(folder: Path, raw: bytes, form: str = "csv", **source: Any) -> Registry:
    """Build the small data set from a file with these bytes."""
    name = f"small.{form}"
    declare(folder, changed(DATASET, sources=[{"path": name, "format": form, **source}]), *DECLARATIONS[1:])
    (folder / name).write_bytes(raw)
    registry = opened(folder)
    registry.build("small", folder / name)
    return registry


def refused(folder: Path, raw: bytes, form: str = "csv", **source: Any) -> str:
    """The sentence with which a file is refused; nothing is left of it."""
    with pytest.raises(SourceError) as caught:
        build_bytes(folder, raw, form, **source)
    assert not list(folder.glob("benchmarks.db*/build*"))
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def texts(registry: Registry) -> list[str | None]:
    """The questions of the newest version, exactly as they were."""
    version = find_version(registry.context, "small")
    with registry.context.reading() as connection:
        return [row.payload["question"] for row in item_rows(connection, version, "safety_question")]


def json_row(text: Any, **more: Any) -> dict[str, Any]:
    return {"id": "1", "area": "Lies", "form": "original", "text": text, "english": "", **more}


# ---- Refused, and how.


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "small.csv: the file is empty; expected a header and rows. Nothing was loaded."),
        (CSV_HEAD.encode() + b"\n", "small.csv: there are no rows in it. Nothing was loaded."),
        (b"\xef\xbb\xbf", "small.csv: the file is empty; expected a header and rows. Nothing was loaded."),
        (
            b"id,area,form,question,english\n1,Lies,original,what?,\n",
            "small.csv: column `text` is missing; the file has `id`, `area`, `form`, `question`, `english`. "
            "Rename the column, or map it in a declaration's `fields`. Nothing was loaded.",
        ),
        (
            f"{CSV_HEAD}\n{ROW}\n2,Lies,original,why, oh why?,\n".encode(),
            f"small.csv, row 2 (line 3): 6 cells where the header has 5; {QUOTES} Nothing was loaded.",
        ),
        (
            f"{CSV_HEAD}\n{ROW}\n2,Lies,original\n".encode(),
            f"small.csv, row 2 (line 3): 3 cells where the header has 5; {QUOTES} Nothing was loaded.",
        ),
        (
            f'{CSV_HEAD}\n{ROW}\n2,Lies,original,"what?,\n{ROW}\n{ROW}\n'.encode(),
            "small.csv, row 2 (line 3): not valid CSV (a quote is opened and never closed). Nothing was loaded.",
        ),
        (
            f'{CSV_HEAD}\n{ROW}\n2,Lies,original,"what" now?,\n'.encode(),
            "small.csv, row 2 (line 3): not valid CSV (',' expected after '\"'). Nothing was loaded.",
        ),
        (
            b"id,area,form,text,text\n1,Lies,original,what?,\n",
            "small.csv: column `text` stands twice in the header; rename one. Nothing was loaded.",
        ),
        (
            f"{CSV_HEAD}\n1,Lies,original,na\u00efve?,\n".encode("latin-1"),
            "small.csv, line 2: byte 0xef is not utf-8; save the file as UTF-8, or name its encoding in the "
            "declaration (`encoding: gb18030`, say). Nothing was loaded.",
        ),
    ],
    ids=[
        "empty",
        "header only",
        "mark only",
        "missing column",
        "ragged, more",
        "ragged, fewer",
        "unclosed quote",
        "stray quote",
        "doubled header",
        "latin-1",
    ],
)
def test_csv_that_is_refused(tmp_path: Path, raw: bytes, sentence: str) -> None:
    assert refused(tmp_path, raw) == sentence


def test_utf_16_without_saying_so(tmp_path: Path) -> None:
    raw = f"{CSV_HEAD}\n{ROW}\n".encode("utf-16")
    assert refused(tmp_path, raw).startswith(
        "small.csv, line 1: byte 0xff is not utf-8; it looks like UTF-16; save the file"
    )


def test_gb18030_without_saying_so(tmp_path: Path) -> None:
    raw = f"{CSV_HEAD}\n1,Lies,original,怎么办？,\n".encode("gb18030")
    assert "small.csv, line 2: byte 0xd4 is not utf-8; save the file as UTF-8, or name its encoding" in refused(
        tmp_path, raw
    )


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "small.jsonl: there are no rows in it."),
        (['{"id": "1"'], "small.jsonl, line 1: not valid JSON (Expecting ',' delimiter at column 11)."),
        (["", "[1]"], "small.jsonl, line 2: expected a JSON object, found list."),
        ([json_row(3.5)], "small.jsonl, row 1, field `text`: expected text, found float; write it as a string."),
        ([json_row("a?"), json_row([1, 2])], "small.jsonl, row 2, field `text`: expected text, found list; write it"),
        ([json_row({"a": 1})], "small.jsonl, row 1, field `text`: expected text, found dict; write it as a string."),
        ([json_row(True)], "small.jsonl, row 1, field `text`: expected text, found bool; write it as a string."),
        ([json_row("a?", form=["original"])], "small.jsonl, row 1, field `form`: `['original']` is no variant;"),
        ([json_row("a?", form=None)], "small.jsonl, row 1, field `form`: `None` is no variant; expected one of"),
        (['{"id": "1", "area": "Lies", "form": "original", "text": "a?"}'], "small.jsonl, row 1: column `english` is"),
        (['{"text": "a?", "text": "b?"}'], "small.jsonl, line 1: not readable JSON (`text` stands twice in one"),
        (["[" * 100_000], "small.jsonl, line 1: not readable JSON (maximum recursion depth exceeded"),
        (['{"id": ' + "9" * 5000 + "}"], "small.jsonl, line 1: not readable JSON (Exceeds the limit"),
    ],
    ids=[
        "empty", "cut off", "no object", "float", "list of numbers", "object", "bool", "variant list", "variant null",
        "missing", "doubled key", "deep", "huge number",
    ],
)  # fmt: skip
def test_jsonl_that_is_refused(tmp_path: Path, lines: list[Any], sentence: str) -> None:
    raw = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    found = refused(tmp_path, raw.encode(), "jsonl")
    assert found.startswith(sentence)
    assert found.endswith("Nothing was loaded.")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"[", "small.json: not valid JSON (Expecting value at column 2)."),
        (b'{"a": 1}', "small.json: expected a JSON list of objects, found dict."),
        (b"[3]", "small.json, row 1: expected a JSON object, found int."),
        (b"[]", "small.json: there are no rows in it."),
    ],
)
def test_json_that_is_refused(tmp_path: Path, raw: bytes, sentence: str) -> None:
    assert refused(tmp_path, raw, "json") == f"{sentence} Nothing was loaded."


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    declare(tmp_path)
    (tmp_path / "there" / "small.csv").mkdir(parents=True)
    with pytest.raises(SourceError, match=r"small\.csv: no such file"):
        opened(tmp_path).build("small", tmp_path / "there")


def test_the_second_file_may_not_be_empty(tmp_path: Path) -> None:
    declare(tmp_path, changed(DATASET, sources=[{"path": "a.csv"}, {"path": "b.csv"}]), *DECLARATIONS[1:])
    write_csv(tmp_path / "a.csv", questions(1))
    write_csv(tmp_path / "b.csv", [])
    with pytest.raises(SourceError, match=r"^b.csv: there are no rows in it"):
        opened(tmp_path).build("small", tmp_path)


# ---- Read, and exactly.

EXACT = {
    "chinese": "怎样才能安全地处理旧电池？",
    "russian": "Как безопасно утилизировать батарейки?",
    "emoji": "What is 👩‍👩‍👧‍👦 and 🏴󠁧󠁢󠁥󠁮󠁧󠁿?",
    "right to left": "‏ما هو الحل الآمن؟ \u202eabc\u202c",
    "combining": "e\u0301 is not \u00e9; \u1100\u1161 is not \uac00",
    "nul": "before\x00after",
    "controls": "bell \x07, escape \x1b[31m, tab \t, vertical \x0b, form feed \x0c",
    "quotes": "she said \"no\", then 'yes'; \\ and \\n",
    "line ends": "one\ntwo\r\nthree\rfour\u2028five\u0085six",
    "spaces": " \u00a0\u3000 outer \u200b",
    "mark": "\ufeff not a mark",
    "formula": "=1+1",
    "lone surrogate": "half \ud83d of one, and \udc00 too",
    "surrogates apart": "\ud83d \ude00",
}


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json"])
def test_text_comes_back_exactly(tmp_path: Path, form: str) -> None:
    rows = [(str(number), "Lies", "original", text, "") for number, text in enumerate(EXACT.values())]
    if form == "csv":
        raw = write_csv(tmp_path / "raw", rows).read_bytes()
    elif form == "tsv":
        raw = b"\r\n".join(
            "\t".join(_quoted(cell) for cell in row).encode("utf-8", "surrogatepass") for row in [HEADER, *rows]
        )
    else:
        objects = [json_row(text) for text in EXACT.values()]
        raw = (json.dumps(objects) if form == "json" else "\n".join(map(json.dumps, objects))).encode()
    assert dict(zip(EXACT, texts(build_bytes(tmp_path, raw, form)), strict=True)) == EXACT


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def test_raw_bytes_of_a_surrogate_in_csv(tmp_path: Path) -> None:
    registry = build_bytes(tmp_path, f"{CSV_HEAD}\n1,Lies,original,half ".encode() + b"\xed\xa0\x80!,\n")
    assert texts(registry) == ["half \ud800!"]
    # What any client sees: a readable form, and the exact bytes beside it.
    query = "SELECT question, question_exact FROM safety_question"
    assert rows_of(registry, query) == [("half \ufffd!", b"half \xed\xa0\x80!")]
    assert [entry["code"] for entry in registry.build_report("small")] == ["lone_surrogate"]
    shown = execute("sql", query, "--json", cwd=tmp_path).json()
    assert bytes.fromhex(shown[0]["question_exact"]) == b"half \xed\xa0\x80!"


def test_a_surrogate_in_a_field_without_exact_bytes_is_told(tmp_path: Path) -> None:
    registry = build_bytes(tmp_path, json.dumps(json_row("a?", area="Lies \ud800")).encode(), "jsonl")
    assert rows_of(registry, "SELECT risk_area FROM safety_question") == [("Lies \ufffd",)]
    told = {entry["code"]: (entry["severity"], entry["field"]) for entry in registry.build_report("small")}
    assert told["lone_surrogate"] == ("repaired", "risk_area")


def test_different_halves_are_different_items(tmp_path: Path) -> None:
    rows = [json_row("half \ud83d"), json_row("half \ud83e"), json_row("half \ufffd")]
    registry = build_bytes(tmp_path, json.dumps(rows).encode(), "json")
    assert registry.versions("small")[0].items == 3
    assert texts(registry) == ["half \ud83d", "half \ud83e", "half \ufffd"]
    assert registry.rebuild() == registry.checksums()
    assert texts(registry) == ["half \ud83d", "half \ud83e", "half \ufffd"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "gb18030", "windows-1251", "shift_jis"])
def test_declared_encodings(tmp_path: Path, encoding: str) -> None:
    text = {"windows-1251": "Что делать?", "shift_jis": "どうする？"}.get(encoding, "怎么办？")
    raw = f"{CSV_HEAD}\r\n1,Lies,original,{text},\r\n".encode(encoding)
    assert texts(build_bytes(tmp_path, raw, encoding=encoding)) == [text]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "gb18030"])
def test_a_byte_order_mark_is_no_part_of_the_first_header(tmp_path: Path, encoding: str) -> None:
    raw = f"\ufeff{CSV_HEAD}\n{ROW}\n".encode(encoding)
    assert texts(build_bytes(tmp_path, raw, encoding=encoding)) == ["what?"]


def test_line_ends_of_windows_and_cells_with_line_ends(tmp_path: Path) -> None:
    raw = f'{CSV_HEAD}\r\n1,Lies,original,"one\r\ntwo\nthree",\r\n\r\n2,Lies,original,next?,\r\n'.encode()
    registry = build_bytes(tmp_path, raw)
    assert texts(registry) == ["one\r\ntwo\nthree", "next?"]
    assert rows_of(registry, 'SELECT source_row FROM membership ORDER BY "row"') == [(1,), (2,)]


def test_a_ragged_row_after_long_cells_names_its_own_line(tmp_path: Path) -> None:
    raw = f'{CSV_HEAD}\n1,Lies,original,"one\ntwo\nthree",\n2,Lies,original,a,b,c\n'.encode()
    assert refused(tmp_path, raw).startswith("small.csv, row 2 (line 5): 6 cells")


def test_jsonl_with_windows_line_ends_and_line_separators(tmp_path: Path) -> None:
    raw = "\r\n".join(json.dumps(json_row(text), ensure_ascii=False) for text in ("a\u2028b?", "c\u0085d?")).encode()
    assert texts(build_bytes(tmp_path, raw, "jsonl")) == ["a\u2028b?", "c\u0085d?"]


def test_whole_numbers_are_text(tmp_path: Path) -> None:
    registry = build_bytes(tmp_path, json.dumps(json_row(42, id=7)).encode(), "jsonl")
    assert texts(registry) == ["42"]
    assert rows_of(registry, "SELECT source_id FROM membership") == [("7",)]


def test_a_cell_of_five_megabytes(tmp_path: Path) -> None:
    text = "长" * 1_500_000 + "x" * 500_000
    rows = [(str(number), "Lies", "original", f"{number}{text}", "") for number in range(3)]
    registry = build_bytes(tmp_path, write_csv(tmp_path / "raw.csv", rows).read_bytes())
    assert texts(registry) == [row[3] for row in rows]
    journal = next((tmp_path / "benchmarks.db.journal").glob("build-*"))
    # Few long texts a line, so that no reader has to hold thousands of them.
    assert max(len(line) for line in journal.read_bytes().splitlines()) < 3 * len(json.dumps(text))


def test_on_the_command_line_no_fault_is_a_traceback(tmp_path: Path) -> None:
    declare(tmp_path)
    (tmp_path / "small.csv").write_bytes(f"{CSV_HEAD}\n1,Lies,o\x1b[31m\nriginal,what?,\n".encode())
    done = run("build", "small", cwd=tmp_path)
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("error: small.csv, row 1 (line 2): 3 cells")
    (tmp_path / "small.csv").write_bytes(f'{CSV_HEAD}\n1,Lies,"o\x1b[31m\nriginal",what?,\n'.encode())
    done = run("build", "small", cwd=tmp_path)
    # Text from files can't move the cursor.
    assert done.err.startswith("error: small.csv, row 1, field `form`: `o [31m riginal` is no variant; expected one of")
    assert done.err.count("\n") == 1


# ---- Formats.


def tabled(form: str, rows: list[dict[str, Any]]) -> bytes:
    """The rows in a format."""
    if form == "json":
        return json.dumps(rows).encode()
    if form == "jsonl":
        return "\n".join(map(json.dumps, rows)).encode()
    mark = {"tsv": "\t", "semicolons": ";"}.get(form, ",")
    return "\n".join(mark.join(map(str, cells)) for cells in [HEADER, *[row.values() for row in rows]]).encode()


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.TSV", "a.jsonl", "a.ndjson", "a.json", "a.csv.gz", "a.JSONL.GZ"])
def test_the_format_is_told_by_the_name(tmp_path: Path, name: str) -> None:
    """Whether the name stands in the declaration or is given with `--from` instead of it."""
    form = name.lower().removesuffix(".gz").split(".")[1].replace("ndjson", "jsonl")
    raw = tabled(form, [json_row("a?"), json_row("b?")])
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.lower().endswith(".gz") else raw)
    for number, declared in enumerate((name, "small.csv", "questions.txt")):
        folder = tmp_path / str(number)
        folder.mkdir()
        declare(folder, changed(DATASET, sources=[{"path": declared}]), *DECLARATIONS[1:])
        registry = opened(folder)
        registry.build("small", tmp_path / name)
        assert texts(registry) == ["a?", "b?"]


@pytest.mark.parametrize(
    ("form", "content", "looks"),
    [
        ("csv", "jsonl", "JSON lines (an object a line); let its name end in .jsonl, or declare `format: jsonl`."),
        ("csv", "json", "JSON (one list of objects); let its name end in .json"),
        ("csv", "tsv", "TSV (tab-separated text); let its name end in .tsv"),
        ("csv", "semicolons", "text separated by semicolons; save it as CSV (comma-separated text)"),
        ("tsv", "csv", "CSV (comma-separated text); let its name end in .csv"),
        ("tsv", "jsonl", "JSON lines"),
        ("jsonl", "json", "JSON (one list of objects)"),
        ("jsonl", "csv", "CSV (comma-separated text)"),
        ("json", "jsonl", "JSON lines (an object a line)"),
        ("json", "tsv", "TSV (tab-separated text)"),
    ],
)
def test_what_a_file_looks_like_instead(tmp_path: Path, form: str, content: str, looks: str) -> None:
    found = refused(tmp_path, tabled(content, [json_row("a?"), json_row("b?")]), form)
    assert found.startswith(f"small.{form}: taken for ")
    assert f", but it looks like {looks}" in found
    assert found.endswith("Nothing was loaded.")


@pytest.mark.parametrize(
    ("raw", "looks"),
    [
        (b"PK\x03\x04\x14\x00\x06", "an Excel workbook or another ZIP archive; save it as CSV, TSV, JSON lines"),
        (gzip.compress(b"id\n1\n", mtime=0), "a gzip file; let its name end in .gz"),
        (b"<!DOCTYPE html>\n<html></html>", "a web page or XML"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer in place of the file;"),
        (json.dumps([{"data": 1}], indent=1).encode(), "JSON (one list of objects)"),
        (json.dumps({"data": [1]}, indent=1).encode(), "one JSON object over several lines; save it as CSV"),
    ],
)  # fmt: skip
def test_files_that_are_no_table(tmp_path: Path, raw: bytes, looks: str) -> None:
    found = refused(tmp_path, raw)
    assert found.startswith(f"small.csv: taken for CSV (comma-separated text), but it looks like {looks}")
    with_reader = refused(tmp_path, raw, reader="crows_pairs")
    if "JSON (" not in looks and "JSON object" not in looks:
        assert with_reader.startswith(f"small.csv: not the file that was expected; it looks like {looks}")


def test_a_gzip_file_that_was_cut_off(tmp_path: Path) -> None:
    whole = gzip.compress(tabled("csv", [json_row(f"{number}?") for number in range(50)]))
    for raw in (whole[:-12], b"no gzip at all"):
        declare(tmp_path, changed(DATASET, sources=[{"path": "a.csv.gz"}]), *DECLARATIONS[1:])
        (tmp_path / "a.csv.gz").write_bytes(raw)
        with pytest.raises(SourceError, match=r"^a\.csv\.gz: not a whole gzip file .* get it again\."):
            opened(tmp_path).build("small", tmp_path / "a.csv.gz")
