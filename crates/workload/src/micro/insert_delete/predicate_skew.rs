//! Predicate skew: pairs of groups of rows, and requests that read one group of a pair and change the other by what
//! they saw. Two requests that miss each other's change are write skew on a predicate. Each group has a
//! sentinel as well, a row that is always there: a request that reads the group reads it, and a write to
//! it is a change that nobody meets before it is committed.
//!
//! Elements are such that changes of the index's own shape fall in between. A group is a layer of the
//! ordered index: of a dense group a leaf of elements is present, so that more divide it or,
//! sharing eight bytes with one that is there, make a layer. A sparse group has two elements at
//! the end of a long key, and both are often removed, so that layers come and go, a chain of them at
//! a time: the leaf of each is empty for a moment before it leaves the tree, and a request that looks up one
//! element then reads that leaf alone. A hash table is made for a few, so that it grows as more are
//! inserted. Clients go from pair to pair at about the same pace, so as to meet.

use super::number;
use crate::ClientId;
use crate::random::Random;
use chiliad_api::{Get, Range, Result, TableId, Transaction};
use core::ops::Bound;

/// Pairs of groups.
pub(super) const PAIRS: u32 = 16;
/// Requests of a client, whatever their kind, before it turns to the next pair.
const PACE: u32 = 5;
/// A sentinel is large: it takes long to write.
const SENTINEL_BYTES: usize = 160;
/// The common part of the keys of a sparse group's elements, besides the group.
const PADDING_BYTES: usize = 24;
/// Elements changed at most.
const FEW: usize = 4;
/// Elements looked up one by one.
const SEEN: usize = 8;

/// One client's request.
pub(super) struct PredicateSkew {
    table: TableId,
    hash: bool,
    requests: u32,
    pair: u32,
    /// The group that is changed; the other one is read.
    group: u32,
    reading: Reading,
    change: Change,
    elements: [u32; FEW],
    seen: [u32; SEEN],
    count: usize,
    /// Elements are inserted and the sentinel is written.
    writes_sentinel: bool,
    key: Vec<u8>,
    other_key: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Reading {
    /// All elements.
    Group { reverse: bool },
    /// The elements between two.
    Subrange { reverse: bool },
    /// A few elements by key.
    Elements,
}

#[derive(Clone, Copy)]
enum Change {
    /// Elements are written, present or not.
    Write,
    /// Elements are removed.
    Remove,
    /// All elements are removed.
    Clear,
    /// The sentinel is written, after a look around.
    Sentinel,
}

/// How many elements a group can have, in the order of their keys.
fn elements(pair: u32, hash: bool) -> u32 {
    match hash {
        true => 12,
        false if is_sparse(pair) => 2,
        false => 45,
    }
}

fn is_sparse(pair: u32) -> bool {
    pair % 2 == 1
}

/// The key of an element: 12 bytes, 13, or 17 of which two elements share 16; 8 for all of a group. Without
/// an order every other element has 8 bytes that are its own: a hash index keeps those in the bucket,
/// where they move when another goes.
fn element_key(hash: bool, pair: u32, group: u32, element: u32, key: &mut Vec<u8>) {
    if hash && element.is_multiple_of(2) {
        key.clear();
        key.extend_from_slice(b"room");
        key.extend_from_slice(&((2 * pair + group) << 16 | element).to_be_bytes());
        return;
    }
    group_key(pair, group, key);
    if !hash && is_sparse(pair) {
        key.extend_from_slice(&[b'-'; PADDING_BYTES]);
    }
    key.extend_from_slice(&(element / 4).to_be_bytes());
    match element % 4 {
        0 => {}
        1 => key.extend_from_slice(b"a"),
        other => {
            key.extend_from_slice(b"room");
            key.push(other as u8);
        }
    }
}

fn sentinel_key(pair: u32, group: u32) -> [u8; 8] {
    let [_, _, a, b] = (2 * pair + group).to_be_bytes();
    [b'd', b'o', b'o', b'r', b's', b' ', a, b]
}

/// The first element that is loaded; so is every third after it.
fn first_element(pair: u32, group: u32) -> u32 {
    (pair + group) % 3
}

fn group_key(pair: u32, group: u32, key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(b"feud");
    key.extend_from_slice(&(2 * pair + group).to_be_bytes());
}

/// Calls `insert` with the elements and sentinels that are there at first.
pub(super) fn load(hash: bool, mut insert: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    let mut key = vec![];
    for pair in 0..PAIRS {
        for group in 0..2 {
            // Some sentinels outgrow their records when they are written, others do not.
            let bytes = if group == 0 { 8 } else { SENTINEL_BYTES };
            insert(&sentinel_key(pair, group), &[0; SENTINEL_BYTES][..bytes])?;
            // Of a dense group about as many as fit into a leaf.
            let (first, step) = match hash {
                true => (first_element(pair, group), 12),
                false if is_sparse(pair) => (0, 1),
                false => (first_element(pair, group), 3),
            };
            for element in (first..elements(pair, hash)).step_by(step) {
                element_key(hash, pair, group, element, &mut key);
                insert(&key, &u64::from(element).to_le_bytes())?;
            }
        }
    }
    Ok(())
}

impl PredicateSkew {
    pub(super) fn new(table: TableId, hash: bool, client_id: ClientId) -> Self {
        Self {
            table,
            hash,
            // The first pair is another one from run to run.
            requests: PACE * (client_id.seed % u64::from(PAIRS)) as u32,
            pair: 0,
            group: 0,
            reading: Reading::Elements,
            change: Change::Write,
            elements: [0; FEW],
            seen: [0; SEEN],
            count: 0,
            writes_sentinel: false,
            key: vec![],
            other_key: vec![],
        }
    }

