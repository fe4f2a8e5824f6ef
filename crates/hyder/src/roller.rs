//! Rolls the log forward: reads what all servers have appended, decides each item in the order of the log, and publishes
//! the state after it.
//!
//! Everything that decides a verdict is a function of the log alone, so every server comes to the same ones.

use crate::catalog::{Catalog, Change};
use crate::checkpoint_file::Summary;
use crate::checkpoints::Checkpoints;
use crate::collector::Collector;
use crate::desk::{Answered, Desk, log_failed};
use crate::digests::Digests;
use crate::faults::{FREED_ABOVE_LOW_WATER, ITEMS_FORGOTTEN_AT_CHECKPOINT};
use crate::intention::{Intention, at};
use crate::item::{Item, Refused};
use crate::judge::Judge;
use crate::maker::{Maker, all_blocks};
use crate::node::{Key, Tree};
use crate::opening::{Beginning, begin};
use crate::options::{Certifier, Premeld, ServerOptions};
use crate::pending::Answer;
use crate::record::{self, CheckpointNote, Head, Kind, Unreadable};
use crate::restore::Restored;
use crate::seen::Seen;
use crate::state::StateRef;
use crate::tombstones::{Tombstone, Tombstones};
use crate::warm::warm;
use chiliad_api::{Error, TableId};
use chiliad_log::LogError;
use chiliad_machine::Machine;
use chiliad_machine::shared_log::{Position, SharedLog};
use chiliad_storage::LocalHeap;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes that are read at once: what is decided between two published states.
const READ_BYTES: usize = 256 << 10;

/// Blocks that wait for readers before the collector looks at them; in runs that explore, one.
const GARBAGE: usize = 1024;

/// Published states that are kept for intentions that are built on what they have read.
const STATES: usize = 64;

/// Intentions whose descents wait for memory together.
const OVERLAPPED: usize = 16;

/// What an item asks for.
enum Task<'b> {
    Join(&'b [u8]),
    Intention(Intention, &'b [u8]),
    Change(u64, Change),
    /// Of this number among the items of its server.
    Barrier(u64),
    Checkpoint(CheckpointNote),
}

/// An intention that waits for the next one, to be melded with it.
type Held<'b, M> = (By, Item<'b, M>);

/// Where an item comes from, and its number in the log.
#[derive(Clone, Copy)]
struct By {
    head: Head,
    local: u64,
    label: u64,
}

/// The state at the end of the log, as far as it was read, and what it takes to go on.
pub struct Roller<M: Machine> {
    log: Arc<dyn SharedLog>,
    judge: Judge<M>,
    collector: Collector<M>,
    /// Where the log goes on.
    next: Position,
    /// The number of the last item.
    label: u64,
    /// Of all verdicts so far.
    digest: u64,
    digests: Digests,
    /// The identity of the log, and the checksum of the last record read.
    identity: u128,
    checksum: u32,
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
    /// States that intentions may be built on, with their labels.
    states: VecDeque<(u64, Vec<Option<Tree<M>>>)>,
    answers: Vec<Answered>,
    /// Those that are in the trees, unless they stay there.
    tombstones: Option<Tombstones>,
}

impl<M: Machine> Roller<M> {
    /// Begins with the newest checkpoint, or with the first record of the log.
    ///
    /// # Errors
    /// Why the log cannot be the one that goes on from there; [`Error::OutOfMemory`].
    pub fn open(
        log: Arc<dyn SharedLog>,
        heap: LocalHeap<M>,
        checkpoints: Option<&Checkpoints>,
        options: &ServerOptions,
    ) -> Result<Self, Error> {
        let mut judge = Judge::new(Maker::new(heap), options.roll);
        let patience = options.log_patience;
        let begun = begin(&mut judge.maker, &*log, checkpoints, patience)?;
        // The recorders of a verified run want the stamps of all tombstones.
        let tombstones = (!options.verify).then(Tombstones::default);
        let Beginning { restored, log: identity } = begun;
        let mut roller = Self::new(log, identity, judge, tombstones);
        if let Some(restored) = restored {
            roller.go_on(restored);
        }
        Ok(roller)
    }

