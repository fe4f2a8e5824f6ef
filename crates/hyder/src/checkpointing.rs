//! Makes checkpoints while everything goes on, and trims the log that they replace.
//!
//! The order is what counts: the rows are written and synced, then the file gets its name, durably; then the other
//! servers learn of it by the log; only then does the log forget what nobody needs who begins with a checkpoint.

use crate::capture::Captured;
use crate::checkpoint_file::{CheckpointReader, CheckpointWriter, Summary};
use crate::checkpoints::{Checkpoints, name, new_name};
use crate::cursor::Cursor;
use crate::desk::log_failed;
use crate::faults::{CHECKPOINT_NOT_PINNED, TOMBSTONES_NOT_IN_CHECKPOINT, TRIMMED_BEFORE_DURABLE};
use crate::nap::nap;
use crate::pending::Answer;
use crate::record::{CheckpointNote, Kind};
use crate::server::Server;
use crate::state::{Published, StateRef};
use chiliad_api::{Checkpointed, Error, Result};
use chiliad_log::CheckpointInfo;
use chiliad_log::entry::Write;
use chiliad_machine::shared_log::Position;
use chiliad_machine::{Machine, Ordering, Word};
use core::ops::Bound;

impl<M: Machine> Server<M> {
    /// Whether the log has grown enough for a checkpoint.
    pub fn checkpoint_is_due(&self) -> bool {
        let made = &self.checkpointing;
        let Some(place) = made.place.as_ref().filter(|_| self.failure().is_none()) else {
            return false;
        };
        let (read, last) = (self.progress.log_bytes(), made.log_bytes.load(Ordering::Relaxed));
        let enough = self.options.checkpoint_log_bytes.max(made.bytes.load(Ordering::Relaxed));
        if read.saturating_sub(last) < enough {
            return false;
        }
        // A server that keeps its checkpoints in the same place may have made one.
        let newest = place.labels().ok().and_then(|labels| labels.first().copied());
        match newest.filter(|&label| label > made.newest.load(Ordering::Relaxed)) {
            Some(label) => {
                made.has_made(label, read);
                false
            }
            None => true,
        }
    }

    /// Makes a checkpoint of the newest state, and trims the log.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a server without a place for checkpoints; [`Error::Data`] where it could not be
    /// written: the one before still counts; [`Error::Canceled`]; [`Error::LogFailed`].
    pub fn checkpoint(&self) -> Result<Checkpointed> {
        let made = &self.checkpointing;
        let place = made.place.as_ref().ok_or_else(|| {
            Error::InvalidOption("the server was given no place for checkpoints".into())
        })?;
        // Acquire pairs with the release below.
        while made.making.swap(1, Ordering::Acquire) == 1 {
            nap::<M>();
        }
        let outcome = self.make_checkpoint(place);
        // Release pairs with the acquire above.
        made.making.store(0, Ordering::Release);
        outcome
    }

    fn make_checkpoint(&self, place: &Checkpoints) -> Result<Checkpointed> {
        let slot = self.heap.slots.acquire().ok_or(Error::NO_SLOT)?;
        let captured = self.capture(slot);
        let read = self.progress.log_bytes();
        let written = captured.and_then(|(summary, state)| {
            if M::fault(&CHECKPOINT_NOT_PINNED) {
                Published::unpin(self.slot(slot));
            }
            if M::fault(&TRIMMED_BEFORE_DURABLE) {
                self.trim(summary.position)?;
            }
            let written = self.write(place, &summary, state);
            Ok((summary, written?))
        });
        Published::unpin(self.slot(slot));
        self.heap.slots.release(slot);
        let (summary, (rows, bytes)) = written?;
        let label = summary.label;
        let (labels, released) = place.publish(label, self.head().server)?;
        self.checkpointing.has_made(label, read);
        self.checkpointing.bytes.store(bytes, Ordering::Relaxed);
        M::mark("checkpoint published");
        if !labels.is_empty() {
            self.tell(&summary)?;
        }
        let before = self.checkpointing.goes_on_at(summary.position);
        if labels.len() > 1 {
            let oldest = oldest_position::<M>(place, &labels).unwrap_or(summary.position);
            // Those of servers that share a place may follow each other at once; a server that is a little behind would
            // be left there.
            self.trim(oldest.min(before))?;
        }
        let number = u32::try_from(label).unwrap_or(u32::MAX);
        let info =
            CheckpointInfo { number, parts: 1, incarnation: 0, redo_after: label, end: label };
        let mut made = Checkpointed::new(info, rows, bytes);
        made.released = released;
        Ok(made)
    }

