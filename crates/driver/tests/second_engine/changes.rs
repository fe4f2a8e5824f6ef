//! The writes of a transaction, entries of secondary indexes included: kept apart until it commits.
//!
//! A row that is changed in place ([`Attempt::modify`]) is compared with its entries at the next operation that
//! uses an index, and at the commit. What the indexes cannot take is refused before anything is written.

use crate::attempt::{Attempt, Plant, check_key};
use crate::tables::Version;
use chiliad_api::{Error, Result, Row, TableId, VALUE_BYTES_MAX, WriteKind, Writes};
use std::collections::{BTreeMap, BTreeSet};

/// A row as the transaction will leave it.
#[derive(Default)]
pub struct Write {
    /// Nothing where it is removed.
    pub value: Option<Vec<u8>>,
    /// The value that its entries in secondary indexes are those of.
    entries_of: Option<Vec<u8>>,
}

/// A row, by table and key.
type Place = (TableId, Vec<u8>);

/// Everything that a transaction will write, entries of indexes like other rows.
#[derive(Default)]
pub struct WriteSet {
    rows: BTreeMap<TableId, BTreeMap<Vec<u8>, Write>>,
    /// Rows whose entries have to be looked at.
    dirty: BTreeSet<Place>,
}

impl WriteSet {
    pub fn get(&self, id: TableId, key: &[u8]) -> Option<&Write> {
        self.of(id)?.get(key)
    }

    /// Those of one table.
    pub fn of(&self, id: TableId) -> Option<&BTreeMap<Vec<u8>, Write>> {
        self.rows.get(&id)
    }
}

impl Attempt {
    /// Refuses tables that the transaction may not change; says whether one that it may has indexes.
    pub fn writable(&self, id: TableId) -> Result<bool> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let table = self.tables.get(id)?;
        match table.spec.writes {
            Writes::Transactions => Ok(!table.indexes.is_empty()),
            Writes::Loads if self.loads => Ok(!table.indexes.is_empty()),
            _ => Err(Error::ReadOnlyTable(table.spec.name.clone())),
        }
    }

    pub fn insert(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.writable(id)?;
        if self.look(id, key)?.is_some() {
            return Err(Error::duplicate_key(&self.tables.get(id)?.spec.name, key));
        }
        self.change(id, key, Some(value))
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
        if self.writable(id)? {
            self.writes.dirty.insert((id, key.clone()));
        }
        // One that was removed before is there again.
        Ok(self.write(id, &key)?.value.get_or_insert(read))
    }

    pub fn put(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.writable(id)?;
        self.change(id, key, Some(value))
    }

    pub fn remove_row(&mut self, row: Row) -> Result<()> {
        let (id, key) = self.place_of(row)?;
        let key = key.to_vec();
        self.writable(id)?;
        let groups = self.tables.get(id)?.spec.groups.len();
        self.change(id, &key, None)?;
        (0..groups).try_for_each(|group| self.change(id.group(group), &key, None))
    }

    /// The value that is committed.
    fn stored(&self, id: TableId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let version = self.tables.get(id)?.rows.get(key);
        Ok(version.and_then(Version::value).map(<[u8]>::to_vec))
    }

    /// The write of a row: the one there is, or one that leaves it as it is.
    fn write(&mut self, id: TableId, key: &[u8]) -> Result<&mut Write> {
        let stored = self.stored(id, key)?;
        let writes = self.writes.rows.entry(id).or_default();
        let unchanged = || Write { value: stored.clone(), entries_of: stored };
        Ok(writes.entry(key.to_vec()).or_insert_with(unchanged))
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
        self.check_entries(id, key, value)?;
        self.write(id, key)?.value = value.map(<[u8]>::to_vec);
        self.move_entries(id, key)
    }

    /// Brings the entries of rows that were changed in place in line with them.
    ///
    /// # Errors
    /// The first that the indexes cannot take. It stays as it is.
    pub fn align(&mut self) -> Result<()> {
        while let Some((id, key)) = self.writes.dirty.first().cloned() {
            let value = self.write(id, &key)?.value.clone();
            self.check_entries(id, &key, value.as_deref())?;
            self.move_entries(id, &key)?;
            self.writes.dirty.remove(&(id, key));
        }
        Ok(())
    }

    /// Refuses a value that is too short for the indexes of its table, or whose key in a unique one is another
    /// row's.
    fn check_entries(&mut self, id: TableId, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let indexes = self.tables.get(id)?.indexes.clone();
        let Some(value) = value.filter(|_| !indexes.is_empty()) else { return Ok(()) };
        let before = match self.writes.get(id, key) {
            Some(write) => write.entries_of.clone(),
            None => self.stored(id, key)?,
        };
        for index in &*indexes {
            index.check(key, value)?;
            let stays = before.as_ref().is_some_and(|before| index.same_key(before, value));
            if stays || !index.spec.unique {
                continue;
            }
            let mut entry = Vec::new();
            index.encode(key, value, &mut entry);
            if self.look(index.table, &entry)?.is_some() {
                return Err(Error::UniqueViolation { index: index.spec.name.clone() });
            }
        }
        Ok(())
    }

    /// Replaces the entries of a row by those of its new value, which has been checked.
    fn move_entries(&mut self, id: TableId, key: &[u8]) -> Result<()> {
        let indexes = self.tables.get(id)?.indexes.clone();
        if indexes.is_empty() {
            return Ok(());
        }
        let write = self.write(id, key)?;
        let after = write.value.clone();
        let before = core::mem::replace(&mut write.entries_of, after.clone());
        let is_planted = self.plant == Some(Plant::DropsIndexEntry) && before.is_some();
        for index in &*indexes {
            if let (Some(before), Some(after)) = (&before, &after)
                && index.same_key(before, after)
            {
                continue;
            }
            let mut entry = Vec::new();
            if let Some(before) = &before {
                index.encode(key, before, &mut entry);
                self.write(index.table, &entry)?.value = None;
            }
            if let Some(after) = after.as_ref().filter(|_| !is_planted) {
                entry.clear();
                index.encode(key, after, &mut entry);
                self.write(index.table, &entry)?.value = Some(key.to_vec());
            }
        }
        Ok(())
    }

    /// Ends the collecting of writes: reports them with the versions that they overwrite, and returns what is
    /// to be installed. Rows that came and went are no part of it.
    pub fn resolve_writes(&mut self, order: u64) -> Result<Vec<(Place, Version)>> {
        let mut versions = Vec::new();
        for (id, writes) in core::mem::take(&mut self.writes.rows) {
            let table = self.tables.get(id)?;
            for (key, Write { value, .. }) in writes {
                let stored = table.rows.get(&key);
                let kind = match (stored.and_then(Version::value), &value) {
                    (None, None) => continue,
                    (None, Some(_)) => WriteKind::Insert,
                    (Some(_), Some(_)) => WriteKind::Update,
                    (Some(_), None) => WriteKind::Remove,
                };
                if let Some(recorder) = &mut self.recorder {
                    let overwritten = stored.map_or(0, Version::stamp);
                    recorder.write(id, &key, kind, overwritten, order);
                    recorder.value(value.as_deref().unwrap_or_default());
                }
                versions.push(((id, key), Version::new(value, self.stamp)));
            }
        }
        Ok(versions)
    }
}
