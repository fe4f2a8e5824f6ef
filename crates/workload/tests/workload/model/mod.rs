//! A database small enough to be right by inspection: a sorted map per table, one transaction at a
//! time, undone from a list. Workloads are tried out on it, and it counts what they do.

#![allow(dead_code, reason = "each test uses a part of it")]

use chiliad_api::{
    Entry, Error, Get, GetKind, IndexKind, KeyPart, PartType, Range, Result, Row, Scanned,
};
use chiliad_api::{SecondarySpec, Source, TableId, TableSpec, Transaction};
use chiliad_workload::{ClientId, Condition, Workload};
use core::num::NonZeroU64;
use std::collections::BTreeMap;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

struct Table {
    spec: TableSpec,
    rows: Map,
    /// For each secondary index: index key to primary key.
    indexes: Vec<Map>,
}

/// Operations of all transactions.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counts {
    pub gets: usize,
    pub groups: usize,
    pub grouped: usize,
    /// Places that groups went to besides.
    pub approached: usize,
    pub scans: usize,
    pub inserts: usize,
    pub changes: usize,
    pub removes: usize,
}

#[derive(Default)]
pub struct Model {
    /// Groups of columns follow their table.
    tables: Vec<Table>,
    /// The tables that the workload has created.
    ids: Vec<TableId>,
    pub counts: Counts,
    /// The keys asked for or written, in order.
    pub touched: Vec<Vec<u8>>,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Committed,
    RolledBack,
}

impl Model {
    /// A model with the tables of `workload`, loaded.
    pub fn load<W: Workload>(workload: &W, seed: u64) -> Self {
        let mut model = Self::default();
        for spec in workload.tables() {
            let indexes = spec.secondary.iter().map(|_| Map::new()).collect();
            let groups: Vec<_> = spec.group_tables().collect();
            model.ids.push(TableId(model.tables.len() as u32));
            model.tables.push(Table { spec, rows: Map::new(), indexes });
            for spec in groups {
                model.tables.push(Table { spec, rows: Map::new(), indexes: Vec::new() });
            }
        }
        let ids = model.ids();
        for part in 0..workload.load_parts() {
            let insert = &mut |table: TableId, key: &[u8], value: &[u8]| {
                model.transaction(false, |tx| tx.insert(table, key, value))
            };
            workload.load(&ids, part, seed, insert).expect("loading");
        }
        model.counts = Counts::default();
        model
    }

    pub fn ids(&self) -> Vec<TableId> {
        self.ids.clone()
    }

    pub fn table(&self, name: &str) -> TableId {
        let at = self.tables.iter().position(|table| table.spec.name == name);
        TableId(at.unwrap_or_else(|| panic!("no table {name}")) as u32)
    }

    pub fn rows(&self, name: &str) -> &Map {
        &self.tables[self.table(name).0 as usize].rows
    }

    /// Changes, adds or removes a row behind everybody's back.
    pub fn tamper(&mut self, name: &str, key: &[u8], change: impl FnOnce(&mut Option<Vec<u8>>)) {
        let table = self.table(name);
        let mut row = self.tables[table.0 as usize].rows.get(key).cloned();
        change(&mut row);
        self.replace(table, key, row);
    }

    /// Changes a secondary index behind everybody's back.
    pub fn tamper_index(&mut self, name: &str, index: usize, change: impl FnOnce(&mut Map)) {
        let table = self.table(name);
        change(&mut self.tables[table.0 as usize].indexes[index]);
    }

