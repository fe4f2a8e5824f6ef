//! The commit, the same for all schemes, on one screen: prepare, append, install, release.

use crate::access::{Kind, Write};
use crate::contract::{CommitPoint, Context, Garbage, Refusal, Scheme};
use crate::durable::{APPENDED_AFTER_ITS_WINDOW, TRANSACTION_BYTES_MAX};
use crate::tables::catalog::View;
use crate::version;
use crate::worker::{Core, State, context};
use chiliad_api::{Committed, Error, Part, Reason, Result, WriteKind, stamp};
use chiliad_log::entry;
use chiliad_machine::{Cost, Fault, Machine, Rig};
use chiliad_storage::Found;

static SWITCH_IN_COMMIT_WINDOW: Fault = Fault {
    name: "switch-in-commit-window",
    step: "nobody waits for memory in a commit window, in which siblings would run and epochs wait",
    rig: Rig::SimCrews,
    schemes: &[],
    workload: "scan",
    expected: &["switch in a section"],
    seeds: 20,
};

/// The planted bugs of the commit as such.
pub(crate) static FAULTS: &[&Fault] = &[&SWITCH_IN_COMMIT_WINDOW];

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    #[inline]
    pub fn commit(&mut self, view: &View<M>) -> Result<Committed> {
        M::work(Cost::Commit, 1);
        self.align_indexes(view)?;
        self.check_log()?;
        self.clockwork.switch(Part::Manager);
        if self.stamped {
            self.stamp_values();
        }
        self.heap.pin();
        self.find_again(view)?;
        // Prepare: conflicting transactions are excluded from here on, and who is kept off spins.
        M::enter_section();
        let point = match self.scheme.prepare(&mut context!(self), &mut self.writes) {
            Ok(point) => point,
            Err(refusal) => {
                self.heap.unpin();
                let error = self.lose(refusal);
                self.give_up(view, false);
                M::leave_section();
                return Err(error);
            }
        };
        if self.recorder.is_some() && self.stamped {
            self.record_writes(point);
        }
        // Append: before the window closes, so that an epoch is complete when its windows have.
        if M::fault(&APPENDED_AFTER_ITS_WINDOW) {
            self.inner.words.epochs.close_window(self.heap.slot());
        }
        if let Some(recorder) = self.recorder.as_mut().filter(|_| self.stamped) {
            recorder.prepared(point.epoch, point.order);
        }
        self.append(point);
        // Install.
        for at in 0..self.writes.entries.len() {
            M::work(Cost::Install, 1);
            let write = &self.writes.entries[at];
            if M::fault(&SWITCH_IN_COMMIT_WINDOW) {
                M::await_line(write.record.as_ptr().cast_const().cast(), 1);
            }
            if write.is_void() {
                self.scheme.withdraw(write.record);
                continue;
            }
            // A tombstone holds nothing but its stamp: the value removed may not fit in the record.
            let empty = write.kind == Kind::Remove && !self.stamped;
            let value = if empty { &[][..] } else { self.arena.get(write.value) };
            self.scheme.install(&mut context!(self), point, &mut self.writes, at, value);
        }
        let wrote = !self.writes.is_empty();
        if wrote {
            self.leave_tombstones(point);
            if S::COLLECTS_BEFORE_RELEASE {
                self.scheme.collect(&mut context!(self), view, usize::MAX);
            }
        }
        // Release: conflicting transactions may go on.
        self.scheme.release(&mut context!(self));
        M::leave_section();
        self.heap.unpin();
        if let Some(recorder) = self.recorder.as_mut().filter(|_| self.stamped) {
            recorder.commit(M::now(), point.epoch, point.order);
        }
        self.tally.committed += 1;
        self.state = State::Idle;
        // What follows until the next begin is the scheme's too: collecting, reclaiming.
        Ok(Committed { epoch: point.epoch, order: point.order, wrote })
    }

    /// Looks the records to be written up again if their slots may have changed hands since they were
    /// found, which takes a reclaim epoch. From here on the pin keeps them.
    #[inline]
    fn find_again(&mut self, view: &View<M>) -> Result<()> {
        if self.heap.pin_epoch() == self.begun_in || self.writes.is_empty() {
            return Ok(());
        }
        let gone = self.writes.entries.iter().filter(|write| !write.placed).find(|write| {
            let found = view
                .get(write.table)
                .map(|table| table.index.get(&self.heap, self.arena.get(write.key)));
            !matches!(found, Ok(Found::Record(record)) if record == write.record)
        });
        let Some(record) = gone.map(|write| write.record) else {
            return Ok(());
        };
        self.heap.unpin();
        Err(self.lose(Refusal::over(Reason::Vanished, record)))
    }

    /// Refuses what the log does not take at once, and changes that could not become durable: a transaction
    /// that has changed nothing does not need the log.
    #[inline]
    fn check_log(&mut self) -> Result<()> {
        let Some(durable) = &self.inner.words.durable else { return Ok(()) };
        let bytes = self.arena.used();
        if self.log.is_some() && bytes > TRANSACTION_BYTES_MAX {
            return Err(
                self.doom(Error::TransactionTooLarge { bytes, accepted: TRANSACTION_BYTES_MAX })
            );
        }
        if self.writes.is_empty() {
            return Ok(());
        }
        durable.check().map_err(|error| self.doom(error))
    }

    /// Gives the writes to the log, but for those of secondary indexes, which recovery makes anew.
    #[inline]
    fn append(&mut self, point: CommitPoint) {
        let (Some(durable), Some(buffer)) = (&self.inner.words.durable, &self.log) else {
            return;
        };
        let logged = |write: &&Write<M>| {
            let index = self.unlogged.get(write.table.0 as usize).copied().unwrap_or(false);
            !index && !write.is_void()
        };
        let writes = self.writes.entries.iter().filter(logged);
        if writes.clone().next().is_none() {
            return;
        }
        let writes = writes.map(|write| {
            let removed = write.kind == Kind::Remove;
            // As for the installation.
            let empty = removed && !self.stamped;
            let value = if empty { &[][..] } else { self.arena.get(write.value) };
            entry::Write { table: write.table.0, removed, key: self.arena.get(write.key), value }
        });
        durable.log.append(buffer, point.epoch, point.order, writes);
    }

    /// Puts the stamp behind each new value; a tombstone's value is its stamp.
    #[cold]
    fn stamp_values(&mut self) {
        for at in 0..self.writes.entries.len() {
            let write = &self.writes.entries[at];
            let value = write.value;
            let stamped = match write.kind {
                Kind::Put => {
                    let stamp = stamp::make(self.stamp, self.arena.get(value), self.stamp_reach);
                    let copy = self.arena.duplicate(value);
                    let behind = self.arena.push(&stamp);
                    crate::arena::Piece { length: copy.length + behind.length, ..copy }
                }
                Kind::Remove => self.arena.push(&stamp::make_absent(self.stamp)),
            };
            self.writes.entries[at].value = stamped;
        }
    }

    /// Reports the writes and the versions that they are about to overwrite.
    #[cold]
    fn record_writes(&mut self, point: CommitPoint) {
        let mut old = core::mem::take(&mut self.key);
        let Some(mut recorder) = self.recorder.take() else {
            return;
        };
        for write in self.writes.entries.iter().filter(|write| !write.is_void()) {
            let absent = version::current_version(write.record, &mut old);
            let overwritten = stamp::read(&old, self.stamp_reach, absent);
            let kind = match write.kind {
                Kind::Remove => WriteKind::Remove,
                Kind::Put if absent => WriteKind::Insert,
                Kind::Put => WriteKind::Update,
            };
            let key = self.arena.get(write.key);
            recorder.write(write.table, key, kind, overwritten, point.order);
            let stamped = self.arena.get(write.value);
            recorder.value(&stamped[..stamped.len() - stamp::STAMP_BYTES]);
        }
        self.recorder = Some(recorder);
        self.key = old;
    }

    /// Rows removed leave their index later.
    #[inline]
    fn leave_tombstones(&mut self, point: CommitPoint) {
        let kept = self.inner.words.epochs.keeps_versions();
        for write in &self.writes.entries {
            let void = write.is_void();
            if write.kind == Kind::Remove && (write.placed || !void) {
                self.scheme.leave_garbage(Garbage {
                    table: write.table.0,
                    record: write.record,
                    key: Some(self.keys.take(self.arena.get(write.key))),
                    order: if write.placed { write.prior } else { point.order },
                    placeholder: write.placed,
                    epoch: if kept && write.keep && !write.placed { point.epoch } else { 0 },
                });
            }
        }
        self.writes.clear();
    }
}
