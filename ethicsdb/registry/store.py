"""The database file: who may open it when, and how it comes to its tables.

DuckDB refuses a second process, even a reader, while one holds the file for writing. So nobody holds it for long:
writers open it for one transaction under an exclusive `flock` on a side file, readers for one query under a shared
one. A gate lock in front keeps a stream of readers from starving a waiting writer.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethicsdb.schemas.errors import StoreError

if TYPE_CHECKING:
    import duckdb

__all__ = ["DamagedError", "ForeignLockError", "NotWritableError", "Store", "flock", "unusable", "with_wal"]

# Files are written so that DuckDB 1.5 clients can read them.
STORAGE_VERSION = "v1.5.0"
NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.s3fs"}


class ForeignLockError(StoreError):
    """Another program holds the database file open; ingest waits, reads go around."""


class NotWritableError(ForeignLockError):
    """The file or its folder is read-only here; reads go around, as with a foreign lock."""


class DamagedError(StoreError):
    """The file is no database, or no longer one; its journals can make it anew."""


class Store:
    """A database file and the journals beside it.

    Args:
        path: the DuckDB file, `benchmarks.db` by default; journals stand in `<path>.journal/`.

    Raises:
        StoreError: on Windows and on network file systems, whose locks can't be trusted.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).resolve()
        self.journals = self.path.with_name(self.path.name + ".journal")
        _refuse_unsafe_places(self.path)

    def exists(self) -> bool:
        """Whether the database file is there."""
        return self.path.exists()

    @contextmanager
    def writer(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database, for one short writing transaction's time; the schema is brought up to date first.

        Raises:
            ForeignLockError: another program holds the file.
            NotWritableError: file or folder are read-only.
            StoreError: the file was written by a newer ethicsdb.
        """
        from ethicsdb.registry.migrations import migrate

        self.see_writable()
        with self._locked(fcntl.LOCK_EX):
            if not self.exists():
                self._create()
            with _connection(self.path, read_only=False) as connection:
                migrate(connection)
                yield connection

    def see_writable(self) -> None:
        """Raises NotWritableError where file or folder are read-only."""
        places = [self.path] if self.exists() else []
        places += [next(each for each in (self.journals, *self.journals.parents) if each.exists()), self.path.parent]
        for place in places:
            if place.exists() and not os.access(place, os.W_OK):
                raise NotWritableError(f"{place} can't be written to")

    def _create(self) -> None:
        """Make the file under another name first: a kill in between must not leave half a database under this one."""
        from ethicsdb.registry.migrations import migrate

        fresh = self.path.with_name(f".{self.path.name}.new")
        for leftover in (fresh, with_wal(fresh)):
            leftover.unlink(missing_ok=True)
        with _connection(fresh, read_only=False) as connection:
            migrate(connection)
        self.replace(fresh)

    def journals_read(self) -> list[str]:
        """Names of the journals that the file was made from, under the writers' lock that the caller holds."""
        with _connection(self.path, read_only=False) as connection:
            known = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'journal'").fetchone()
            found = connection.execute("SELECT name FROM journal").fetchall() if known and known[0] else []
        return [name for (name,) in found]

    def replace(self, fresh: Path) -> None:
        """Put a whole file in this one's place, under the writers' lock that the caller holds."""
        with fresh.open("rb") as stream:
            os.fsync(stream.fileno())
        # A log belongs to the file beside it. Gone first, a kill in between only loses what the journals have.
        with_wal(self.path).unlink(missing_ok=True)
        fresh.replace(self.path)

    @contextmanager
    def reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database, read-only, for one query's time.

        Raises:
            ForeignLockError: another program holds the file for writing.
        """
        with self.shared(), _connection(self.path, read_only=True) as connection:
            yield connection

    @contextmanager
    def shared(self) -> Iterator[None]:
        """The readers' lock alone, for a child process that opens the file itself."""
        with self._locked(fcntl.LOCK_SH):
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """The writers' lock alone, to replace the file."""
        with self._locked(fcntl.LOCK_EX):
            yield

    @contextmanager
    def _locked(self, mode: int) -> Iterator[None]:
        with suppress(OSError):  # where it can't be made, whoever needs it says so
            self.journals.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            with flock(self.journals / ".gate", fcntl.LOCK_EX):
                stack.enter_context(flock(self.journals / ".lock", mode))
            yield


def with_wal(path: Path) -> Path:
    """Where DuckDB keeps a file's write-ahead log."""
    return path.with_name(path.name + ".wal")


@contextmanager
def flock(path: Path, mode: int) -> Iterator[None]:
    """Hold an advisory lock on a side file; the system releases it when the process dies.

    In a read-only place a lock file that is there is locked all the same. Where none can be made, nothing is locked:
    another, who may write there, is then kept off by DuckDB's own lock on the file that is being read.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT):
            raise
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            yield
            return
    try:
        fcntl.flock(descriptor, mode)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _connection(path: Path, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    # Python variables must never stand in for tables: a local called `item` would answer for the table.
    config: dict[str, Any] = {"python_enable_replacements": False}
    if not read_only:
        config["storage_compatibility_version"] = STORAGE_VERSION
    try:
        connection = duckdb.connect(str(path), read_only=read_only, config=config)
    except duckdb.IOException as error:
        if str(error).startswith("IO Error: Could not set lock on file"):
            raise ForeignLockError(f"{path.name} is held open by another program") from error
        raise unusable(path, error) from error
    except duckdb.ConnectionException as error:
        # A notebook that has opened the file itself is a foreign client within this very process.
        if "different configuration" in str(error):
            raise ForeignLockError(f"{path.name} is held open by this program itself") from error
        raise unusable(path, error) from error
    except duckdb.Error as error:
        raise unusable(path, error) from error
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    except (RuntimeError, duckdb.InterruptException) as error:
        # What Ctrl-C becomes inside DuckDB.
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise
    finally:
        connection.close()


def unusable(path: Path, error: Exception) -> StoreError:
    """Why a file can't be opened, in a sentence."""
    if path.is_dir():
        return StoreError(f"{path} is a folder; name a file in it for the database (--database or ETHICSDB_DATABASE)")
    told = str(error).splitlines()[0].replace(f'"{path}"', path.name)
    sentence = f"{path} can't be opened as a database ({told})"
    if "not a valid DuckDB database" not in told and "Corrupt" not in told:
        return StoreError(sentence)
    mend = f"; `ethicsdb --database {path} rebuild` makes it anew from its journals"
    return DamagedError(sentence + (mend if _has_journals(path) else ""))


def _has_journals(path: Path) -> bool:
    return any(path.with_name(path.name + ".journal").glob("*.jsonl"))


def _refuse_unsafe_places(path: Path) -> None:
    if sys.platform == "win32":
        raise StoreError("ethicsdb keeps its database on Linux and macOS; on Windows, use it inside WSL")
    kind = _file_system(path.parent)
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{path.parent} is on a network file system ({kind}), whose locks can't be trusted; "
            "put the database on a local disk (--database or ETHICSDB_DATABASE)"
        )


def _file_system(folder: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """File system type of the mount that holds the folder; None where the system has no such list (macOS)."""
    if not mounts.exists():
        return None
    best, kind = "", None
    for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
        parts = line.split()
        point = parts[1].replace("\\040", " ")
        inside = folder.as_posix() == point or folder.as_posix().startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, parts[2]
    return kind
