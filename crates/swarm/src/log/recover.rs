//! From drained bytes to what finished transactions have written, and to rows.

use super::drain::{CHECK_BYTES, HEAD_BYTES, checksum};
use super::entry::{Change, To, changes};
use crate::memory::Memory;
use crate::record::KeySource;
use crate::store::Swarm;
use crate::view::View;
use chiliad_api::{Error, Result};
use chiliad_machine::Machine;
use std::collections::BTreeMap;

/// The transactions that a log has whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recovered {
    /// The transactions that have finished, by number, rising.
    pub finished: Vec<u64>,
    /// What they have written, in order.
    pub changes: Vec<Change>,
}

/// Reads a log of transactions with `range` timestamps each, up to the first record that is not whole. Transactions
/// without a record of their commit have not finished, and leave nothing.
#[must_use]
pub fn recover(mut bytes: &[u8], range: u64) -> Recovered {
    let mut transactions: BTreeMap<u64, (BTreeMap<u64, Vec<Change>>, bool)> = BTreeMap::new();
    while let Some((timestamp, entry, rest)) = record(bytes) {
        let Some(changes) = changes(entry) else { break };
        let (logged, is_finished) = transactions.entry(timestamp / range).or_default();
        if timestamp % range == range - 1 {
            *is_finished = true;
        } else {
            logged.insert(timestamp, changes);
        }
        bytes = rest;
    }
    let mut recovered = Recovered::default();
    for (number, (logged, is_finished)) in transactions {
        if is_finished {
            recovered.finished.push(number);
            recovered.changes.extend(logged.into_values().flatten());
        }
    }
    recovered
}

/// The first record: its timestamp, its entry, and what follows; `None` unless it is whole.
fn record(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let (length, timestamp) = head.split_at(4);
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    let timestamp = u64::from_le_bytes(timestamp.try_into().ok()?);
    let (entry, rest) = rest.split_at_checked(length)?;
    let (check, rest) = rest.split_at_checked(CHECK_BYTES)?;
    let is_whole = check == checksum(&bytes[..HEAD_BYTES + length]).to_le_bytes();
    is_whole.then_some((timestamp, entry, rest))
}

impl<M: Machine> Swarm<M> {
    /// Makes changes that were recovered, on the rows that the log began with.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::InvalidOption`] for a part of a row that is not there; [`Error::TooManyWorkers`] while
    /// a session is open.
    pub fn replay(&mut self, changes: &[Change]) -> Result<()> {
        let base = self.base()?;
        let memory = Memory(&base.pool);
        let mut view = View::new(&memory, &base.tables);
        for Change { table, key, to } in changes {
            let unknown = || Error::UnknownTable(table.0.to_string());
            let table = view.tables.get(table.0).ok_or_else(unknown)?;
            let place = view.find_place(table, KeySource::Bytes(key));
            let done = match (to, place) {
                (To::Row(value), None) => view.insert_row(table, key, value).map(|_| ()),
                (To::Row(value), Some(place)) => view.replace_value(table, place, value),
                (To::Part(from, bytes), Some(place)) if place.write(*from, bytes).is_some() => {
                    Ok(())
                }
                (To::Part(..), _) => {
                    let table = &table.spec.name;
                    return Err(Error::InvalidOption(format!("a log changes no row of {table}")));
                }
                (To::None, _) => {
                    view.remove_row(table, key);
                    Ok(())
                }
            };
            done.map_err(|_| Error::OutOfMemory { limit_bytes: u64::MAX })?;
        }
        Ok(())
    }
}