    /// Runs `body`; an error undoes it.
    pub fn transaction<R>(
        &mut self,
        read_only: bool,
        body: impl FnOnce(&mut ModelTx<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut tx =
            ModelTx { model: self, read_only, undo: vec![], accesses: vec![], entries: vec![] };
        let result = body(&mut tx);
        let undo = std::mem::take(&mut tx.undo);
        if result.is_err() {
            for (table, key, before) in undo.into_iter().rev() {
                self.replace(table, &key, before);
            }
        } else {
            for (table, key, before) in undo {
                self.reindex(table, &key, before.as_deref());
            }
        }
        result
    }

    /// Makes up and runs one request of `client`.
    pub fn step<W: Workload>(&mut self, workload: &W, client: &mut W::Client) -> (usize, Outcome) {
        let mut partitions = vec![];
        let shape = workload.next(client, &mut partitions);
        assert!(partitions.is_sorted() && !partitions.is_empty());
        assert!(partitions.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(shape.read_only || !shape.snapshot);
        let outcome = match self.transaction(shape.read_only, |tx| workload.execute(client, tx)) {
            Ok(()) => Outcome::Committed,
            Err(Error::RolledBack) => Outcome::RolledBack,
            Err(error) => panic!("{} failed: {error}", workload.kinds()[shape.kind]),
        };
        (shape.kind, outcome)
    }

    pub fn clients<W: Workload>(&self, workload: &W, of: usize, seed: u64) -> Vec<W::Client> {
        let ids = (0..of).map(|index| ClientId::apart(index, of, seed));
        ids.map(|client_id| workload.client(&self.ids(), client_id)).collect()
    }

    pub fn conditions<W: Workload>(&mut self, workload: &W) -> Vec<Condition> {
        let ids = self.ids();
        let run = &mut |body: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>| {
            // Twice, as after a refusal.
            self.transaction(true, |tx| body(tx))?;
            self.transaction(true, |tx| body(tx))
        };
        workload.conditions(&ids, run).expect("conditions")
    }

    /// The names of the conditions that do not hold.
    pub fn broken<W: Workload>(&mut self, workload: &W) -> Vec<String> {
        let conditions = self.conditions(workload).into_iter();
        conditions.filter(|condition| condition.failure.is_some()).map(|c| c.name).collect()
    }

    fn replace(&mut self, table: TableId, key: &[u8], row: Option<Vec<u8>>) {
        let rows = &mut self.tables[table.0 as usize].rows;
        let before = match row {
            Some(row) => rows.insert(key.to_vec(), row),
            None => rows.remove(key),
        };
        self.reindex(table, key, before.as_deref());
        // What was indexed may be older than what was replaced: drop all stale entries.
        let table = &mut self.tables[table.0 as usize];
        for (index, spec) in table.indexes.iter_mut().zip(&table.spec.secondary) {
            let now = table.rows.get(key).map(|row| index_key(spec, key, row));
            index.retain(|entry, primary| primary != key || Some(entry) == now.as_ref());
        }
    }

    fn reindex(&mut self, table: TableId, key: &[u8], before: Option<&[u8]>) {
        let table = &mut self.tables[table.0 as usize];
        for (index, spec) in table.indexes.iter_mut().zip(&table.spec.secondary) {
            if let Some(before) = before {
                let stale = index_key(spec, key, before);
                if index.get(&stale).is_some_and(|primary| primary == key) {
                    index.remove(&stale);
                }
            }
            if let Some(row) = table.rows.get(key) {
                index.insert(index_key(spec, key, row), key.to_vec());
            }
        }
    }
}

/// The key of a row in a secondary index.
pub fn index_key(spec: &SecondarySpec, key: &[u8], row: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    for part in spec.parts.bytes() {
        let source = if part.source == Source::Value { row } else { key };
        let mut bytes = encode(part, &source[part.offset..part.offset + part.length]);
        if part.descending {
            bytes.iter_mut().for_each(|byte| *byte = !*byte);
        }
        out.extend(bytes);
    }
    if !spec.unique {
        out.extend_from_slice(key);
    }
    out
}

fn encode(part: &KeyPart, field: &[u8]) -> Vec<u8> {
    match part.part_type {
        PartType::Unsigned => field.iter().rev().copied().collect(),
        PartType::Signed => {
            let mut bytes: Vec<u8> = field.iter().rev().copied().collect();
            bytes[0] ^= 0x80;
            bytes
        }
        PartType::Bytes => field.to_vec(),
        PartType::Text => {
            let text = &field[1..=usize::from(field[0])];
            let mut bytes = vec![];
            for &byte in text {
                bytes.push(byte);
                if byte == 0 {
                    bytes.push(0xff);
                }
            }
            bytes.extend([0, 0]);
            bytes
        }
    }
}

pub struct ModelTx<'a> {
    model: &'a mut Model,
    read_only: bool,
    undo: Vec<(TableId, Vec<u8>, Option<Vec<u8>>)>,
    accesses: Vec<(TableId, Vec<u8>)>,
    entries: Vec<Entry>,
}

impl ModelTx<'_> {
    fn table(&self, table: TableId) -> Result<&Table> {
        let found = self.model.tables.get(table.0 as usize);
        found.ok_or_else(|| Error::UnknownTable(table.0.to_string()))
    }

    fn rows(&mut self, table: TableId) -> &mut Map {
        &mut self.model.tables[table.0 as usize].rows
    }

    fn access(&mut self, table: TableId, key: &[u8]) -> Row {
        self.accesses.push((table, key.to_vec()));
        Row::from_number(NonZeroU64::new(self.accesses.len() as u64).expect("just grown"))
    }

    fn accessed(&self, row: Row) -> Result<&(TableId, Vec<u8>)> {
        let place = row.number().get() as usize - 1;
        self.accesses.get(place).ok_or(Error::ForeignHandle)
    }

    fn find(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.model.touched.push(key.to_vec());
        let is_there = self.table(table)?.rows.contains_key(key);
        Ok(is_there.then(|| self.access(table, key)))
    }