    fn new(
        log: Arc<dyn SharedLog>,
        identity: u128,
        judge: Judge<M>,
        tombstones: Option<Tombstones>,
    ) -> Self {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&M::random().to_le_bytes());
        nonce[8..].copy_from_slice(&M::random().to_le_bytes());
        Self {
            log,
            judge,
            collector: Collector::new(),
            next: 1,
            label: 0,
            digest: 0,
            digests: Digests::new(0, 0),
            identity,
            checksum: 0,
            catalog: Catalog::default(),
            catalog_changed: false,
            seen: Seen::default(),
            nonce,
            server: 0,
            joins: 0,
            ordinal: 0,
            states: VecDeque::new(),
            answers: Vec::new(),
            tombstones,
        }
    }

    fn go_on(&mut self, restored: Restored<M>) {
        let Restored { summary, catalog, seen, roots, tombstones } = restored;
        (self.next, self.label, self.digest) = (summary.position, summary.label, summary.digest);
        (self.checksum, self.joins) = (summary.checksum, summary.joins);
        self.digests = Digests::new(self.label, self.digest);
        (self.catalog, self.seen) = (catalog, seen);
        self.judge.roots = roots;
        self.judge.window.begin_after(self.label);
        if let Some(queue) = &mut self.tombstones {
            queue.extend(tombstones);
        }
        self.keep_state();
    }

    /// What a checkpoint of the state as it is says besides rows.
    fn summary(&self) -> Summary {
        Summary {
            log: self.identity,
            label: self.label,
            digest: self.digest,
            position: self.next,
            checksum: self.checksum,
            joins: self.joins,
            catalog: self.catalog.encode(),
            seen: match M::fault(&ITEMS_FORGOTTEN_AT_CHECKPOINT) {
                true => Seen::default().encode(),
                false => self.seen.encode(),
            },
        }
    }

    /// The tables that there are.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Where the log goes on.
    pub fn next(&self) -> Position {
        self.next
    }

    /// What records of this server say of it.
    pub fn head(&self) -> Head {
        Head { server: self.server, label: self.label, digest: self.digest }
    }

    /// The state as it is.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn state(&mut self) -> Result<StateRef<M>, Error> {
        let made = StateRef::make(&mut self.judge.maker.heap, self.label, &self.judge.roots);
        made.map_err(|_| self.out_of_memory())
    }

    fn out_of_memory(&self) -> Error {
        let usage = self.judge.maker.heap.shared().usage();
        Error::OutOfMemory { limit_bytes: usage.limit_bytes }
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

    /// Reads what is there, or comes within `patience`, decides it and publishes the state after it. Whether there
    /// was anything.
    ///
    /// # Errors
    /// Those of the log that will not pass; [`Error::OutOfMemory`]. Nothing is rolled forward any more then.
    pub fn step(&mut self, server: &Desk<M>, patience: Duration) -> Result<bool, Error> {
        let (before, position) = (self.label, self.next);
        let records = self.read(patience)?;
        self.roll(&records)?;
        self.compare(&records)?;
        if let Some(last) = records.last() {
            self.checksum = crc32fast::hash(last);
        }
        if self.label > before {
            self.purge()?;
            self.publish(server)?;
        }
        if !records.is_empty() {
            let bytes: usize = records.iter().map(Vec::len).sum();
            server.progress.has_read(self.next, bytes as u64);
        }
        server.answer(self.answers.drain(..));
        server.captures.answer(|slot| (self.summary(), server.published.pin(server.slot(slot))));
        if self.collector.waiting() >= if M::explores() { 1 } else { GARBAGE } {
            let kept = self.states.front().map_or(u64::MAX, |state| state.0);
            let oldest = match M::fault(&FREED_ABOVE_LOW_WATER) {
                true => self.label,
                false => server.oldest_label().min(kept),
            };
            self.collector.free(&mut self.judge.maker, oldest);
        }
        server.progress.waits(self.collector.waiting() as u64);
        Ok(self.next > position)
    }

    fn read(&mut self, patience: Duration) -> Result<Vec<Vec<u8>>, Error> {
        let mut records = Vec::new();
        let next = &mut self.next;
        let read = self.log.read(*next, READ_BYTES, patience, &mut |position, record| {
            debug_assert!(position == *next, "the log has no gaps");
            *next = position + 1;
            records.push(record.to_vec());
        });
        match read {
            Err(error) if !error.may_pass() => Err(log_failed(&*self.log, &error)),
            _ => Ok(records),
        }
    }

    /// Compares what the writers of these records have come to with what this server has come to.
    fn compare(&self, records: &[Vec<u8>]) -> Result<(), Error> {
        let heads = records.iter().filter_map(|record| Some(record::read(record).ok()?.0));
        heads.into_iter().try_for_each(|head| self.agree(&head))
    }

    fn agree(&self, other: &Head) -> Result<(), Error> {
        match self.digests.agree_with(other) {
            true => Ok(()),
            false => {
                let servers = (self.server, other.server);
                Err(Error::Diverged { servers, label: other.label })
            }
        }
    }

    /// Removes the tombstones that decide nothing any more.
    fn purge(&mut self) -> Result<(), Error> {
        let Some(tombstones) = &mut self.tombstones else { return Ok(()) };
        let purged = tombstones.purge(&mut self.judge, self.label);
        purged.map_err(|_| self.out_of_memory())
    }

    /// Decides all items of some records.
    fn roll(&mut self, records: &[Vec<u8>]) -> Result<(), Error> {
        let mut todo = Vec::new();
        for record in records {
            self.take_items(record, &mut todo)?;
        }
        let mut held = None;
        let mut todo = todo.into_iter();
        loop {
            let some: Vec<_> = todo.by_ref().take(OVERLAPPED).collect();
            if some.is_empty() {
                return self.decide_held(&mut held);
            }
            if self.judge.options.overlap && !M::explores() {
                self.warm(&some);
            }
            for (head, task) in some {
                match task {
                    Task::Intention(intention, bytes) => {
                        self.intention(head, intention, bytes, &mut held)?;
                    }
                    // They are part of the state that the next intention meets.
                    Task::Join(nonce) => {
                        self.decide_held(&mut held)?;
                        self.joined(nonce);
                    }
                    Task::Change(local, change) => {
                        self.decide_held(&mut held)?;
                        self.change(head, local, change);
                    }
                    Task::Barrier(local) => {
                        self.decide_held(&mut held)?;
                        self.reached(head, local);
                    }
                    Task::Checkpoint(note) => {
                        self.decide_held(&mut held)?;
                        self.reached(head, note.local);
                        let said = Head { label: note.label, digest: note.digest, ..head };
                        self.agree(&said)?;
                    }
                }
            }
        }
    }

    /// Reads the items of a record. What is malformed is left out, alike by every server.
    fn take_items<'b>(
        &self,
        record: &'b [u8],
        todo: &mut Vec<(Head, Task<'b>)>,
    ) -> Result<(), Error> {
        let (head, items) = match record::read(record) {
            Ok(read) => read,
            Err(Unreadable::Malformed) => return Ok(()),
            Err(Unreadable::Version(found)) => {
                let file = self.log.place();
                let accepted = u32::from(record::VERSION);
                let found = u32::from(found);
                return Err(Error::Data(LogError::NewerFormat { file, found, accepted }));
            }
        };
        todo.extend(items.filter_map(|(kind, bytes)| {
            let task = match kind {
                Kind::Join => Task::Join(bytes),
                Kind::Intention => Task::Intention(Intention::decode(bytes)?, bytes),
                Kind::Catalog => {
                    let (local, change) = Change::decode(bytes)?;
                    Task::Change(local, change)
                }
                Kind::Barrier => Task::Barrier(u64::from_le_bytes(bytes.try_into().ok()?)),
                Kind::Checkpoint => Task::Checkpoint(CheckpointNote::decode(bytes)?),
            };
            Some((head, task))
        }));
        Ok(())
    }

    /// Brings the nodes that intentions lead to into the cache.
    fn warm(&self, some: &[(Head, Task<'_>)]) {
        let only_writes = self.judge.options.certifier == Certifier::Window;
        let mut keys = Vec::with_capacity(OVERLAPPED * 8);
        for (_, task) in some {
            let Task::Intention(intention, bytes) = task else { continue };
            for entry in intention.entries.iter().filter(|it| !only_writes || it.write.is_some()) {
                let tree = self.judge.roots.get(entry.table as usize).copied().flatten();
                keys.extend(tree.map(|tree| (tree, Key::new(at(bytes, &entry.key)))));
            }
        }
        warm(&keys);
    }

    fn joined(&mut self, nonce: &[u8]) {
        self.label += 1;
        self.joins += 1;
        self.digests.push(self.digest);
        // The first of several, if the append was made again.
        if self.server == 0 && nonce == self.nonce {
            (self.server, self.ordinal) = (self.label, self.joins);
        }
    }

    /// All that was appended before a barrier is decided.
    fn reached(&mut self, head: Head, local: u64) {
        if self.seen.is_new(head.server, local) && head.server == self.server && self.server > 0 {
            self.answers.push((local, Answer::Committed(self.label)));
        }
    }

    fn change(&mut self, head: Head, local: u64, change: Change) {
        if !self.seen.is_new(head.server, local) {
            return;
        }
        self.label += 1;
        let changed = self.catalog.change(change);
        self.catalog_changed |= changed.is_ok();
        let judge = &mut self.judge;
        for number in 0..self.catalog.numbers() {
            let at = number as usize;
            let is_there = self.catalog.get(TableId(number)).is_ok();
            if at == judge.roots.len() {
                judge.roots.push(is_there.then_some(Tree::EMPTY));
            } else if !is_there && let Some(dropped) = judge.roots[at].take() {
                all_blocks(dropped, &mut judge.replaced);
            }
        }
        self.answer(By { head, local, label: self.label }, Answer::Changed(changed));
    }

    fn intention<'b>(
        &mut self,
        head: Head,
        intention: Intention,
        bytes: &'b [u8],
        held: &mut Option<Held<'b, M>>,
    ) -> Result<(), Error> {
        let local = intention.local;
        if !self.seen.is_new(head.server, local) {
            return Ok(());
        }
        self.label += 1;
        let (label, first) = (self.label, held.take());
        let by = By { head, local, label };
        match (first, self.prepare(intention, bytes)) {
            (first, Err(refused)) => {
                *held = first;
                self.decide_held(held)?;
                self.decided(by, Err(refused))
            }
            (Some((first_by, first)), Ok(item)) => {
                let tombstones = [&first, &item].map(|item| self.tombstones_of(item));
                let verdicts = self.judge.decide_both(first, item);
                for ((by, verdict), tombstones) in
                    [first_by, by].into_iter().zip(verdicts).zip(tombstones)
                {
                    self.take_note(verdict, tombstones);
                    self.decided(by, verdict)?;
                }
                Ok(())
            }
            (None, Ok(item)) if self.judge.options.pairs() => {
                *held = Some((by, item));
                Ok(())
            }
            (None, Ok(item)) => self.decide(by, item),
        }
    }

    fn decide(&mut self, by: By, item: Item<'_, M>) -> Result<(), Error> {
        let tombstones = self.tombstones_of(&item);
        let verdict = self.judge.decide(item);
        self.take_note(verdict, tombstones);
        self.decided(by, verdict)
    }

    /// The tombstones that an intention writes, if it commits.
    fn tombstones_of(&self, item: &Item<'_, M>) -> Vec<Tombstone> {
        let mut tombstones = Vec::new();
        for part in item.parts.iter().filter(|_| self.tombstones.is_some()) {
            let removed = part.entries.iter().filter(|it| it.write.is_some_and(|it| it.tombstone));
            tombstones.extend(removed.map(|entry| Tombstone {
                label: item.label,
                table: part.table,
                key: entry.key.bytes().into(),
            }));
        }
        tombstones
    }

    fn take_note(&mut self, verdict: Result<(), Refused>, tombstones: Vec<Tombstone>) {
        if let Some(queue) = self.tombstones.as_mut().filter(|_| verdict.is_ok()) {
            queue.extend(tombstones);
        }
    }

    /// Decides an intention that no other one has come to be melded with.
    fn decide_held(&mut self, held: &mut Option<Held<'_, M>>) -> Result<(), Error> {
        match held.take() {
            None => Ok(()),
            Some((by, item)) => self.decide(by, item),
        }
    }

    /// Makes an intention ready for its turn.
    fn prepare<'b>(
        &mut self,
        intention: Intention,
        bytes: &'b [u8],
    ) -> Result<Item<'b, M>, Refused> {
        let Judge { maker, options, .. } = &mut self.judge;
        let mut item = Item::new(maker, self.label, bytes, intention, options.level)?;
        if options.certifier == Certifier::Meld
            && let Err(refused) = self.build(&mut item)
        {
            item.free(&mut self.judge.maker);
            return Err(refused);
        }
        Ok(item)
    }

    /// Builds an intention's overlays as the options say: on the state that it has read, and again on a later one; or
    /// at once on the newest that is published.
    fn build(&mut self, item: &mut Item<'_, M>) -> Result<(), Refused> {
        let newest = self.states.back();
        // Whatever is built on, the verdict is the same: a state that is not kept any more is replaced by one that is.
        let kept = |label: u64| {
            let before = self.states.iter().rev().find(|state| state.0 <= label);
            before.or(self.states.front())
        };
        let maker = &mut self.judge.maker;
        let tree = |state: Option<&(u64, Vec<Option<Tree<M>>>)>, table: u32| {
            let roots = state.map_or(&[][..], |state| &state.1);
            roots.get(table as usize).copied().flatten().unwrap_or(Tree::EMPTY)
        };
        let read = kept(item.intention.snapshot);
        match self.judge.options.premeld {
            Premeld::Off => item.build(maker, |table| tree(read, table)),
            Premeld::Newest => item.build(maker, |table| tree(newest, table)),
            Premeld::Fixed { threads, distance } => {
                item.build(maker, |table| tree(read, table))?;
                let back = u64::from(threads) * u64::from(distance) + 1;
                let later = kept(item.label.saturating_sub(back));
                if later.map(|state| state.0) > read.map(|state| state.0) {
                    item.rebase(maker, |table| tree(later, table))?;
                }
                Ok(())
            }
        }
    }

    /// Takes note of the verdict on an intention.
    fn decided(&mut self, by: By, verdict: Result<(), Refused>) -> Result<(), Error> {
        let answer = match verdict {
            Ok(()) => Answer::Committed(by.label),
            Err(Refused::Because(reason)) => Answer::Refused(reason),
            Err(Refused::OutOfMemory) => return Err(self.out_of_memory()),
        };
        self.answer(by, answer);
        Ok(())
    }

    /// Takes note of what became of an item.
    fn answer(&mut self, by: By, answer: Answer) {
        let outcome = match &answer {
            Answer::Committed(_) | Answer::Changed(Ok(_)) => 1,
            _ => 0,
        };
        self.digest = mix(self.digest ^ mix(by.label << 1 | outcome));
        self.digests.push(self.digest);
        debug_assert!(self.digests.last() == by.label, "every label has a digest");
        if by.head.server == self.server && self.server > 0 {
            self.answers.push((by.local, answer));
        }
    }

    fn publish(&mut self, server: &Desk<M>) -> Result<(), Error> {
        let state = self.state()?;
        if core::mem::take(&mut self.catalog_changed) {
            server.set_catalog(self.catalog.clone());
        }
        let before = server.publish(state, self.digest);
        let replaced = core::mem::take(&mut self.judge.replaced);
        self.collector.add(self.label, replaced, before);
        self.keep_state();
        Ok(())
    }

    /// Keeps the state as it is for intentions that are built on it.
    fn keep_state(&mut self) {
        if self.judge.options.certifier == Certifier::Meld {
            self.states.push_back((self.label, self.judge.roots.clone()));
            if self.states.len() > STATES {
                self.states.pop_front();
            }
        }
    }
}

fn mix(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 32).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (hash ^ hash >> 29).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}
