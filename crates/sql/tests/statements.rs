//! Statements from text to rows, against a database in memory.

mod common;

use common::Database;

/// Statements with what each of them gives: rows, a tag, or the code of an error.
const CASES: &str = include_str!("cases.txt");

#[test]
fn statements_give_what_the_cases_say() {
    let mut database = Database::new();
    let mut wrong = Vec::new();
    for case in CASES.split("\n\n") {
        let (sql, expected) = case.split_once("\n--").expect("a statement and its result");
        let shown = match database.run(sql, &[]) {
            Ok(given) => [given.lines, vec![given.tag]].concat().join("\n"),
            Err(error) => error.sqlstate.to_owned(),
        };
        if shown.trim() != expected.trim() {
            wrong.push(format!("{sql}\ngives\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// An UPDATE reads the columns that it uses alone, and tells of the others where a row is refused.
#[test]
fn a_refused_update_tells_the_whole_row() {
    let mut database = Database::new();
    let made = "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b char(3), CHECK (a > 0));
                INSERT INTO t VALUES (1, 2, 'x')";
    database.run(made, &[]).expect("made");
    for (sql, row) in [
        ("UPDATE t SET a = NULL", "(1, null, x  )"),
        ("UPDATE t SET a = a - 2, b = 'y' WHERE id = 1", "(1, 0, y  )"),
        ("UPDATE t SET id = 7, a = NULL", "(7, null, x  )"),
    ] {
        let Err(error) = database.run(sql, &[]) else { panic!("{sql} is refused") };
        assert_eq!(error.detail, Some(format!("Failing row contains {row}.")), "{sql}");
    }
}

/// Rows that are inserted together are refused with the name of the one whose key is taken, and all of them.
#[test]
fn of_many_rows_the_one_whose_key_is_taken_is_named() {
    let mut database = Database::new();
    let made =
        "CREATE TABLE t (a int, b char(3), PRIMARY KEY (a, b)); INSERT INTO t VALUES (1, 'x')";
    database.run(made, &[]).expect("made");
    for (values, key) in [
        ("(2, 'x'), (1, 'y'), (1, 'x'), (3, 'x')", "(1, x  )"),
        ("(2, 'x'), (3, 'z'), (4, 'x'), (3, 'z')", "(3, z  )"),
    ] {
        let sql = format!("INSERT INTO t VALUES {values}");
        let Err(error) = database.run(&sql, &[]) else { panic!("{sql} is refused") };
        assert_eq!(error.detail, Some(format!("Key (a, b)={key} already exists.")), "{sql}");
    }
    assert_eq!(database.run("SELECT count(*) FROM t", &[]).expect("counted").lines, ["1"]);
}
