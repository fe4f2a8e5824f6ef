//! Recovery proper: a checkpoint and logs into tables, one incarnation after the other.
//!
//! Within an incarnation everything is read in parallel and in any order, since the greatest order
//! wins; between two of them every record's word is reset, so that whatever the later one has is
//! newer. At the end what is absent leaves its index, and the entries of secondary indexes are made
//! (`settle`).

use super::apply::{Applier, Group, INCARNATION_NOT_RAISED, Item, Removed, Tables};
use super::crew::Parallel;
use super::plan::{Life, Plan};
use super::settle::Settlers;
use crate::scheme::restore;
use chiliad_api::{Error, Host, Phase, Recovered, Result};
use chiliad_log::entry;
use chiliad_log::{CheckpointInfo, Damage, LogError, Name, PartReader, SegmentId, SegmentReader};
use chiliad_machine::disk::{Access, Disk};
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word};
use chiliad_storage::Heap;
use std::sync::Arc;

/// Where rows go.
pub struct Target<'a, M: Machine> {
    /// By number.
    pub tables: &'a Tables<M>,
    /// Their memory.
    pub heap: &'a Arc<Shared<M, Heap<M>>>,
}

impl<M: Machine> Clone for Target<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Target<'_, M> {}

/// A recovery.
pub struct Replay<'a, M: Machine> {
    pub disk: &'a dyn Disk,
    pub plan: &'a Plan,
    pub host: &'a dyn Host<M>,
    /// Without it everything is read and nothing kept.
    pub target: Option<Target<'a, M>>,
    /// Take what there is, and list what is lost.
    pub lenient: bool,
    counts: Shared<M, Counts<M>>,
}

/// What is said of a frame that was not written by us, or does not belong to this catalogue.
const UNFIT: &str = "a frame whose checksum fits holds what no transaction can have written";

/// What the threads of a recovery share.
struct Counts<M: Machine> {
    bytes_done: M::Word,
    bytes_all: M::Word,
    checkpoint_rows: M::Word,
    transactions: M::Word,
    writes: M::Word,
    dropped: M::Word,
    rows: M::Word,
    failed: M::Word,
    /// The failure of the first task that has one.
    failure: Latch<M, Option<(usize, Error)>>,
    losses: Latch<M, Vec<LogError>>,
    /// Keys removed by something that was replayed, with their tables.
    removed: Latch<M, Removed>,
}

/// Counts what was begun.
pub(super) struct Next<M: Machine>(M::Word);

impl<M: Machine> Next<M> {
    pub fn new() -> Shared<M, Self> {
        Shared::new(Self(M::Word::new(0)))
    }

    pub fn take(&self) -> usize {
        // Relaxed: only that each is taken once.
        self.0.fetch_add(1, Ordering::Relaxed) as usize
    }
}

fn ns_since<M: Machine>(begun: u64) -> u64 {
    let ticks = u128::from(M::now().saturating_sub(begun));
    (ticks * 1_000_000_000 / u128::from(M::ticks_per_second())) as u64
}

fn add(word: &impl Word, count: u64) {
    // Relaxed: statistics, read when the threads have ended.
    word.fetch_add(count, Ordering::Relaxed);
}

impl<'a, M: Machine> Replay<'a, M> {
    /// A recovery that has not begun.
    pub fn new(disk: &'a dyn Disk, plan: &'a Plan, host: &'a dyn Host<M>) -> Self {
        let zero = || M::Word::new(0);
        let counts = Shared::new(Counts {
            bytes_done: zero(),
            bytes_all: zero(),
            checkpoint_rows: zero(),
            transactions: zero(),
            writes: zero(),
            dropped: zero(),
            rows: zero(),
            failed: zero(),
            failure: Latch::new(None),
            losses: Latch::new(Vec::new()),
            removed: Latch::new(Vec::new()),
        });
        Self { disk, plan, host, target: None, lenient: false, counts }
    }

    /// The same with tables to put rows into, which are empty. `lenient`: take what there is, and list
    /// what is lost.
    pub fn into_tables(self, target: Target<'a, M>, lenient: bool) -> Self {
        Self { target: Some(target), lenient, ..self }
    }

