"""The jobs that the benchmarks of this folder repeat, and their inputs: files of peers/gen.py, repeated by hard links."""
import glob, os, shutil

JOBS = {  # name: files, pipeline from {d} to {o}
    "B1": ("photos_s/*.jpg", "{d}/**/*.jpg | decode | resize 224x224 | encode jpeg 75 | {o}"),
    "B3": ("parquet/*.parquet", "{d}/**/*.parquet | where score > 0.9 | select id, cat, score, text | {o}"),
}


def repeat(pattern, times, into):
    """Links the files of pattern into the folder, each times times."""
    shutil.rmtree(into, ignore_errors=True)
    files = sorted(glob.glob(pattern))
    if not files:
        raise SystemExit(f"no file matches {pattern}: benchmarks/peers/gen.py makes them")
    for i in range(times):
        os.makedirs(f"{into}/{i:03}")
        for f in files:
            os.link(f, f"{into}/{i:03}/{os.path.basename(f)}")
