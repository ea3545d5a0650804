"""Opens a record in a segment of shared memory: PATH OFFSET LENGTH SCHEMA-STREAM HAS-SCHEMA. No buffer may be copied, all lie at multiples of 64."""
import mmap
import struct
import sys

import pyarrow as pa

path, offset, length, schema, has_schema = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5] == "true"
with open(path, "r+b") as f:
    segment = mmap.mmap(f.fileno(), 0)
whole = pa.py_buffer(segment)
stream = whole.slice(offset, length)
if has_schema:
    batch = pa.ipc.open_stream(stream).read_next_batch()
else:
    batch = pa.ipc.read_record_batch(pa.ipc.read_message(stream), pa.ipc.open_stream(schema).schema)
batch.validate(full=True)
assert batch.num_rows == 1000, batch.num_rows
for column in batch.columns:
    for buf in column.buffers():
        if buf is not None and buf.size:
            assert whole.address <= buf.address < whole.address + whole.size, "a buffer was copied"
            assert buf.address % 64 == 0, buf.address % 64
numbers = batch.column(0).buffers()[1].address - whole.address
struct.pack_into("<q", segment, numbers, struct.unpack_from("<q", segment, numbers)[0] + 1)
