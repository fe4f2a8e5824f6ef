//! A row that COPY loads by the short way is the one that an INSERT of its values makes, and so is its error.

mod common;

use common::{Database, RowOfFields};

const TYPES: [&str; 18] = [
    "integer",
    "bigint",
    "smallint",
    "text",
    "varchar",
    "varchar(4)",
    "char(4)",
    "char",
    "numeric(5, 2)",
    "real",
    "double precision",
    "boolean",
    "date",
    "timestamp(0)",
    "timestamptz",
    "uuid",
    "bytea",
    "jsonb",
];

/// Texts that are values of some types, and of none.
const TEXTS: [&[u8]; 44] = [
    b"",
    b" ",
    b"    ",
    b"      ",
    b"1",
    b"-1",
    b"+1",
    b" 7 ",
    b"007",
    b"-0",
    b"-",
    b"+",
    b"--1",
    b"1 2",
    b"32767",
    b"32768",
    b"2147483647",
    b"2147483648",
    b"-2147483648",
    b"-2147483649",
    b"999999999999999999",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"0000000000000000000000001",
    b"1.5",
    b"1e3",
    b"123.456",
    b"abc",
    b"abcd",
    b"abcd  ",
    b"abcde",
    b"ab  ",
    "\u{e9}\u{e9}\u{e9}\u{e9}".as_bytes(),
    "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}".as_bytes(),
    b"\xff",
    b"ab\xc3",
    b"t",
    b"off",
    b"2024-02-29",
    b"2024-02-29 12:00:00.6",
    b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    b"\\x00ff",
    b"{\"b\": 1, \"a\": [2]}",
];

/// Copies a row into both tables, by the two ways: the same becomes of it.
fn both(database: &mut Database, what: &str, row: &RowOfFields) -> bool {
    let by_loader = database.copy("COPY a FROM STDIN", row, true);
    let by_insert = database.copy("COPY b FROM STDIN", row, false);
    let shown = |error: chiliad_sql::SqlError| {
        format!("{error}").replace("\"a_pkey\"", "\"b_pkey\"").replace("\"a\"", "\"b\"")
    };
    let is_accepted = by_loader.is_ok();
    let (by_loader, by_insert) = (by_loader.map_err(shown), by_insert.map_err(shown));
    assert_eq!(by_loader, by_insert, "{what}");
    is_accepted
}

/// Tables of these columns.
fn tables(columns: &str) -> Database {
    let mut database = Database::new();
    for table in ["a", "b"] {
        let sql = format!("CREATE TABLE {table} ({columns})");
        database.run(&sql, &[]).expect("declared");
    }
    database
}

fn same_rows(database: &mut Database, what: &str) -> usize {
    let [a, b] = ["a", "b"].map(|table| {
        database.run(&format!("SELECT * FROM {table} ORDER BY id"), &[]).expect("read").lines
    });
    assert_eq!(a, b, "{what}");
    a.len()
}

#[test]
fn a_text_is_the_same_value_by_both_ways() {
    let mut accepted = 0;
    for of in TYPES {
        for rest in ["", " NOT NULL", " DEFAULT NULL"] {
            let mut database = tables(&format!("id integer PRIMARY KEY, v {of}{rest}"));
            let nothing = [None];
            let fields = TEXTS.iter().map(|text| Some(text.to_vec())).chain(nothing);
            for (id, field) in fields.enumerate() {
                let what = format!("{of}{rest} {field:?}");
                let fields = vec![Some(id.to_string().into_bytes()), field];
                accepted +=
                    usize::from(both(&mut database, &what, &RowOfFields { fields, binary: false }));
            }
            same_rows(&mut database, of);
        }
    }
    assert!(accepted > 500, "{accepted} rows, so something was compared");
}

#[test]
fn a_key_is_the_same_by_both_ways() {
    for of in TYPES.into_iter().filter(|of| *of != "jsonb") {
        let mut database = tables(&format!("v text, id {of}, w integer, PRIMARY KEY (id, w)"));
        let fields = TEXTS.iter().map(|text| Some(text.to_vec())).chain([None]);
        // Every key twice: the second time it is taken.
        for field in fields.flat_map(|field| [field.clone(), field]) {
            let what = format!("{of} {field:?}");
            let fields = vec![Some(b"x".to_vec()), field, Some(b"-3".to_vec())];
            both(&mut database, &what, &RowOfFields { fields, binary: false });
        }
        assert!(same_rows(&mut database, of) > 0, "{of}");
    }
}

#[test]
fn binary_fields_are_the_same_by_both_ways() {
    for (of, fields) in [
        ("integer", [&[0, 0, 0, 7][..], &[0xff; 4], &[0; 3]]),
        ("bigint", [&[0x80, 0, 0, 0, 0, 0, 0, 0][..], &[0xff; 8], &[0; 4]]),
        ("text", [b"abc", b"", b"\xff"]),
        ("char(3)", [b"ab ", b"abcd", b"a"]),
        ("varchar(2)", [b"ab   ", b"abc", b"a"]),
    ] {
        let mut database = tables(&format!("id integer PRIMARY KEY, v {of}"));
        for (id, field) in fields.into_iter().enumerate() {
            let fields = vec![Some((id as u32).to_be_bytes().to_vec()), Some(field.to_vec())];
            both(&mut database, of, &RowOfFields { fields, binary: true });
        }
        assert!(same_rows(&mut database, of) > 0, "{of}");
    }
}

/// The columns of a COPY may be some of the table's, in another order, and rows may have no primary key.
#[test]
fn other_columns_get_their_constants() {
    let mut database = tables("v text DEFAULT 'none', id integer, w integer DEFAULT 7, x integer");
    for id in 0..3_u32 {
        let fields = vec![Some(b"5".to_vec()), Some(id.to_string().into_bytes())];
        let row = RowOfFields { fields, binary: false };
        database.copy("COPY a (x, id) FROM STDIN", &row, true).expect("loaded");
        database.copy("COPY b (x, id) FROM STDIN", &row, false).expect("inserted");
    }
    assert_eq!(same_rows(&mut database, "constants"), 3);
    let rows = database.run("SELECT v, id, w, x FROM a WHERE id = 1", &[]).expect("read").lines;
    assert_eq!(rows, ["none|1|7|5"]);
}