    /// Counts a request of any kind: the pace at which clients move on.
    pub(super) fn count_request(&mut self) {
        self.requests += 1;
    }

    /// Makes up a request.
    pub(super) fn draw(&mut self, random: &mut Random) {
        self.pair = self.requests / PACE % PAIRS;
        self.group = random.below(2);
        let reverse = random.below(2) == 0;
        self.reading = match random.below(6) {
            0 if !self.hash => Reading::Group { reverse },
            1..=4 if self.is_sparse() => Reading::Subrange { reverse },
            1 if !self.hash => Reading::Group { reverse },
            2 if !self.hash => Reading::Subrange { reverse },
            _ => Reading::Elements,
        };
        let sparse = self.is_sparse();
        self.change = match random.below(8) {
            0 | 1 if sparse => Change::Clear,
            2 if sparse => Change::Remove,
            3 | 4 => Change::Sentinel,
            0 if random.below(3) == 0 => Change::Clear,
            1 => Change::Remove,
            _ => Change::Write,
        };
        self.count = random.range(1 + u32::from(sparse), FEW as u32) as usize;
        self.writes_sentinel = random.below(6) == 0;
        let elements = elements(self.pair, self.hash);
        for element in self.elements.iter_mut().chain(&mut self.seen) {
            *element = random.below(elements);
        }
        if !sparse && !self.hash {
            // Mostly elements that were loaded: they are missed when they are not found.
            for element in &mut self.seen[2..] {
                *element -= *element % 3;
            }
        }
    }

    /// Runs it; what was seen, folded into a number.
    pub(super) fn run<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<u64> {
        let sentinel = sentinel_key(self.pair, 1 - self.group);
        let sentinel = match tx.get(self.table, &sentinel)? {
            Some(sentinel) => number(tx.bytes(sentinel)?),
            None => 0,
        };
        let mut seen = sentinel ^ self.read_group(1 - self.group, self.reading, tx)?;
        if self.is_sparse() {
            seen ^= self.read_sentinels(2, tx)?;
        }
        match self.change {
            Change::Write => {
                for at in 0..self.count {
                    element_key(self.hash, self.pair, self.group, self.elements[at], &mut self.key);
                    tx.put(self.table, &self.key, &seen.to_le_bytes())?;
                }
                if self.writes_sentinel {
                    self.write_sentinel(seen, tx)?;
                }
            }
            Change::Sentinel => {
                if !self.is_sparse() {
                    seen ^= self.get_elements(self.group, tx)?;
                }
                self.write_sentinel(seen, tx)?;
            }
            Change::Clear if !self.hash => self.clear(tx)?,
            Change::Clear | Change::Remove => {
                for at in 0..self.count {
                    element_key(self.hash, self.pair, self.group, self.elements[at], &mut self.key);
                    tx.remove(self.table, &self.key)?;
                }
            }
        }
        Ok(seen)
    }

