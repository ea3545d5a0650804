"""How a batch is given to a function, and how what it returns becomes columns of the types of its schema."""

import pyarrow as pa

from ._find import Mistake

PARENT = "_parent"
ERROR = "_error"


def given(batch, takes):
    """The batch in the form that the function wants."""
    if takes == "batch":
        return batch
    if takes == "table":
        return pa.Table.from_batches([batch])
    if takes == "pandas":
        return batch.to_pandas()
    columns = {n: batch.column(i) for i, n in enumerate(batch.schema.names)}
    if takes == "lists":
        return {n: c.to_pylist() for n, c in columns.items()}
    if takes == "numpy":
        return {n: as_numpy(c) for n, c in columns.items()}
    return columns


def as_numpy(a):
    """A column as numpy array; lists of one length become rows of a matrix. Nulls of numbers are NaN."""
    if isinstance(a, getattr(pa, "FixedShapeTensorArray", ())) and a.null_count == 0:
        return a.to_numpy_ndarray()
    if isinstance(a, pa.ExtensionArray):
        a = a.storage
    if pa.types.is_fixed_size_list(a.type) and a.null_count == 0 and not pa.types.is_nested(a.type.value_type):
        return a.flatten().to_numpy(zero_copy_only=False).reshape(len(a), a.type.list_size)
    return a.to_numpy(zero_copy_only=False)


def empty(field):
    return pa.array([], field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type)


def as_parents(values, name):
    """The parent column as uint32 without nulls."""
    try:
        a = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values if isinstance(values, pa.Array) else pa.array(values)
        if a.null_count:
            raise ValueError("there is a null")
        if not pa.types.is_integer(a.type) and len(a):
            raise TypeError(f"it is {a.type}")
        return a.cast(pa.uint32())
    except (pa.ArrowException, TypeError, ValueError) as e:
        raise Mistake(f"{name}: column {PARENT!r} holds the numbers of input rows: {e}") from e


def as_array(value, field, name):
    """A column that the function gave as an array of the type of its schema."""
    t = field.type
    if isinstance(value, pa.Array) and value.type == t:
        return value
    if isinstance(t, pa.BaseExtensionType) and not (isinstance(value, (pa.Array, pa.ChunkedArray)) and value.type == t):
        storage = value.storage if isinstance(value, pa.ExtensionArray) else value
        return pa.ExtensionArray.from_storage(t, as_array(storage, pa.field(field.name, t.storage_type), name))
    if isinstance(value, pa.ChunkedArray):
        value = value.chunk(0) if value.num_chunks == 1 else value.combine_chunks()
        if isinstance(value, pa.ChunkedArray):
            raise ValueError(f"column {field.name!r} holds more than fits one array; return fewer rows or the large_ type")
    if isinstance(value, pa.ExtensionArray) and value.type != t:
        value = value.storage
    if isinstance(value, pa.Array):
        if value.type == t:
            return value
        if not alike(value.type, t):
            raise Mistake(f"{name} returned column {field.name!r} as {value.type}, its schema says {t}")
        return value.cast(t)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or not hasattr(value, "__iter__"):
        raise Mistake(f"{name} returned column {field.name!r} as {type(value).__name__}; a column is an array or a list")
    if getattr(value, "ndim", 1) > 1:
        return matrix(value, field, name)
    return pa.array(value, type=t)


def matrix(value, field, name):
    """A numpy array of two or more dimensions as a list column: the first dimension are the rows."""
    t, n = field.type, value.shape[0]
    width = 1
    for d in value.shape[1:]:
        width *= d
    if not (pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t)):
        raise Mistake(f"{name} returned column {field.name!r} with {value.ndim} dimensions, its schema says {t}")
    if pa.types.is_fixed_size_list(t) and t.list_size != width:
        raise Mistake(f"{name} returned column {field.name!r} with {width} values a row, its schema says {t}")
    flat = pa.array(value.reshape(-1), type=t.value_type)
    if pa.types.is_fixed_size_list(t):
        return pa.FixedSizeListArray.from_arrays(flat, type=t)
    offsets = pa.array(range(0, (n + 1) * width, width) if width else [0] * (n + 1), pa.int64() if pa.types.is_large_list(t) else pa.int32())
    return (pa.LargeListArray if pa.types.is_large_list(t) else pa.ListArray).from_arrays(offsets, flat, type=t)


def alike(have, want):
    """Whether an array of one type stands for one of the other: the same kind of value in another width or encoding."""
    if pa.types.is_dictionary(have):
        have = have.value_type
        if have == want:
            return True
    if pa.types.is_dictionary(want):
        want = want.value_type
    k, w = kind(have), kind(want)
    if k == "null":
        return True
    if k == "list" and w == "list":
        return alike(have.value_type, want.value_type)
    return have == want or k is not None and (k == w or k == "int" and w == "float")


def kind(t):
    is_ = pa.types
    for name, tests in (
        ("null", (is_.is_null,)),
        ("int", (is_.is_integer,)),
        ("float", (is_.is_floating,)),
        ("text", (is_.is_string, is_.is_large_string, getattr(is_, "is_string_view", is_.is_string))),
        ("bytes", (is_.is_binary, is_.is_large_binary, is_.is_fixed_size_binary, getattr(is_, "is_binary_view", is_.is_binary))),
        ("list", (is_.is_list, is_.is_large_list, is_.is_fixed_size_list)),
        ("time", (is_.is_timestamp,)),
        ("date", (is_.is_date,)),
        ("duration", (is_.is_duration,)),
        ("decimal", (is_.is_decimal,)),
    ):
        if any(f(t) for f in tests):
            return name
    return None
