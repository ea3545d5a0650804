"""How a class or function is called on a batch. The engine runs this inside its host processes, sluice.call in yours."""

import asyncio
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ._columns import ERROR, PARENT, as_array, as_parents, empty, given
from ._find import Mistake, find, method_of, takes_of

HERE = "<sluice>"  # the file name of this code inside a host process


class Failure:
    """What is told of an exception: its class, one line, and the traceback without our own frames."""

    def __init__(self, e, file=""):
        tb = e.__traceback__
        while tb is not None and tb.tb_frame.f_code.co_filename in (__file__, HERE):
            tb = tb.tb_next
        frames = traceback.extract_tb(tb)
        own = [f for f in frames if f.filename == file] or [f for f in frames if not f.filename.startswith("<frozen") and f.filename != importlib.__file__]
        t = type(e)
        self.name = t.__qualname__ if t.__module__ in ("builtins", "__main__") else f"{t.__module__}.{t.__qualname__}"
        text = " ".join(str(e).split())
        self.text = (f"{self.name}: {text}" if text else self.name)[:1000]
        if own and not isinstance(e, SyntaxError):
            self.text += f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno})"
        whole = "".join(traceback.format_exception(t, e, tb, limit=-40))
        self.traceback = whole if len(whole) <= 16000 else whole[:6000] + "\n…\n" + whole[-9000:]
        self.mistake = isinstance(e, Mistake)
        if self.mistake:
            self.text = " ".join(str(e).split())


class Result:
    """Columns for the rows of a batch. parents and errors are None or columns beside them; failures hold a few tracebacks."""

    def __init__(self, arrays, rows, parents=None, errors=None, failures=()):
        self.arrays, self.rows, self.parents, self.errors, self.failures = arrays, rows, parents, errors, list(failures)


