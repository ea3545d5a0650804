"""The shapes of functions and classes that Sluice calls."""

from typing import Any, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Optional, Protocol, Tuple, Union

import pyarrow as pa

Batch = pa.RecordBatch
Row = Mapping[str, Any]
Columns = Union[pa.RecordBatch, pa.Table, Mapping[str, Any]]
Schema = Union[str, pa.Schema, Mapping[str, Union[str, pa.DataType]]]

Item = Union[Tuple[int, Row], Columns]
Result = Union[Columns, Iterator[Item], AsyncIterator[Item], Awaitable[Columns]]


class BatchFunction(Protocol):
    """A function on batches. It has an attribute schema, unless the step is given one."""

    def __call__(self, batch: Any) -> Result: ...


class RowFunction(Protocol):
    """A function whose parameter is called row: it gets one row, and returns one, none (None) or several."""

    def __call__(self, row: Row) -> Union[Row, Iterable[Row], None, Awaitable[Union[Row, Iterable[Row], None]]]: ...


class Scorer(Protocol):
    """A class: made once in each process, then called on every batch. process may stand in for __call__."""

    schema: Union[Schema, Callable[[pa.Schema], Schema]]

    def __call__(self, batch: Any) -> Result: ...


class Attributes(Protocol):
    """What a class or function may say of itself besides its schema."""

    columns: Optional[Iterable[str]]  # what it reads
    version: Any  # instead of the hash of its module
    deterministic: bool  # False: a batch that fails is not divided
    batch_size: int  # most rows of a call
    takes: str  # batch, table, arrays, numpy, lists, pandas or row