    /// Reads everything.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn run(&self) -> Result<Recovered> {
        let counts = &*self.counts;
        let mut bytes = 0;
        for name in self.plan.files() {
            // A file that is missing is found out by whoever reads it.
            let file = self.disk.open(&name, Access::Read);
            bytes += file.and_then(|file| file.bytes()).unwrap_or(0);
        }
        counts.bytes_all.store(bytes, Ordering::Relaxed);
        let (mut replay_ns, mut settle_ns) = (0, 0);
        for (at, life) in self.plan.lives.iter().enumerate() {
            let begun = M::now();
            self.read(life)?;
            replay_ns += ns_since::<M>(begun);
            let last = at + 1 == self.plan.lives.len();
            if last || !M::fault(&INCARNATION_NOT_RAISED) {
                let begun = M::now();
                self.settle(last)?;
                settle_ns += ns_since::<M>(begun);
            }
        }
        let count = |word: &M::Word| word.load(Ordering::Relaxed);
        Ok(Recovered {
            bytes: count(&counts.bytes_done),
            checkpoint_rows: count(&counts.checkpoint_rows),
            transactions: count(&counts.transactions),
            writes: count(&counts.writes),
            dropped: count(&counts.dropped),
            rows: count(&counts.rows),
            replay_ns,
            settle_ns,
            losses: {
                let met = core::mem::take(&mut *counts.losses.lock());
                self.plan.losses.iter().cloned().chain(met).collect()
            },
            ..super::plan::begin(self.plan)
        })
    }

    /// Reads the files of one incarnation.
    fn read(&self, life: &Life) -> Result<()> {
        let mut tasks = Vec::new();
        let checkpoint = self.plan.manifest.checkpoint;
        if let Some(checkpoint) = checkpoint.filter(|it| it.incarnation == life.number) {
            tasks.extend(self.plan.parts.iter().map(|&part| Task::Part(checkpoint, part)));
        }
        for tail in &life.tails {
            let last = tail.segments.last();
            tasks.extend(tail.segments.iter().map(|id| {
                // Behind damage is what can be saved.
                let open_end = Some(id) == last && !tail.closed && !tail.damaged;
                Task::Segment(*id, open_end.then_some(tail.sound_bytes))
            }));
        }
        let readers = Readers { replay: self, life, tasks, next: Next::new() };
        Parallel::Readers(&readers).run(self.host);
        self.verdict()
    }

    /// Ends an incarnation; the last one too, with all that follows.
    fn settle(&self, last: bool) -> Result<()> {
        let Some(target) = self.target else { return Ok(()) };
        if last {
            self.clear_away(target)?;
        }
        let settlers = Settlers::new(self, target, last);
        Parallel::Settlers(&settlers).run(self.host);
        add(&self.counts.rows, settlers.rows());
        self.verdict()
    }

    /// Takes what is absent out of its index.
    fn clear_away(&self, target: Target<'_, M>) -> Result<()> {
        let removed = core::mem::take(&mut *self.counts.removed.lock());
        let mut applier = Applier::new(target)?;
        for (table, key) in &removed {
            let Some(Some(table)) = target.tables.get(*table as usize) else { continue };
            applier.heap.pin();
            let graveyard = table.graveyard.as_ref();
            restore::clear_away(&mut applier.heap, &table.index, graveyard, key);
            applier.heap.unpin();
            applier.heap.reclaim();
        }
        Ok(())
    }

    fn verdict(&self) -> Result<()> {
        self.counts.failure.lock().take().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Reports the failure of a task, and lets the others stop. Of several failures that of the first task is
    /// kept: however many threads read, the same file is named.
    pub fn fail(&self, task: usize, error: Error) {
        let mut failure = self.counts.failure.lock();
        if failure.as_ref().is_none_or(|(first, _)| task < *first) {
            *failure = Some((task, error));
        }
        drop(failure);
        self.counts.failed.store(1, Ordering::Relaxed);
    }

    /// Whether anything has gone wrong.
    pub fn has_failed(&self) -> bool {
        self.counts.failed.load(Ordering::Relaxed) != 0
    }

    /// Takes damage as a loss, or reports it.
    fn lose(&self, error: LogError) -> Result<()> {
        if !self.lenient {
            return Err(error.into());
        }
        self.counts.losses.lock().push(error);
        Ok(())
    }

    fn progress(&self, bytes: u64) {
        let before = self.counts.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        let all = self.counts.bytes_all.load(Ordering::Relaxed);
        self.host.progress(Phase::Replay, before + bytes, all);
    }
}

/// One file to be read.
#[derive(Clone, Copy)]
enum Task {
    Part(CheckpointInfo, u32),
    /// A segment, and where it ends if not by its last frame.
    Segment(SegmentId, Option<u64>),
}

/// The files of one incarnation, for those who read them.
pub struct Readers<'a, M: Machine> {
    replay: &'a Replay<'a, M>,
    life: &'a Life,
    tasks: Vec<Task>,
    next: Shared<M, Next<M>>,
}

