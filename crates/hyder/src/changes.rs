//! The writes of a transaction, entries of secondary indexes included, and the intention that they become.
//!
//! A row that is changed in place ([`Attempt::modify`]) is compared with its entries at the next operation that
//! uses an index, and at the commit. What the indexes cannot take is refused before anything is written.

use crate::attempt::{Attempt, check_key};
use crate::faults::ABSENCE_DROPPED;
use crate::intention::{Encoder, Written};
use crate::write::Write;
use chiliad_api::{
    Error, Result, Row, Secondary, TableId, VALUE_BYTES_MAX, WriteKind, Writes, stamp,
};
use chiliad_machine::Machine;
use std::sync::Arc;

impl<M: Machine> Attempt<M> {
    /// Refuses tables that the transaction may not change; says whether one that it may has indexes.
    pub fn writable(&self, id: TableId) -> Result<bool> {
        if self.purpose.read_only {
            return Err(Error::ReadOnly);
        }
        let table = self.table(id)?;
        match table.spec.writes {
            Writes::Transactions => Ok(!table.indexes.is_empty()),
            Writes::Loads if self.purpose.loads => Ok(!table.indexes.is_empty()),
            _ => Err(Error::ReadOnlyTable(table.spec.name.clone())),
        }
    }

    pub fn insert(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.insert_parts(id, key, &[value])
    }

    /// Inserts a row, each part into a table of its own.
    pub fn insert_parts(&mut self, id: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        self.writable(id)?;
        let table = self.table(id)?;
        table.spec.check_parts(table.is_group, parts.len())?;
        if self.look(id, key)?.is_some() {
            return Err(Error::duplicate_key(&self.table(id)?.spec.name, key));
        }
        self.change(id, key, Some(parts[0]))?;
        for (group, part) in parts[1..].iter().enumerate() {
            self.change(id.group(group), key, Some(part))?;
        }
        Ok(())
    }

