"""The NumPy side of TestNumPy: "write DIR" writes arrays, "check DIR" compares DIR/out/* with DIR/want/*."""
import os
import sys

import numpy as np

rng = np.random.default_rng(7)


def arrays():
    for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "M8[D]", "M8[s]", "M8[ms]", "M8[us]", "M8[ns]", "m8[ns]", "m8[s]"):
        for order in ("<", ">"):
            for fortran in (False, True):
                for shape in ((0,), (1,), (57,), (20, 3), (9, 2, 3, 4)):
                    n = int(np.prod(shape))
                    if kind[0] in "Mm":
                        a = rng.integers(-20000, 20000, n).astype("i8").astype(order + kind)
                        a[::7] = np.datetime64("NaT") if kind[0] == "M" else np.timedelta64("NaT")
                    elif kind == "?":
                        a = rng.integers(0, 2, n).astype("?")
                    elif kind[0] == "f":
                        a = rng.normal(size=n).astype(order + kind)
                        a[::5] = np.inf
                    else:
                        a = rng.integers(0, 256, n * int(kind[1])).astype("u1").view(order + kind)
                    a = a.reshape(shape)
                    yield f"{kind.strip('?').replace('[', '-').replace(']', '') or 'bool'}_{'be' if order == '>' else 'le'}_{'f' if fortran else 'c'}_{'x'.join(map(str, shape))}", np.asfortranarray(a) if fortran else a


def native(a):
    return np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<"))


def write(folder):
    os.mkdir(folder + "/want")
    for name, a in arrays():
        np.save(f"{folder}/{name}.npy", a)
        np.save(f"{folder}/want/{name}.npy", native(a))
    os.mkdir(folder + "/more")
    n = 300
    texts = np.array([f"é{i}" * (i % 4) for i in range(n)])
    many = dict(x=rng.normal(size=(n, 4)), y=np.arange(n), s=texts, b=np.array([b"ab%d" % i for i in range(n)]), f=np.asfortranarray(np.arange(n * 6).reshape(n, 3, 2)))
    np.savez(f"{folder}/more/stored.npz", **many)
    many["f"] = np.ascontiguousarray(many["f"])
    np.savez_compressed(f"{folder}/more/packed.npz", **many)
    np.savez(f"{folder}/more/uneven.npz", x=np.arange(3), y=np.arange(4))
    np.save(f"{folder}/more/objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    np.save(f"{folder}/more/complex.npy", np.zeros(3, "c16"))
    np.save(f"{folder}/more/fields.npy", np.zeros(3, [("a", "i4"), ("b", "f8")]))
    np.save(f"{folder}/more/scalar.npy", np.float64(2.5))


def check(folder):
    for name in sorted(os.listdir(folder + "/out")):
        want, got = np.load(f"{folder}/want/{name}"), np.load(f"{folder}/out/{name}")
        if want.dtype != got.dtype or want.shape != got.shape or want.tobytes() != got.tobytes():
            raise SystemExit(f"{name}: got {got.dtype} {got.shape} {got}, want {want.dtype} {want.shape} {want}")


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
