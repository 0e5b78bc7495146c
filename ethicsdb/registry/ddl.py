"""CREATE TABLE for DuckDB from the SQLModel definitions.

DuckDB's FLOAT has 32 bits and its INTEGER too: a share would lose digits, and a byte offset or a sum of money could
overflow. Every number of a table therefore has 64 bits. Times are plain TIMESTAMPs in UTC.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from duckdb_engine import Dialect
from sqlalchemy import DateTime, Float, Integer, Table
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateTable

__all__ = ["create_table"]


@compiles(Float, "duckdb")
def _double(_type: Any, _compiler: Any, **_: Any) -> str:
    return "DOUBLE"


@compiles(Integer, "duckdb")
def _bigint(_type: Any, _compiler: Any, **_: Any) -> str:
    return "BIGINT"


@compiles(DateTime, "duckdb")
def _timestamp(_type: Any, _compiler: Any, **_: Any) -> str:
    return "TIMESTAMP"


@cache
def create_table(table: Table) -> str:
    """The statement that makes a table where it is missing."""
    return str(CreateTable(table, if_not_exists=True).compile(dialect=Dialect()))