    pub fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        let (id, key) = self.place_of(row)?;
        let key = key.to_vec();
        self.writable(id)?;
        self.change(id, &key, Some(value))
    }

    pub fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        let (id, key) = self.place_of(row)?;
        let (key, read) = (key.to_vec(), self.bytes(row)?.to_vec());
        let is_indexed = self.writable(id)?;
        let own = self.know(id, &key);
        if is_indexed {
            self.dirty.push(own as u32);
        }
        // One that was removed before is there again.
        Ok(self.write(own).value.get_or_insert(read))
    }

    pub fn put(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.writable(id)?;
        let table = self.table(id)?;
        let in_parts = table.is_group || !table.spec.groups.is_empty();
        if in_parts && self.look(id, key)?.is_none() {
            return self.insert(id, key, value);
        }
        self.change(id, key, Some(value))
    }

    pub fn remove_row(&mut self, row: Row) -> Result<()> {
        let (id, key) = self.place_of(row)?;
        let key = key.to_vec();
        self.writable(id)?;
        let table = self.table(id)?;
        if table.is_group {
            return Err(Error::PartOfRow(table.spec.name.clone()));
        }
        let groups = table.spec.groups.len();
        self.change(id, &key, None)?;
        (0..groups).try_for_each(|group| self.change(id.group(group), &key, None))
    }

    /// The write of a key: the one there is, or one that leaves it as it is.
    fn write(&mut self, own: usize) -> &mut Write {
        if self.own[own].write.is_none() {
            let stored = self.value_of(self.own[own].stored);
            let value = stored.map(|place| self.bytes_at(&place).to_vec());
            self.own[own].write = Some(Write { value: value.clone(), entries_of: value });
        }
        self.own[own].write.get_or_insert_default()
    }

    /// Writes a row and its entries; without a value, removes them.
    fn change(&mut self, id: TableId, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        check_key(key)?;
        let bytes = value.map_or(0, <[u8]>::len);
        if bytes > VALUE_BYTES_MAX {
            return Err(Error::ValueSize { bytes, accepted: (0, VALUE_BYTES_MAX) });
        }
        // So that the entries of all rows are those of their values.
        self.align()?;
        let own = self.know(id, key);
        self.check_entries(own, value)?;
        self.write(own).value = value.map(<[u8]>::to_vec);
        self.move_entries(own)
    }

    /// Brings the entries of rows that were changed in place in line with them.
    ///
    /// # Errors
    /// The first that the indexes cannot take. It stays as it is.
    pub fn align(&mut self) -> Result<()> {
        while let Some(&own) = self.dirty.last() {
            let own = own as usize;
            let value = self.write(own).value.clone();
            self.check_entries(own, value.as_deref())?;
            self.move_entries(own)?;
            self.dirty.pop();
        }
        Ok(())
    }

    fn table_of(&self, own: usize) -> Result<&Arc<crate::catalog::Table>> {
        self.table(self.own[own].table)
    }

    /// Refuses a value that is too short for the indexes of its table, or whose key in a unique one is another
    /// row's.
    fn check_entries(&mut self, own: usize, value: Option<&[u8]>) -> Result<()> {
        let table = Arc::clone(self.table_of(own)?);
        let Some(value) = value.filter(|_| !table.indexes.is_empty()) else { return Ok(()) };
        let key = self.bytes_at(&self.own[own].key).to_vec();
        let before = match &self.own[own].write {
            Some(write) => write.entries_of.clone(),
            None => {
                let stored = self.value_of(self.own[own].stored);
                stored.map(|place| self.bytes_at(&place).to_vec())
            }
        };
        for index in &table.indexes {
            index.check(&key, value)?;
            let stays = before.as_ref().is_some_and(|before| index.same_key(before, value));
            if stays || !index.spec.unique {
                continue;
            }
            let entry = entry_of(index, &key, value);
            if self.look(index.table, &entry)?.is_some() {
                return Err(Error::UniqueViolation { index: index.spec.name.clone() });
            }
        }
        Ok(())
    }

    /// Replaces the entries of a row by those of its new value, which has been checked.
    fn move_entries(&mut self, own: usize) -> Result<()> {
        let table = Arc::clone(self.table_of(own)?);
        if table.indexes.is_empty() {
            return Ok(());
        }
        let key = self.bytes_at(&self.own[own].key).to_vec();
        let write = self.write(own);
        let after = write.value.clone();
        let before = core::mem::replace(&mut write.entries_of, after.clone());
        for index in &table.indexes {
            if let (Some(before), Some(after)) = (&before, &after)
                && index.same_key(before, after)
            {
                continue;
            }
            if let Some(before) = &before {
                let entry = self.know(index.table, &entry_of(index, &key, before));
                self.write(entry).value = None;
            }
            if let Some(after) = &after {
                let entry = self.know(index.table, &entry_of(index, &key, after));
                self.write(entry).value = Some(key.clone());
            }
        }
        Ok(())
    }

    /// Whether the transaction changes anything.
    pub fn has_writes(&self) -> bool {
        self.own.iter().any(|own| own.is_written())
    }

    /// The intention: all that the transaction depends on and writes. Rows that came and went are no part of what it
    /// writes.
    pub fn intention(&self, local: u64) -> Vec<u8> {
        let snapshot = self.state.map_or(0, crate::state::StateRef::label);
        let mut encoder = Encoder::new(local, snapshot);
        let mut stamped = Vec::new();
        for own in self.ordered() {
            let write = own.write.as_ref().filter(|_| own.is_written());
            // A load depends on nothing; a write depends on its key, as whoever wrote it first has it.
            let drops = M::fault(&ABSENCE_DROPPED) && !own.is_stored();
            let depends = !self.purpose.loads && !drops && (own.depends || write.is_some());
            let written = write.map(|write| {
                stamped.clear();
                let tombstone = write.value.is_none();
                stamped.extend_from_slice(write.value.as_deref().unwrap_or_default());
                if let Some(stamp) = self.purpose.stamp {
                    let tail = match &write.value {
                        Some(value) => stamp::make(stamp, value, stamp::reach(None)),
                        None => stamp::make_absent(stamp),
                    };
                    stamped.extend_from_slice(&tail);
                }
                Written { tombstone, value: &stamped }
            });
            if depends || written.is_some() {
                encoder.entry(own.table.0, self.bytes_at(&own.key), depends, written);
            }
        }
        for scan in self.scans.iter().filter(|_| !self.purpose.loads) {
            let (low, high) = (scan.low.as_ref(), scan.high.as_ref());
            encoder.range(scan.table.0, low.map(Vec::as_slice), high.map(Vec::as_slice));
        }
        encoder.finish()
    }

    /// Reports the writes of a transaction that has committed.
    pub fn record_writes(&mut self, order: u64) {
        let Some(mut recorder) = self.recorder.take() else { return };
        for at in 0..self.own.len() {
            let own = &self.own[at];
            let Some(write) = own.write.as_ref().filter(|_| own.is_written()) else { continue };
            let kind = match (own.is_stored(), &write.value) {
                (false, _) => WriteKind::Insert,
                (true, Some(_)) => WriteKind::Update,
                (true, None) => WriteKind::Remove,
            };
            let (table, key, stored) = (own.table, own.key.clone(), own.stored);
            let overwritten = self.stamp_of(stored);
            recorder.write(table, self.bytes_at(&key), kind, overwritten, order);
            let write = self.own[at].write.as_ref();
            recorder.value(write.and_then(|write| write.value.as_deref()).unwrap_or_default());
        }
        self.recorder = Some(recorder);
    }
}

impl<M: Machine> crate::attempt::Own<M> {
    /// Whether the state has a row of the key.
    fn is_stored(&self) -> bool {
        self.stored.is_some_and(|node| !node.content().tombstone)
    }

    /// Whether a version of the key will be written: not of a row that came and went.
    fn is_written(&self) -> bool {
        self.write.as_ref().is_some_and(|write| write.value.is_some() || self.is_stored())
    }
}

fn entry_of(index: &Secondary, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut entry = Vec::new();
    index.encode(key, value, &mut entry);
    entry
}
