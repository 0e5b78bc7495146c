"""Entry of the child process that holds the weights: `python smollm2_server.py MODEL.gguf ALIAS PARENT_PID THREADS`.

It writes one line of JSON, `{"url": "http://127.0.0.1:PORT"}`, once the model answers, and ends when its standard input
does or when its parent is gone. It imports nothing of ethicsdb, so that it starts wherever the parent was found.

The settings are chosen so that one request has one answer. Measured on SmolLM2-135M by comparing log-probabilities:
reusing a cached prompt prefix moves them by up to 0.15 nats, decoding beside another request by up to 0.07, and flash
attention makes them depend on the number of threads from a few hundred tokens of context on (0.14). With one slot, no
prompt cache and plain attention they are equal to the last digit alone, queued, in any order, with 1, 2 or 4 threads;
this costs a fifth of the throughput of four slots on two cores.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

__all__ = ["SETTINGS", "parameters"]

# What an answer depends on besides the weights. The sampling defaults are those of OpenAI's endpoint: without them
# llama.cpp would cut the distribution (top-k 40, min-p 0.05) of a request that asks for plain sampling.
SETTINGS: dict[str, int | float | bool] = {
    "n_ctx": 8192,  # the length that the model was trained on
    "n_parallel": 1,
    "n_ubatch": 512,
    "cache_prompt": False,
    "flash_attention": False,
    "temperature": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
}

PARENT_CHECK = 1.0  # seconds


def parameters(path: str, alias: str, threads: int) -> Any:
    """Parameters of the server for one GGUF file: `SETTINGS`, the processor only, the loopback interface only."""
    import xllamacpp

    wanted = xllamacpp.CommonParams()
    wanted.model.path = path
    wanted.model_alias = {alias}
    for name in ("n_ctx", "n_parallel", "n_ubatch", "cache_prompt"):
        setattr(wanted, name, SETTINGS[name])
    wanted.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    wanted.cache_ram_mib = 0
    wanted.fit_params = False  # it may shorten the context to fit a machine
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
    wanted.n_gpu_layers = 0  # a wheel for GPUs would round differently
    wanted.no_kv_offload = wanted.no_op_offload = True
    sampling = wanted.sampling
    sampling.temp, sampling.top_k = SETTINGS["temperature"], SETTINGS["top_k"]
    sampling.top_p, sampling.min_p = SETTINGS["top_p"], SETTINGS["min_p"]
    wanted.hostnames, wanted.port = ["127.0.0.1"], 0  # the system picks a free port
    wanted.ui, wanted.offline, wanted.endpoint_slots = False, True, False
    # Web pages that a browser on this machine shows have no business here; `null` would let sandboxed ones in.
    wanted.cors_origins, wanted.cors_origins_explicit = "http://nobody.invalid", True
    wanted.cors_credentials = False
    return wanted


def _watch_parent(parent: int) -> None:
    """End this process with its parent, even where a forked sibling still holds our standard input open."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK)
    os._exit(0)


def _main(arguments: list[str]) -> None:
    path, alias, parent, threads = arguments
    threading.Thread(target=_watch_parent, args=(int(parent),), daemon=True).start()
    # Libraries may write to standard output, which carries our one line.
    ready = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    import xllamacpp

    server = xllamacpp.Server(parameters(path, alias, int(threads)))
    ready.write(json.dumps({"url": server.listening_address}) + "\n")
    ready.close()
    sys.stdin.buffer.read()
    os._exit(0)  # an answer in the making is nobody's any more: do not wait for it


if __name__ == "__main__":
    _main(sys.argv[1:])
