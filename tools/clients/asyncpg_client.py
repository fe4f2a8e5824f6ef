"""asyncpg, unmodified. The server is that of PGHOST and PGPORT."""

import asyncio
import datetime
import decimal
import uuid

import asyncpg

VALUES = {
    "bool": False,
    "int2": 2**15 - 1,
    "int4": -(2**31),
    "int8": 2**63 - 1,
    "float8": -1.5,
    "numeric": decimal.Decimal("-0.000123"),
    "text": "naïve",
    "bytea": b"\x00\xff",
    "date": datetime.date(1, 1, 1),
    "time": datetime.time(0, 0, 1),
    "timestamp": datetime.datetime(2024, 2, 29, 12),
    "timestamptz": datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc),
    "uuid": uuid.uuid4(),
}


async def types(conn):
    columns = ", ".join(f"c_{name} {name}" for name in VALUES)
    await conn.execute("DROP TABLE IF EXISTS c_types")
    await conn.execute(f"CREATE TABLE c_types (id int PRIMARY KEY, {columns})")
    marks = ", ".join(f"${at}" for at in range(1, len(VALUES) + 2))
    given = list(VALUES.values())
    await conn.execute(f"INSERT INTO c_types VALUES ({marks})", 1, *given)
    await conn.execute(f"INSERT INTO c_types VALUES ({marks})", 2, *[None] * len(given))
    rows = await conn.fetch("SELECT * FROM c_types ORDER BY id")
    assert list(rows[0].values())[1:] == given, rows[0]
    assert set(list(rows[1].values())[1:]) == {None}
    await conn.execute("DROP TABLE c_types")


async def batches_and_cursors(conn):
    await conn.execute("DROP TABLE IF EXISTS c_batch")
    await conn.execute("CREATE TABLE c_batch (id int PRIMARY KEY, n int)")
    await conn.executemany("INSERT INTO c_batch VALUES ($1, $2)", [(n, n * n) for n in range(1000)])
    async with conn.transaction():
        total = 0
        async for row in conn.cursor("SELECT n FROM c_batch WHERE id < $1", 100, prefetch=7):
            total += row["n"]
        assert total == sum(n * n for n in range(100))
        cursor = await conn.cursor("SELECT id FROM c_batch ORDER BY id")
        assert len(await cursor.fetch(5)) == 5
        await cursor.forward(10)
        assert (await cursor.fetchrow())["id"] == 15
    await conn.copy_records_to_table("c_batch", records=[(-n, None) for n in range(1, 1000)])
    assert await conn.fetchval("SELECT count(*) FROM c_batch") == 1999
    await conn.execute("DROP TABLE c_batch")


async def transactions(conn):
    await conn.execute("DROP TABLE IF EXISTS c_tx")
    await conn.execute("CREATE TABLE c_tx (id int PRIMARY KEY)")
    async with conn.transaction(isolation="serializable"):
        await conn.execute("INSERT INTO c_tx VALUES (1)")
        try:
            async with conn.transaction():
                await conn.execute("INSERT INTO c_tx VALUES (2)")
                await conn.execute("INSERT INTO c_tx VALUES (1)")
        except asyncpg.UniqueViolationError as error:
            assert error.sqlstate == "23505"
    assert await conn.fetch("SELECT id FROM c_tx") == [(1,)]
    await conn.execute("DROP TABLE c_tx")


async def cancel(conn):
    text = "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b"
    try:
        await conn.fetch(text, timeout=0.5)
        raise AssertionError("it did not end")
    except asyncio.TimeoutError:
        pass
    assert await conn.fetchval("SELECT 1") == 1


async def main():
    conn = await asyncpg.connect()
    for test in (types, batches_and_cursors, transactions, cancel):
        await test(conn)
        print("ok:", test.__name__)
    await conn.close()


asyncio.run(main())
