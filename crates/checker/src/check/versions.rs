//! The versions of every key, and which replaced which.
//!
//! Committed writes, grouped by key. A version is found by its key and its writer: the versions of
//! a key are sorted by writer, so a short search in one run of memory does it, where a hash table
//! of all versions would cost a miss and three times the space.
//!
//! A *node* is a version (a number below `versions.len()`) or the initial state of a key (that
//! length plus the key): what a reader can have seen.
//!
//! Invariants: `next` of a node is the version that replaced it; where several claim to have
//! (a fork), it is the first by claimed order, and the others stand in `forks`. Following `next`
//! from an initial state ends.

use std::ops::Range;

use super::bits::Bits;
use crate::history::History;
use crate::history::keys::KeyId;
use crate::history::model::{Op, OpKind};
use crate::stamp::Stamp;

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// A committed write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    /// The transaction.
    pub(crate) writer: u32,
    /// The operation.
    pub(crate) op: u32,
    /// The version that replaced this one, or `NONE`.
    pub(crate) next: u32,
    /// The kind and the index, beside the rest so that a read needs not visit the operation.
    meta: u32,
}

impl Write {
    pub(crate) fn is_tombstone(self) -> bool {
        self.meta >> 28 == OpKind::Remove as u32
    }

    pub(crate) fn is_insert(self) -> bool {
        self.meta >> 28 == OpKind::Insert as u32
    }

    pub(crate) fn index(self) -> u32 {
        self.meta & ((1 << 28) - 1)
    }
}

/// All versions of a history.
pub(crate) struct Versions {
    /// Where the versions of each key start; one more at the end.
    starts: Vec<u32>,
    pub(crate) writes: Vec<Write>,
    /// The node that each version replaced, or `NONE` where that is unknown.
    pub(crate) prev: Vec<u32>,
    /// The first version of each key, or `NONE`.
    first: Vec<u32>,
    /// Further versions that replaced a node: (node, version), sorted.
    pub(crate) forks: Vec<(u32, u32)>,
    /// Keys that were seen to exist before the history.
    pub(crate) present: Bits,
    /// The claimed orders of the transactions, dense: the chains compare them all.
    orders: Vec<u64>,
}

impl Versions {
    /// Groups the writes; nothing is linked yet.
    pub(crate) fn collect(history: &History) -> Versions {
        let keys = history.keys.len();
        let mut starts = vec![0_u32; keys + 1];
        let mut present = Bits::new(keys);
        let committed = || history.transactions.iter().enumerate().filter(|(_, t)| t.committed);
        for op in committed().flat_map(|(_, t)| &history.ops[t.op_range()]) {
            let kind = op.kind();
            if kind.is_write() {
                starts[op.key as usize + 1] += 1;
            }
            let needs_record = kind.is_present() || (kind.is_write() && kind != OpKind::Insert);
            if needs_record && op.stamp == Stamp::INITIAL {
                present.set(op.key);
            }
        }
        for key in 0..keys {
            starts[key + 1] += starts[key];
        }
        let total = starts[keys] as usize;
        let unset = Write { writer: 0, op: 0, next: NONE, meta: 0 };
        let mut writes = vec![unset; total];
        let mut cursors = starts.clone();
        for (number, transaction) in committed() {
            for at in transaction.op_range() {
                let op: Op = history.ops[at];
                if op.kind().is_write() {
                    let meta = (op.kind() as u32) << 28 | op.index();
                    let cursor = &mut cursors[op.key as usize];
                    let (writer, op) = (number as u32, at as u32);
                    writes[*cursor as usize] = Write { writer, op, next: NONE, meta };
                    *cursor += 1;
                }
            }
        }
        Versions {
            starts,
            writes,
            prev: vec![NONE; total],
            first: vec![NONE; keys],
            forks: Vec::new(),
            present,
            orders: history.transactions.iter().map(|t| t.order).collect(),
        }
    }

    /// The versions of a key, sorted by writer.
    #[inline]
    pub(crate) fn of(&self, key: KeyId) -> Range<u32> {
        self.starts[key as usize]..self.starts[key as usize + 1]
    }

    /// The version of a key that a transaction wrote.
    #[inline]
    pub(crate) fn find(&self, key: KeyId, writer: u32) -> Option<u32> {
        let range = self.of(key);
        let run = &self.writes[range.start as usize..range.end as usize];
        let at = match run {
            [only] => (only.writer == writer).then_some(0)?,
            _ => run.binary_search_by_key(&writer, |write| write.writer).ok()?,
        };
        Some(range.start + at as u32)
    }

    /// The node of the state of a key before the history.
    #[inline]
    pub(crate) fn initial(&self, key: KeyId) -> u32 {
        self.writes.len() as u32 + key
    }

    /// The write that made a node; `None` for an initial state.
    #[inline]
    pub(crate) fn write(&self, node: u32) -> Option<Write> {
        self.writes.get(node as usize).copied()
    }

    /// The version that replaced a node, or `NONE`.
    #[inline]
    pub(crate) fn next(&self, node: u32) -> u32 {
        match self.writes.get(node as usize) {
            Some(write) => write.next,
            None => self.first[node as usize - self.writes.len()],
        }
    }

    pub(crate) fn set_next(&mut self, node: u32, version: u32) {
        let initials = self.writes.len();
        match self.writes.get_mut(node as usize) {
            Some(write) => write.next = version,
            None => self.first[node as usize - initials] = version,
        }
    }

    /// The writers that replaced a node: one, or none, unless the key has a fork.
    #[inline]
    pub(crate) fn replacers(&self, node: u32) -> impl Iterator<Item = u32> {
        let next = self.next(node);
        let first = (next != NONE).then(|| self.writes[next as usize].writer);
        let forks: &[(u32, u32)] = if self.forks.is_empty() {
            &[]
        } else {
            let from = self.forks.partition_point(|&(at, _)| at < node);
            let to = self.forks.partition_point(|&(at, _)| at <= node);
            &self.forks[from..to]
        };
        first.into_iter().chain(forks.iter().map(|&(_, v)| self.writes[v as usize].writer))
    }

    /// The claimed order of a version.
    #[inline]
    pub(crate) fn order(&self, history: &History, version: u32) -> u64 {
        let Write { writer, op, .. } = self.writes[version as usize];
        if history.write_orders.is_empty() {
            self.orders[writer as usize]
        } else {
            history.write_order(writer, op)
        }
    }
}
