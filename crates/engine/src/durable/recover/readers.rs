//! Reading a checkpoint's parts and the logs' segments, a file at a time.

use crate::durable::directory::plan::IncarnationPlan;
use crate::durable::parallel::next::Next;
use crate::durable::recover::apply::{Applier, Group, Item};
use crate::durable::recover::recovery::{Replay, add};
use chiliad_api::{Error, Result};
use chiliad_log::entry;
use chiliad_log::{
    CheckpointInfo, Damage, LogError, Name, PartReader, Retired, SegmentId, SegmentReader,
};
use chiliad_machine::{Machine, Shared};

/// The message about a frame that was not written by us, or does not belong to this catalog.
const UNFIT: &str = "a frame whose checksum fits holds what no transaction can have written";

/// One file to be read.
#[derive(Clone, Copy)]
pub enum Task {
    Part(CheckpointInfo, u32),
    /// A segment, and where it ends if not by its last frame.
    Segment(SegmentId, Option<u64>),
}

/// The files of one incarnation, for the threads that read them.
pub struct Readers<'a, M: Machine> {
    pub replay: &'a Replay<'a, M>,
    pub incarnation: &'a IncarnationPlan,
    pub tasks: Vec<Task>,
    pub next: Shared<M, Next<M>>,
}

impl<M: Machine> Readers<'_, M> {
    /// Reads one file after the other.
    pub(in crate::durable) fn take_part(&self) {
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
            Task::Segment(id, end) => {
                let newest_epoch = self.read_segment(applier, id, end)?;
                self.replay.counts.segments.lock().push(Retired { id, newest_epoch });
                Ok(())
            }
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
            debug_assert!(reader.offset() > begun, "a frame takes room");
            add(&counts.checkpoint_rows, rows);
            self.replay.progress(reader.offset() - begun);
        }
        Ok(())
    }

    /// Replays a segment, and returns the newest epoch of a transaction in it that is durable.
    fn read_segment(
        &self,
        mut applier: Option<&mut Applier<'_, M>>,
        id: SegmentId,
        end: Option<u64>,
    ) -> Result<u64> {
        let Replay { disk, plan, .. } = self.replay;
        let identity = id.identity(plan.manifest.database);
        let mut reader = SegmentReader::<M>::open(*disk, &id.to_string(), identity)?;
        let (mut ended, mut newest) = (false, 0);
        loop {
            let begun = reader.offset();
            if end.is_some_and(|end| begun >= end) {
                return Ok(newest);
            }
            if let Some(frame) = reader.next_frame()? {
                ended = frame.head.kind == chiliad_log::frame::Kind::End;
                debug_assert!(frame.head.position == begun, "a frame is where it says");
                let payload = frame.payload;
                let sound = self.replay_payload(applier.as_deref_mut(), payload, &mut newest)?;
                if !sound {
                    self.replay.lose(LogError::damaged(reader.name(), begun, UNFIT))?;
                }
                self.replay.progress(reader.offset() - begun);
                continue;
            }
            if ended {
                return Ok(newest);
            }
            let what = "what was durable here is not what is here";
            self.replay.lose(LogError::damaged(reader.name(), begun, what))?;
            match reader.judge()? {
                Damage::Lost { resumes_at } => {
                    debug_assert!(resumes_at > begun, "the reader gets on");
                    reader.seek(resumes_at);
                }
                Damage::End { .. } => return Ok(newest),
            }
        }
    }

    /// Replays the transactions of a frame; whether all of it could be read. `newest` grows to the newest epoch of those
    /// that are durable.
    fn replay_payload(
        &self,
        mut applier: Option<&mut Applier<'_, M>>,
        payload: &[u8],
        newest: &mut u64,
    ) -> Result<bool> {
        let counts = &self.replay.counts;
        let (mut transactions, mut writes, mut dropped, mut sound) = (0, 0, 0, true);
        let mut group = Group::new();
        for transaction in entry::transactions(payload) {
            let Some(transaction) = transaction else {
                sound = false;
                break;
            };
            if transaction.epoch > self.incarnation.durable && !self.replay.lenient {
                dropped += 1;
                continue;
            }
            *newest = transaction.epoch.max(*newest);
            if transaction.epoch <= self.incarnation.redo_after {
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
