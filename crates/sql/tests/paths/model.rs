//! A table as a list of rows, and conditions that are looked at for each of them.

use super::tape::Tape;
use chiliad_sql::{Datum, OwnedDatum};
use std::cmp::Ordering;

/// A value, or none. Of a text it is how many letters it has.
pub type Cell = Option<i64>;

/// Columns before `v`, which is in no index.
const COLUMNS: usize = 5;
/// A value that an `integer` does not have.
const BEYOND: i64 = 5_000_000_000;

#[derive(Debug)]
pub struct Schema {
    types: [&'static str; COLUMNS],
    key: Vec<usize>,
    /// With their names, and which of their parts go from great to small.
    pub indexes: Vec<(String, Vec<usize>, Vec<bool>)>,
}

impl Schema {
    pub fn random(tape: &mut Tape) -> Self {
        let all: Vec<usize> = (0..COLUMNS).collect();
        let types = std::array::from_fn(|_| ["int", "smallint", "bigint", "text"][tape.below(4)]);
        let key = tape.some(&all, 1, 4);
        let indexes = (0..tape.below(3)).map(|number| {
            let columns = tape.some(&all, 1, 3);
            let descends = columns.iter().map(|_| tape.below(2) == 1).collect();
            (format!("i{number}"), columns, descends)
        });
        let indexes = indexes.collect();
        Self { types, key, indexes }
    }

    pub fn declaration(&self) -> String {
        let columns = self.types.iter().enumerate();
        let columns = columns.map(|(at, of)| format!("{} {of}", self.name(at)));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let mut text =
            format!("CREATE TABLE t ({columns}, v int, PRIMARY KEY {})", self.list(&self.key));
        for (name, columns, _) in &self.indexes {
            text.push_str(&format!("; CREATE INDEX {name} ON t {}", self.list(columns)));
        }
        text
    }

    pub fn name(&self, column: usize) -> String {
        if column == COLUMNS { "v".into() } else { format!("c{column}") }
    }

    fn list(&self, columns: &[usize]) -> String {
        let names = columns.iter().map(|it| self.name(*it)).collect::<Vec<_>>();
        format!("({})", names.join(", "))
    }

    /// One column, or a row of several.
    pub fn names(&self, columns: &[usize]) -> String {
        if let [one] = columns { self.name(*one) } else { self.list(columns) }
    }

    fn is_text(&self, column: usize) -> bool {
        self.types.get(column) == Some(&"text")
    }

    pub fn literal(&self, column: usize, cell: Cell) -> String {
        match cell {
            None => "NULL".into(),
            Some(length) if self.is_text(column) => format!("'{}'", letters(length)),
            Some(value) => value.to_string(),
        }
    }

    /// Whether a parameter, which has the type of its column, has this value.
    pub fn fits(&self, column: usize, cell: Cell) -> bool {
        self.is_text(column) || cell != Some(BEYOND)
    }

    /// As [`Schema::literal`], for a parameter.
    pub fn datum(&self, column: usize, cell: Cell) -> OwnedDatum {
        match cell {
            None => Datum::Null,
            Some(length) if self.is_text(column) => Datum::text(letters(length)),
            Some(value) => Datum::Int(value),
        }
    }

    pub fn cells(&self, row: &[OwnedDatum]) -> Vec<Cell> {
        let cell = |datum: &OwnedDatum| match datum {
            Datum::Int(value) => Some(*value),
            Datum::Text(text) => Some(text.len() as i64),
            _ => None,
        };
        row.iter().map(cell).collect()
    }

    /// The columns of one of the indexes, or of none.
    fn random_index(&self, tape: &mut Tape) -> Vec<usize> {
        match tape.below(self.indexes.len() + 3) {
            0 => tape.some(&[0, 1, 2, 3, 4, 5], 1, 3),
            1 | 2 => self.key.clone(),
            number => self.indexes[number - 3].1.clone(),
        }
    }
}

/// Texts that begin each other.
fn letters(length: i64) -> String {
    "a".repeat(length.clamp(0, 9) as usize)
}

pub enum Condition {
    Compare(usize, &'static str, Cell),
    /// `(a, b) = (1, 2)`.
    Equal(Vec<usize>, Vec<Cell>),
    In(Vec<usize>, Vec<Vec<Cell>>),
}

impl Condition {
    pub fn random_list(schema: &Schema, tape: &mut Tape) -> Vec<Self> {
        (0..1 + tape.below(3)).map(|_| Self::random(schema, tape)).collect()
    }

    /// Of one row: all columns of the key are these.
    pub fn of_key(schema: &Schema, tape: &mut Tape) -> Self {
        let cells = schema.key.iter().map(|_| Some(tape.below(4) as i64)).collect();
        Self::Equal(schema.key.clone(), cells)
    }

    /// Mostly about the columns of one index, from its first part on.
    fn random(schema: &Schema, tape: &mut Tape) -> Self {
        let index = schema.random_index(tape);
        let first = index[..=tape.below(index.len())].to_vec();
        let columns = if tape.below(4) == 0 { tape.some(&index, 1, 3) } else { first };
        let cells = |tape: &mut Tape| columns.iter().map(|_| random_cell(tape)).collect();
        match tape.below(5) {
            0 => {
                let symbol = ["=", "<", "<=", ">", ">=", "<>"][tape.below(6)];
                Self::Compare(columns[columns.len() - 1], symbol, random_cell(tape))
            }
            1 => Self::Equal(columns.clone(), cells(tape)),
            _ => {
                let items = (0..1 + tape.below(5)).map(|_| cells(tape)).collect();
                Self::In(columns, items)
            }
        }
    }

