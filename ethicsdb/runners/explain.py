"""`why`: what one item's number rests on, and which identity field makes it another row than its nearest neighbour."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.runs import find_run
from ethicsdb.schemas.errors import NotFoundError
from ethicsdb.schemas.fingerprint import TAG, short

if TYPE_CHECKING:
    import duckdb

__all__ = ["differences", "explain"]

Record = dict[str, Any]

FITTING = 6  # items that an ambiguous name is told to fit


def explain(context: Context, run: str, item: str) -> Record:
    """Everything behind an item of a run.

    Args:
        run: the run's id, or its first digits.
        item: the row of the source file, 1 for the first (`FILE:ROW` where there are several files), or the item's id
            or its first digits.

    Returns:
        run, item, samples: for each asked-for sample its request, tries, answer, verdicts with labels, keys, and
        `nearest`: the stored answer to the same item, or to what stands in its place in another version, that differs
        in the fewest identity fields, with those fields; and `judges`: for each verdict's judge the nearest other
        judge and the fields in which they differ. Of a likelihood run, `targets`: the item's texts with their
        likelihoods, flags and contexts.

    Raises:
        NotFoundError: no such run, or the item is not of it.
    """
    run_id = find_run(context, run)
    with context.reading() as connection:
        told = _records(connection, "why_run", {"run": run_id})[0]
        wanted = {"run": run_id, "item": item.removeprefix(TAG)}
        rows = _records(connection, "why_items", wanted)
        targets = _records(connection, "why_targets", wanted)
        if not rows and not targets:
            raise NotFoundError(
                f"Run {run} has no item `{item}`; give a row of the source file (1 is the first) or an item id."
            )
        if len({row["item_id"] for row in rows or targets}) > 1:
            raise _ambiguous(run, item, rows or targets)
        samples = [_sample(connection, told, row) for row in rows]
    for target in targets:
        target["request"] = json.loads(target.pop("messages") or "null")
    item_id = (rows or targets)[0]["item_id"]
    return {"run": _spelled(told), "item": item_id, "samples": samples, "targets": targets}


def _ambiguous(run: str, item: str, rows: list[Record]) -> NotFoundError:
    names = [(f"{row['source_file']}:{row['source_row']}", short(row["item_id"]), row["variant"] or "") for row in rows]
    found = [" ".join(parts).rstrip() for parts in dict.fromkeys(names)]
    more = ", ..." if len(found) > FITTING else ""
    return NotFoundError(
        f"`{item}` fits several items of run {run}; give FILE:ROW, or the digits of one: "
        f"{', '.join(found[:FITTING])}{more}."
    )


def _records(connection: duckdb.DuckDBPyConnection, query: str, parameters: Record) -> list[Record]:
    found = connection.execute(read_sql(query), parameters)
    names = [column[0] for column in found.description or []]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _spelled(run: Record) -> Record:
    return {**run, "model_identity": json.loads(run["model_identity"]), "sampling": json.loads(run["sampling"])}


def _sample(connection: duckdb.DuckDBPyConnection, run: Record, row: Record) -> Record:
    key = {"key": row["response_key"]}
    tries = _records(connection, "why_tries", key)
    verdicts = _records(connection, "why_verdicts", key)
    for verdict in verdicts:
        verdict["identity"] = json.loads(verdict["identity"])
        verdict["fields"] = json.loads(verdict["fields"]) if verdict["fields"] else None
    place = {"dataset": run["dataset"], "version": run["version"], "row": row["row"], "key": row["response_key"]}
    stored = _records(connection, "why_neighbours", place)
    return {
        "source_file": row["source_file"],
        "source_row": row["source_row"],
        "sample_number": row["sample_number"],
        "variant": row["variant"],
        "question": row["question"],
        "response_key": row["response_key"],
        "request_hash": row["request_hash"],
        "request": json.loads(row["messages"]) if row["messages"] else None,
        "tries": tries,
        "verdicts": verdicts,
        "nearest": _nearest(_identity(run, row), stored),
        "judges": _nearest_judges(connection, verdicts),
    }


def _identity(run: Record, row: Record) -> Record:
    """Everything that the key of an answer is made of, flat."""
    return _flat(
        {
            "model": json.loads(run["model_identity"]),
            "prompt": {"template": run["template"], "system": run["system"]},
            "sampling": json.loads(run["sampling"]),
            "sample_number": row["sample_number"],
            "question": row["question"],
        }
    )


def _nearest(wanted: Record, stored: list[Record]) -> Record | None:
    """The stored answer that differs in the fewest fields; of those, the first."""
    best: Record | None = None
    for row in stored:
        found = differences(wanted, _identity(row, row))
        if found and (best is None or len(found) < len(best["differs"])):
            best = {"response_key": row["response_key"], "run_id": row["run_id"], "differs": found}
    return best


def _nearest_judges(connection: duckdb.DuckDBPyConnection, verdicts: list[Record]) -> list[Record]:
    judges = [{**judge, "identity": json.loads(judge["identity"])} for judge in _records(connection, "why_judges", {})]
    out = []
    for verdict in verdicts:
        others = [judge for judge in judges if judge["fingerprint"] != verdict["judge_fingerprint"]]
        ranked = [(judge, differences(verdict["identity"], judge["identity"])) for judge in others]
        if ranked:
            judge, found = min(ranked, key=lambda pair: (len(pair[1]), pair[0]["name"] != verdict["judge"]))
            out.append({"judge": verdict["judge"], "nearest": judge["name"], "differs": found})
    return out


def differences(one: Record, two: Record) -> dict[str, list[Any]]:
    """Fields that differ between two identities: name: [here, there]."""
    here, there = _flat(one), _flat(two)
    return {
        name: [here.get(name), there.get(name)]
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    }


def _flat(value: Record, prefix: str = "") -> Record:
    out: Record = {}
    for name, each in value.items():
        if isinstance(each, dict):
            out.update(_flat(each, f"{prefix}{name}."))
        else:
            out[prefix + name] = each
    return out
