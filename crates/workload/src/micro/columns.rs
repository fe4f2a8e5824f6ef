//! Columns: rows of which each transaction looks at one column, while others change the other columns
//! ([`Transaction::look_at`], [`Transaction::update_columns`]).
//!
//! A row is on or off (`ON`), has notes (`NOTES`) that move between rows all the time, and a copy of how others were
//! (`COPY`). Rows 2i and 2i + 1 are a pair: a row goes off only if its partner, which is read for this column alone, is on.
//! Others look at `ON` and write `NOTES` of the same row, or write whole rows, of which nobody says what changes.
//! Conditions: `pairs`: of each pair at least one is on, which write skew breaks; `notes`: those of all rows add up to 0.

use crate::memory::{Estimate, Tables};
use crate::random::Random;
use crate::workload::present;
use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{
    Column, ColumnType, Columns, Layout, Range, Result, Row, TableId, TableSpec, Transaction,
};

mod switch {
    crate::row::columns! {
        ON: i64, NOTES: i64, COPY: i64,
    }
}

use switch::{BYTES, COPY, NOTES, ON};

/// A column of a row.
type Place = crate::row::Column<i64>;

const KINDS: [&str; 6] = ["note", "switch", "copy", "late", "whole", "audit"];
const NOTE: usize = 0;
const SWITCH: usize = 1;
const COPY_OF: usize = 2;
const LATE: usize = 3;
const WHOLE: usize = 4;

/// The condition that write skew breaks.
const PAIRS: &str = "pairs";

/// Different rows of a request.
const PICKED: usize = 4;

/// The rows as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByColumnOptions {
    /// `--rows`: an even number.
    pub rows: u32,
    /// `--snapshot-reads`: audits read a snapshot of the past.
    pub snapshot_reads: bool,
}

impl Default for ByColumnOptions {
    fn default() -> Self {
        Self { rows: 8, snapshot_reads: true }
    }
}

impl ByColumnOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        Tables::new(kept).rows(u64::from(self.rows), BYTES as u64).estimate("--rows")
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> core::result::Result<(), String> {
        match self.rows {
            rows @ 4..=10_000_000 if rows.is_multiple_of(2) => Ok(()),
            given => Err(format!("--rows {given}: accepted is 4 to 10000000, an even number")),
        }
    }
}

/// The workload.
#[derive(Debug)]
pub struct ByColumn {
    options: ByColumnOptions,
}

/// One client: its random numbers and the request in hand.
pub struct ByColumnClient {
    table: TableId,
    rows: u32,
    random: Random,
    kind: usize,
    picked: [u32; PICKED],
    /// Rows that are read between a look at a row and its change.
    between: u32,
    amount: i64,
    shown: i64,
}

impl ByColumnClient {
    /// The number that the last transaction saw.
    #[must_use]
    pub fn shown(&self) -> i64 {
        self.shown
    }
}

impl ByColumn {
    /// The rows as asked for.
    ///
    /// # Errors
    /// Those of [`ByColumnOptions::validate`].
    pub fn new(options: ByColumnOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        Ok(Self { options })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &ByColumnOptions {
        &self.options
    }
}

impl Workload for ByColumn {
    type Client = ByColumnClient;

    fn name(&self) -> &'static str {
        "columns"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        vec![TableSpec::ordered("switches").with_layout(layout())]
    }

    fn load_parts(&self) -> usize {
        1
    }