    /// Notes the state of a row before a write.
    fn write(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let before = self.table(table)?.rows.get(key).cloned();
        self.undo.push((table, key.to_vec(), before));
        self.model.touched.push(key.to_vec());
        Ok(())
    }

    /// Brings the indexes up to date: rows are modified in place, which no index notices.
    fn catch_up(&mut self) {
        for (table, key, before) in &self.undo {
            self.model.reindex(*table, key, before.as_deref());
        }
    }

    /// Refuses a row that another one excludes from a unique index.
    fn check_unique(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        if self.table(table)?.indexes.is_empty() {
            return Ok(());
        }
        self.catch_up();
        let Table { spec, indexes, .. } = self.table(table)?;
        for (spec, index) in spec.secondary.iter().zip(indexes) {
            let other = index.get(&index_key(spec, key, value));
            if spec.unique && other.is_some_and(|primary| primary != key) {
                return Err(Error::UniqueViolation { index: spec.name.clone() });
            }
        }
        Ok(())
    }

    fn keep(&mut self, table: TableId, found: Vec<(Vec<u8>, Vec<u8>)>) -> Scanned {
        let start = self.entries.len();
        for (key, primary) in found {
            let row = self.access(table, &primary);
            let key = self.access(table, &key);
            self.entries.push(Entry::new(key, row));
        }
        Scanned::from_parts(start as u64, (self.entries.len() - start) as u32)
    }
}

fn select(map: &Map, range: Range<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let bounds = (range.low, range.high);
    let copy = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
    if range.reverse {
        map.range::<[u8], _>(bounds).rev().take(range.limit).map(copy).collect()
    } else {
        map.range::<[u8], _>(bounds).take(range.limit).map(copy).collect()
    }
}

impl Transaction for ModelTx<'_> {
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.model.counts.gets += 1;
        self.find(table, key)
    }

    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.get(table, key)
    }

    fn get_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        assert_eq!(requests.len(), rows.len());
        self.model.counts.groups += 1;
        for (request, row) in requests.iter().zip(rows) {
            *row = match request.kind {
                GetKind::Approach => {
                    self.model.counts.approached += 1;
                    None
                }
                GetKind::Read | GetKind::Update => {
                    self.model.counts.grouped += 1;
                    self.find(request.table, request.key)?
                }
            };
        }
        Ok(())
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        self.model.counts.scans += 1;
        let Table { spec, rows, .. } = self.table(table)?;
        if spec.index == IndexKind::Hash {
            return Err(Error::NotOrdered);
        }
        let found = select(rows, range).into_iter().map(|(key, _)| (key.clone(), key)).collect();
        Ok(self.keep(table, found))
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        self.model.counts.scans += 1;
        self.catch_up();
        let indexes = &self.table(table)?.indexes;
        let map = indexes.get(index).ok_or_else(|| Error::UnknownIndex(index.to_string()))?;
        let found = select(map, range);
        Ok(self.keep(table, found))
    }

    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        let (start, length) = scanned.parts();
        Ok(&self.entries[start as usize..][..length as usize])
    }

    fn key(&self, entry: Entry) -> Result<&[u8]> {
        Ok(&self.accessed(entry.key())?.1)
    }

    fn table_of(&self, row: Row) -> Result<TableId> {
        self.accessed(row).map(|(table, _)| *table)
    }

    fn bytes(&self, row: Row) -> Result<&[u8]> {
        let (table, key) = self.accessed(row)?;
        Ok(&self.model.tables[table.0 as usize].rows[key])
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        if self.table(table)?.rows.contains_key(key) {
            return Err(Error::duplicate_key(&self.table(table)?.spec.name, key));
        }
        self.check_unique(table, key, value)?;
        self.write(table, key)?;
        self.model.counts.inserts += 1;
        self.rows(table).insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        let (table, key) = self.accessed(row)?.clone();
        self.check_unique(table, &key, value)?;
        self.write(table, &key)?;
        self.model.counts.changes += 1;
        self.rows(table).insert(key, value.to_vec());
        Ok(())
    }

    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        let (table, key) = self.accessed(row)?.clone();
        self.write(table, &key)?;
        self.model.counts.changes += 1;
        let row = self.rows(table).get_mut(&key);
        Ok(row.expect("modified a row that was removed").as_mut_slice())
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_unique(table, key, value)?;
        self.write(table, key)?;
        self.model.counts.changes += 1;
        self.rows(table).insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        let (table, key) = self.accessed(row)?.clone();
        self.model.counts.removes += 1;
        let groups = self.table(table)?.spec.groups.len();
        for part in (table.0..).take(1 + groups).map(TableId) {
            self.write(part, &key)?;
            self.rows(part).remove(&key);
        }
        Ok(())
    }
}
