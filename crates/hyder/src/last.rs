//! The last stage: decides items in the order of the log, and publishes the state after them.
//!
//! Everything that decides a verdict is a function of the log alone, so every server comes to the same ones.

use crate::batch::{Batch, By, Place, Task, Tasks};
use crate::blocks::all_blocks;
use crate::build::OVERLAPPED;
use crate::catalog::{Catalog, Change};
use crate::checkpoint_file::Summary;
use crate::desk::{Answered, Desk, Garbage};
use crate::digests::{Digests, digest_after};
use crate::faults::{
    ANSWERED_BEFORE_PUBLISHED, DIVERGENCE_IGNORED, DROPPED_BY_PREMELD,
    JOINS_FORGOTTEN_AT_CHECKPOINT, LABEL_BEFORE_STATE, WRITERS_FORGOTTEN_AT_RESTART,
};
use crate::item::{Item, Refused};
use crate::judge::Judge;
use crate::node::Tree;
use crate::options::{Certifier, RollOptions};
use crate::pending::Answer;
use crate::progress::{Progress, Timed, Zones};
use crate::record::Head;
use crate::restore::Restored;
use crate::rules::{Joined, Rules};
use crate::state::StateRef;
use crate::tombstones::Tombstones;
use crate::warm::warm;
use chiliad_api::{Error, TableId};
use chiliad_machine::Machine;
use chiliad_machine::shared_log::Position;

/// The state at the end of what was decided, and what it takes to go on.
pub struct Last<M: Machine> {
    pub judge: Judge<M>,
    /// Where the log is, for messages.
    log: String,
    /// The identity of the log.
    identity: u128,
    /// Where the log goes on.
    next: Position,
    /// The number of the last item.
    label: u64,
    /// Of all items and verdicts so far.
    digest: u64,
    digests: Digests,
    pub catalog: Catalog,
    catalog_changed: bool,
    /// By which all servers of the log judge: those of the first that has joined.
    rules: Option<Rules>,
    /// By which this server knows its own join.
    pub nonce: [u8; 16],
    /// The number of its join; zero before.
    pub server: u64,
    /// Servers that have joined so far, and which of them this one is, from one.
    joins: u64,
    pub ordinal: u64,
    answers: Vec<Answered>,
    /// Those that are in the trees, unless they stay there.
    tombstones: Option<Tombstones>,
    zones: Zones,
}