    fn load(&self, tables: &[TableId], _: usize, _: u64, insert: &mut InsertRow<'_>) -> Result<()> {
        let mut row = [0; BYTES];
        ON.set(&mut row, 1);
        (0..self.options.rows).try_for_each(|number| insert(tables[0], &number.to_be_bytes(), &row))
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> ByColumnClient {
        ByColumnClient {
            table: tables[0],
            rows: self.options.rows,
            random: Random::new(client_id.seed, 0xc1_0000_0000 + client_id.index as u64),
            kind: NOTE,
            picked: [0; PICKED],
            between: 0,
            amount: 0,
            shown: 0,
        }
    }

    fn next(&self, client: &mut ByColumnClient, partitions: &mut Vec<u32>) -> Shape {
        partitions.push(0);
        let random = &mut client.random;
        client.kind = match random.below(100) {
            0..35 => NOTE,
            35..55 => SWITCH,
            55..70 => COPY_OF,
            70..82 => LATE,
            82..90 => WHOLE,
            _ => KINDS.len() - 1,
        };
        for at in 0..PICKED {
            client.picked[at] = loop {
                let row = random.below(client.rows);
                if !client.picked[..at].contains(&row) {
                    break row;
                }
            };
        }
        client.between = random.range(2, 4).min(client.rows - 1);
        client.amount = i64::from(random.range(1, 50));
        let read_only = client.kind > WHOLE;
        Shape { kind: client.kind, read_only, snapshot: read_only && self.options.snapshot_reads }
    }

    fn execute<T: Transaction + ?Sized>(
        &self,
        client: &mut ByColumnClient,
        tx: &mut T,
    ) -> Result<()> {
        match client.kind {
            NOTE => client.note(tx),
            SWITCH => client.switch(tx),
            COPY_OF => client.copy(tx),
            LATE => client.change_late(tx),
            WHOLE => client.change_whole(tx),
            _ => client.audit(tx),
        }
    }

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        let mut failures = [None, None];
        run(&mut |tx| {
            failures = [None, None];
            let mut sum = 0;
            for pair in 0..self.options.rows / 2 {
                let rows = [2 * pair, 2 * pair + 1];
                let mut is_on = false;
                for number in rows {
                    let row = present(tx.get(tables[0], &number.to_be_bytes())?)?;
                    let bytes = tx.bytes(row)?;
                    is_on |= ON.get(bytes) != 0;
                    sum += NOTES.get(bytes);
                }
                if !is_on {
                    failures[0] = Some(format!("rows {} and {} are both off", rows[0], rows[1]));
                }
            }
            failures[1] = (sum != 0).then(|| format!("the notes of all rows add up to {sum}"));
            Ok(())
        })?;
        let condition = |(name, failure): (&str, _)| Condition { name: name.into(), failure };
        Ok([PAIRS, "notes"].into_iter().zip(failures).map(condition).collect())
    }

    fn broken_by_skew(&self) -> &'static [&'static str] {
        &[PAIRS]
    }
}

/// The columns of the table.
fn layout() -> Layout {
    let row = ["on", "notes", "copy"].map(|name| Column::new(name, ColumnType::Signed(64)));
    Layout { key: vec![Column::new("number", ColumnType::Unsigned(32))], row: row.into() }
}

/// A column's number in the layout: all are equally wide.
fn number_of(column: Place) -> usize {
    column.offset() / column.bytes()
}

/// The bytes of a row as it was read.
fn bytes_of<T: Transaction + ?Sized>(tx: &T, row: Row) -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    bytes.copy_from_slice(tx.bytes(row)?);
    Ok(bytes)
}

impl ByColumnClient {
    /// A column as an engine knows it.
    fn columns(&self, column: Place) -> Columns {
        Columns::of(self.table, number_of(column))
    }

    /// A row of which what is looked at is read.
    fn read<T: Transaction + ?Sized>(&self, tx: &mut T, number: u32) -> Result<Row> {
        present(tx.get(self.table, &number.to_be_bytes())?)
    }

    /// A row that is read to be written.
    fn read_for_update<T: Transaction + ?Sized>(&self, tx: &mut T, number: u32) -> Result<Row> {
        present(tx.get_for_update(self.table, &number.to_be_bytes())?)
    }

    /// Gives one column of a row that was read a new value, made from the old one, and returns it.
    fn change<T: Transaction + ?Sized>(
        &self,
        tx: &mut T,
        row: Row,
        column: Place,
        change: impl FnOnce(i64) -> i64,
    ) -> Result<i64> {
        let mut bytes = bytes_of(tx, row)?;
        let value = change(column.get(&bytes));
        column.set(&mut bytes, value);
        tx.update_columns(row, &bytes, self.columns(column))?;
        Ok(value)
    }