    /// Reads some elements of both groups and then the sentinels, so that a change of both that a
    /// snapshot holds by halves shows.
    pub(super) fn audit<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<u64> {
        let reading = if self.hash || self.count > 2 {
            Reading::Elements
        } else {
            Reading::Group { reverse: false }
        };
        let elements =
            self.read_group(0, reading, tx)? ^ self.read_group(1, reading, tx)?.rotate_left(32);
        Ok(elements ^ self.read_sentinels(0, tx)?)
    }

    fn read_group<T: Transaction + ?Sized>(
        &mut self,
        group: u32,
        reading: Reading,
        tx: &mut T,
    ) -> Result<u64> {
        let reverse = match reading {
            Reading::Elements => return self.get_elements(group, tx),
            Reading::Group { reverse } => {
                group_key(self.pair, group, &mut self.key);
                group_key(self.pair, group + 1, &mut self.other_key);
                reverse
            }
            Reading::Subrange { reverse } => {
                let [one, other, ..] = self.seen;
                element_key(self.hash, self.pair, group, one.min(other), &mut self.key);
                element_key(self.hash, self.pair, group, one.max(other), &mut self.other_key);
                reverse
            }
        };
        let (low, high) = (Bound::Included(&self.key[..]), Bound::Included(&self.other_key[..]));
        let scanned = tx.scan(self.table, Range { low, high, reverse, ..Range::all() })?;
        let mut seen = scanned.len() as u64;
        for &entry in tx.entries(scanned)? {
            seen = seen.rotate_left(7) ^ number(tx.bytes(entry.row)?);
        }
        Ok(seen)
    }

    fn get_elements<T: Transaction + ?Sized>(&self, group: u32, tx: &mut T) -> Result<u64> {
        let mut keys: [Vec<u8>; SEEN] = core::array::from_fn(|_| Vec::new());
        for (&element, key) in self.seen.iter().zip(&mut keys) {
            let element = if element.is_multiple_of(3) {
                element + first_element(self.pair, group)
            } else {
                element
            };
            element_key(self.hash, self.pair, group, element, key);
        }
        let gets = keys.each_ref().map(|key| Get::read(self.table, key));
        let mut rows = [None; SEEN];
        tx.get_many(&gets, &mut rows)?;
        let mut seen = 0u64;
        for row in rows.into_iter().flatten() {
            seen = seen.rotate_left(7) ^ number(tx.bytes(row)?) ^ 1;
        }
        Ok(seen)
    }

    fn is_sparse(&self) -> bool {
        !self.hash && is_sparse(self.pair)
    }

    /// Reads the sentinels of a few pairs, from the one so many away.
    fn read_sentinels<T: Transaction + ?Sized>(&self, away: u32, tx: &mut T) -> Result<u64> {
        let sentinels: [[u8; 8]; SEEN] = core::array::from_fn(|at| {
            let at = at as u32;
            sentinel_key((self.pair + away + at / 2) % PAIRS, at % 2)
        });
        let gets = sentinels.each_ref().map(|key| Get::read(self.table, key));
        let mut rows = [None; SEEN];
        tx.get_many(&gets, &mut rows)?;
        let mut sentinels = 0;
        for row in rows.into_iter().flatten() {
            sentinels ^= number(tx.bytes(row)?);
        }
        Ok(sentinels)
    }

    fn write_sentinel<T: Transaction + ?Sized>(&self, seen: u64, tx: &mut T) -> Result<()> {
        let mut sentinel = [0; SENTINEL_BYTES];
        sentinel.chunks_mut(8).for_each(|part| part.copy_from_slice(&seen.to_le_bytes()));
        tx.put(self.table, &sentinel_key(self.pair, self.group), &sentinel)
    }

    fn clear<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        group_key(self.pair, self.group, &mut self.key);
        group_key(self.pair, self.group + 1, &mut self.other_key);
        let (low, high) = (Bound::Included(&self.key[..]), Bound::Excluded(&self.other_key[..]));
        let scanned = tx.scan(self.table, Range { low, high, ..Range::all() })?;
        for at in 0..scanned.len() {
            tx.remove_row(tx.entries(scanned)?[at].row)?;
        }
        Ok(())
    }
}