impl<M: Machine> Last<M> {
    /// Begins with nothing. Tombstones stay in the trees if `verify`: the recorders of a verified run want the stamps of
    /// all of them.
    pub fn new(judge: Judge<M>, log: String, identity: u128, verify: bool) -> Self {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&M::random().to_le_bytes());
        nonce[8..].copy_from_slice(&M::random().to_le_bytes());
        Self {
            judge,
            log,
            identity,
            next: 1,
            label: 0,
            digest: 0,
            digests: Digests::new(0, 0),
            catalog: Catalog::default(),
            catalog_changed: false,
            rules: None,
            nonce,
            server: 0,
            joins: 0,
            ordinal: 0,
            answers: Vec::new(),
            tombstones: (!verify).then(Tombstones::default),
            zones: Zones::default(),
        }
    }

    /// Goes on after a checkpoint.
    ///
    /// # Errors
    /// [`Error::LogRefused`]: its servers judge by other rules.
    pub fn go_on(&mut self, restored: Restored<M>) -> Result<(), Error> {
        let Restored { summary, catalog, roots, tombstones, .. } = restored;
        self.abide_by(summary.rules)?;
        (self.next, self.label, self.digest) = (summary.position, summary.label, summary.digest);
        self.joins = summary.joins;
        self.digests = Digests::new(self.label, self.digest);
        self.catalog = catalog;
        self.judge.roots = roots;
        if !M::fault(&WRITERS_FORGOTTEN_AT_RESTART) {
            self.judge.window.begin_after(self.label);
        }
        if let Some(queue) = &mut self.tombstones {
            queue.extend(tombstones);
        }
        Ok(())
    }

    fn abide_by(&mut self, rules: Rules) -> Result<(), Error> {
        let own = self.own_rules();
        self.rules = Some(rules);
        match rules == own {
            true => Ok(()),
            false => {
                let what = format!("its servers judge by {rules}, this one would by {own}");
                Err(Error::LogRefused { log: self.log.clone(), what })
            }
        }
    }

    /// By which this server would judge.
    pub fn own_rules(&self) -> Rules {
        let RollOptions { level, window, .. } = self.judge.options;
        Rules { level, window }
    }

    /// The head of this server's records.
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

    /// The roots of all tables.
    pub fn roots(&self) -> &[Option<Tree<M>>] {
        &self.judge.roots
    }

    /// Decides all items of some batches that follow each other, and publishes the state after them.
    ///
    /// # Errors
    /// [`Error::Diverged`], [`Error::OutOfMemory`], [`Error::LogRefused`]: nothing is decided any more then.
    pub fn step(&mut self, server: &Desk<M>, mut batches: Vec<Batch<M>>) -> Result<(), Error> {
        let (before, first, mut bytes, start) = (self.label, self.next, 0, Progress::<M>::start());
        let mut place = None;
        for batch in &mut batches {
            batch.work(|_, mut tasks| {
                let decided = self.decide_all(&mut tasks);
                (tasks, decided)
            })?;
            batch.heads.iter().try_for_each(|head| self.agree(head))?;
            (self.next, place) = (batch.end, batch.place.take());
            bytes += batch.bytes;
        }
        if M::fault(&ANSWERED_BEFORE_PUBLISHED) {
            server.answer(self.answers.drain(..));
        }
        if self.label > before {
            self.purge()?;
            self.publish(server, batches)?;
            server.progress.has_judged(self.zones);
        }
        // Also after records that are none: a reader that waits for the end of the log waits for their positions.
        if self.next > first {
            server.progress.has_read(self.next, bytes);
        }
        server.answer(self.answers.drain(..));
        server.progress.worked(Timed::Deciding, start);
        if let Some(place) = place {
            let summary = self.summary(place);
            server.captures.answer(|slot| (summary, server.published.pin(server.slot(slot))));
        }
        Ok(())
    }

    /// The summary of a checkpoint of the current state.
    fn summary(&self, place: Place) -> Summary {
        Summary {
            log: self.identity,
            label: self.label,
            digest: self.digest,
            position: self.next,
            checksum: place.checksum,
            joins: if M::fault(&JOINS_FORGOTTEN_AT_CHECKPOINT) { 0 } else { self.joins },
            rules: self.rules.unwrap_or_else(|| self.own_rules()),
            catalog: self.catalog.encode(),
            seen: place.seen,
            assembly: place.assembly,
        }
    }

    /// Compares what the writer of a record has come to with what this server has come to.
    fn agree(&self, other: &Head) -> Result<(), Error> {
        match self.digests.agree_with(other) || M::fault(&DIVERGENCE_IGNORED) {
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

    fn decide_all(&mut self, tasks: &mut Tasks<'_, M>) -> Result<(), Error> {
        let (mut at, mut warmed) = (0, 0);
        while at < tasks.len() {
            if at >= warmed {
                warmed = tasks.len().min(at + OVERLAPPED);
                self.warm(&tasks[at..warmed]);
            }
            match &mut tasks[at..] {
                [(by, Task::Ready(Ok(item))), (next_by, Task::Ready(Ok(next))), ..]
                    if next.is_paired =>
                {
                    let verdicts = self.judge.decide_both(item, next);
                    self.decided(*by, item, verdicts[0])?;
                    self.decided(*next_by, next, verdicts[1])?;
                    at += 2;
                }
                [(by, Task::Ready(Ok(item))), ..] => {
                    let verdict = self.judge.decide(item);
                    self.decided(*by, item, verdict)?;
                    at += 1;
                }
                [(by, task), ..] => {
                    self.other(*by, task)?;
                    at += 1;
                }
                [] => {}
            }
        }
        Ok(())
    }

    /// Decides what is no intention, or was refused before.
    fn other(&mut self, by: By, task: &Task<'_, M>) -> Result<(), Error> {
        match task {
            Task::Join(bytes) => self.joined(by, bytes),
            Task::Change(change) => {
                self.change(by, change.clone());
                Ok(())
            }
            Task::Ready(Err(_)) if M::fault(&DROPPED_BY_PREMELD) => {
                self.label = by.label;
                self.digests.push(self.digest);
                Ok(())
            }
            Task::Ready(Err(refused)) => self.answer_verdict(by, Err(*refused)),
            Task::Barrier => {
                self.reached(by);
                Ok(())
            }
            Task::Checkpoint(note) => {
                self.reached(by);
                self.agree(&Head { label: note.label, digest: note.digest, ..by.head })
            }
            Task::Intention(..) | Task::Ready(Ok(_)) => {
                unreachable!("intentions are built first, and decided by themselves")
            }
        }
    }

    /// Brings the nodes into the cache that intentions lead to. Those of overlays were looked at when these were built.
    fn warm(&self, some: &[(By, Task<'_, M>)]) {
        let options = &self.judge.options;
        if !options.overlap || options.certifier == Certifier::Meld || M::explores() {
            return;
        }
        let only_writes = options.certifier == Certifier::Window;
        let mut keys = Vec::with_capacity(OVERLAPPED * 8);
        for (_, task) in some {
            let Task::Ready(Ok(item)) = task else { continue };
            for part in &item.parts {
                let Ok(tree) = self.judge.tree(part.table) else { continue };
                let entries = part.entries.iter();
                let entries = entries.filter(|entry| !only_writes || entry.write.is_some());
                keys.extend(entries.map(|entry| (tree, entry.key)));
            }
        }
        warm(&keys);
    }

    fn joined(&mut self, by: By, bytes: &[u8]) -> Result<(), Error> {
        self.joins += 1;
        self.note(by, false);
        let Some(joined) = Joined::decode(bytes) else { return Ok(()) };
        // The first of several, if the append was made again.
        if self.server == 0 && joined.nonce == self.nonce {
            (self.server, self.ordinal) = (by.label, self.joins);
        }
        match self.rules {
            None => self.abide_by(joined.rules),
            // A later one that judges otherwise finds out by itself, and stops.
            Some(_) => Ok(()),
        }
    }

    /// All that was appended before a barrier is decided.
    fn reached(&mut self, by: By) {
        if self.is_own(by) {
            self.answers.push((by.local, Answer::Committed(self.label)));
        }
    }

    fn is_own(&self, by: By) -> bool {
        by.head.server == self.server && self.server > 0
    }

    fn change(&mut self, by: By, change: Change) {
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
        self.answer(by, Answer::Changed(changed));
    }

    /// Takes note of the verdict on an intention.
    fn decided(
        &mut self,
        by: By,
        item: &Item<'_, M>,
        verdict: Result<(), Refused>,
    ) -> Result<(), Error> {
        self.zones.note(by.label.saturating_sub(item.intention.snapshot + 1));
        if let Some(tombstones) = self.tombstones.as_mut().filter(|_| verdict.is_ok()) {
            tombstones.note(item);
        }
        self.answer_verdict(by, verdict)
    }

    fn answer_verdict(&mut self, by: By, verdict: Result<(), Refused>) -> Result<(), Error> {
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
        let has_committed = matches!(answer, Answer::Committed(_) | Answer::Changed(Ok(_)));
        self.note(by, has_committed);
        if self.is_own(by) {
            self.answers.push((by.local, answer));
        }
    }

    /// The next item is decided.
    fn note(&mut self, by: By, has_committed: bool) {
        debug_assert!(by.label == self.label + 1, "items are decided in order");
        self.label = by.label;
        self.digest = digest_after(self.digest, by.label, has_committed, by.content);
        self.digests.push(self.digest);
        debug_assert!(self.digests.last() == by.label, "every label has a digest");
    }

    /// Publishes the state after `batches`.
    fn publish(&mut self, server: &Desk<M>, batches: Vec<Batch<M>>) -> Result<(), Error> {
        if M::fault(&LABEL_BEFORE_STATE) {
            server.published.announce(self.label);
        }
        let (state, label) = (self.state()?, self.label);
        if core::mem::take(&mut self.catalog_changed) {
            server.set_catalog(self.catalog.clone());
        }
        let before = server.publish(state, self.digest);
        let replaced = core::mem::take(&mut self.judge.replaced);
        server.recent.push(self.judge.options.certifier, label, &self.judge.roots);
        server.garbage.lock().push(Garbage { label, replaced, before, batches });
        Ok(())
    }
}