    /// The newest state, pinned by `slot`.
    fn capture(&self, slot: u32) -> Result<Captured<M>> {
        let captures = &self.captures;
        captures.ask(slot);
        loop {
            self.append_and_roll(1);
            if let Some(captured) = captures.take() {
                return Ok(captured);
            }
            let canceled = self.checkpointing.is_canceled().then_some(Error::Canceled);
            if let Some(error) = self.failure().or(canceled) {
                return captures.give_up().ok_or(error);
            }
            nap::<M>();
        }
    }

    /// Writes all rows of a state to a file that nobody knows yet; returns their number, and its bytes.
    fn write(
        &self,
        place: &Checkpoints,
        summary: &Summary,
        state: StateRef<M>,
    ) -> Result<(u64, u64)> {
        let server = self.head().server;
        let file = new_name(summary.label, server);
        let written = CheckpointWriter::create(place.disk(), file, summary)
            .map_err(Error::from)
            .and_then(|writer| self.write_rows(writer, summary.label, state));
        if written.is_err() {
            place.discard(summary.label, server);
        }
        written
    }

    fn write_rows(
        &self,
        mut writer: CheckpointWriter,
        label: u64,
        state: StateRef<M>,
    ) -> Result<(u64, u64)> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let (from, to) = (Bound::Unbounded, Bound::Unbounded);
        for table in 0..state.tables() {
            for node in Cursor::new(state.tree(table), from, to, false) {
                let content = node.content();
                let is_old = content.version.saturating_add(self.options.roll.window) <= label;
                // It decides nothing about what comes after the checkpoint.
                let is_idle = is_old && !self.options.verify;
                if content.tombstone && (is_idle || M::fault(&TOMBSTONES_NOT_IN_CHECKPOINT)) {
                    continue;
                }
                key.clear();
                node.append_key(&mut key);
                value.clear();
                content.value.into_iter().for_each(|stored| stored.append(&mut value));
                let removed = content.tombstone;
                let row = Write { table, removed, key: &key, value: &value };
                if writer.add(content.version, &row)? && self.checkpointing.is_canceled() {
                    return Err(Error::Canceled);
                }
            }
        }
        Ok(writer.finish()?)
    }

    /// Tells all servers of a checkpoint.
    fn tell(&self, summary: &Summary) -> Result<()> {
        let (label, digest, position) = (summary.label, summary.digest, summary.position);
        let local = self.next_local();
        let note = CheckpointNote { local, label, digest, position };
        match self.decide(Kind::Checkpoint, local, note.encode()) {
            Answer::Failed(error) => Err(error),
            Answer::Committed(_) | Answer::Refused(_) | Answer::Changed(_) => Ok(()),
        }
    }

    /// Forgets what a reader does not need who goes on at `next`. The record before that stays: by it the log is known.
    fn trim(&self, next: Position) -> Result<()> {
        match self.log.trim(next.saturating_sub(1).max(1)) {
            // It is trimmed after the next checkpoint.
            Err(error) if !error.may_pass() => Err(log_failed(&*self.log, &error)),
            _ => Ok(()),
        }
    }
}

/// Where the log goes on after the oldest of these checkpoints, the newest first; nothing if that is damaged.
fn oldest_position<M: Machine>(place: &Checkpoints, labels: &[u64]) -> Option<Position> {
    let oldest = *labels.last()?;
    let opened = CheckpointReader::<M>::open(place.disk(), &name(oldest), oldest);
    Some(opened.ok()?.0.position)
}
