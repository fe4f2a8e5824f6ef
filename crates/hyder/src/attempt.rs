//! A transaction in progress: what it has read of one state, and its writes, which wait for the commit.

use crate::catalog::{Catalog, Table};
use crate::cursor::Cursor;
use crate::node::{Key, NodeRef, Tree};
use crate::state::StateRef;
use crate::warm::find_all;
use crate::write::Write;
use chiliad_api::{
    Entry, Error, Get, GetKind, IndexKind, KEY_BYTES_MAX, Numbers, Range, Recorder, Result, Row,
    Scanned, Stamp, TableId, stamp,
};
use chiliad_machine::Machine;
use core::ops::Bound;
use std::sync::Arc;

/// Bytes at a place of the transaction's arena.
pub type Place = core::ops::Range<usize>;

/// A key that the transaction depends on or writes.
pub struct Own<M: Machine> {
    pub table: TableId,
    pub key: Place,
    /// It read the key.
    pub depends: bool,
    /// The node of the key in the state: nothing, a row or a tombstone.
    pub stored: Option<NodeRef<M>>,
    pub write: Option<Write>,
}

/// A row that was found.
struct Access {
    table: TableId,
    key: Place,
    /// As it was read, without changes of this transaction that came later.
    value: Place,
}

/// A range that was scanned.
pub struct Scan {
    pub table: TableId,
    pub low: Bound<Vec<u8>>,
    pub high: Bound<Vec<u8>>,
}

/// The properties of a transaction that are told when it begins.
#[derive(Clone, Copy, Default)]
pub struct Purpose {
    pub read_only: bool,
    /// It loads rows: it may write to tables that take loads only, and never conflicts.
    pub loads: bool,
    /// The stamp of the versions that it writes; none where no run is verified.
    pub stamp: Option<Stamp>,
}

/// Buffers that a session keeps from one transaction to the next.
pub struct Attempt<M: Machine> {
    pub state: Option<StateRef<M>>,
    pub catalog: Arc<Catalog>,
    pub purpose: Purpose,
    pub recorder: Option<Box<dyn Recorder>>,
    pub numbers: Numbers,
    pub arena: Vec<u8>,
    pub own: Vec<Own<M>>,
    /// Places in `own`, in the order of table and key.
    order: Vec<u32>,
    pub scans: Vec<Scan>,
    /// Rows changed in place whose index entries have to be looked at, by their places in `own`.
    pub dirty: Vec<u32>,
    accesses: Vec<Access>,
    entries: Vec<Entry>,
    scratch: Vec<u8>,
}

