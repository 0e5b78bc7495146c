"""From records to Arrow, with the types of the table that they go into."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args

from ethicsdb.schemas.text import exact_bytes, storable

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Table
    from sqlmodel import SQLModel

__all__ = ["ORDINAL", "TableShape", "all_shapes", "as_arrow", "table_class"]

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

    Texts with lone surrogates, which Arrow refuses, are stored in their replaced form with the exact bytes beside. The
    last column, `ORDINAL`, numbers the records.
    """
    import pyarrow as pa

    exact = shape.exact()
    arrays, names = [], []
    for name, kind in shape.columns.items():
        if name.removesuffix("_exact") in exact and name.endswith("_exact"):
            values: list[Any] = [exact_bytes(record.get(name.removesuffix("_exact"))) for record in records]
        else:
            values = [_storable(record.get(name), kind) for record in records]
        arrays.append(pa.array(values, type=_arrow_type(kind)))
        names.append(name)
    arrays.append(pa.array(range(len(records)), type=pa.int64()))
    return pa.Table.from_arrays(arrays, names=[*names, ORDINAL])


def _storable(value: Any, kind: type) -> Any:
    if isinstance(value, str):
        return datetime.fromisoformat(value).replace(tzinfo=None) if kind is datetime else storable(value)
    return value


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
