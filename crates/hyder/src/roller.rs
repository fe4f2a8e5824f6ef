//! Rolls the log forward: reads what all servers have appended, decides each item in the order of the log, and publishes
//! the state after it.
//!
//! Everything that decides a verdict is a function of the log alone, so every server comes to the same ones.

use crate::apply::{Entry, Stop, apply};
use crate::catalog::{Catalog, Change};
use crate::collector::Collector;
use crate::intention::{Intention, at, bound_at};
use crate::maker::{Block, Maker};
use crate::node::{Content, Key, Tree};
use crate::options::WINDOW;
use crate::pending::Answer;
use crate::ranges::is_changed;
use crate::record::{self, Head, Kind, Unreadable};
use crate::seen::Seen;
use crate::server::{Server, log_failed};
use crate::state::StateRef;
use chiliad_api::{Error, Reason};
use chiliad_log::LogError;
use chiliad_machine::Machine;
use chiliad_machine::shared_log::{Position, SharedLog};
use chiliad_storage::LocalHeap;
use core::time::Duration;
use std::sync::Arc;

/// Bytes that are read at once: what is decided between two published states.
const READ_BYTES: usize = 256 << 10;

/// Blocks that wait for readers before the collector looks at them; in runs that explore, one.
const GARBAGE: usize = 1024;

/// A verdict for one of this server's items.
pub type Answered = (u64, Answer);

/// The state at the end of the log, as far as it was read, and what it takes to go on.
pub struct Roller<M: Machine> {
    log: Arc<dyn SharedLog>,
    maker: Maker<M>,
    collector: Collector<M>,
    /// Where the log goes on.
    next: Position,
    /// The number of the last item.
    label: u64,
    /// Of all verdicts so far.
    digest: u64,
    roots: Vec<Tree<M>>,
    catalog: Catalog,
    catalog_changed: bool,
    seen: Seen,
    /// By which this server knows its own join.
    nonce: [u8; 16],
    /// The number of its join; zero before.
    server: u64,
    /// Servers that have joined so far, and which of them this one is.
    joins: u64,
    ordinal: u64,
    /// What has been replaced since the last published state.
    replaced: Vec<Block<M>>,
    answers: Vec<Answered>,
}

impl<M: Machine> Roller<M> {
    pub fn new(log: Arc<dyn SharedLog>, heap: LocalHeap<M>) -> Self {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&M::random().to_le_bytes());
        nonce[8..].copy_from_slice(&M::random().to_le_bytes());
        Self {
            log,
            maker: Maker::new(heap),
            collector: Collector::new(),
            next: 1,
            label: 0,
            digest: 0,
            roots: Vec::new(),
            catalog: Catalog::default(),
            catalog_changed: false,
            seen: Seen::default(),
            nonce,
            server: 0,
            joins: 0,
            ordinal: 0,
            replaced: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// The state as it is.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn state(&mut self) -> Result<StateRef<M>, Error> {
        let made = StateRef::make(&mut self.maker.heap, self.label, &self.roots);
        made.map_err(|_| self.out_of_memory())
    }

    fn out_of_memory(&self) -> Error {
        Error::OutOfMemory { limit_bytes: self.maker.heap.shared().usage().limit_bytes }
    }

    /// Reads what is there, or comes within `patience`, decides it and publishes the state after it. Whether there
    /// was anything.
    ///
    /// # Errors
    /// Those of the log that will not pass; [`Error::OutOfMemory`]. Nothing is rolled forward any more then.
    pub fn step(&mut self, server: &Server<M>, patience: Duration) -> Result<bool, Error> {
        let (before, position) = (self.label, self.next);
        self.read(patience)?;
        if self.label > before {
            self.publish(server)?;
        }
        server.answer(self.answers.drain(..));
        if self.collector.waiting() >= if M::explores() { 1 } else { GARBAGE } {
            let oldest = server.oldest_label();
            self.collector.free(&mut self.maker, oldest);
        }
        Ok(self.next > position)
    }

    /// By which this server knows its own join.
    pub fn nonce(&self) -> &[u8] {
        &self.nonce
    }

    /// The number of its join; zero before.
    pub fn server(&self) -> u64 {
        self.server
    }