    /// Whether it is true for a row: not false, and not unknown.
    fn holds(&self, row: &[Cell]) -> bool {
        let equal = |columns: &[usize], cells: &[Cell]| {
            let mut pairs = columns.iter().zip(cells);
            pairs.all(|(column, cell)| cell.is_some() && row[*column] == *cell)
        };
        match self {
            Self::Compare(column, symbol, cell) => {
                let (Some(one), Some(two)) = (row[*column], cell) else { return false };
                let order = one.cmp(two);
                match *symbol {
                    "=" => order.is_eq(),
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    ">=" => order.is_ge(),
                    _ => order.is_ne(),
                }
            }
            Self::Equal(columns, cells) => equal(columns, cells),
            Self::In(columns, items) => items.iter().any(|cells| equal(columns, cells)),
        }
    }
}

/// `ORDER BY`: columns, and whether each is from great to small.
pub struct OrderBy(Vec<(usize, bool)>);

impl OrderBy {
    /// Mostly as one index has its rows, from either end.
    pub fn random(schema: &Schema, tape: &mut Tape) -> Self {
        let mut index = schema.random_index(tape);
        index.truncate(1 + tape.below(5));
        let turns = tape.below(2) == 1;
        let mut direction = |_| if tape.below(4) == 0 { tape.below(2) == 1 } else { turns };
        Self(index.into_iter().map(|column| (column, direction(()))).collect())
    }

    pub fn text(&self, schema: &Schema) -> String {
        let keys = self.0.iter().map(|(column, descends)| {
            format!("{}{}", schema.name(*column), if *descends { " DESC" } else { "" })
        });
        format!(" ORDER BY {}", keys.collect::<Vec<_>>().join(", "))
    }

    /// What the order sees of a row.
    pub fn key(&self, row: &[Cell]) -> Vec<Cell> {
        self.0.iter().map(|(column, _)| row[*column]).collect()
    }

    /// A null is greater than any value.
    pub fn sort(&self, rows: &mut [Vec<Cell>]) {
        rows.sort_by(|one, two| {
            let orders = self.0.iter().map(|(column, descends)| {
                let key = |row: &[Cell]| (row[*column].is_none(), row[*column]);
                let order = key(one).cmp(&key(two));
                if *descends { order.reverse() } else { order }
            });
            orders.fold(Ordering::Equal, Ordering::then)
        });
    }
}

pub struct Table {
    /// The columns, then `v`.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Rows of which no two have one key.
    pub fn random(schema: &Schema, tape: &mut Tape) -> Self {
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        for number in 0..20 + tape.below(40) {
            let cell = |at| {
                let value = tape.below(5) as i64;
                if schema.key.contains(&at) {
                    Some(value % 4)
                } else {
                    Some(value).filter(|it| *it < 4)
                }
            };
            let mut row: Vec<Cell> = (0..COLUMNS).map(cell).collect();
            row.push(Some(number as i64));
            let key = |row: &[Cell]| schema.key.iter().map(|at| row[*at]).collect::<Vec<_>>();
            if rows.iter().all(|it| key(it) != key(&row)) {
                rows.push(row);
            }
        }
        Self { rows }
    }

    pub fn matching(&self, conditions: &[Condition]) -> Vec<Vec<Cell>> {
        let all_hold = |row: &&Vec<Cell>| conditions.iter().all(|it| it.holds(row));
        self.rows.iter().filter(all_hold).cloned().collect()
    }

    /// Changes the rows of these conditions; those rows, as they are afterwards.
    pub fn change(&mut self, conditions: &[Condition], change: &Change) -> Vec<Vec<Cell>> {
        let (mut changed, rest): (Vec<_>, Vec<_>) = core::mem::take(&mut self.rows)
            .into_iter()
            .partition(|row| conditions.iter().all(|it| it.holds(row)));
        self.rows = rest;
        match change {
            Change::Delete => return changed,
            Change::Add => {
                changed.iter_mut().for_each(|row| row[COLUMNS] = row[COLUMNS].map(|it| it + 10))
            }
            Change::Assign(cells) => {
                for row in &mut changed {
                    cells.iter().for_each(|(column, cell)| row[*column] = *cell);
                }
            }
        }
        self.rows.extend_from_slice(&changed);
        changed
    }
}

/// How a statement changes the rows that it finds.
pub enum Change {
    Delete,
    /// Adds 10 to `v`.
    Add,
    /// Gives columns that are not of the key other values: longer ones and shorter ones, or none.
    Assign(Vec<(usize, Cell)>),
}

impl Change {
    pub fn random(schema: &Schema, tape: &mut Tape) -> Self {
        let others: Vec<usize> = (0..COLUMNS).filter(|at| !schema.key.contains(at)).collect();
        match tape.below(4) {
            0 => Self::Delete,
            1 => Self::Add,
            _ => {
                let columns = tape.some(&others, 1, 3);
                let cell = |tape: &mut Tape| Some(tape.below(8) as i64).filter(|it| *it < 7);
                Self::Assign(columns.into_iter().map(|it| (it, cell(tape))).collect())
            }
        }
    }
}

fn random_cell(tape: &mut Tape) -> Cell {
    match tape.below(16) {
        0 => None,
        1 => Some(BEYOND),
        number => Some(number as i64 % 4),
    }
}
