"""The engine's end in a host process: loads a class once and calls it on batches in shared memory.

Messages come after four bytes of length, on the socket that is file descriptor 3. Those of every batch, calls and their answers, are packed (CALL
and DONE); all others are JSON. Batches are Arrow IPC messages in files of shared memory, which are mapped, not read.
"""

import gc
import json
import mmap
import os
import signal
import socket
import struct
import sys
import threading

import pyarrow as pa

from ._call import Failure, Function
from ._columns import ERROR, PARENT
from ._find import Mistake, describe


# A call: "C", whether the batch is a whole stream, lengths of the names of the input's and the room's segments, offset and length of the input,
# those of the room for what is returned. The names follow. A room of length 0 is none.
CALL = struct.Struct("<cBHHqqqq")
# The answer to a call, after its length: "D", flags, number of passed columns, rows, bytes written into the room. For each passed column two numbers
# follow: of the column that was returned, and of the input's that it is.
DONE = struct.Struct("<IcBHqq")
PAIR = struct.Struct("<HH")
HAS_PARENTS, HAS_ERRORS, HAS_WRITTEN, HAS_KEPT, IS_WHOLE = 1, 2, 4, 8, 16  # whole: the batch itself was returned


class Channel:
    """The control socket."""

    def __init__(self, sock):
        self.sock, self.buffer = sock, b""

    def receive(self):
        """The next message as bytes, or None when the engine is gone."""
        data = self.buffer or self.sock.recv(1 << 16)
        while True:
            if len(data) >= 4:
                end = 4 + int.from_bytes(data[:4], "little")
                if len(data) >= end:
                    self.buffer = data[end:]
                    return data[4:end]
            more = self.sock.recv(1 << 16)
            if not more:
                return None
            data += more

    def send(self, **message):
        data = json.dumps(message).encode()
        self.sock.sendall(len(data).to_bytes(4, "little") + data)


class Maps:
    """Files of shared memory, mapped once."""

    def __init__(self, writable):
        self.writable, self.open = writable, {}

    def view(self, name, offset, length):
        m = self.open.get(name)
        if m is None:
            fd = os.open(name, (os.O_RDWR if self.writable else os.O_RDONLY) | os.O_CLOEXEC)
            try:
                prot = mmap.PROT_READ | (mmap.PROT_WRITE if self.writable else 0)
                m = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0), prot=prot)
            finally:
                os.close(fd)
            self.open[name] = m = memoryview(m)
        return m[offset : offset + length]


class Host:
    def __init__(self, channel):
        self.channel, self.pid = channel, os.getpid()
        self.inputs, self.outputs = Maps(False), Maps(True)
        self.function = self.schema = self.out = None

    def serve(self):
        """Answers messages until the engine closes the connection."""
        while True:
            data = self.channel.receive()
            if data is None:
                return
            try:
                if data[0] == 67:  # C
                    self.on_call(data)
                else:
                    message = json.loads(data)
                    getattr(self, "on_" + message["op"])(message)
            except BaseException as e:  # whatever the user's code raises, SystemExit included
                self.failed(e)

    def failed(self, e):
        self.only_here()
        self.channel.send(op="failed", **told(e, getattr(self.function, "file", "")))
        e.__traceback__ = None

    def only_here(self):
        """Ends copies of this process that user code made by fork and let return to us."""
        if os.getpid() != self.pid:
            os._exit(1)

    def on_describe(self, m):
        schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(m["schema"]))) if m.get("schema") else None
        self.channel.send(op="described", **describe(m["target"], m["path"], schema))

    def on_load(self, m):
        self.schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(m["in"])))
        self.out = list(pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(m["out"]))))
        if m["threads"]:
            pa.set_cpu_count(m["threads"])
        self.function = Function(m["target"], m["args"], m["path"], self.out, m["takes"] or None, m["concurrency"], self.schema)
        gc.collect()
        gc.freeze()
        self.channel.send(op="loaded")

    def on_close(self, _):
        self.function.close()
        self.channel.send(op="closed")

    def on_call(self, data):
        _, stream, name, other, at, n, out_at, out_n = CALL.unpack_from(data)
        names = CALL.size + name
        view = self.inputs.view(data[CALL.size : names], at, n)
        room = (data[names : names + other], out_at, out_n) if out_n else None
        answer = failure = None
        try:
            answer = self.answer(view, stream, room)
        except (Exception, SystemExit) as e:
            failure = told(e, self.function.file)
            e.__traceback__ = None
        kept = False
        try:
            view.release()
        except BufferError:  # the function keeps a part of the batch, or a cycle does
            gc.collect()
            try:
                view.release()
            except BufferError:
                kept = True
        self.only_here()
        if failure is not None:
            self.channel.send(op="failed", kept=kept, **failure)
            return
        rows, flags, passed, written = answer
        flags |= HAS_KEPT * kept
        body = b"".join([PAIR.pack(*p) for p in passed]) if passed else b""
        self.channel.sock.sendall(DONE.pack(DONE.size - 4 + len(body), b"D", flags, len(passed), rows, written) + body)

    def answer(self, view, stream, room):
        """Calls the function; returns the number of rows, flags, passed columns, and how much was written into the room."""
        buffer = pa.py_buffer(view)
        batch = pa.ipc.open_stream(buffer).read_next_batch() if stream else pa.ipc.read_record_batch(buffer, self.schema)
        result = self.function(batch)
        if result is None:
            return batch.num_rows, IS_WHOLE, (), 0
        return self.write(room, buffer, batch, result)

    def write(self, room, buffer, batch, result):
        """Writes the columns that are not the input's own."""
        self.only_here()
        passed, fields, arrays, flags = [], [], [], 0
        mine = Columns(batch, buffer) if result.parents is None else None
        for i, (f, a) in enumerate(zip(self.out, result.arrays)):
            j = -1 if mine is None else mine.find(a)
            if j >= 0:
                passed.append((i, j))
            else:
                fields.append(f)
                arrays.append(a)
        for name, a, flag in ((PARENT, result.parents, HAS_PARENTS), (ERROR, result.errors, HAS_ERRORS)):
            if a is not None:
                flags |= flag
                fields.append(pa.field(name, a.type))
                arrays.append(a)
        if result.failures:
            self.channel.send(op="tracebacks", tracebacks=[f.traceback for f in result.failures])
        written = 0
        if arrays:
            flags |= HAS_WRITTEN
            written = self.put(room, pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)))
        return result.rows, flags, passed, written

    def put(self, room, record):
        """Writes a record into the room that the engine gave, or into more that it is asked for; returns how long it is there."""
        guess = record.nbytes + 4096 + 512 * record.num_columns
        if guess <= SMALL and not any(nested(f.type) for f in record.schema):
            message = record.serialize()  # the engine knows the schema; a copy of little is cheaper than a stream
            if room is None or room[2] < len(message):
                room = self.more(guess)
            view = self.outputs.view(*room)
            view[: len(message)] = memoryview(message).cast("B")
            return len(message)
        if room is None or room[2] < guess:
            room = self.more(guess)
        while True:
            view = self.outputs.view(*room)
            try:
                sink = pa.FixedSizeBufferWriter(pa.py_buffer(view))
                try:
                    with pa.ipc.new_stream(sink, record.schema) as w:
                        w.write_batch(record)
                    return sink.tell()
                finally:
                    sink.close()
                    del sink
            except (pa.ArrowInvalid, OSError):
                count = pa.MockOutputStream()
                with pa.ipc.new_stream(count, record.schema) as w:
                    w.write_batch(record)
                if count.size() <= room[2]:
                    raise
                room = self.more(count.size())
            finally:
                del view

    def more(self, n):
        self.only_here()
        self.channel.send(op="room", len=n)
        answer = self.channel.receive()
        if answer is None:
            os._exit(0)
        answer = json.loads(answer)
        if answer.get("full"):
            raise Mistake(answer["full"])
        name, at, length = answer["out"]
        return name.encode(), at, length


