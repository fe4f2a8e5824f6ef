//! Statements from text to rows, against a database in memory.

use chiliad_engine::{Intent, Options, Running, TableId, any};
use chiliad_sql::{
    CatalogView, Datum, Environment, Kind, Result, SchemaChange, TableInput, codec, execute, parse,
    prepare, schema_changes,
};

/// Statements with what each of them gives: rows, a tag, or the code of an error.
const CASES: &str = include_str!("cases.txt");

#[derive(Default)]
struct Counting(i64);

impl Environment for Counting {
    fn transaction_time(&self) -> i64 {
        0
    }

    fn next_value(&mut self, _sequence: &str) -> Result<i64> {
        self.0 += 1;
        Ok(self.0)
    }
}

fn text(of: chiliad_sql::Type, datum: &Datum<'_>) -> String {
    if datum.is_null() {
        return "null".into();
    }
    let mut out = Vec::new();
    codec::to_text(of, datum, &mut out);
    String::from_utf8(out).expect("text")
}

#[test]
fn statements_give_what_the_cases_say() {
    let db = any::open_native("silo", Options::default(), None).expect("opens").store;
    let (mut tables, mut environment) = (Vec::<TableInput>::new(), Counting::default());
    let mut wrong = Vec::new();
    let mut session = db.session().expect("a slot");
    for case in CASES.split("\n\n") {
        let (sql, expected) = case.split_once("\n--").expect("a statement and its result");
        let view = CatalogView::new(tables.len() as u64, tables.clone());
        let mut made = |changes: Vec<SchemaChange>| {
            for change in changes {
                if let SchemaChange::CreateTable { spec, details } = change {
                    let id: TableId = db.create_table(spec.clone()).expect("created");
                    tables.push(TableInput { details: Some(details), ..TableInput::new(id, spec) });
                }
            }
        };
        let mut shown = String::new();
        let mut one = || -> Result<()> {
            for statement in parse(sql)? {
                let prepared = prepare(&statement, &view, &[])?;
                if *prepared.kind() == Kind::Schema {
                    made(schema_changes(&prepared, &view)?);
                    continue;
                }
                let mut tx = Running::begin(&mut *session, &Intent::update()).expect("begins");
                let types: Vec<_> = prepared.columns().iter().map(|it| it.sql_type).collect();
                let done = execute(
                    &prepared,
                    &[],
                    &mut tx,
                    &mut environment,
                    &mut |row: &[Datum<'_>]| {
                        for (at, datum) in row.iter().enumerate() {
                            shown.push_str(if at > 0 { "|" } else { "" });
                            shown.push_str(&text(types[at], datum));
                        }
                        shown.push('\n');
                        Ok(())
                    },
                )?;
                tx.commit().expect("commits");
                if !prepared.returns_rows() {
                    shown.push_str(&prepared.tag(done.rows));
                }
            }
            Ok(())
        };
        if let Err(error) = one() {
            shown = error.sqlstate.to_owned();
        }
        if shown.trim() != expected.trim() {
            wrong.push(format!("{sql}\ngives\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
