"""psycopg 3, unmodified. The server is that of PGHOST and PGPORT."""

import datetime
import decimal
import uuid

import psycopg

VALUES = {
    "bool": True,
    "int2": -(2**15),
    "int4": 2**31 - 1,
    "int8": -(2**63),
    "float4": 0.5,
    "float8": 1e300,
    "numeric": decimal.Decimal("12345678901234567890.123456"),
    "text": "naïve \t\n\\ ' \"",
    "varchar": "",
    "bytea": bytes(range(256)),
    "date": datetime.date(2024, 2, 29),
    "time": datetime.time(23, 59, 59, 999999),
    "timestamp": datetime.datetime(1999, 12, 31, 23, 59, 59, 1),
    "timestamptz": datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc),
    "uuid": uuid.UUID(int=1 << 127),
}


def types(conn):
    columns = ", ".join(f"c_{name} {name}" for name in VALUES)
    marks = ", ".join(["%s"] * len(VALUES))
    conn.execute("DROP TABLE IF EXISTS c_types")
    conn.execute(f"CREATE TABLE c_types (id int PRIMARY KEY, {columns})")
    given = list(VALUES.values())
    for number, mark in enumerate(("%s", "%b", "%t")):
        row = marks.replace("%s", mark)
        conn.execute(f"INSERT INTO c_types VALUES ({mark}, {row})", [number, *given])
    conn.execute("INSERT INTO c_types (id) VALUES (9)")
    for binary in (False, True):
        with conn.cursor(binary=binary) as cur:
            rows = cur.execute("SELECT * FROM c_types ORDER BY id").fetchall()
            assert [list(row[1:]) for row in rows[:3]] == [given] * 3, (binary, rows)
            assert rows[3][1:] == (None,) * len(given), rows[3]
    conn.execute("DROP TABLE c_types")


def batches_and_pipelines(conn):
    conn.execute("DROP TABLE IF EXISTS c_batch")
    conn.execute("CREATE TABLE c_batch (id serial PRIMARY KEY, n int CHECK (n >= 0))")
    with conn.cursor() as cur:
        cur.executemany("INSERT INTO c_batch (n) VALUES (%s) RETURNING n", [(n,) for n in range(500)], returning=True)
        assert cur.fetchone() == (0,)
    with conn.pipeline():
        found = [conn.execute("SELECT count(*) FROM c_batch WHERE n < %s", (n,)) for n in range(50)]
    assert [cur.fetchone()[0] for cur in found] == list(range(50))
    try:
        with conn.pipeline():
            conn.execute("INSERT INTO c_batch (n) VALUES (1000)")
            conn.execute("INSERT INTO c_batch (n) VALUES (-1)")
        raise AssertionError("a condition was not checked")
    except psycopg.errors.CheckViolation as error:
        assert error.diag.sqlstate == "23514"
    assert conn.execute("SELECT count(*) FROM c_batch WHERE n = 1000").fetchone() == (0,)
    # After five executions the statement is prepared.
    for n in range(10):
        assert conn.execute("SELECT n FROM c_batch WHERE n = %s", (n,)).fetchone() == (n,)
    conn.execute("DROP TABLE c_batch")


def transactions(conn):
    conn.execute("DROP TABLE IF EXISTS c_tx")
    conn.execute("CREATE TABLE c_tx (id int PRIMARY KEY)")
    with conn.transaction():
        conn.execute("INSERT INTO c_tx VALUES (1)")
        try:
            with conn.transaction():
                conn.execute("INSERT INTO c_tx VALUES (2)")
                conn.execute("INSERT INTO c_tx VALUES (1)")
        except psycopg.errors.UniqueViolation:
            pass
        with conn.transaction():
            conn.execute("INSERT INTO c_tx VALUES (3)")
    assert conn.execute("SELECT id FROM c_tx ORDER BY id").fetchall() == [(1,), (3,)]
    try:
        with conn.transaction():
            conn.execute("CREATE TABLE c_never (id int)")
            raise KeyError("undone")
    except KeyError:
        pass
    try:
        conn.execute("SELECT * FROM c_never")
        raise AssertionError("a rollback left a table")
    except psycopg.errors.UndefinedTable:
        pass
    conn.execute("DROP TABLE c_tx")


def server_cursors(conn):
    with conn.transaction():
        for binary in (False, True):
            with conn.cursor("named", binary=binary) as cur:
                cur.execute("SELECT i, 'n' || i::text FROM generate_series(1, %s) i", (1000,))
                assert cur.fetchone() == (1, "n1")
                assert cur.fetchmany(10)[-1] == (11, "n11")
                assert len(list(cur)) == 989
    with conn.cursor("held", withhold=True) as cur:
        cur.execute("SELECT i FROM generate_series(1, 10) i")
        conn.execute("SELECT 1")
        assert len(cur.fetchall()) == 10


def copy(conn):
    conn.execute("DROP TABLE IF EXISTS c_copy")
    with conn.transaction():
        conn.execute("CREATE TABLE c_copy (id int PRIMARY KEY, v text)")
        with conn.cursor().copy("COPY c_copy FROM STDIN") as into:
            for number in range(20_000):
                into.write_row((number, f"row {number}"))
        with conn.cursor().copy("COPY c_copy FROM STDIN (FORMAT binary)") as into:
            into.set_types(["int4", "text"])
            into.write_row((-1, None))
    with conn.cursor().copy("COPY (SELECT * FROM c_copy ORDER BY id LIMIT 2) TO STDOUT") as out:
        assert b"".join(bytes(part) for part in out) == b"-1\t\\N\n0\trow 0\n"
    conn.execute("DROP TABLE c_copy")


with psycopg.connect(autocommit=True) as connection:
    for test in (types, batches_and_pipelines, transactions, server_cursors, copy):
        test(connection)
        print("ok:", test.__name__)