    /// Moves an amount of notes from one row to another.
    fn note<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let from = self.read_for_update(tx, self.picked[0])?;
        let to = self.read_for_update(tx, self.picked[1])?;
        self.shown = self.change(tx, from, NOTES, |notes| notes - self.amount)?;
        self.change(tx, to, NOTES, |notes| notes + self.amount)?;
        Ok(())
    }

    /// Switches a row off if its partner is on, or switches it on, and says in half of all cases which column that changes.
    fn switch<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        tx.look_at(self.columns(ON));
        let partner = self.read(tx, self.picked[0] ^ 1)?;
        let own = self.read(tx, self.picked[0])?;
        let (is_on, has_partner) = (ON.get(tx.bytes(own)?) != 0, ON.get(tx.bytes(partner)?) != 0);
        self.shown = is_on.into();
        if is_on && !has_partner {
            return Ok(());
        }
        // The new value is made from all of the row.
        tx.look_at(Columns::ALL);
        let own = self.read_for_update(tx, self.picked[0])?;
        if self.amount % 2 == 0 {
            self.change(tx, own, ON, |_| i64::from(!is_on))?;
            return Ok(());
        }
        let mut bytes = bytes_of(tx, own)?;
        ON.set(&mut bytes, (!is_on).into());
        tx.update(own, &bytes)
    }

    /// Notes in one row which of three others are on.
    fn copy<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        tx.look_at(self.columns(ON));
        let [a, b, c, to] = self.picked;
        let rows = [self.read(tx, a)?, self.read(tx, b)?, self.read(tx, c)?];
        tx.look_at(Columns::ALL);
        let to = self.read_for_update(tx, to)?;
        self.shown = 0;
        for (at, row) in rows.into_iter().enumerate() {
            self.shown += ON.get(tx.bytes(row)?) << at;
        }
        self.change(tx, to, COPY, |_| self.shown)?;
        Ok(())
    }

    /// Reads a row of which it looks at one column, then others, and then moves notes from the row as it was read: what it
    /// writes depends on the column that it did not look at, which must not have changed meanwhile.
    fn change_late<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        tx.look_at(self.columns(ON));
        let from = self.read(tx, self.picked[0])?;
        self.shown = ON.get(tx.bytes(from)?);
        for step in 1..=self.between {
            let row = self.read(tx, (self.picked[0] + step) % self.rows)?;
            self.shown += ON.get(tx.bytes(row)?);
        }
        self.change(tx, from, NOTES, |notes| notes - self.amount)?;
        tx.look_at(Columns::ALL);
        let to = self.read_for_update(tx, self.picked[1])?;
        self.change(tx, to, NOTES, |notes| notes + self.amount)?;
        Ok(())
    }

    /// Moves an amount of notes, and does not say which columns change.
    fn change_whole<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        for (number, amount) in [(self.picked[0], -self.amount), (self.picked[1], self.amount)] {
            let row = self.read_for_update(tx, number)?;
            let mut bytes = bytes_of(tx, row)?;
            self.shown = NOTES.get(&bytes) + amount;
            NOTES.set(&mut bytes, self.shown);
            tx.update(row, &bytes)?;
        }
        Ok(())
    }

    /// Counts the rows that are on.
    fn audit<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        tx.look_at(self.columns(ON));
        let all = tx.scan(self.table, Range::all())?;
        self.shown = 0;
        for entry in tx.entries(all)? {
            self.shown += ON.get(tx.bytes(entry.row)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_api::row::{RowFormat, Value, write_key};

    #[test]
    fn columns_lie_where_the_layout_has_them() {
        let Layout { key, row: columns } = layout();
        let format = RowFormat::of(columns.iter().map(|column| &column.column_type));
        let mut row = [0; BYTES];
        let named = [("on", ON, 1), ("notes", NOTES, -300), ("copy", COPY, i64::MIN)];
        for (_, column, value) in named {
            column.set(&mut row, value);
        }
        assert_eq!(format.check(&row), Ok(()));
        assert_eq!(format.columns(), named.len());
        for (at, (name, column, value)) in named.into_iter().enumerate() {
            assert_eq!((&*columns[at].name, number_of(column)), (name, at));
            let cell = format.cell(&row, at).expect("a row");
            let found = Value::decode_cell(&columns[at].column_type, cell);
            assert_eq!(found.expect("a value"), Value::Signed(value.into()));
        }
        let mut bytes = vec![];
        write_key(&key[0].column_type, Some(&258_u32.to_le_bytes()), &mut bytes).expect("a key");
        assert_eq!(bytes, 258_u32.to_be_bytes());
    }

    #[test]
    fn no_two_columns_share_a_bit() {
        for table in (0..1000).map(TableId) {
            let sets = [ON, NOTES, COPY].map(|column| Columns::of(table, number_of(column)));
            assert!((0..3).all(|at| !sets[at].meets(sets[(at + 1) % 3])), "{table:?}");
        }
    }
}
