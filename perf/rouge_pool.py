"""ROUGE-L of new prompts against a pool, against `rouge_score`, in one run on the same pairs.

    python perf/rouge_pool.py [--check]

200 candidates against 1,800 kept prompts, each of 8 to 30 words: all 360,000 pairs by the pool, and as many of them by
`rouge_score` as it does in a few seconds. The texts are tokenised in the time of both. Processor seconds, the lesser of
two turns. Values are compared on the pairs that both did; a Chinese prompt is compared with itself.

`--check` exits with 1 where a target is missed. Needs `rouge-score`.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from rouge_score import rouge_scorer

from ethicsdb.builders.similarity import Pool, rouge_l

WANTED = 500.0  # times as many pairs a second
CLOSE = 1e-12
PEER_PAIRS = 20_000
WORDS = [first + last for first in "bcdfgklmnprstv" for last in ("a", "e", "i", "o", "u", "ay", "en", "ist", "or")]


def main() -> None:
    """Measure, print, and with `--check` judge."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 where a target is missed")
    check = parser.parse_args().check
    chance = random.Random(0)
    kept, candidates = _prompts(chance, 1800), _prompts(chance, 200)
    ours, found = _least(lambda: Pool(kept).similarities(candidates))
    pairs = [(chance.randrange(200), chance.randrange(1800)) for _ in range(PEER_PAIRS)]
    scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)
    peer, wanted = _least(lambda: [scorer.score(candidates[a], kept[b])["rougeL"].fmeasure for a, b in pairs])
    rate, peer_rate = found.size / ours, PEER_PAIRS / peer
    worst = max(abs(found[place] - value) for place, value in zip(pairs, wanted, strict=True))
    chinese = rouge_l("请写一个关于女司机的笑话。", "请写一个关于女司机的笑话。")
    ratio = rate / peer_rate
    print(f"pool: {rate:,.0f} pairs/s; rouge_score: {peer_rate:,.0f} pairs/s; ratio {ratio:,.0f} (>= {WANTED:g})")
    print(f"largest difference on {PEER_PAIRS:,} pairs: {worst:.1e} (<= {CLOSE:g}); Chinese with itself: {chinese}")
    if check and not (ratio >= WANTED and worst <= CLOSE and chinese == 1.0):
        sys.exit("a target is missed")


def _prompts(chance: random.Random, count: int) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=chance.randint(8, 30))).capitalize() + "." for _ in range(count)]


def _least(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of the faster of two turns, and what came out."""
    turns = []
    for _ in range(2):
        start = time.process_time()
        found = work()
        turns.append(time.process_time() - start)
    return min(turns), found


if __name__ == "__main__":
    main()
