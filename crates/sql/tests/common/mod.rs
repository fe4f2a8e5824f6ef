//! A database in memory that tests talk to in SQL.
#![allow(dead_code, reason = "each test file uses a part of it")]

use chiliad_api::{IndexParts, OpenedNatively};
use chiliad_engine::{Intent, Options, Running, TableId, any};
use chiliad_sql::{
    CatalogView, CopyFields, Datum, Environment, Kind, OutputColumn, OwnedDatum, Prepared, Result,
    SchemaChange, SqlError, TableInput, codec, execute, parse, prepare, schema_changes,
};

/// A database of one client. Its tables are made when the first statement that is no declaration comes, and none after it
/// changes a table that is there.
pub struct Database {
    opened: OpenedNatively,
    tables: Vec<TableInput>,
    /// How many of them are made.
    made: usize,
    environment: Counting,
}

/// What statements have given.
#[derive(Default)]
pub struct Given {
    /// Rows, as values.
    pub rows: Vec<Vec<OwnedDatum>>,
    /// The rows as text.
    pub lines: Vec<String>,
    /// That of the last statement without rows.
    pub tag: String,
}

/// A row of COPY.
pub struct RowOfFields {
    pub fields: Vec<Option<Vec<u8>>>,
    pub binary: bool,
}

impl CopyFields for RowOfFields {
    fn field(&self, at: usize) -> Option<&[u8]> {
        self.fields.get(at)?.as_deref()
    }

    fn are_binary(&self) -> bool {
        self.binary
    }
}

impl RowOfFields {
    fn values(&self, prepared: &Prepared) -> Result<Vec<Datum<'_>>> {
        let one = |(field, column): (&'_ Option<Vec<u8>>, &OutputColumn)| match field {
            None => Ok(Datum::Null),
            Some(bytes) if self.binary => codec::from_binary(column.sql_type, bytes),
            Some(bytes) => {
                let text = std::str::from_utf8(bytes);
                let wrong = "invalid byte sequence for encoding \"UTF8\"";
                let text = text.map_err(|_| SqlError::new("22021", wrong))?;
                codec::from_text(column.sql_type, text).map(Datum::into_owned)
            }
        };
        self.fields.iter().zip(prepared.columns()).map(one).collect()
    }
}

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

impl Database {
    pub fn new() -> Self {
        let opened = any::open_native("silo", Options::default(), None).expect("opens");
        Self { opened, tables: Vec::new(), made: 0, environment: Counting::default() }
    }

    /// Runs a string of statements, each in a transaction of its own.
    pub fn run(&mut self, sql: &str, parameters: &[Datum<'_>]) -> Result<Given> {
        let mut given = Given::default();
        for statement in parse(sql)? {
            let mut prepared = prepare(&statement, &self.view(), &[])?;
            if *prepared.kind() == Kind::Schema {
                let changes = schema_changes(&prepared, &self.view())?;
                changes.into_iter().for_each(|it| self.declare(it));
                continue;
            }
            if self.make_tables() {
                prepared = prepare(&statement, &self.view(), &[])?;
            }
            let mut session = self.opened.store.session().expect("a slot");
            let mut tx = Running::begin(&mut *session, &Intent::update()).expect("begins");
            let types: Vec<_> = prepared.columns().iter().map(|it| it.sql_type).collect();
            let mut keep = |row: &[Datum<'_>]| {
                let texts = row.iter().zip(&types).map(|(datum, of)| text(*of, datum));
                given.lines.push(texts.collect::<Vec<_>>().join("|"));
                given.rows.push(row.iter().map(|it| it.borrowed().into_owned()).collect());
                Ok(())
            };
            let done = execute(&prepared, parameters, &mut tx, &mut self.environment, &mut keep)?;
            tx.commit().expect("commits");
            if !prepared.returns_rows() {
                given.tag = prepared.tag(done.rows);
            }
        }
        Ok(given)
    }

    /// Runs a COPY from the client of one row, in a transaction of its own: by the loader, which it must have, or as an
    /// INSERT.
    pub fn copy(&mut self, sql: &str, fields: &RowOfFields, loads: bool) -> Result<()> {
        self.make_tables();
        let [statement] = &parse(sql)?[..] else { panic!("one statement") };
        let prepared = prepare(statement, &self.view(), &[])?;
        let mut session = self.opened.store.session().expect("a slot");
        let mut tx = Running::begin(&mut *session, &Intent::update()).expect("begins");
        if loads {
            let mut loader = prepared.loader().expect("it needs no expressions");
            loader.insert(fields, &mut tx, &mut self.environment)?;
        } else {
            let values = fields.values(&prepared)?;
            let mut nothing = |_: &[Datum<'_>]| Ok(());
            execute(&prepared, &values, &mut tx, &mut self.environment, &mut nothing)?;
        }
        tx.commit().expect("commits");
        Ok(())
    }

    /// The lines of a statement's plan.
    pub fn plan(&mut self, sql: &str) -> String {
        self.run(&format!("EXPLAIN {sql}"), &[]).expect("a plan").lines.join("\n")
    }

    /// Has parts of an index that is declared, and of which the table is not made yet, go from great to small.
    pub fn turn(&mut self, index: &str, descends: &[bool]) {
        let mut indexes = self.tables.iter_mut().flat_map(|it| &mut it.spec.secondary);
        let index = indexes.find(|it| it.name == index).expect("declared");
        if let IndexParts::Columns(parts) = &mut index.parts {
            parts.iter_mut().zip(descends).for_each(|(part, it)| part.descending = *it);
        }
    }

    fn view(&self) -> CatalogView {
        CatalogView::new(self.tables.len() as u64, self.tables.clone())
    }

    fn declare(&mut self, change: SchemaChange) {
        match change {
            SchemaChange::CreateTable { spec, details } => {
                // Until it is made it has a number that no table has.
                let id = TableId(u32::MAX - self.tables.len() as u32);
                self.tables
                    .push(TableInput { details: Some(details), ..TableInput::new(id, spec) });
            }
            SchemaChange::AddIndex { table, index } => {
                let declared = self.declared(table);
                let mut spec = declared.spec.clone();
                spec.secondary.push(index);
                let details = declared.details.take();
                *declared = TableInput { details, ..TableInput::new(table, spec) };
            }
            SchemaChange::Rewrite { table, spec, details } => {
                let details = Some(details);
                *self.declared(table) = TableInput { details, ..TableInput::new(table, spec) };
            }
            _ => {}
        }
    }

    fn declared(&mut self, table: TableId) -> &mut TableInput {
        let declared = self.tables.iter_mut().skip(self.made).find(|it| it.id == table);
        declared.expect("a table that is not made yet")
    }

    /// Makes the tables that are declared; whether there were any.
    fn make_tables(&mut self) -> bool {
        let declared = self.tables.iter_mut().skip(self.made);
        let made = declared.map(|table| {
            table.id = self.opened.store.create_table(table.spec.clone()).expect("made");
        });
        let count = made.count();
        self.made += count;
        count > 0
    }
}
