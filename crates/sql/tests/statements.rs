//! Statements from text to rows, against a database in memory.

#[allow(dead_code, reason = "tests of paths use more of it")]
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
