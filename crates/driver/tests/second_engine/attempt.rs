//! A transaction in progress: it owns all tables, and reads them beneath its own writes, which wait for the commit.

use crate::changes::{Write, WriteSet};
use crate::tables::{Tables, merge};
use chiliad_api::{
    Entry, Error, IndexKind, KEY_BYTES_MAX, Numbers, Range, Recorder, Result, Row, Scanned, Stamp,
    TableId,
};
use core::ops::Bound;

/// A bug planted in the engine, to show that the tests catch it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plant {
    /// A row that is changed loses its entry in a secondary index.
    DropsIndexEntry,
    /// A commit gives the tables back before its writes are in them.
    ReleasesEarly,
}

/// A row that was found.
struct Access {
    table: TableId,
    key: Vec<u8>,
    /// As it was read, without changes of this transaction that came later.
    value: Vec<u8>,
}

pub struct Attempt {
    pub tables: Box<Tables>,
    pub recorder: Option<Box<dyn Recorder>>,
    /// What names the versions that it writes; nothing where no run is verified.
    pub stamp: Option<Stamp>,
    pub read_only: bool,
    pub loads: bool,
    pub plant: Option<Plant>,
    pub writes: WriteSet,
    numbers: Numbers,
    accesses: Vec<Access>,
    entries: Vec<Entry>,
}

impl Attempt {
    /// A transaction that has done nothing yet.
    pub fn new(tables: Box<Tables>, recorder: Option<Box<dyn Recorder>>) -> Self {
        Self {
            tables,
            recorder,
            stamp: None,
            read_only: false,
            loads: false,
            plant: None,
            writes: WriteSet::default(),
            // Numbers of its own, so that rows of other transactions are none of its.
            numbers: Numbers::new(),
            accesses: Vec::new(),
            entries: Vec::new(),
        }
    }

    fn note(&mut self, table: TableId, key: Vec<u8>, value: Vec<u8>) -> Row {
        let row = Row::from_number(self.numbers.number(self.accesses.len()));
        self.accesses.push(Access { table, key, value });
        row
    }

    fn access(&self, row: Row) -> Result<&Access> {
        let place = self.numbers.place(row.number().get());
        self.accesses.get(place).ok_or(Error::ForeignHandle)
    }

    /// Table and key of a row.
    pub fn place_of(&self, row: Row) -> Result<(TableId, &[u8])> {
        let access = self.access(row)?;
        Ok((access.table, &access.key))
    }

    /// The value of a row, with the transaction's own changes; as it was read where it has been removed.
    pub fn bytes(&self, row: Row) -> Result<&[u8]> {
        let access = self.access(row)?;
        let own = self.writes.get(access.table, &access.key);
        let value = own.and_then(|write| write.value.as_ref());
        Ok(value.unwrap_or(&access.value))
    }

    pub fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        let start = self.numbers.place(scanned.parts().0);
        let found = self.entries.get(start..).and_then(|rest| rest.get(..scanned.len()));
        found.ok_or(Error::ForeignHandle)
    }

    /// Looks a key up.
    pub fn look(&mut self, id: TableId, key: &[u8]) -> Result<Option<Row>> {
        check_key(key)?;
        let table = self.tables.get(id)?;
        let value = match self.writes.get(id, key) {
            // Its own writes are no news to a transaction, nor to its history.
            Some(write) => write.value.clone(),
            None => {
                let version = table.rows.get(key);
                let value = version.and_then(|version| version.value());
                if let Some(recorder) = &mut self.recorder {
                    let stamp = version.map_or(0, |version| version.stamp());
                    recorder.read(id, key, stamp, value.is_none());
                }
                value.map(<[u8]>::to_vec)
            }
        };
        Ok(value.map(|value| self.note(id, key.to_vec(), value)))
    }

    pub fn scan(&mut self, id: TableId, range: &Range<'_>) -> Result<Scanned> {
        let table = self.tables.get(id)?;
        if table.spec.index != IndexKind::Ordered {
            return Err(Error::NotOrdered);
        }
        for bound in [range.low, range.high] {
            if let Bound::Included(key) | Bound::Excluded(key) = bound {
                check_key(key)?;
            }
        }
        // Key, value and stamp of all that the scan meets, tombstones included.
        let mut met: Vec<(Vec<u8>, Option<Vec<u8>>, Stamp)> = Vec::new();
        let mut left = range.limit;
        let none = Default::default();
        let own = self.writes.of(id).unwrap_or(&none);
        for (key, version, write) in merge(&table.rows, own, range) {
            if left == 0 {
                break;
            }
            let stored = version.and_then(|version| version.value());
            let value = write.map_or(stored, |write: &Write| write.value.as_deref());
            left -= usize::from(value.is_some());
            // A row that comes and goes within a transaction is no version of the key.
            let is_own = write.is_some() && (stored.is_some() || value.is_some());
            let stamp = match version {
                _ if self.recorder.is_none() => 0,
                _ if is_own => self.stamp.unwrap_or(0),
                Some(version) => version.stamp(),
                None => continue,
            };
            met.push((key.clone(), value.map(<[u8]>::to_vec), stamp));
        }
        if let Some(recorder) = &mut self.recorder {
            let last = met.last().filter(|_| left == 0).map(|met| &*met.0);
            recorder.scan(id, range, last);
            for (key, value, stamp) in &met {
                recorder.scan_entry(key, *stamp, value.is_none());
            }
        }
        let start = self.entries.len();
        for (key, value, _) in met {
            if let Some(value) = value {
                let row = self.note(id, key, value);
                self.entries.push(Entry::new(row, row));
            }
        }
        Ok(self.scanned(start))
    }

    /// Reads entries of an index, and the rows that they lead to.
    pub fn scan_index(&mut self, id: TableId, index: usize, range: &Range<'_>) -> Result<Scanned> {
        self.align()?;
        let table = self.tables.get(id)?;
        let unknown = || Error::UnknownIndex(format!("number {index} of {}", table.spec.name));
        let entries = table.indexes.get(index).ok_or_else(unknown)?.table;
        let scanned = self.scan(entries, range)?;
        let start = self.entries.len() - scanned.len();
        let found = self.entries.split_off(start);
        for entry in found {
            let key = self.bytes(entry.row)?.to_vec();
            if let Some(row) = self.look(id, &key)? {
                self.entries.push(Entry::new(entry.key(), row));
            }
        }
        Ok(self.scanned(start))
    }

    /// The entries from `start` on, which are those of one scan.
    fn scanned(&self, start: usize) -> Scanned {
        let length = (self.entries.len() - start) as u32;
        Scanned::from_parts(self.numbers.first() + start as u64, length)
    }
}

/// Refuses keys that no index holds.
pub fn check_key(key: &[u8]) -> Result<()> {
    match key.len() > KEY_BYTES_MAX {
        true => Err(Error::KeyTooLong { bytes: key.len() }),
        false => Ok(()),
    }
}
