"""The online runner against a provider that limits and fails, beside Inspect on the same schedule in the same run.

    python perf/providers.py [--check] [--inspect PYTHON] [--items 5000] [--rate 100]

`provider_server.py` admits so many requests a second and fails by a schedule. Printed are the share of what it permits
that was used (requests admitted / rate * time), items without an outcome, items paid twice, and whether our ledger
equals the provider's counts. Inspect runs with the Python given, in which `inspect-ai` and `openai` are installed, with
as many connections as ours may have; each gets a provider of its own with the same seed.

`--check` exits with 1 where a target is missed: 90% of what is permitted, nothing lost, nothing paid twice, an equal
ledger. Run it alone; it takes about a minute for each of the two.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

SERVER = Path(__file__).with_name("provider_server.py")
WANTED = 0.9
CEILING = 64
INSPECT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate
url, count, ceiling, logs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
samples = [Sample(input=f"Question number {n}?", id=n) for n in range(count)]
log = eval(Task(dataset=samples, solver=generate(), name="perf"), model="openai/target", model_base_url=url,
           model_args={"responses_api": False}, max_connections=ceiling, max_samples=4 * ceiling, display="none",
           log_dir=logs, log_realtime=False, fail_on_error=False, temperature=0.0)[0]
print(sum(1 for each in (log.samples or []) if each.error is None))
"""


def main() -> None:
    """Measure, print, and with `--check` judge."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 where a target is missed")
    parser.add_argument("--inspect", metavar="PYTHON", help="a Python that has inspect-ai")
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--rate", type=float, default=100.0, help="requests a second that the provider admits")
    given = parser.parse_args()
    faults = _ours(given.items, given.rate)
    if given.inspect:
        _peer(given.inspect, given.items, given.rate)
    if given.check and faults:
        sys.exit("; ".join(faults))


def _ours(items: int, rate: float) -> list[str]:
    from ethicsdb import Registry

    with tempfile.TemporaryDirectory() as folder, _provider(rate) as url:
        _declare(Path(folder), items, url)
        registry = Registry(Path(folder) / "benchmarks.db", [Path(folder) / "ethicsdb.d"])
        registry.build("perf", Path(folder) / "perf.csv")
        start = time.process_time()
        generated, _ = registry.run("perf", model="target")
        used = time.process_time() - start
        counted = _stats(url)
        (row,) = registry.cost()
        told = {name: row[name] for name in ("billed", "prompt_tokens", "completion_tokens")}
    server = {"billed": counted["paid"], **{name: counted[name] for name in ("prompt_tokens", "completion_tokens")}}
    share = _told("ethicsdb", counted, items - sum(generated.outcomes.values()))
    print(f"  outcomes {generated.outcomes}; processor time {1000 * used / items:.1f} ms an item")
    print(f"  ledger {told}, the provider's {server}: {'equal' if told == server else 'NOT EQUAL'}")
    lost = items - generated.outcomes.get("completed", 0) - generated.outcomes.get("filtered", 0)
    found = [(share < WANTED, f"{share:.1%} of what is permitted, not {WANTED:.0%}"), (lost > 0, f"{lost} items lost"),
             (counted["paid_twice"] > 0, f"{counted['paid_twice']} items paid twice"),
             (told != server, "the ledger is not the provider's")]  # fmt: skip
    return [sentence for wrong, sentence in found if wrong]


def _peer(python: str, items: int, rate: float) -> None:
    with tempfile.TemporaryDirectory() as folder, _provider(rate) as url:
        environment = {**os.environ, "OPENAI_API_KEY": "none", "INSPECT_LOG_DIR": folder}
        command = [python, "-c", INSPECT, url, str(items), str(CEILING), folder]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"inspect failed: {done.stderr.strip().splitlines()[-1:]}")
            return
        _told("inspect", _stats(url), items - int(done.stdout.split()[-1]))


def _told(who: str, counted: dict[str, Any], lost: int) -> float:
    share = float(counted["admitted"] / counted["permitted"])
    print(
        f"{who}: {counted['seconds']:.1f} s; used {share:.1%} of the {counted['permitted']:,.0f} requests permitted; "
        f"{counted['admitted']:,} admitted, {counted.get('refused', 0):,} refused (429), {counted['paid']:,} answers "
        f"paid, {counted['paid_twice']} items paid twice, {lost} without an outcome"
    )
    return share


@contextlib.contextmanager
def _provider(rate: float) -> Iterator[str]:
    command = [sys.executable, str(SERVER), str(rate), "seed"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def _stats(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url.replace("/v1", "/stats")) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def _declare(folder: Path, items: int, url: str) -> None:
    """A data set of so many questions, a benchmark of it, and the provider's model with a price."""
    with (folder / "perf.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerows([["id", "question"], *([n, f"Question number {n}?"] for n in range(items))])
    parts = [
        {"kind": "dataset", "name": "perf", "title": "Perf", "schema": "safety_question",
         "sources": [{"path": "perf.csv"}],
         "fields": {"question": "question"}, "constants": {"language": "en", "risk_area": "none"}, "languages": ["en"],
         "id": "id", "licence": {"name": "ours", "redistribution": True}, "access": "open", "citation": "ours"},
        {"kind": "benchmark", "name": "perf", "version": "1-A", "title": "Perf", "dataset": "perf",
         "judges": ["refusal_rules"], "metric_sets": ["refusals"], "primary": "refusal_rate_all"},
        {"kind": "model", "name": "target", "backend": "openai", "id": "target", "base_url": url,
         "concurrency": CEILING, "price": {"prompt": 1.0, "completion": 2.0}},
    ]  # fmt: skip
    (folder / "ethicsdb.d").mkdir()
    (folder / "ethicsdb.d" / "perf.yaml").write_text("---\n".join(map(yaml.safe_dump, parts)), encoding="utf-8")


if __name__ == "__main__":
    main()
