//! Values that no column can have and rows that are too large: an error with its code, and everything before it intact.

use crate::common::raw::Raw;
use crate::common::serve;
use chiliad::{Database, Options, Scheme};
use chiliad_server::Running;

/// The longest row and the longest key, in bytes.
const ROW_BYTES_MAX: usize = 1 << 20;
const KEY_BYTES_MAX: usize = 4 << 10;

const TABLES: &str = "CREATE TABLE t (id int PRIMARY KEY, v text);
    CREATE TABLE k (id text PRIMARY KEY);
    CREATE TABLE n (id int PRIMARY KEY, s smallint, i int, b bigint, d numeric(6,2), x numeric)";

fn with_server(scheme: Scheme, test: impl FnOnce(&Running, &mut Raw)) {
    let db = Database::in_memory_with(Options::default().scheme(scheme)).expect("opens");
    let running = serve(&db);
    let mut raw = Raw::connect(&running);
    assert_eq!(raw.query(TABLES).told().last().map(String::as_str), Some("C CREATE TABLE"));
    test(&running, &mut raw);
    running.shutdown();
}

/// The only error among the answers.
#[track_caller]
fn refused(raw: &mut Raw, code: &str) {
    let told = raw.told();
    let errors: Vec<&String> = told.iter().filter(|it| it.starts_with('E')).collect();
    assert_eq!(errors, [&format!("E {code}")], "{told:?}");
}

/// One value, of one row.
#[track_caller]
fn shows(raw: &mut Raw, query: &str, value: &str) {
    assert_eq!(raw.query(query).told(), ["T 1", &format!("D {value}"), "C SELECT 1"], "{query}");
}

/// Sends a statement with one parameter of text.
fn with_parameter<'a>(raw: &'a mut Raw, text: &str, value: &[u8]) -> &'a mut Raw {
    let length = (value.len() as u32).to_be_bytes();
    raw.message(b'P', &[b"\0", text.as_bytes(), b"\0\0\0"].concat());
    raw.message(b'B', &[b"\0\0\0\0\0\x01", &length[..], value, b"\0\0"].concat());
    raw.execute("", 0).sync()
}

fn copy<'a>(raw: &'a mut Raw, table: &str, rows: &[u8]) -> &'a mut Raw {
    raw.query(&format!("COPY {table} FROM STDIN")).message(b'd', rows).message(b'c', b"")
}

#[test]
fn rows_and_keys_that_are_too_large_leave_the_others_alone() {
    let (row, key) = ("x".repeat(ROW_BYTES_MAX), "k".repeat(KEY_BYTES_MAX));
    for scheme in [Scheme::Silo, Scheme::LockTable, Scheme::WaitDie, Scheme::Mvcc] {
        with_server(scheme, |running, raw| {
            let insert = format!("INSERT INTO t VALUES (2, '{row}')");
            let update = format!("UPDATE t SET v = '{row}' WHERE id = 1");
            let insert_key = format!("INSERT INTO k VALUES ('{key}')");
            raw.query("INSERT INTO t VALUES (1, 'before')").hear();
            // The whole string of statements is one transaction, and rolled back.
            refused(raw.query(&format!("INSERT INTO t VALUES (3, 'with it'); {insert}")), "54000");
            for text in [&insert, &update, &insert_key] {
                // A block has failed; a savepoint of it is usable.
                raw.query("BEGIN; INSERT INTO t VALUES (4, 'in the block'); SAVEPOINT s").hear();
                refused(raw.query(text), "54000");
                refused(raw.query("SELECT 1"), "25P02");
                assert_eq!(raw.query("ROLLBACK TO s").told(), ["C ROLLBACK"], "{scheme}");
                shows(raw, "SELECT v FROM t WHERE id = 4", "in the block");
                raw.query("DELETE FROM t WHERE id = 4; COMMIT").hear();
                // Without one nothing of the block stays.
                raw.query("BEGIN; INSERT INTO t VALUES (5, 'gone')").hear();
                refused(raw.query(text), "54000");
                assert_eq!(raw.query("COMMIT").told(), ["C ROLLBACK"], "{scheme}");
            }
            refused(with_parameter(raw, "INSERT INTO t VALUES (6, $1)", row.as_bytes()), "54000");
            refused(with_parameter(raw, "INSERT INTO k VALUES ($1)", key.as_bytes()), "54000");
            refused(copy(raw, "t", format!("7\tgood\n8\t{row}\n").as_bytes()), "54000");
            refused(copy(raw, "k", format!("good\n{key}\n").as_bytes()), "54000");
            let mut other = Raw::connect(running);
            shows(&mut other, "SELECT v FROM t", "before");
            shows(&mut other, "SELECT count(*) FROM k", "0");
            // The longest that there may be, about.
            let longest = &row[..ROW_BYTES_MAX - 64];
            raw.query(&format!("INSERT INTO t VALUES (9, '{longest}')")).hear();
            shows(&mut other, "SELECT length(v) FROM t WHERE id = 9", &longest.len().to_string());
        });
    }
}