impl<M: Machine> Attempt<M> {
    pub fn new() -> Self {
        Self {
            state: None,
            catalog: Arc::default(),
            purpose: Purpose::default(),
            recorder: None,
            numbers: Numbers::new(),
            arena: Vec::new(),
            own: Vec::new(),
            order: Vec::new(),
            scans: Vec::new(),
            dirty: Vec::new(),
            accesses: Vec::new(),
            entries: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Begins with nothing read or written.
    pub fn clear(&mut self) {
        self.numbers.pass(self.accesses.len().max(self.entries.len()));
        self.arena.clear();
        self.own.clear();
        self.order.clear();
        self.scans.clear();
        self.dirty.clear();
        self.accesses.clear();
        self.entries.clear();
    }

    /// Bytes of the arena.
    pub fn bytes_at(&self, place: &Place) -> &[u8] {
        &self.arena[place.clone()]
    }

    fn keep(&mut self, bytes: &[u8]) -> Place {
        let start = self.arena.len();
        self.arena.extend_from_slice(bytes);
        start..self.arena.len()
    }

    /// The table, and its indexes.
    pub fn table(&self, id: TableId) -> Result<&Arc<Table>> {
        self.catalog.get(id)
    }

    /// The rows of a table in the state.
    fn tree(&self, table: TableId) -> Tree<M> {
        self.state.map_or(Tree::EMPTY, |state| state.tree(table.0))
    }

    /// The node of a key in the state.
    fn stored(&self, table: TableId, key: &[u8]) -> Option<NodeRef<M>> {
        self.tree(table).find(Key::new(key))
    }

    /// Where in `order` the key is, or would be.
    fn position(&self, table: TableId, key: &[u8]) -> core::result::Result<usize, usize> {
        self.order.binary_search_by(|&at| {
            let own = &self.own[at as usize];
            own.table.cmp(&table).then_with(|| self.arena[own.key.clone()].cmp(key))
        })
    }

    /// The place in `own` of a key that the transaction depends on or writes already.
    pub fn known(&self, table: TableId, key: &[u8]) -> Option<usize> {
        self.position(table, key).ok().map(|at| self.order[at] as usize)
    }

    /// The place in `own` of a key, known from now on.
    pub fn know(&mut self, table: TableId, key: &[u8]) -> usize {
        match self.position(table, key) {
            Ok(at) => self.order[at] as usize,
            Err(at) => {
                let stored = self.stored(table, key);
                self.add(at, table, key, stored)
            }
        }
    }

    fn add(&mut self, at: usize, table: TableId, key: &[u8], stored: Option<NodeRef<M>>) -> usize {
        let key = self.keep(key);
        self.own.push(Own { table, key, depends: false, stored, write: None });
        self.order.insert(at, self.own.len() as u32 - 1);
        self.own.len() - 1
    }

    /// All keys that the transaction depends on or writes, in the order of table and key.
    pub fn ordered(&self) -> impl Iterator<Item = &Own<M>> {
        self.order.iter().map(|&at| &self.own[at as usize])
    }

    /// The value that a node stores, without its stamp; nothing for a tombstone.
    pub fn value_of(&mut self, node: Option<NodeRef<M>>) -> Option<Place> {
        let content = node?.content();
        let value = content.value.filter(|_| !content.tombstone)?;
        value.await_lines();
        let start = self.arena.len();
        value.append(&mut self.arena);
        if self.purpose.stamp.is_some() {
            self.arena.truncate(self.arena.len() - stamp::STAMP_BYTES);
        }
        Some(start..self.arena.len())
    }

    /// The stamp of the version that a node stores.
    pub fn stamp_of(&mut self, node: Option<NodeRef<M>>) -> Stamp {
        let Some(content) = node.map(NodeRef::content) else { return 0 };
        self.scratch.clear();
        if let Some(value) = content.value {
            value.append(&mut self.scratch);
        }
        stamp::read(&self.scratch, stamp::reach(None), content.tombstone)
    }

    /// Whether accesses are to be remembered: those of transactions that write, and are judged.
    fn is_judged(&self) -> bool {
        !self.purpose.read_only
    }

    /// Looks a key up.
    pub fn look(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        check_key(key)?;
        self.table(table)?;
        let at = self.position(table, key);
        let stored = match at {
            Ok(at) => self.own[self.order[at] as usize].stored,
            Err(_) => self.stored(table, key),
        };
        self.look_at(table, key, at, stored)
    }

    /// Looks several keys up, whose descents wait for memory together.
    pub fn look_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        for request in requests {
            check_key(request.key)?;
            self.table(request.table)?;
            if request.kind == GetKind::Update {
                self.writable(request.table)?;
            }
        }
        let keys = requests.iter().map(|request| (self.tree(request.table), Key::new(request.key)));
        let found = find_all(&keys.collect::<Vec<_>>());
        for ((request, row), stored) in requests.iter().zip(rows).zip(found) {
            if request.kind == GetKind::Approach {
                *row = None;
                continue;
            }
            let at = self.position(request.table, request.key);
            *row = self.look_at(request.table, request.key, at, stored)?;
        }
        Ok(())
    }

    /// Reads what the state has `stored` of a key, or what the transaction itself has written, whose place in `order` is
    /// `at`.
    fn look_at(
        &mut self,
        table: TableId,
        key: &[u8],
        at: core::result::Result<usize, usize>,
        stored: Option<NodeRef<M>>,
    ) -> Result<Option<Row>> {
        match at {
            Ok(at) => {
                let at = self.order[at] as usize;
                let own = &mut self.own[at];
                if let Some(write) = &own.write {
                    // Its own writes are no news to a transaction, nor to its history.
                    let value = write.value.clone();
                    return Ok(value.map(|value| {
                        let value = self.keep(&value);
                        self.note(table, key, value)
                    }));
                }
                own.depends = true;
            }
            Err(at) if self.is_judged() => {
                let own = self.add(at, table, key, stored);
                self.own[own].depends = true;
            }
            Err(_) => {}
        }
        let value = self.value_of(stored);
        if self.recorder.is_some() {
            let stamp = self.stamp_of(stored);
            if let Some(recorder) = &mut self.recorder {
                recorder.read(table, key, stamp, value.is_none());
            }
        }
        Ok(value.map(|value| self.note(table, key, value)))
    }

    fn note(&mut self, table: TableId, key: &[u8], value: Place) -> Row {
        let key = self.keep(key);
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
        Ok((access.table, self.bytes_at(&access.key)))
    }

    /// The value of a row, with the transaction's own changes; as it was read where it has been removed.
    pub fn bytes(&self, row: Row) -> Result<&[u8]> {
        let access = self.access(row)?;
        let known = match self.is_judged() {
            true => self.known(access.table, self.bytes_at(&access.key)),
            false => None,
        };
        let write = known.and_then(|own| self.own[own].write.as_ref());
        match write.and_then(|write| write.value.as_deref()) {
            Some(value) => Ok(value),
            None => Ok(self.bytes_at(&access.value)),
        }
    }

    /// The entries of a scan.
    pub fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        let start = self.numbers.place(scanned.parts().0);
        let found = self.entries.get(start..).and_then(|rest| rest.get(..scanned.len()));
        found.ok_or(Error::ForeignHandle)
    }

