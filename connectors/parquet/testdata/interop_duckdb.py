"""The DuckDB side of TestDuckDB.

interop_duckdb.py check DIR   reads every *.parquet in DIR and compares with the *.arrow beside it, value by value.
interop_duckdb.py write DIR   writes files of DuckDB's, with the rows that pyarrow reads from each as an *.arrow beside it.
"""
import glob
import os
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq


def known(t):
    """Whether DuckDB has the type: it has no decimals of more than 38 digits, takes no float16 from Arrow, and reads times as of a zone, as Arrow writes them."""
    if pa.types.is_nested(t):
        return all(known(t.field(i).type) for i in range(t.num_fields))
    return not (pa.types.is_decimal256(t) or pa.types.is_time(t) or pa.types.is_float16(t) or isinstance(t, pa.BaseExtensionType))


def check(folder):
    files = columns = 0
    for path in sorted(glob.glob(os.path.join(folder, "*.parquet"))):
        with pa.OSFile(path[: -len("parquet")] + "arrow") as f:
            want = pa.ipc.open_stream(f).read_all()
        con = duckdb.connect()
        con.execute("set timezone='UTC'")
        got = con.execute("select count(*) from read_parquet(?)", [path]).fetchall()[0][0]
        if got != want.num_rows:
            raise SystemExit(f"{path}: {got} rows, want {want.num_rows}")
        names = [f.name for f in want.schema if known(f.type)]
        if not names or not got:
            continue
        for name in names:
            con.register("want", want.select([name]))
            try:
                con.execute("create or replace table w as select * from want")
            except duckdb.InvalidInputException as e:
                if "duplicate key" in str(e):  # its maps have none
                    continue
                raise
            con.execute(f"""create or replace table g as select "{name}" from read_parquet('{path}')""")
            bad = con.execute(f'select w."{name}", g."{name}" from w positional join g where w."{name}" is distinct from g."{name}" limit 3').fetchall()
            if bad:
                raise SystemExit(f"{path}: column {name} of {want.schema.field(name).type} differs: {bad}")
            columns += 1
        stats = con.execute("select count(*) from parquet_metadata(?) where stats_null_count is null", [path]).fetchall()[0][0]
        if stats:
            raise SystemExit(f"{path}: {stats} chunks without null counts")
        files += 1
    print(f"checked {files} files, {columns} columns")


FLAT = """
  case when i % 7 <> 0 then (i * 7919 % 1000)::integer end as i32, (i * 7919)::bigint as i64, (i % 100)::tinyint as i8, (i % 200)::utinyint as u8,
  (i * 60000)::uinteger as u32, (i % 3000)::ubigint * 6000000000000000::ubigint as u64, (i / 7)::float as f32, case when i % 9 <> 0 then i / 7 end as f64,
  (i % 1000 / 10)::decimal(4, 1) as d4, (i / 3)::decimal(9, 2) as d9, (i / 3)::decimal(18, 3) as d18, (i / 3)::decimal(38, 4) as d38,
  case when i % 5 <> 0 then 'word ' || (i % 50) end as word, 'text number ' || i as text, encode('x' || i) as blob, i % 3 = 0 as flag,
  date '2000-01-01' + i::integer as day, time '00:00:00' + interval (i) second as clock, timestamp '2001-02-03' + interval (i) minute as ts,
  (timestamp '2001-02-03' + interval (i) minute)::timestamp_s as ts_s, (timestamp '2001-02-03' + interval (i) minute)::timestamp_ms as ts_ms,
  (timestamp '2001-02-03' + interval (i) minute)::timestamp_ns as ts_ns, (timestamp '2001-02-03' + interval (i) minute)::timestamptz as tstz,
  ('00000000-0000-0000-0000-' || lpad((i % 1000)::varchar, 12, '0'))::uuid as id, (['red', 'green', 'blue'][1 + i % 3])::enum('red', 'green', 'blue') as colour
"""
NESTED = """
  case when i % 6 <> 0 then range(i % 4) end as list, case when i % 4 <> 0 then {'a': i, 'b': case when i % 3 <> 0 then 'b' || i end} end as row,
  case when i % 5 <> 0 then [{'k': i, 'v': case when i % 2 = 0 then [i, null, 3] end}, null] end as rows,
  case when i % 8 <> 0 then map(['k' || i % 3, 'other'], [i, null]) end as map, [[1, i], [], null] as deep, [i, 2, 3]::integer[3] as three
"""


def write(folder):
    con = duckdb.connect()
    con.execute("set timezone='UTC'")
    n = 0
    for what in (FLAT, NESTED):
        for rows in (0, 1, 5000):
            for version in ("v1", "v2"):
                for codec in ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"):
                    if rows != 5000 and codec != "snappy":
                        continue
                    path = os.path.join(folder, f"duckdb{n:03d}_no_arrow_schema.parquet")
                    con.execute(f"copy (select {what} from range({rows}) t(i)) to '{path}' (format parquet, compression {codec}, row_group_size 2048, parquet_version {version})")
                    back = pq.read_table(path)
                    with pa.OSFile(path[: -len("parquet")] + "arrow", "wb") as f, pa.ipc.new_stream(f, back.schema) as w:
                        w.write_table(back)
                    n += 1


if __name__ == "__main__":
    {"check": check, "write": write}[sys.argv[1]](sys.argv[2])