/// Bytes that are no UTF-8 in a statement, a parameter, a name and rows: 22021, and the connection goes on.
#[test]
fn what_is_no_utf8_is_refused() {
    with_server(Scheme::Silo, |_, raw| {
        let bad: [&[u8]; 4] = [b"\xff", b"a\xc3(", b"\xed\xa0\x80", b"\xf0\x9f\x98"];
        for bytes in bad {
            let quoted = [b"SELECT '", bytes, b"'\0"].concat();
            refused(raw.message(b'Q', &quoted), "22021");
            refused(raw.message(b'P', &[b"\0", &quoted[..], b"\0\0"].concat()).sync(), "22021");
            let name = [bytes, b"\0SELECT 1\0\0\0"].concat();
            refused(raw.message(b'P', &name).sync(), "22021");
            refused(with_parameter(raw, "SELECT $1::text", bytes), "22021");
            refused(with_parameter(raw, "INSERT INTO k VALUES ($1)", bytes), "22021");
            refused(copy(raw, "t", &[b"1\tgood\n2\t", bytes, b"\n"].concat()), "22021");
            refused(copy(raw, "k", &[bytes, b"\n"].concat()), "22021");
        }
        // Within a block it is an error like others.
        raw.query("BEGIN; INSERT INTO t VALUES (1, 'kept'); SAVEPOINT s").hear();
        refused(raw.message(b'Q', b"SELECT '\xff'\0"), "22021");
        assert_eq!(raw.query("ROLLBACK TO s; COMMIT").told(), ["C ROLLBACK", "C COMMIT"]);
        shows(raw, "SELECT v FROM t", "kept");
        shows(raw, "SELECT count(*) FROM k", "0");
    });
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    with_server(Scheme::Silo, |_, raw| {
        raw.query("INSERT INTO n VALUES (1, 32767, 2147483647, 9223372036854775807, 9999.99, 0)")
            .hear();
        let nines = "9".repeat(39);
        for text in [
            "INSERT INTO n (id, s) VALUES (2, 32768)",
            "INSERT INTO n (id, s) VALUES (2, -32769)",
            "INSERT INTO n (id, i) VALUES (2, 2147483648)",
            "INSERT INTO n (id, i) VALUES (2, -2147483649)",
            "INSERT INTO n (id, b) VALUES (2, 9223372036854775808)",
            "INSERT INTO n (id, d) VALUES (2, 10000)",
            "INSERT INTO n (id, d) VALUES (2, 9999.995)",
            &format!("INSERT INTO n (id, x) VALUES (2, {nines})"),
            "UPDATE n SET s = s + 1::smallint",
            "UPDATE n SET i = i + 1",
            "UPDATE n SET b = b + 1",
            "UPDATE n SET b = b * 2",
            "UPDATE n SET d = d + 0.01",
            "UPDATE n SET i = -(-2147483648::bigint)",
            "SELECT (-9223372036854775808)::bigint / -1",
            "SELECT abs((-32768)::smallint)",
            "SELECT 32768::smallint",
            "SELECT '2147483648'::int",
            "SELECT 1e300::float8 * 1e300::float8",
            "SELECT 99999999999999999999999999999999999999 * 10",
        ] {
            raw.query(text);
            refused(raw, "22003");
        }
        for (cast, value) in [("smallint", "32768"), ("int", "2147483648"), ("bigint", "1e99")] {
            let text = format!("SELECT $1::{cast}");
            let told = with_parameter(raw, &text, value.as_bytes()).told();
            let error = told.last().expect("an answer");
            assert!(matches!(&**error, "E 22003" | "E 22P02"), "{cast}: {told:?}");
        }
        refused(copy(raw, "n", b"3\t1\t1\t1\t1\t1\n4\t32768\t1\t1\t1\t1\n"), "22003");
        shows(raw, "SELECT count(*) FROM n WHERE id = 1 AND s = 32767 AND d = 9999.99", "1");
        shows(raw, "SELECT count(*) FROM n", "1");
    });
}
