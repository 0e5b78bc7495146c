"""Every error that ethicsdb raises on purpose.

EthicsdbError                 one clear sentence for a person; the command line prints it and exits with `exit_code`
├── DeclarationError          a YAML declaration is broken, doubled or names something unknown
├── SourceError               a source file can't be read as declared (file, row, field, what was expected)
├── NotFoundError             a name that is not in the registry (with a suggestion)
├── StoreError                the database file can't be used (newer schema, network file system)
├── QueryError                user SQL was refused or failed
│   └── QueryLimitError       user SQL ran into its time or memory limit
├── ModelError                a model or its endpoint can't be used at all (unreachable, wrong key, unknown model)
├── BudgetError               a stage came to the end of its budget; the same command with a larger one goes on
└── InterruptedRunError       a stage was stopped by a person; the same command goes on from there
"""

from __future__ import annotations

__all__ = [
    "BudgetError",
    "DeclarationError",
    "EthicsdbError",
    "InterruptedRunError",
    "ModelError",
    "NotFoundError",
    "QueryError",
    "QueryLimitError",
    "SourceError",
    "StoreError",
]


class EthicsdbError(Exception):
    """A fault with one clear sentence that says what happened and how to mend it."""

    exit_code = 1


class DeclarationError(EthicsdbError):
    """A declaration is broken or doubled; the message starts with `file:line:`."""


class SourceError(EthicsdbError):
    """A source file does not hold what its declaration says; the message names file, row and field."""


class NotFoundError(EthicsdbError):
    """A name is not in the registry; the message suggests the nearest one."""


class StoreError(EthicsdbError):
    """The database file can't be opened safely."""


class QueryError(EthicsdbError):
    """User SQL was refused or failed."""


class QueryLimitError(QueryError):
    """User SQL needed more time or memory than its limit."""


class ModelError(EthicsdbError):
    """A model can't be asked at all; nothing was paid."""


class BudgetError(EthicsdbError):
    """The next call might cost more than is left; what was done is kept."""

    exit_code = 3


class InterruptedRunError(EthicsdbError):
    """A person stopped the stage; what was done is kept and the same command goes on."""

    exit_code = 130
