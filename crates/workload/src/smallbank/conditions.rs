//! The conditions of a bank at rest, checked in pieces, each in a transaction of its own:
//!
//! - `accounts`: each name leads to its customer, which has savings and checking;
//! - `savings`: nobody's are below zero;
//! - `money`: savings and checking hold what the ledger says was brought into the bank.

use super::schema::{Tables, account, balance, key};
use crate::{Condition, RunReadOnly};
use chiliad_api::{Get, Range, Result, TableId, Transaction};
use core::ops::Bound;

/// Customers, or rows of the ledger, read in one transaction.
const CHUNK: u32 = 512;

/// A customer as found: the customer that the name leads to, savings, checking.
type Found = [Option<i64>; 3];

/// Looks at all three.
///
/// # Errors
/// Those of the transactions.
pub(super) fn check(
    accounts: u32,
    tables: &Tables,
    run: &mut RunReadOnly<'_>,
) -> Result<Vec<Condition>> {
    let (mut strangers, mut overdrawn) = (None, None);
    let mut held = 0;
    let mut first = 0;
    while first < accounts {
        let customers: Vec<u32> = (first..accounts.min(first + CHUNK)).collect();
        first += CHUNK;
        let mut found = Vec::new();
        run(&mut |tx| {
            found = read(tables, tx, &customers)?;
            Ok(())
        })?;
        for (&customer, &[named, saved, checked]) in customers.iter().zip(&found) {
            let is_whole =
                named == Some(i64::from(customer)) && saved.is_some() && checked.is_some();
            if !is_whole && strangers.is_none() {
                strangers = Some(format!(
                    "customer {customer}: the name leads to {named:?}, savings are {saved:?}, \
                     checking {checked:?}"
                ));
            }
            if saved.is_some_and(|cents| cents < 0) && overdrawn.is_none() {
                overdrawn = Some(format!("customer {customer} has savings of {saved:?}"));
            }
            held += saved.unwrap_or(0) + checked.unwrap_or(0);
        }
    }
    let brought = brought(tables, run)?;
    let lost = (held != brought)
        .then(|| format!("the accounts hold {held} cents, the ledger says {brought}"));
    let named = [("accounts", strangers), ("savings", overdrawn), ("money", lost)];
    Ok(named.map(|(name, failure)| Condition { name: name.into(), failure }).into())
}

fn read(tables: &Tables, tx: &mut dyn Transaction, customers: &[u32]) -> Result<Vec<Found>> {
    let names: Vec<[u8; 16]> = customers.iter().map(|&customer| key::name(customer)).collect();
    let keys: Vec<[u8; 4]> = customers.iter().map(|&customer| key::customer(customer)).collect();
    let mut found = vec![[None; 3]; customers.len()];
    let mut rows = vec![None; customers.len()];
    for (column, table) in [tables.account, tables.savings, tables.checking].into_iter().enumerate()
    {
        let get = |at: usize| match column {
            0 => Get::read(table, &names[at][..]),
            _ => Get::read(table, &keys[at][..]),
        };
        let gets: Vec<Get<'_>> = (0..customers.len()).map(get).collect();
        tx.get_many(&gets, &mut rows)?;
        for (found, row) in found.iter_mut().zip(&rows) {
            let bytes = row.map(|row| tx.bytes(row)).transpose()?;
            found[column] = bytes.map(|bytes| match column {
                0 => i64::from(account::CUSTOMER.get(bytes)),
                _ => balance::CENTS.get(bytes),
            });
        }
    }
    Ok(found)
}

/// The sum of the ledger.
fn brought(tables: &Tables, run: &mut RunReadOnly<'_>) -> Result<i64> {
    let mut sum = 0;
    let mut last: Option<Vec<u8>> = None;
    loop {
        let (mut part, mut end) = (0, None);
        run(&mut |tx| {
            (part, end) = ledger_piece(tables.ledger, tx, last.as_deref())?;
            Ok(())
        })?;
        sum += part;
        match end {
            None => return Ok(sum),
            end => last = end,
        }
    }
}

/// The sum of the next rows after `last`, and the key of the last of them.
fn ledger_piece(
    ledger: TableId,
    tx: &mut dyn Transaction,
    last: Option<&[u8]>,
) -> Result<(i64, Option<Vec<u8>>)> {
    let low = last.map_or(Bound::Unbounded, Bound::Excluded);
    let scanned = tx.scan(ledger, Range { low, ..Range::all() }.limit(CHUNK as usize))?;
    let entries = tx.entries(scanned)?;
    let mut sum = 0;
    for entry in entries {
        sum += balance::CENTS.get(tx.bytes(entry.row)?);
    }
    let last = entries.last().map(|&entry| tx.key(entry)).transpose()?;
    Ok((sum, last.map(<[u8]>::to_vec)))
}