class Function:
    """A class or function, ready to be called on batches."""

    def __init__(self, target, args=None, paths=(), out=None, takes=None, concurrency=32, schema=None):
        obj, module = find(target, paths) if isinstance(target, str) else (target, sys.modules.get(getattr(target, "__module__", ""), None))
        self.file = getattr(module, "__file__", "") or ""
        self.name = target if isinstance(target, str) else getattr(obj, "__qualname__", str(obj))
        self.out = out
        fn = method_of(obj)
        self.takes = takes or takes_of(obj, fn)
        # Whether a batch that comes back as it was given is right as a whole: batches and tables cannot be changed.
        self.whole = schema is not None and self.takes in ("batch", "table") and [(f.name, f.type) for f in schema] == [(f.name, f.type) for f in out]
        self.sound = set()  # names of columns that were found to be right, by the names of the batch
        self.concurrency = concurrency
        if inspect.isclass(obj):
            self.object = obj(**(args or {}))
            self.fn = getattr(self.object, fn.__name__)
        else:
            self.object = None
            self.fn = (lambda batch, f=fn, a=args: f(batch, **a)) if args else fn
        self.asynchronous = any(is_async(f) for f in (fn, getattr(fn, "__call__", None)))
        self.loop = None

    def wait(self, awaitable):
        """Runs a coroutine on the loop of this process, which is made when it is first needed and stays."""
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
        return self.loop.run_until_complete(awaitable)

    def close(self):
        """Calls the object's close, if it has one."""
        close = getattr(self.object, "close", None)
        if callable(close):
            result = close()
            if inspect.isawaitable(result):
                self.wait(result)
        if self.loop is not None:
            self.wait(self.loop.shutdown_asyncgens())
            self.loop.close()

    def __call__(self, batch):
        """The result for a batch, or None when it is the batch."""
        if self.takes == "row":
            return self.on_rows(batch)
        pieces = []
        arg = batch if self.takes == "batch" else given(batch, self.takes)
        value = self.fn(arg)
        if value is arg and self.whole:
            return None
        if type(value) in PLAIN:
            return self.join([self.piece(value, batch)], batch)
        if inspect.isasyncgen(value):
            value = self.wait(collect(value))
        elif inspect.isawaitable(value):
            value = self.wait(value)
        if inspect.isgenerator(value) or isinstance(value, Several):
            pieces = self.gather(value)
        else:
            pieces = [self.piece(value, batch)]
        if not pieces:
            return Result([empty(f) for f in self.out], 0, pa.array([], pa.uint32()))
        return self.join(pieces, batch)

    def gather(self, items):
        """The items of a generator: (parent, row) pairs, or batches with a parent column."""
        pieces, parents, rows = [], [], []
        for item in items:
            if isinstance(item, tuple) and len(item) == 2:
                parents.append(item[0])
                rows.append(item[1])
                continue
            if rows:
                pieces.append(self.of_rows(rows, parents))
                parents, rows = [], []
            pieces.append(self.piece(item, None))
        if rows:
            pieces.append(self.of_rows(rows, parents))
        return pieces

    def piece(self, value, batch):
        """One value that the function gave: a record batch, a table, a dict of columns, or anything that pyarrow makes a table of."""
        if value is None:
            raise Mistake(f"{self.name} returned None; it returns a record batch, a table or a dict of columns")
        if isinstance(value, (list, tuple)):
            raise Mistake(f"{self.name} returned a {type(value).__name__}; it returns a dict of columns, a record batch or a table")
        if isinstance(value, (pa.RecordBatch, pa.Table)):
            columns = dict(zip(value.schema.names, value.columns))
        elif isinstance(value, Mapping):
            columns = value
        else:
            try:
                table = pa.Table.from_pandas(value, preserve_index=False) if hasattr(value, "iloc") else pa.table(value)
            except (TypeError, ValueError) as e:
                raise Mistake(f"{self.name} returned {type(value).__name__}; it returns a record batch, a table or a dict of columns") from e
            columns = {n: table.column(i) for i, n in enumerate(table.schema.names)}
        names = (tuple(columns), None if batch is None else tuple(batch.schema.names))
        if names not in self.sound:
            self.check_names(columns, names[1])
            self.sound.add(names)
        arrays = [as_array(columns[f.name], f, self.name) for f in self.out]
        parents, errors = columns.get(PARENT), columns.get(ERROR)
        parents = None if parents is None else as_parents(parents, self.name)
        errors = None if errors is None else as_array(errors, pa.field(ERROR, pa.string()), self.name)
        extra = [(n, a) for n, a in ((PARENT, parents), (ERROR, errors)) if a is not None]
        lengths = {len(a) for a in arrays}
        lengths.update(len(a) for _, a in extra)
        if len(lengths) > 1:
            each = [(f.name, a) for f, a in zip(self.out, arrays)] + extra
            raise Mistake(f"{self.name} returned columns of different lengths: " + ", ".join(f"{n} {len(a)}" for n, a in each))
        rows = lengths.pop() if lengths else getattr(value, "num_rows", batch.num_rows if batch is not None else 0)
        return Result(arrays, rows, parents, errors)

    def check_names(self, columns, given_names):
        """Checks the names of the columns that were returned: all of the schema, and otherwise only those of the batch."""
        wanted = [f.name for f in self.out]
        for name in wanted:
            if name not in columns:
                raise Mistake(f"{self.name} returned no column {name!r}, which its schema has")
        for name in columns:
            if name not in wanted and name not in (PARENT, ERROR) and given_names is not None and name not in given_names:
                raise Mistake(f"{self.name} returned column {name!r}, which its schema lacks")

    def of_rows(self, rows, parents, errors=None):
        """A piece made of rows, which are dicts."""
        arrays = []
        for f in self.out:
            values = []
            for r in rows:
                if r is not None and not isinstance(r, Mapping):
                    raise Mistake(f"{self.name} gave a row that is {type(r).__name__}; a row is a dict")
                values.append(None if r is None else r.get(f.name))
            arrays.append(as_array(values, f, self.name))
        return Result(arrays, len(rows), None if parents is None else as_parents(parents, self.name), errors)

    def join(self, pieces, batch):
        """One result of all pieces, with parents in order."""
        r = pieces[0]
        if len(pieces) > 1:
            if len({(p.parents is None) for p in pieces}) > 1:
                raise Mistake(f"{self.name} gave some batches with a column {PARENT!r} and some without")
            arrays = [pa.concat_arrays([p.arrays[i] for p in pieces]) for i in range(len(self.out))]
            both = [p.errors if p.errors is not None else pa.nulls(p.rows, pa.string()) for p in pieces]
            errors = None if all(p.errors is None for p in pieces) else pa.concat_arrays(both)
            parents = None if r.parents is None else pa.concat_arrays([p.parents for p in pieces])
            r = Result(arrays, sum(p.rows for p in pieces), parents, errors)
        if r.parents is None:
            if r.rows != batch.num_rows:
                raise Mistake(f"{self.name} returned {r.rows} rows for {batch.num_rows}; return one for each, or a column {PARENT!r} with the row that each comes from")
            return r
        if r.rows > 1 and not pc.all(pc.less_equal(r.parents[:-1], r.parents[1:])).as_py():
            order = pc.sort_indices(r.parents)
            r = Result([a.take(order) for a in r.arrays], r.rows, r.parents.take(order), None if r.errors is None else r.errors.take(order))
        return r

    def on_rows(self, batch):
        """Calls the function once a row. What it raises fails that row; None leaves the row out; a list or generator gives several."""
        given_rows = batch.to_pylist()
        if self.asynchronous:
            values = self.wait(self.all_rows(given_rows))
        else:
            values = map(self.one_row, given_rows)
        parents, rows, errors, failures = [], [], [], []
        for i, v in enumerate(values):
            if isinstance(v, Failure):
                if v.mistake:
                    raise Mistake(v.text)
                failures.append(v)
                parents.append(i)
                rows.append(None)
                errors.append(v.text)
            else:
                for row in v:
                    parents.append(i)
                    rows.append(row)
                    errors.append(None)
        plain = len(rows) == len(given_rows) and all(p == i for i, p in enumerate(parents))
        r = self.of_rows(rows, None if plain else parents, pa.array(errors, pa.string()) if failures else None)
        r.failures = failures[:3]
        return r

    def one_row(self, row):
        try:
            value = self.fn(row)
            if value is None:
                return ()
            return (value,) if isinstance(value, Mapping) else list(value)
        except (Exception, SystemExit) as e:
            return Failure(e, self.file)

    async def all_rows(self, rows):
        gate = asyncio.Semaphore(self.concurrency)

        async def one(row):
            async with gate:
                try:
                    value = self.fn(row)
                    if inspect.isasyncgen(value):
                        return [v async for v in value]
                    value = await value
                    if value is None:
                        return ()
                    return (value,) if isinstance(value, Mapping) else list(value)
                except (Exception, SystemExit) as e:
                    return Failure(e, self.file)

        return await asyncio.gather(*(one(r) for r in rows))


def is_async(f):
    return inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f)


PLAIN = (pa.RecordBatch, pa.Table, dict)


class Several(list):
    """What an asynchronous generator gave."""


async def collect(items):
    return Several([v async for v in items])
