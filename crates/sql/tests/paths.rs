//! Statements whose rows are found by prefixes, ranges and whole keys of random indexes give what a plain model gives: one
//! that looks at every row, and knows no index.

mod common;
#[path = "paths/model.rs"]
mod model;
#[path = "paths/tape.rs"]
mod tape;

use chiliad_sql::{Datum, OwnedDatum};
use common::Database;
use model::{Cell, Change, Condition, OrderBy, Schema, Table};
use proptest::prelude::*;
use tape::Tape;

/// A statement with parameters in place of some of its values.
#[derive(Default)]
struct Text {
    sql: String,
    parameters: Vec<OwnedDatum>,
}

impl Text {
    fn push(&mut self, sql: &str) -> &mut Self {
        self.sql.push_str(sql);
        self
    }

    fn value(&mut self, schema: &Schema, column: usize, cell: Cell, tape: &mut Tape) {
        if tape.below(2) == 0 || !schema.fits(column, cell) {
            self.push(&schema.literal(column, cell));
        } else {
            self.parameters.push(schema.datum(column, cell));
            let number = self.parameters.len();
            self.push(&format!("${number}"));
        }
    }

    fn values(&mut self, schema: &Schema, columns: &[usize], cells: &[Cell], tape: &mut Tape) {
        let is_row = columns.len() > 1;
        self.push(if is_row { "(" } else { "" });
        for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
            self.push(if at > 0 { ", " } else { "" });
            self.value(schema, *column, *cell, tape);
        }
        self.push(if is_row { ")" } else { "" });
    }

    fn condition(&mut self, schema: &Schema, condition: &Condition, tape: &mut Tape) {
        match condition {
            Condition::Compare(column, symbol, cell) => {
                self.push(&format!("{} {symbol} ", schema.name(*column)));
                self.value(schema, *column, *cell, tape);
            }
            Condition::Equal(columns, cells) => {
                self.push(&schema.names(columns)).push(" = ");
                self.values(schema, columns, cells, tape);
            }
            Condition::In(columns, items) => {
                self.push(&schema.names(columns)).push(" IN (");
                for (at, cells) in items.iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" });
                    self.values(schema, columns, cells, tape);
                }
                self.push(")");
            }
        }
    }

    fn change(&mut self, schema: &Schema, change: &Change, tape: &mut Tape) -> &mut Self {
        match change {
            Change::Delete => return self.push("DELETE FROM t"),
            Change::Add => return self.push("UPDATE t SET v = v + 10"),
            Change::Assign(cells) => {
                self.push("UPDATE t SET ");
                for (at, (column, cell)) in cells.iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" });
                    self.push(&format!("{} = ", schema.name(*column)));
                    self.value(schema, *column, *cell, tape);
                }
            }
        }
        self
    }

    fn conditions(&mut self, schema: &Schema, conditions: &[Condition], tape: &mut Tape) {
        for (at, condition) in conditions.iter().enumerate() {
            self.push(if at > 0 { " AND " } else { " WHERE " });
            self.condition(schema, condition, tape);
        }
    }
}

struct World {
    schema: Schema,
    table: Table,
    database: Database,
}

impl World {
    fn new(tape: &mut Tape) -> Self {
        let schema = Schema::random(tape);
        let mut database = Database::new();
        database.run(&schema.declaration(), &[]).expect("declared");
        for (name, _, descends) in &schema.indexes {
            database.turn(name, descends);
        }
        let table = Table::random(&schema, tape);
        for row in &table.rows {
            let cells = row.iter().enumerate().map(|(at, cell)| schema.literal(at, *cell));
            let values = cells.collect::<Vec<_>>().join(", ");
            database.run(&format!("INSERT INTO t VALUES ({values})"), &[]).expect("inserted");
        }
        Self { schema, table, database }
    }

    fn run(&mut self, text: &Text) -> common::Given {
        let parameters: Vec<Datum<'_>> = text.parameters.iter().map(Datum::borrowed).collect();
        let given = self.database.run(&text.sql, &parameters);
        given.unwrap_or_else(|error| panic!("{}: {error}", text.sql))
    }