impl<M: Machine> Readers<'_, M> {
    /// Reads one file after the other.
    pub(super) fn take_part(&self) {
        let mut applier = match self.replay.target.map(Applier::new).transpose() {
            Ok(applier) => applier,
            Err(error) => return self.replay.fail(0, error),
        };
        // A task that was taken is read to its end, so that of all failures the first task's is met.
        while !self.replay.has_failed() {
            let at = self.next.take();
            let Some(task) = self.tasks.get(at) else { break };
            if let Err(error) = self.read_file(applier.as_mut(), *task) {
                return self.replay.fail(at, error);
            }
        }
        if let Some(applier) = applier {
            self.replay.counts.removed.lock().extend(applier.removed);
        }
    }

    fn read_file(&self, applier: Option<&mut Applier<'_, M>>, task: Task) -> Result<()> {
        match task {
            Task::Part(checkpoint, part) => match self.read_part(applier, checkpoint, part) {
                Err(Error::Data(error @ LogError::Damaged { .. })) => self.replay.lose(error),
                other => other,
            },
            Task::Segment(id, end) => self.read_segment(applier, id, end),
        }
    }

    fn read_part(
        &self,
        mut applier: Option<&mut Applier<'_, M>>,
        checkpoint: CheckpointInfo,
        part: u32,
    ) -> Result<()> {
        let Replay { disk, plan, counts, .. } = self.replay;
        let mut reader =
            PartReader::<M>::open(*disk, plan.manifest.database, checkpoint.number, part)?;
        loop {
            let begun = reader.offset();
            let Some(payload) = reader.next_rows()? else { break };
            let (mut rows, mut sound) = (0, true);
            let mut group = Group::new();
            // Parts are checked when they are read: every row parses.
            for (order, write) in entry::rows(payload).flatten() {
                if !plan.shapes.admit(order, &write) {
                    sound = false;
                    continue;
                }
                rows += 1;
                if let Some(applier) = &mut applier {
                    applier.push(&mut group, Item { order, write })?;
                }
            }
            if let Some(applier) = &mut applier {
                applier.flush(&mut group)?;
            }
            if !sound {
                let name = Name::Part { checkpoint: checkpoint.number, part }.to_string();
                self.replay.lose(LogError::damaged(&name, begun, UNFIT))?;
            }
            add(&counts.checkpoint_rows, rows);
            self.replay.progress(reader.offset() - begun);
        }
        Ok(())
    }

    fn read_segment(
        &self,
        mut applier: Option<&mut Applier<'_, M>>,
        id: SegmentId,
        end: Option<u64>,
    ) -> Result<()> {
        let Replay { disk, plan, .. } = self.replay;
        let identity = id.identity(plan.manifest.database);
        let mut reader = SegmentReader::<M>::open(*disk, &id.to_string(), identity)?;
        let mut ended = false;
        loop {
            let begun = reader.offset();
            if end.is_some_and(|end| begun >= end) {
                return Ok(());
            }
            if let Some(frame) = reader.next_frame()? {
                ended = frame.head.kind == chiliad_log::frame::Kind::End;
                let sound = self.replay_payload(applier.as_deref_mut(), frame.payload)?;
                if !sound {
                    self.replay.lose(LogError::damaged(reader.name(), begun, UNFIT))?;
                }
                self.replay.progress(reader.offset() - begun);
                continue;
            }
            if ended {
                return Ok(());
            }
            let what = "what was durable here is not what is here";
            self.replay.lose(LogError::damaged(reader.name(), begun, what))?;
            match reader.judge()? {
                Damage::Lost { resumes_at } => reader.seek(resumes_at),
                Damage::End { .. } => return Ok(()),
            }
        }
    }

    /// Replays the transactions of a frame; whether all of it could be read.
    fn replay_payload(
        &self,
        mut applier: Option<&mut Applier<'_, M>>,
        payload: &[u8],
    ) -> Result<bool> {
        let counts = &self.replay.counts;
        let (mut transactions, mut writes, mut dropped, mut sound) = (0, 0, 0, true);
        let mut group = Group::new();
        for transaction in entry::transactions(payload) {
            let Some(transaction) = transaction else {
                sound = false;
                break;
            };
            if transaction.epoch > self.life.durable && !self.replay.lenient {
                dropped += 1;
                continue;
            }
            if transaction.epoch <= self.life.floor {
                continue;
            }
            transactions += 1;
            for write in transaction.writes() {
                let Some(write) = write else {
                    sound = false;
                    break;
                };
                if !self.replay.plan.shapes.admit(transaction.order, &write) {
                    sound = false;
                    continue;
                }
                writes += 1;
                if let Some(applier) = &mut applier {
                    applier.push(&mut group, Item { order: transaction.order, write })?;
                }
            }
        }
        if let Some(applier) = &mut applier {
            applier.flush(&mut group)?;
        }
        add(&counts.transactions, transactions);
        add(&counts.writes, writes);
        add(&counts.dropped, dropped);
        Ok(sound)
    }
}
