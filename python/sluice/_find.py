"""How a class or function is found, and what it says of itself before anything runs."""

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Mapping

import pyarrow as pa

TAKES = ("batch", "table", "arrays", "numpy", "lists", "pandas", "row")


class Mistake(Exception):
    """A mistake in the program, such as a missing column: no row is to blame."""


def find(target, paths=()):
    """Imports module:name or file.py:name and returns the object and its module."""
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise Mistake(f"{target!r} names no class or function: write module:Name or path/file.py:Name")
    for p in reversed([os.path.abspath(p) for p in paths] + [os.getcwd()]):
        if p not in sys.path:
            sys.path.insert(0, p)
    if where.endswith(".py"):
        file = os.path.abspath(where)
        if not os.path.isfile(file):
            raise Mistake(f"there is no file {where}")
        sys.path.insert(0, os.path.dirname(file))
        stem = os.path.splitext(os.path.basename(file))[0]
        spec = importlib.util.spec_from_file_location(stem, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[stem] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(where)
    obj = module
    for part in name.split("."):
        if not hasattr(obj, part):
            own = [k for k, v in vars(obj).items() if callable(v) and not k.startswith("_") and getattr(v, "__module__", None) == module.__name__]
            raise Mistake(f"{where} has no {part}" + (f"; it has {', '.join(own[:10])}" if own else ""))
        obj = getattr(obj, part)
    if not callable(obj):
        raise Mistake(f"{target} is {type(obj).__name__}, and neither a class nor a function")
    return obj, module


def method_of(obj):
    """The function that is called on batches: of a class its __call__ or process, unbound."""
    if not inspect.isclass(obj):
        return obj if inspect.isroutine(obj) or not hasattr(obj, "process") else obj.process
    for name in ("__call__", "process"):
        if any(name in vars(k) for k in obj.__mro__[:-1]):
            return getattr(obj, name)
    raise Mistake(f"class {obj.__name__} has neither __call__ nor process")


def first_parameter(obj, fn):
    params = [p for p in inspect.signature(fn).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    bound = inspect.isclass(obj) and not isinstance(inspect.getattr_static(obj, fn.__name__, None), staticmethod)
    params = params[1:] if bound else params
    if not params:
        raise Mistake(f"{getattr(fn, '__qualname__', fn)} takes no argument; it gets the batch")
    return params[0]


def takes_of(obj, fn):
    """In which form the function wants a batch: by its attribute takes, or by its first parameter."""
    said = getattr(obj, "takes", None)
    if said is not None:
        if said not in TAKES:
            raise Mistake(f"takes = {said!r}: there are {', '.join(TAKES)}")
        return said
    try:
        p = first_parameter(obj, fn)
    except ValueError:  # a builtin that has no signature
        return "batch"
    if p.name == "row":
        return "row"
    kind = "" if p.annotation is p.empty else p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "") + " " + str(p.annotation)
    kind = kind.lower()
    if "dict" in kind or "mapping" in kind:
        return "numpy" if "ndarray" in kind else "lists" if "list" in kind.replace("typing.list", "list") else "arrays"
    return "pandas" if "dataframe" in kind else "table" if "table" in kind else "batch"


def describe(target, paths=(), schema=None):
    """What the engine must know before anything runs, as plain data. schema is that of the input, for classes that compute theirs."""
    obj, module = find(target, paths)
    fn = method_of(obj)
    out = getattr(obj, "schema", None)
    asks = callable(out) and not isinstance(out, pa.Schema)
    if asks:
        out = None if schema is None else out(schema)
        if out is None and schema is not None:
            raise Mistake(f"{target}: schema(input) returned None")
    version = getattr(obj, "version", None)
    columns = getattr(obj, "columns", None)
    if isinstance(columns, str):
        columns = [columns]
    return {
        "kind": "class" if inspect.isclass(obj) else "function",
        "code": f"version {version}" if version is not None else digest(module),
        "schema": None if out is None else fields_of(out, target),
        "asks": asks,
        "columns": None if columns is None else [str(c) for c in columns],
        "random": getattr(obj, "deterministic", True) is False,
        "batch": int(getattr(obj, "batch_size", 0) or 0),
        "takes": takes_of(obj, fn),
        "file": getattr(module, "__file__", None) or "",
    }


def digest(module):
    """A hash of the source of a module, so that other code is another command."""
    file = getattr(module, "__file__", None)
    if not file or not os.path.isfile(file):
        return ""
    with open(file, "rb") as f:
        return "sha256 " + hashlib.sha256(f.read()).hexdigest()[:32]


def fields_of(schema, target):
    """A schema attribute as a list of [name, type text] or [name, serialized schema]."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, pa.Schema):
        schema = {f.name: f for f in schema}  # with its metadata, which says what is a picture
    if not isinstance(schema, Mapping):
        raise Mistake(f"{target}: schema is {type(schema).__name__}; it is a dict of names and types, text, or a pyarrow.Schema")
    out = []
    for name, t in schema.items():
        if isinstance(t, (pa.DataType, pa.Field)):
            field = t if isinstance(t, pa.Field) else pa.field(name, t)
            out.append({"name": name, "ipc": pa.schema([field]).serialize().to_pybytes().hex()})
        elif isinstance(t, str):
            out.append({"name": name, "type": t})
        else:
            raise Mistake(f"{target}: schema says {t!r} for {name!r}; a type is text such as 'float64', or a pyarrow.DataType")
    return out