    /// Reads the rows of a range, in its order.
    pub fn scan(&mut self, id: TableId, range: &Range<'_>) -> Result<Scanned> {
        if self.table(id)?.spec.index != IndexKind::Ordered {
            return Err(Error::NotOrdered);
        }
        for bound in [range.low, range.high] {
            if let Bound::Included(key) | Bound::Excluded(key) = bound {
                check_key(key)?;
            }
        }
        let met = self.meet(id, range);
        self.depend_on(id, range, &met);
        if self.recorder.is_some() {
            self.record_scan(id, range, &met);
        }
        let start = self.entries.len();
        for key in met.keys {
            if let Some(value) = key.value {
                let row = Row::from_number(self.numbers.number(self.accesses.len()));
                self.accesses.push(Access { table: id, key: key.key, value });
                self.entries.push(Entry::new(row, row));
            }
        }
        Ok(self.scanned(start))
    }

    /// All keys of a range that the state or the transaction itself has, up to the range's limit of rows.
    fn meet(&mut self, id: TableId, range: &Range<'_>) -> Met<M> {
        let tree = self.tree(id);
        let mut nodes = Cursor::new(tree, range.low, range.high, range.reverse).peekable();
        let mut written = self.written_in(id, range).into_iter().peekable();
        let mut met = Met { keys: Vec::new(), is_cut: range.limit == 0 };
        let mut left = range.limit;
        while left > 0 {
            let order = match (nodes.peek(), written.peek()) {
                (None, None) => break,
                (Some(_), None) => core::cmp::Ordering::Greater,
                (None, Some(_)) => core::cmp::Ordering::Less,
                (Some(node), Some(&own)) => {
                    let order = node.compare(Key::new(self.bytes_at(&self.own[own].key)));
                    if range.reverse { order.reverse() } else { order }
                }
            };
            // Of the transaction's own key beside the state's.
            let node = if order.is_ge() { nodes.next() } else { None };
            let own = if order.is_le() { written.next() } else { None };
            let key = match (own, node) {
                (Some(own), _) => self.own[own].key.clone(),
                (None, Some(node)) => {
                    let start = self.arena.len();
                    node.append_key(&mut self.arena);
                    start..self.arena.len()
                }
                (None, None) => break,
            };
            let stored = self.value_of(node);
            let is_there = stored.is_some();
            let value = match own.and_then(|own| self.own[own].write.as_ref()) {
                Some(write) => {
                    let value = write.value.clone();
                    value.map(|value| self.keep(&value))
                }
                None => stored,
            };
            left -= usize::from(value.is_some());
            // A row that comes and goes within a transaction is no version of the key.
            let is_own = own.is_some() && (is_there || value.is_some());
            met.keys.push(MetKey { key, value, node, is_own });
        }
        met.is_cut |= left == 0;
        met
    }