    /// The rows of a SELECT: those of the model, in the order that was asked for.
    fn select(&mut self, tape: &mut Tape) {
        let conditions = Condition::random_list(&self.schema, tape);
        let order = OrderBy::random(&self.schema, tape);
        let limit = (tape.below(3) == 0).then(|| tape.below(4));
        let mut text = Text::default();
        text.push("SELECT * FROM t").conditions(&self.schema, &conditions, tape);
        text.push(&order.text(&self.schema));
        if let Some(limit) = limit {
            text.push(&format!(" LIMIT {limit}"));
        }
        text.push(if tape.below(3) == 0 { " FOR UPDATE" } else { "" });
        let rows = self.run(&text).rows;
        let found: Vec<Vec<Cell>> = rows.iter().map(|row| self.schema.cells(row)).collect();
        let mut expected = self.table.matching(&conditions);
        order.sort(&mut expected);
        let count = limit.unwrap_or(usize::MAX).min(expected.len());
        let keys = |rows: &[Vec<Cell>]| rows.iter().map(|it| order.key(it)).collect::<Vec<_>>();
        let plan = self.database.plan(&text.sql);
        let told =
            format!("{} {:?}\n{plan}\n{}", text.sql, text.parameters, self.schema.declaration());
        assert_eq!(keys(&found), keys(&expected[..count]), "the order of {told}");
        // Each of them is one of the expected ones, and none is there twice: a row has its key.
        let mut distinct = found.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), found.len(), "a row twice: {told}");
        assert!(found.iter().all(|it| expected.contains(it)), "a wrong row: {told}");
    }

    /// Aggregates over the rows of conditions, and over those with which a list of one table goes.
    fn count(&mut self, tape: &mut Tape) {
        let conditions = Condition::random_list(&self.schema, tape);
        let mut text = Text::default();
        text.push("SELECT count(*), min(v), max(v) FROM t").conditions(
            &self.schema,
            &conditions,
            tape,
        );
        let given = self.run(&text).lines;
        let rows = self.table.matching(&conditions);
        let shown = |cell: Option<Cell>| cell.flatten().map_or("null".into(), |it| it.to_string());
        let values = || rows.iter().filter_map(|row| *row.last().expect("v"));
        let (least, most) = (values().min().map(Some), values().max().map(Some));
        let expected = format!("{}|{}|{}", rows.len(), shown(least), shown(most));
        assert_eq!(given, [expected], "{} {:?}", text.sql, text.parameters);
    }

    /// A change of the rows of conditions: it tells of those that the model has, and all rows are those of the model
    /// afterwards.
    fn change(&mut self, tape: &mut Tape) {
        // Most changes are of one row, which has its own way through the executor.
        let mut conditions = vec![Condition::of_key(&self.schema, tape)];
        match tape.below(3) {
            0 => conditions = Condition::random_list(&self.schema, tape),
            1 => conditions.extend(Condition::random_list(&self.schema, tape)),
            _ => {}
        }
        let change = Change::random(&self.schema, tape);
        let mut text = Text::default();
        text.change(&self.schema, &change, tape).conditions(&self.schema, &conditions, tape);
        let tells = tape.below(2) == 0;
        text.push(if tells { " RETURNING *" } else { "" });
        let (given, mut changed) = (self.run(&text), self.table.change(&conditions, &change));
        let word = if matches!(change, Change::Delete) { "DELETE" } else { "UPDATE" };
        let told = format!("{} {:?}\n{}", text.sql, text.parameters, self.schema.declaration());
        if tells {
            let mut returned: Vec<_> = given.rows.iter().map(|it| self.schema.cells(it)).collect();
            returned.sort();
            changed.sort();
            assert_eq!(returned, changed, "{told}");
        } else {
            assert_eq!(given.tag, format!("{word} {}", changed.len()), "{told}");
        }
        let rows = self.run(Text::default().push("SELECT * FROM t")).rows;
        let mut found: Vec<Vec<Cell>> = rows.iter().map(|row| self.schema.cells(row)).collect();
        let mut expected = self.table.rows.clone();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{told}");
    }
}

fn statements(choices: Vec<u16>) {
    let mut tape = Tape::new(choices);
    let mut world = World::new(&mut tape);
    for _ in 0..12 {
        match tape.below(8) {
            0 | 2 => world.change(&mut tape),
            1 => world.count(&mut tape),
            _ => world.select(&mut tape),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn indexes_change_no_result(choices in proptest::collection::vec(any::<u16>(), 600..1200)) {
        statements(choices);
    }
}
