import importlib.util, json, sys, os, types
def read(n):
    data = b""
    while len(data) < n:
        part = os.read(3, n - len(data))
        if not part: os._exit(0)
        data += part
    return data
parent = types.ModuleType("_sluice"); parent.__path__ = []; sys.modules["_sluice"] = parent
try: import pyarrow
except ImportError as e:
    text = json.dumps({"op": "failed", "text": str(e), "name": "pyarrow", "traceback": "", "mistake": True}).encode()
    os.write(3, len(text).to_bytes(4, "little") + text); sys.exit(0)
for name, text in json.loads(read(int.from_bytes(read(4), "little"))):
    m = types.ModuleType("_sluice." + name); m.__package__ = "_sluice"; m.__file__ = "<sluice>"
    sys.modules[m.__name__] = m
    exec(compile(text, "<sluice>", "exec"), m.__dict__)
