"""Calling a function here as a pipeline would."""

from typing import Any, Callable, List, Mapping, Optional, Tuple, Union

import pyarrow as pa

from ._call import Function
from ._find import Mistake, find, method_of

_TYPES = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(), "int": pa.int64(),
    "uint8": pa.uint8(), "uint16": pa.uint16(), "uint32": pa.uint32(), "uint64": pa.uint64(), "float32": pa.float32(), "float64": pa.float64(),
    "float": pa.float64(), "string": pa.string(), "large_string": pa.large_string(), "binary": pa.binary(), "large_binary": pa.large_binary(),
    "image": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip


class Failed(Exception):
    """Rows failed. errors are pairs of the row's number and what is said of it; table are the rows that did not."""

    def __init__(self, errors: List[Tuple[int, str]], table: pa.Table) -> None:
        super().__init__("; ".join(f"row {i}: {text}" for i, text in errors[:5]))
        self.errors, self.table = errors, table


def call(target: Union[str, Callable[..., Any]], batch: Any, schema: Optional[Mapping[str, pa.DataType]] = None, **args: Any) -> pa.Table:
    """Makes the object, calls it once on batch (a record batch, a table, or a dict of columns) and returns the columns that it gives, with the column
    _parent where rows do not correspond one to one. What the function raises is raised; rows that it marks as failed raise Failed."""
    batch = pa.RecordBatch.from_pydict(dict(batch)) if isinstance(batch, Mapping) else batch
    if isinstance(batch, pa.Table):
        batch = pa.RecordBatch.from_arrays([c.combine_chunks() for c in batch.columns], names=batch.schema.names)
    obj = find(target)[0] if isinstance(target, str) else target
    method_of(obj)
    f = Function(target, args, out=_fields(schema if schema is not None else getattr(obj, "schema", None), batch.schema))
    try:
        r = f(batch)
    finally:
        f.close()
    table = pa.Table.from_arrays(r.arrays, schema=pa.schema(f.out))
    if r.parents is not None:
        table = table.append_column("_parent", r.parents)
    if r.errors is None or r.errors.null_count == len(r.errors):
        return table
    at = r.parents.to_pylist() if r.parents is not None else range(r.rows)
    errors = [(i, e) for i, e in zip(at, r.errors.to_pylist()) if e is not None]
    raise Failed(errors, table.filter(r.errors.is_null()))


def _fields(schema: Any, given: pa.Schema) -> List[pa.Field]:
    if callable(schema) and not isinstance(schema, pa.Schema):
        schema = schema(given)
    if isinstance(schema, pa.Schema):
        return list(schema)
    if isinstance(schema, str):
        schema = dict(c.replace(":", " ").split(None, 1) for c in schema.split(","))
    if not isinstance(schema, Mapping):
        raise Mistake('it does not say which columns it returns: give it an attribute such as schema = {"score": "float64"}')
    return [pa.field(n, t if isinstance(t, pa.DataType) else _type(t)) for n, t in schema.items()]


def _type(text: str) -> pa.DataType:
    """The type of a name. struct<…> and decimal(…) are for the engine to read: give those as pyarrow types here."""
    t = text.strip()
    if t in _TYPES:
        return _TYPES[t]
    if t.startswith("list<") and t.endswith(">"):
        inner, comma, size = t[5:-1].rpartition(",")
        return pa.list_(_type(inner), int(size)) if comma and size.strip().isdigit() else pa.list_(_type(t[5:-1]))
    if t.startswith("timestamp[") and t.endswith("]"):
        return pa.timestamp(t[10:-1], "UTC")
    raise Mistake(f"unknown type {text!r}; give it as a pyarrow type")
