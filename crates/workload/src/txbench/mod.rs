//! TxBench: three tables alike, range queries, and updates of the table next to the one that was read.
//!
//! The microbenchmark of Jung et al. (2014, 5.1.2), made to put load on a lock manager: a range
//! query adds up an integer of S rows; of the transactions a chosen share then updates 0.2 S rows of
//! the next table, so that cycles of reading and writing go round all three. Variants: a hot spot, to
//! which all transactions keep (5.3.2), and a transaction that begins, reads and never ends (5.3.3),
//! which is the driver's matter.
//!
//! Choices where the paper leaves something open, and departures from it:
//!
//! - Keys are 1, 2, 3 and so on, so that a range of S keys has S rows.
//! - The statement that updates is an illustration that its text lacks. Here it is given keys, which
//!   are distinct, drawn with the rest of the request, and taken in their order.
//! - An update moves an amount between rows: the first loses it, the second gains it, and so on; a last
//!   one without a partner is written as it was. So what each table adds up to stays the same, which is
//!   looked at after a run. That finds updates that were lost or done in part, and none between fewer
//!   than two rows (S up to 5). It does not find cycles of reading and writing: for those a run's
//!   history is checked.
//! - Rows are of the paper's columns and of its total size, 0.5 GiB; how long texts are it does not say.
//!
//! With partitions each has a range of every table's rows, the hot ones in front, and a client keeps to
//! its own.

mod conditions;
mod options;
mod request;
pub mod schema;

pub use options::{ROWS_MAX, ROWS_READ_MAX, TxbenchOptions};
pub use request::Client;

use crate::random::{Chance, Random};
use crate::ranges::share;
use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{Result, TableId, TableSpec, Transaction};
use core::ops::Range;
use schema::{TEXTS, item, key, tables};

const KINDS: [&str; 2] = ["read_only", "read_update"];
const READ_ONLY: usize = 0;
const READ_UPDATE: usize = 1;

/// Rows of each table made by one part of the load: an even number.
const LOAD_PART: u32 = 1 << 12;

/// The initial average of the rows of a table, exactly.
const MEAN: i64 = 10_000;

/// The workload.
#[derive(Debug)]
pub struct Txbench {
    options: TxbenchOptions,
    updates: Chance,
}

impl Txbench {
    /// TxBench as asked for.
    ///
    /// # Errors
    /// Those of [`TxbenchOptions::validate`].
    pub fn new(options: TxbenchOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        Ok(Self { updates: Chance::percent(options.updates), options })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &TxbenchOptions {
        &self.options
    }

    /// The keys of a partition that its clients choose among, in each table.
    #[must_use]
    pub fn keys_of(&self, partition: u32) -> Range<u32> {
        let all = share(self.options.rows, partition, self.options.partitions);
        let first = all.start + 1;
        first..first + self.options.hot(all.len() as u32)
    }
}

impl Workload for Txbench {
    type Client = Client;

    fn name(&self) -> &'static str {
        "txbench"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        schema::specs()
    }

    fn load_parts(&self) -> usize {
        self.options.rows.div_ceil(LOAD_PART) as usize
    }

    fn load(
        &self,
        created: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        let mut random = Random::new(seed, 0x10ad_0000_0000 + part as u64);
        let first = part as u32 * LOAD_PART + 1;
        let last = (first + LOAD_PART - 1).min(self.options.rows);
        let mut row = Vec::new();
        for table in tables(created) {
            // Two by two they hold twice the mean.
            let mut above = 0;
            for b_int_key in first..=last {
                above = match b_int_key % 2 {
                    0 => -above,
                    _ if b_int_key == self.options.rows => 0,
                    _ => i64::from(random.range(0, 2000)) - 1000,
                };
                fill(&mut row, MEAN + above, self.options.letters, &mut random);
                insert(table, &key(b_int_key), &row)?;
            }
        }
        Ok(())
    }

    fn client(&self, created: &[TableId], client_id: ClientId) -> Client {
        Client::new(self, tables(created), client_id)
    }

    #[inline]
    fn next(&self, client: &mut Client, partitions: &mut Vec<u32>) -> Shape {
        client.draw(self, partitions)
    }

    fn next_stalled(&self, client: &mut Client, partitions: &mut Vec<u32>) -> Shape {
        client.draw_query(self, partitions)
    }

    #[inline]
    fn draws(&self, client: &Client) -> u32 {
        1 + client.keys().len() as u32
    }

    #[inline]
    fn execute<T: Transaction + ?Sized>(&self, client: &mut Client, tx: &mut T) -> Result<()> {
        client.run(tx)
    }

    fn conditions(&self, created: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        conditions::check(&self.options, &tables(created), run)
    }
}

/// A row with this b_int_value and texts of so many letters.
fn fill(row: &mut Vec<u8>, b_int_value: i64, letters: (u32, u32), random: &mut Random) {
    row.clear();
    row.resize(item::BYTES, 0);
    item::B_INT_VALUE.set(row, b_int_value);
    for _ in 0..TEXTS {
        let length = random.range(letters.0, letters.1) as u8;
        row.push(length);
        let from = row.len();
        row.resize(from + usize::from(length), 0);
        random.letters(&mut row[from..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_divide_the_rows_and_the_hot_spot() {
        let options = TxbenchOptions {
            partitions: 4,
            hotspot: 50.0,
            rows_read: 3,
            ..TxbenchOptions::micro()
        };
        let txbench = Txbench::new(options).unwrap();
        assert_eq!(txbench.keys_of(0), 1..4);
        assert_eq!(txbench.keys_of(3), 19..22);
        let whole = Txbench::new(TxbenchOptions::default()).unwrap();
        assert_eq!(whole.keys_of(0), 1..100_001);
    }
}