SMALL = 256 << 10  # bytes of a record


class Columns:
    """The columns of a batch by their memory: one that a function returns as it was given is not written out."""

    def __init__(self, batch, buffer):
        self.batch, self.low, self.high = batch, buffer.address, buffer.address + buffer.size
        self.known = None

    def find(self, a):
        """The number of the column that an array is, or -1."""
        buffers = a.buffers()
        last = buffers[-1] if buffers else None
        if last is None or not self.low <= last.address < self.high:
            return -1
        if self.known is None:
            self.known = {}
            for j, c in enumerate(self.batch.columns):
                self.known.setdefault(key(c, c.buffers()), []).append((j, c))
        for j, c in self.known.get(key(a, buffers), ()):
            if a.type == c.type and (not nested(a.type) or same(a, c)):
                return j
        return -1


def key(a, buffers):
    return (len(a), a.offset, tuple([None if b is None else (b.address, b.size) for b in buffers]))


def nested(t):
    return t.num_fields > 0 or isinstance(t, pa.BaseExtensionType) or pa.types.is_dictionary(t)


def same(a, b):
    """Whether two arrays are the same stretch of the same memory."""
    if a.type != b.type or len(a) != len(b) or a.offset != b.offset:
        return False
    for x, y in zip(a.buffers(), b.buffers()):
        if (x is None) != (y is None) or x is not None and (x.address != y.address or x.size != y.size):
            return False
    t = a.type
    if isinstance(t, pa.BaseExtensionType):
        return same(a.storage, b.storage)
    if pa.types.is_dictionary(t):
        return same(a.dictionary, b.dictionary)
    if pa.types.is_struct(t):
        return all(same(a.field(i), b.field(i)) for i in range(t.num_fields))
    if pa.types.is_map(t):
        return same(a.keys, b.keys) and same(a.items, b.items)
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return same(a.values, b.values)
    return not pa.types.is_nested(t)


def told(e, file):
    f = Failure(e, file)
    return dict(text=f.text, name=f.name, traceback=f.traceback, mistake=f.mistake)


def watch(fd):
    """Ends the process group when the engine is gone, also in the middle of a call."""
    try:
        os.read(fd, 1)
    finally:
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def main():
    sock = socket.socket(fileno=3)
    for fd in (3, 4):
        os.set_inheritable(fd, False)
    host = Host(Channel(sock))
    os.register_at_fork(after_in_child=lambda: (os.close(3), os.close(4)))
    threading.Thread(target=watch, args=(4,), daemon=True).start()
    host.channel.send(op="started", python=sys.version.split()[0], pyarrow=pa.__version__)
    host.serve()


if __package__ == "_sluice":  # the engine's name for it
    main()
