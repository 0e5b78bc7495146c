"""Word vectors out of a file, of which only the wanted words are kept.

Libraries that read these formats (gensim) hold all words in memory, which is gigabytes for a test of two hundred. So
the formats, a line or a record a word, are read here.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TypeAlias

from ethicsdb.runners.identity import Identity, model_identity
from ethicsdb.runners.vectors.base import Vectors
from ethicsdb.schemas.declared import LocalSettings, ModelDeclaration
from ethicsdb.schemas.errors import ModelError, SourceError
from ethicsdb.schemas.fingerprint import sha256_file

__all__ = ["WordVectors"]

LONGEST_WORD = 4096  # bytes; a binary file whose words are longer is none
OUTCOME = "Nothing was computed."
Stream: TypeAlias = IO[bytes] | gzip.GzipFile


class WordVectors:
    """Vectors of a word2vec file (text or binary) or a GloVe file (text without a header), packed (.gz) or not.

    A text is looked up as it is written; then with underscores for its spaces; then, where the declaration says
    `lower`, both in lower case. Of a word that stands twice the first counts.
    """

    def __init__(self, model: ModelDeclaration) -> None:
        """Raises ModelError where there is no such file."""
        self._path = Path(model.id).expanduser()
        if not self._path.is_file():
            raise ModelError(f"{model.id}: there is no such file of word vectors.")
        self._lower = (model.local or LocalSettings()).lower
        parts = {"sha256": sha256_file(self._path), "lower": self._lower, "lookup": "words-1"}
        self.identity: Identity = model_identity(model.name, "vectors", self._path.name, model.revision, parts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text; None for one that is not in the file.

        Raises:
            SourceError: the file is of neither format, or a vector in it is broken; the message names the line.
        """
        forms = {text: self._forms(text) for text in texts}
        wanted = {form for each in forms.values() for form in each}
        found: dict[str, list[float]] = {}
        for word, vector in self._read(wanted):
            found.setdefault(word, vector)
        return {text: next((found[form] for form in each if form in found), None) for text, each in forms.items()}

    def _forms(self, text: str) -> list[str]:
        forms = [text, text.replace(" ", "_")]
        return list(dict.fromkeys([*forms, *(form.lower() for form in forms)] if self._lower else forms))

    def _read(self, wanted: set[str]) -> Iterator[tuple[str, list[float]]]:
        try:
            with _opened(self._path) as stream:
                first = stream.readline(LONGEST_WORD * 16)
                header = _header(first)
                binary = header is not None and _is_binary(self._path, len(first), header[1])
                if header is not None and binary:
                    yield from _records(self._path.name, stream, header, wanted)
                else:
                    yield from _lines(self._path.name, stream, first if header is None else header, wanted)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(f"{self._path.name}: not readable ({error}). {OUTCOME}") from error


def _opened(path: Path) -> Stream:
    return gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb")


def _header(line: bytes) -> tuple[int, int] | None:
    """(words, dimensions) of a word2vec file; None for a file that begins with a word."""
    parts = line.split()
    return (int(parts[0]), int(parts[1])) if len(parts) == 2 and all(part.isdigit() for part in parts) else None


def _is_binary(path: Path, start: int, dimensions: int) -> bool:
    """Whether what follows the first word is no list of numbers."""
    with _opened(path) as stream:
        stream.seek(start)
        sample = stream.read(LONGEST_WORD + 32 * dimensions)
    numbers = sample.split(b"\n")[0].split()[1:]
    try:
        return not [float(number) for number in numbers]
    except ValueError:
        return True


def _lines(
    name: str, stream: Stream, first: bytes | tuple[int, int], wanted: set[str]
) -> Iterator[tuple[str, list[float]]]:
    """The wanted words of a text file, after its first line: a header, or the first word."""
    words, dimensions = first if isinstance(first, tuple) else (None, None)
    rows = [first, *stream] if isinstance(first, bytes) else stream
    count = 0
    for number, line in enumerate(rows, start=1 if isinstance(first, bytes) else 2):
        if not line.strip():
            continue
        count += 1
        # From the right: GloVe's words may hold spaces.
        dimensions = dimensions or len(line.rstrip().split(b" ")) - 1
        parts = line.rstrip().rsplit(b" ", dimensions)
        word = parts[0].decode("utf-8", "replace")
        if count > 1 and word not in wanted:
            continue
        yield word, _vector(name, number, parts[1:], dimensions)
    if words is not None and count != words:
        raise SourceError(f"{name}: its first line says {words} words, and {count} follow; is it whole? {OUTCOME}")


def _vector(name: str, number: int, parts: Sequence[bytes], dimensions: int) -> list[float]:
    try:
        vector = [float(part) for part in parts]
    except ValueError:
        vector = []
    if len(vector) != dimensions or dimensions < 2 or not all(map(math.isfinite, vector)):
        raise SourceError(f"{name}, line {number}: expected a word and {dimensions} numbers. {OUTCOME}")
    return vector


def _records(name: str, stream: Stream, header: tuple[int, int], wanted: set[str]) -> Iterator[tuple[str, list[float]]]:
    words, dimensions = header
    form = struct.Struct(f"<{dimensions}f")
    for number in range(words):
        letters = bytearray()
        while (letter := stream.read(1)) != b" ":
            if not letter or len(letters) > LONGEST_WORD:
                raise SourceError(f"{name}, record {number + 1}: expected a word, a space and floats. {OUTCOME}")
            letters += letter
        raw = stream.read(form.size)
        if len(raw) < form.size:
            raise SourceError(f"{name}, record {number + 1} of {words}: the file ends inside it. {OUTCOME}")
        word = letters.lstrip(b"\n").decode("utf-8", "replace")
        if word not in wanted:
            continue
        vector = list(form.unpack(raw))
        if not all(map(math.isfinite, vector)):
            raise SourceError(f"{name}, record {number + 1}: expected {dimensions} numbers. {OUTCOME}")
        yield word, vector
    if stream.read(LONGEST_WORD).strip():
        raise SourceError(f"{name}: its first line says {words} words, and more follow; is it whole? {OUTCOME}")
