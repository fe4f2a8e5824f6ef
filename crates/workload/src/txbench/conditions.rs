//! The conditions of tables at rest, checked in pieces, each in a transaction of its own:
//!
//! - `rows`: each table has the rows that were loaded and no other, of lengths that they can have;
//! - `totals`: b_int_value adds up in each table to what it was when the table was loaded.
//!
//! The first piece of a table is open below and the last one above, so that rows of any key are met.
//! Of a row the start and the length are looked at: on a machine that keeps only so much there is no more.

use super::schema::{NAMES, Tables, item, key};
use super::{MEAN, TxbenchOptions};
use crate::{Condition, RunReadOnly};
use chiliad_api::{Range, Result, TableId, Transaction};
use core::ops::Bound;

/// Rows read in one transaction.
const CHUNK: u32 = 512;

/// Looks at both.
///
/// # Errors
/// Those of the transactions.
pub(super) fn check(
    options: &TxbenchOptions,
    tables: &Tables,
    run: &mut RunReadOnly<'_>,
) -> Result<Vec<Condition>> {
    let (mut strange, mut lost) = (None, None);
    let (shortest, longest) = options.lengths();
    for (name, &table) in NAMES.into_iter().zip(tables) {
        let mut total = 0;
        let mut first = 1;
        while first <= options.rows {
            let last = options.rows.min(first + CHUNK - 1);
            let mut found = Vec::new();
            run(&mut |tx| {
                found = read(tx, table, (first, last), options.rows)?;
                Ok(())
            })?;
            let keys = (first..=last).map(|it| key(it).to_vec());
            let is_whole = keys.eq(found.iter().map(|it| it.key.clone()))
                && found.iter().all(|it| (shortest..=longest).contains(&it.length));
            if !is_whole && strange.is_none() {
                strange = Some(format!(
                    "{name} has {} rows for the keys {first} to {last}, or others, or of other lengths",
                    found.len()
                ));
            }
            total += found.iter().map(|it| it.value).sum::<i64>();
            first = last + 1;
        }
        let loaded = MEAN * i64::from(options.rows);
        if total != loaded && lost.is_none() {
            lost = Some(format!("{name} adds up to {total}, and was loaded with {loaded}"));
        }
    }
    let named = [("rows", strange), ("totals", lost)];
    Ok(named.map(|(name, failure)| Condition { name: name.into(), failure }).into())
}

/// A row as found.
struct Found {
    key: Vec<u8>,
    length: usize,
    value: i64,
}

fn read(
    tx: &mut dyn Transaction,
    table: TableId,
    (first, last): (u32, u32),
    rows: u32,
) -> Result<Vec<Found>> {
    let (low, high) = (key(first), key(last));
    let range = Range {
        low: if first == 1 { Bound::Unbounded } else { Bound::Included(&low[..]) },
        high: if last == rows { Bound::Unbounded } else { Bound::Included(&high[..]) },
        ..Range::all()
    };
    let scanned = tx.scan(table, range)?;
    let found = tx.entries(scanned)?.iter().map(|&entry| {
        let row = tx.bytes(entry.row)?;
        let value = if row.len() < item::BYTES { 0 } else { item::B_INT_VALUE.get(row) };
        Ok(Found { key: tx.key(entry)?.to_vec(), length: row.len(), value })
    });
    found.collect()
}
