"""Content addresses: what has the same fingerprint is the same thing.

A fingerprint is `blake2b-128:` and 32 hexadecimal digits, taken over sorted-key compact JSON. Text enters exactly as
it is: no Unicode normalisation, no stripping, lone surrogates as their three-byte form (`surrogatepass`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["TAG", "canonical_json", "fingerprint", "fingerprint_rows", "sha256_file", "short"]

TAG = "blake2b-128:"
_CHUNK = 1 << 20
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> bytes:
    """Bytes of the sorted-key compact JSON of `value`; equal values give equal bytes.

    Raises:
        TypeError: the value holds something that JSON has no form for.
        ValueError: the value holds NaN or infinity, which no two readers agree on.
    """
    return _ENCODER.encode(value).encode("utf-8", "surrogatepass")


def fingerprint(value: Any) -> str:
    """Fingerprint of a JSON-like value."""
    return TAG + hashlib.blake2b(canonical_json(value), digest_size=16).hexdigest()


def fingerprint_rows(rows: Iterable[Any]) -> str:
    """Fingerprint of a multiset of JSON-like rows: the order of the rows does not matter, repeats do."""
    digest = hashlib.blake2b(digest_size=16)
    for row in sorted(canonical_json(row) for row in rows):
        digest.update(row)
        digest.update(b"\n")
    return TAG + digest.hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def short(mark: str, digits: int = 12) -> str:
    """The first digits of a fingerprint, for names and screens; never a key."""
    return mark.removeprefix(TAG)[:digits]