    /// The places in `own` of the keys of a range that the transaction has written, in the order of the range.
    fn written_in(&self, id: TableId, range: &Range<'_>) -> Vec<usize> {
        let from = |bound: Bound<&[u8]>, low: bool| match bound {
            Bound::Unbounded if low => self.order_from(id, None, false),
            Bound::Unbounded => self.order_from(TableId(id.0 + 1), None, false),
            Bound::Included(key) => self.order_from(id, Some(key), !low),
            Bound::Excluded(key) => self.order_from(id, Some(key), low),
        };
        let (low, high) = (from(range.low, true), from(range.high, false));
        let order = self.order.get(low..high).unwrap_or_default().iter().map(|&at| at as usize);
        let mut written: Vec<_> = order.filter(|&at| self.own[at].write.is_some()).collect();
        if range.reverse {
            written.reverse();
        }
        written
    }

    /// The first place in `order` from a key on, or `after` it.
    fn order_from(&self, table: TableId, key: Option<&[u8]>, after: bool) -> usize {
        self.order.partition_point(|&at| {
            let own = &self.own[at as usize];
            let order = own.table.cmp(&table).then_with(|| match key {
                Some(key) => self.bytes_at(&own.key).cmp(key),
                None => core::cmp::Ordering::Greater,
            });
            if after { order.is_le() } else { order.is_lt() }
        })
    }

    /// The transaction depends on the range, up to where the scan went.
    fn depend_on(&mut self, table: TableId, range: &Range<'_>, met: &Met<M>) {
        if !self.is_judged() {
            return;
        }
        let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        let (mut low, mut high) = (owned(range.low), owned(range.high));
        if met.is_cut {
            let Some(last) = met.keys.last() else { return };
            let end = Bound::Included(self.bytes_at(&last.key).to_vec());
            if range.reverse {
                low = end;
            } else {
                high = end;
            }
        }
        self.scans.push(Scan { table, low, high });
    }

    fn record_scan(&mut self, id: TableId, range: &Range<'_>, met: &Met<M>) {
        let own = self.purpose.stamp.unwrap_or(0);
        let stamps: Vec<_> = met
            .keys
            .iter()
            .map(|key| match key {
                MetKey { is_own: true, .. } => Some(own),
                MetKey { node: None, .. } => None,
                MetKey { node, .. } => Some(self.stamp_of(*node)),
            })
            .collect();
        let Some(mut recorder) = self.recorder.take() else { return };
        let last = met.keys.last().filter(|_| met.is_cut).map(|key| self.bytes_at(&key.key));
        recorder.scan(id, range, last);
        for (key, stamp) in met.keys.iter().zip(stamps) {
            if let Some(stamp) = stamp {
                recorder.scan_entry(self.bytes_at(&key.key), stamp, key.value.is_none());
            }
        }
        self.recorder = Some(recorder);
    }

    /// Reads entries of an index, and the rows that they lead to.
    pub fn scan_index(&mut self, id: TableId, index: usize, range: &Range<'_>) -> Result<Scanned> {
        let scanned = self.scan_entries(id, index, range)?;
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

    /// Scans the entries of an index, whose values are the keys of the rows.
    pub fn scan_entries(
        &mut self,
        id: TableId,
        index: usize,
        range: &Range<'_>,
    ) -> Result<Scanned> {
        self.align()?;
        let table = self.table(id)?;
        let unknown = || Error::UnknownIndex(format!("number {index} of {}", table.spec.name));
        let entries = table.indexes.get(index).ok_or_else(unknown)?.table;
        self.scan(entries, range)
    }

    /// The entries from `start` on, which are those of one scan.
    fn scanned(&self, start: usize) -> Scanned {
        let length = (self.entries.len() - start) as u32;
        Scanned::from_parts(self.numbers.first() + start as u64, length)
    }
}

/// A key that a scan has met.
struct Met<M: Machine> {
    keys: Vec<MetKey<M>>,
    /// The limit ended it.
    is_cut: bool,
}

struct MetKey<M: Machine> {
    key: Place,
    /// Nothing for a tombstone.
    value: Option<Place>,
    /// Its node in the state.
    node: Option<NodeRef<M>>,
    /// The transaction itself has made this version.
    is_own: bool,
}

/// Refuses keys that no index holds.
pub fn check_key(key: &[u8]) -> Result<()> {
    match key.len() > KEY_BYTES_MAX {
        true => Err(Error::KeyTooLong { bytes: key.len() }),
        false => Ok(()),
    }
}