    /// Which server it is, of all that have ever joined, from one.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    fn read(&mut self, patience: Duration) -> Result<(), Error> {
        let (log, from) = (Arc::clone(&self.log), self.next);
        let mut stopped = None;
        let read = log.read(from, READ_BYTES, patience, &mut |position, record| {
            if stopped.is_none() {
                debug_assert!(position == self.next, "the log has no gaps");
                self.next = position + 1;
                stopped = self.record(record).err();
            }
        });
        if let Some(error) = stopped {
            return Err(error);
        }
        match read {
            Ok(_) => Ok(()),
            Err(error) if error.may_pass() => Ok(()),
            Err(error) => Err(log_failed(&*log, &error)),
        }
    }

    fn record(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let (head, items) = match record::read(bytes) {
            Ok(read) => read,
            // Alike for every server.
            Err(Unreadable::Malformed) => return Ok(()),
            Err(Unreadable::Version(found)) => {
                let file = self.log.place();
                let accepted = u32::from(record::VERSION);
                let found = u32::from(found);
                return Err(Error::Data(LogError::NewerFormat { file, found, accepted }));
            }
        };
        for (kind, bytes) in items {
            match kind {
                Kind::Join => self.joined(bytes),
                Kind::Intention => self.intention(head, bytes)?,
                Kind::Catalog => self.change(head, bytes),
            }
        }
        Ok(())
    }

    fn joined(&mut self, nonce: &[u8]) {
        self.label += 1;
        self.joins += 1;
        // The first of several, if the append was made again.
        if self.server == 0 && nonce == self.nonce {
            (self.server, self.ordinal) = (self.label, self.joins);
        }
    }

    fn change(&mut self, head: Head, bytes: &[u8]) {
        let Some((local, change)) = Change::decode(bytes) else { return };
        if !self.seen.is_new(head.server, local) {
            return;
        }
        self.label += 1;
        let before = self.catalog.clone();
        let changed = self.catalog.change(change);
        self.catalog_changed |= changed.is_ok();
        self.roots.resize(self.catalog.numbers() as usize, Tree::EMPTY);
        for (at, root) in self.roots.iter_mut().enumerate() {
            let id = chiliad_api::TableId(at as u32);
            if before.get(id).is_ok() && self.catalog.get(id).is_err() {
                let dropped = core::mem::replace(root, Tree::EMPTY);
                replace_all(&mut self.replaced, dropped);
            }
        }
        self.decided(head, local, Answer::Changed(changed));
    }

    fn intention(&mut self, head: Head, bytes: &[u8]) -> Result<(), Error> {
        let Some(intention) = Intention::decode(bytes) else { return Ok(()) };
        if !self.seen.is_new(head.server, intention.local) {
            return Ok(());
        }
        self.label += 1;
        let verdict = match self.judge(&intention, bytes) {
            Ok(()) => Answer::Committed(self.label),
            Err(Refused::Because(reason)) => Answer::Refused(reason),
            Err(Refused::OutOfMemory) => return Err(self.out_of_memory()),
        };
        self.decided(head, intention.local, verdict);
        Ok(())
    }

    /// Takes note of a verdict.
    fn decided(&mut self, head: Head, local: u64, answer: Answer) {
        let outcome = match &answer {
            Answer::Committed(_) | Answer::Changed(Ok(_)) => 1,
            _ => 0,
        };
        self.digest = mix(self.digest ^ mix(self.label << 1 | outcome));
        if head.server == self.server && self.server > 0 {
            self.answers.push((local, answer));
        }
    }

    /// Applies the intention of the current label, if nothing that it depends on has changed.
    fn judge(&mut self, intention: &Intention, bytes: &[u8]) -> Result<(), Refused> {
        let (snapshot, label) = (intention.snapshot, self.label);
        if snapshot >= label || label - snapshot > WINDOW {
            return Err(Refused::Because(Reason::TooLate));
        }
        for range in &intention.ranges {
            let tree = self.tree(range.table)?;
            let (low, high) = (bound_at(bytes, &range.low), bound_at(bytes, &range.high));
            if is_changed(&mut self.maker, tree, low, high, snapshot) {
                return Err(Refused::Because(Reason::Phantom));
            }
        }
        let mark = self.maker.mark();
        match self.write(intention, bytes) {
            Ok(changed) => {
                for (table, tree) in changed {
                    self.roots[table as usize] = tree;
                }
                self.maker.settle(&mut self.replaced);
                Ok(())
            }
            Err(refused) => {
                self.maker.take_back(mark);
                Err(refused)
            }
        }
    }

    /// The trees after the intention's entries.
    fn write(
        &mut self,
        intention: &Intention,
        bytes: &[u8],
    ) -> Result<Vec<(u32, Tree<M>)>, Refused> {
        let mut changed = Vec::new();
        for entries in intention.entries.chunk_by(|one, other| one.table == other.table) {
            let table = entries[0].table;
            let tree = self.tree(table)?;
            let mut made = Vec::with_capacity(entries.len());
            for entry in entries {
                let write = match &entry.write {
                    None => None,
                    Some(write) => {
                        let value = at(bytes, &write.value);
                        let is_there = !write.tombstone || !value.is_empty();
                        let value = is_there.then(|| self.maker.value(value)).transpose()?;
                        let tombstone = write.tombstone;
                        Some(Content { version: self.label, tombstone, value })
                    }
                };
                let base = entry.depends.then_some(intention.snapshot);
                made.push(Entry { key: Key::new(at(bytes, &entry.key)), base, write });
            }
            changed.push((table, apply(&mut self.maker, &made, tree)?));
        }
        Ok(changed)
    }

    /// The rows of a table that is there.
    fn tree(&self, table: u32) -> Result<Tree<M>, Refused> {
        match self.catalog.get(chiliad_api::TableId(table)) {
            Ok(_) => Ok(self.roots[table as usize]),
            Err(_) => Err(Refused::Because(Reason::Vanished)),
        }
    }

    fn publish(&mut self, server: &Server<M>) -> Result<(), Error> {
        let state = self.state()?;
        if core::mem::take(&mut self.catalog_changed) {
            server.set_catalog(self.catalog.clone());
        }
        let before = server.publish(state, self.digest);
        self.collector.add(self.label, core::mem::take(&mut self.replaced), before);
        Ok(())
    }
}

/// Why an intention does not commit.
enum Refused {
    Because(Reason),
    OutOfMemory,
}

impl From<Stop> for Refused {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Conflict => Self::Because(Reason::ReadChanged),
            Stop::OutOfMemory => Self::OutOfMemory,
        }
    }
}

impl From<chiliad_storage::OutOfMemory> for Refused {
    fn from(_: chiliad_storage::OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// All blocks of a tree, which no state from now on leads to.
fn replace_all<M: Machine>(blocks: &mut Vec<Block<M>>, tree: Tree<M>) {
    let mut left: Vec<_> = tree.root.into_iter().collect();
    while let Some(node) = left.pop() {
        left.extend([node.child(false), node.child(true)].into_iter().flatten());
        blocks.extend(node.content().value.map(Block::Value));
        blocks.push(Block::Node(node));
    }
}

fn mix(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 32).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (hash ^ hash >> 29).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}
