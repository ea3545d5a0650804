"""Functions whose cost is that of the way to Python and back."""

import pyarrow as pa


def identity(batch):
    return batch


identity.schema = lambda schema: schema


def copy(batch):
    return pa.RecordBatch.from_arrays([pa.concat_arrays([c, c.slice(0, 0)]) for c in batch.columns], names=batch.schema.names)


copy.schema = identity.schema
