//! Compares servers that have read the log to the same place: their verdicts so far, and all rows; with each other, and
//! with what must come of the log.

use crate::cursor::Cursor;
use crate::node::{NodeRef, Tree};
use crate::oracle::Oracle;
use crate::server::SharedServer;
use crate::state::{Published, StateRef};
use chiliad_api::{Error, Result, TableId};
use chiliad_machine::Machine;
use core::ops::Bound;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What one server has otherwise than another one, in words: at most one difference of each table.
///
/// # Errors
/// [`Error::TooManyWorkers`].
pub fn compare<M: Machine>(one: &SharedServer<M>, other: &SharedServer<M>) -> Result<Vec<String>> {
    let pinned = [Pinned::new(one)?, Pinned::new(other)?];
    let [head, beside] = [one, other].map(|server| server.head());
    let label = head.label;
    if label != beside.label {
        return Ok(vec![format!("labels {label} and {}", beside.label)]);
    }
    let mut found = Vec::new();
    if head.digest != beside.digest {
        found.push(format!("the verdicts up to label {label} differ"));
    }
    let catalogs = [one, other].map(|server| server.catalog());
    let numbers = catalogs.each_ref().map(|catalog| catalog.numbers());
    if numbers[0] != numbers[1] {
        found.push(format!("{} tables and {}", numbers[0], numbers[1]));
    }
    for table in 0..numbers[0].min(numbers[1]) {
        let name = |at: usize| catalogs[at].get(TableId(table)).ok().map(|it| &it.spec.name);
        if name(0) != name(1) {
            found.push(format!("table {table} is {:?} and {:?}", name(0), name(1)));
        }
        let trees = pinned.each_ref().map(|pinned| pinned.state.tree(table));
        if let Some(key) = first_difference(trees) {
            found.push(format!("table {table} differs at key {key:02x?} and label {label}"));
        }
    }
    Ok(found)
}

/// A text that is the same for servers that have read as far and have the same: the digest of all verdicts, joins among
/// them, and one of tables and rows.
///
/// # Errors
/// [`Error::TooManyWorkers`].
pub fn fingerprint<M: Machine>(server: &SharedServer<M>) -> Result<String> {
    let pinned = Pinned::new(server)?;
    let (head, catalog) = (server.head(), server.catalog());
    // The same in every process of one build.
    let mut hasher = DefaultHasher::new();
    let mut count = 0_u64;
    for table in 0..catalog.numbers() {
        catalog.get(TableId(table)).ok().map(|it| &it.spec.name).hash(&mut hasher);
        for row in rows(pinned.state.tree(table), false) {
            row.hash(&mut hasher);
            count += 1;
        }
    }
    Ok(format!("verdicts {:016x}, {count} rows {:016x}", head.digest, hasher.finish()))
}

/// How a server differs from the outcome of its log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deviation {
    /// It has not read all of the log.
    Behind {
        /// The label that it has come to.
        label: u64,
    },
    /// Its digest of all verdicts is another one.
    Verdicts,
    /// Its rows are others.
    Rows {
        /// The number of the table.
        table: u32,
        /// The first key that has another row.
        key: Vec<u8>,
    },
}

/// The first difference between a server and the outcome of its log.
///
/// # Errors
/// [`Error::TooManyWorkers`].
pub fn deviation<M: Machine>(
    server: &SharedServer<M>,
    oracle: &Oracle,
) -> Result<Option<Deviation>> {
    let pinned = Pinned::new(server)?;
    let head = server.head();
    if oracle.digest_at(head.label) != Some(head.digest) {
        return Ok(Some(Deviation::Verdicts));
    }
    if head.label < oracle.label() {
        return Ok(Some(Deviation::Behind { label: head.label }));
    }
    // Tombstones go where a server finds time, but for a run that is verified.
    let all = server.options.verify;
    let expected = oracle.rows().filter(|row| all || !row.1.tombstone);
    let mut expected = expected.map(|((table, key), version)| {
        let (key, value) = (key.clone(), version.value.clone());
        (*table, Row { key, version: version.label, value })
    });
    let tables = 0..pinned.state.tables();
    let mut found =
        tables.flat_map(|table| rows(pinned.state.tree(table), all).map(move |row| (table, row)));
    loop {
        match (found.next(), expected.next()) {
            (None, None) => return Ok(None),
            (found, expected) if found == expected => {}
            (found, expected) => {
                let places = [found, expected].map(|it| it.map(|(table, row)| (table, row.key)));
                let first = places.into_iter().flatten().min();
                return Ok(first.map(|(table, key)| Deviation::Rows { table, key }));
            }
        }
    }
}

/// A server's state, as long as this is there.
pub struct Pinned<'a, M: Machine> {
    server: &'a SharedServer<M>,
    slot: u32,
    /// The state.
    pub state: StateRef<M>,
}

impl<'a, M: Machine> Pinned<'a, M> {
    /// Keeps the newest state.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    pub fn new(server: &'a SharedServer<M>) -> Result<Self> {
        let slot = server.heap.slots.acquire().ok_or(Error::NO_SLOT)?;
        Ok(Self { server, slot, state: server.published.pin(server.slot(slot)) })
    }
}

impl<M: Machine> Drop for Pinned<'_, M> {
    fn drop(&mut self) {
        Published::unpin(self.server.slot(self.slot));
        self.server.heap.slots.release(self.slot);
    }
}

/// The first key of which two trees do not have the same row.
fn first_difference<M: Machine>(trees: [Tree<M>; 2]) -> Option<Vec<u8>> {
    // Tombstones go where a server finds time.
    let [mut mine, mut theirs] = trees.map(|tree| rows(tree, false));
    loop {
        let (one, other) = (mine.next(), theirs.next());
        let (key, same) = match (one, other) {
            (None, None) => return None,
            (Some(one), Some(other)) => {
                let same = one == other;
                (one.key.min(other.key), same)
            }
            (Some(row), None) | (None, Some(row)) => (row.key, false),
        };
        if !same {
            return Some(key);
        }
    }
}

/// A row as every server must have it.
#[derive(PartialEq, Hash)]
struct Row {
    key: Vec<u8>,
    version: u64,
    value: Vec<u8>,
}

impl Row {
    fn of<M: Machine>(node: NodeRef<M>) -> Self {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        node.append_key(&mut key);
        let content = node.content();
        if let Some(bytes) = content.value {
            bytes.append(&mut value);
        }
        Self { key, version: content.version, value }
    }
}

/// The rows of a tree, or `all` that it has, tombstones too.
fn rows<M: Machine>(tree: Tree<M>, all: bool) -> impl Iterator<Item = Row> {
    let nodes = Cursor::new(tree, Bound::Unbounded, Bound::Unbounded, false);
    nodes.filter(move |node| all || !node.content().tombstone).map(Row::of)
}
