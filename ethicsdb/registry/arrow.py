"""From records to Arrow, with the types of the table that they go into."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args

from ethicsdb.registry.journal import Batch
from ethicsdb.schemas.text import exact_bytes, storable

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Table
    from sqlmodel import SQLModel

__all__ = ["ORDINAL", "TableShape", "all_shapes", "as_arrow", "batches_as_arrow", "table_class"]

ORDINAL = "ordinal_of_incoming"  # the column that tells in which order records came


class TableShape:
    """What ingest needs to know of a table."""

    def __init__(self, model: type[SQLModel]) -> None:
        self.model = model
        self.name: str = str(model.__tablename__)
        self.table: Table = model.__table__  # type: ignore[attr-defined]  # SQLModel sets it
        # Column name: Python type of its values, NULL aside.
        self.columns = {name: _plain(field.annotation) for name, field in model.model_fields.items()}

    def identity(self) -> tuple[str, ...]:
        """The columns that tell rows apart."""
        own = tuple(getattr(self.model, "content_key", ()))
        return own or tuple(column.name for column in self.table.primary_key)

    def shared_rows(self) -> bool:
        """Whether several journals may bring the same row: catalog rows and shared facts."""
        return bool(getattr(self.model, "shared", True))

    def exact(self) -> tuple[str, ...]:
        """Text columns with an exact form beside them."""
        return tuple(getattr(self.model, "exact", ()))


def _plain(annotation: Any) -> type:
    """The type of an annotation such as `int` or `int | None`."""
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    found: type = kinds[0] if kinds else annotation
    return found


@cache
def _shapes() -> dict[str, TableShape]:
    from ethicsdb.schemas import catalog, facts, items

    found = {}
    for module in (catalog, facts):
        for name in module.__all__:
            shape = TableShape(getattr(module, name))
            found[shape.name] = shape
    for kind, model in items.ITEM_KINDS.items():
        found[kind] = TableShape(model)
    return found


def all_shapes() -> list[TableShape]:
    """Every table of the database."""
    return list(_shapes().values())


def table_class(name: str) -> TableShape:
    """The shape of a table by its name in the database."""
    return _shapes()[name]


def as_arrow(shape: TableShape, records: list[dict[str, Any]]) -> pa.Table:
    """An Arrow table of the records, all columns of the table filled (NULL where a record has none).

    Texts with lone surrogates, which Arrow refuses, are stored in their replaced form with the exact bytes beside.
    """
    return _table(shape, {name: [record.get(name) for record in records] for name in shape.columns}, len(records))


def batches_as_arrow(shape: TableShape, batches: list[Batch]) -> pa.Table:
    """An Arrow table of journal batches, like `as_arrow`, with a last column `ORDINAL` that numbers the rows."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {name: [] for name in shape.columns}
    for batch in batches:
        brought = dict(zip(batch.columns, zip(*batch.rows, strict=True), strict=True)) if batch.rows else {}
        for name, values in columns.items():
            values.extend(brought.get(name) or [None] * len(batch.rows))
    rows = sum(len(batch.rows) for batch in batches)
    return _table(shape, columns, rows).append_column(ORDINAL, pa.array(range(rows), type=pa.int64()))


def _table(shape: TableShape, columns: dict[str, list[Any]], rows: int) -> pa.Table:
    import pyarrow as pa

    exact = {f"{name}_exact": name for name in shape.exact()}
    arrays = []
    for name, kind in shape.columns.items():
        if name in exact:
            arrays.append(_exact(columns[exact[name]], rows))
        elif kind is str:
            arrays.append(_text(columns[name]))
        else:
            arrays.append(pa.array([_plain_value(value, kind) for value in columns[name]], type=_arrow_type(kind)))
    return pa.Table.from_arrays(arrays, names=list(shape.columns))


def _text(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, type=pa.string())
    except UnicodeEncodeError:  # few columns hold a lone surrogate, so that looking for them first would not pay
        return pa.array([storable(value) if isinstance(value, str) else value for value in values], type=pa.string())


def _exact(values: list[Any], rows: int) -> pa.Array:
    import pyarrow as pa

    try:
        "".join(value for value in values if value is not None).encode()
    except UnicodeEncodeError:
        return pa.array([exact_bytes(value) for value in values], type=pa.binary())
    return pa.nulls(rows, type=pa.binary())


def _plain_value(value: Any, kind: type) -> Any:
    """Times come as text, in ISO form."""
    return datetime.fromisoformat(value).replace(tzinfo=None) if kind is datetime and isinstance(value, str) else value


def _arrow_type(kind: type) -> pa.DataType:
    import pyarrow as pa

    return {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        bytes: pa.binary(),
        datetime: pa.timestamp("us"),
    }[kind]
