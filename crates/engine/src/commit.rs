//! The commit, the same for all schemes, on one screen: prepare, append, install, release.

use crate::access::{Kind, Write};
use crate::additions::LOGGED_BEFORE_ITS_SUM;
use crate::contract::{Abort, CommitPoint, Context, Scheme};
use crate::core::{Core, State, context};
use crate::durable::{APPENDED_AFTER_ITS_WINDOW, TRANSACTION_BYTES_MAX};
use crate::garbage::Garbage;
use crate::record_word;
use crate::tables::catalog::View;
use chiliad_api::{Committed, Error, Part, Reason, Result};
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
        self.debug_check_writes(view);
        self.clockwork.switch(Part::Manager);
        self.verification.stamp_values(&mut self.writes, &mut self.arena);
        self.heap.pin();
        self.find_again(view)?;
        self.renew_gaps()?;
        // Prepare: conflicting transactions are excluded from here on, and spin.
        M::enter_section();
        let point = match self.prepare() {
            Ok(point) => point,
            Err(error) => return Err(self.abort_commit(view, error)),
        };
        self.report_held();
        self.verification.writes(point, &self.writes, &self.arena);
        debug_assert!(point.order & record_word::FLAGS == 0, "an order leaves room for flags");
        // Append: before the window closes, so that an epoch is complete when its windows have.
        if M::fault(&APPENDED_AFTER_ITS_WINDOW) {
            self.inner.words.epochs.close_window(self.heap.slot());
        }
        self.verification.prepared(point);
        if !M::fault(&LOGGED_BEFORE_ITS_SUM) {
            self.append(point);
        }
        let wrote = !self.writes.is_empty();
        if wrote {
            self.install(point);
            self.leave_tombstones(point);
            if S::NEEDS.collects_before_release {
                self.scheme.collect(&mut context!(self), view, usize::MAX);
            }
        }
        debug_assert!(self.writes.is_empty(), "all that was to be installed is");
        debug_assert!(self.heap.is_pinned(), "the pin lasts as long as the latches");
        let seen_epoch = match wrote || self.attempt.went_by {
            true => point.epoch,
            false => self.scheme.seen_epoch(&self.gaps).min(point.epoch),
        };
        debug_assert!(seen_epoch <= point.epoch, "it has seen nothing of later epochs");
        // Release: conflicting transactions may go on.
        self.scheme.release(&mut context!(self));
        M::leave_section();
        self.heap.unpin();
        self.verification.committed(point);
        self.tally.committed += 1;
        self.attempt.state = State::Idle;
        // What follows until the next begin is the scheme's too: collecting, reclaiming.
        Ok(Committed { epoch: point.epoch, seen_epoch, order: point.order, wrote })
    }

    /// Excludes conflicting transactions; what is added to rows becomes values of theirs.
    #[inline]
    fn prepare(&mut self) -> Result<CommitPoint> {
        let prepared = self.scheme.prepare(&mut context!(self), &mut self.writes);
        let point = prepared.map_err(|abort| self.mark_aborted(abort))?;
        if M::fault(&LOGGED_BEFORE_ITS_SUM) {
            self.append(point);
        }
        self.make_sums()?;
        let valued = |write: &Write<M>| write.kind != Kind::Add;
        debug_assert!(self.writes.entries.iter().all(valued), "the log gets values");
        Ok(point)
    }

    /// Reports reads of certain columns, by the versions with which the transaction commits.
    #[inline]
    fn report_held(&mut self) {
        let catalog = &self.inner.words.catalog;
        let layout_of = |table| catalog.declared(table).ok().map(|(_, layout)| layout);
        self.verification.report_held(self.scheme.renewed(), layout_of);
    }

    /// Makes all writes the newest versions of their records, with one context.
    #[inline]
    fn install(&mut self, point: CommitPoint) {
        debug_assert!(self.heap.is_pinned(), "records stay while they are written");
        if self.writes.has_partial() {
            self.note_columns(point);
        }
        let mut cx = context!(self);
        for at in 0..self.writes.entries.len() {
            M::work(Cost::Install, 1);
            let write = &self.writes.entries[at];
            if M::fault(&SWITCH_IN_COMMIT_WINDOW) {
                M::await_line(write.record.as_ptr().cast_const().cast(), 1);
            }
            if write.is_void() {
                self.scheme.skip_write(write.record);
                continue;
            }
            let value = self.verification.payload(write, &self.arena);
            self.scheme.install(&mut cx, point, &mut self.writes, at, value);
        }
        let in_place = |write: &Write<M>| write.is_void() || write.spare[1].is_none();
        debug_assert!(self.writes.entries.iter().all(in_place), "each value is in its record");
    }

    /// Remembers which columns the writes change, where that is known: before others see the versions, of which nothing
    /// would be known.
    #[cold]
    fn note_columns(&self, point: CommitPoint) {
        for (write, columns) in self.writes.partial() {
            let versions = (write.prior, point.order);
            self.inner.recent.note(write.record.address(), versions, columns);
        }
    }

    /// Asserts the invariants of every write set that is about to be prepared.
    #[inline]
    fn debug_check_writes(&self, view: &View<M>) {
        debug_assert!(
            matches!(self.attempt.state, State::Active),
            "only a transaction in hand commits"
        );
        debug_assert!(!self.heap.is_pinned(), "no operation is in progress");
        debug_assert!(self.attempt.dirty == 0, "indexes are in line with their rows");
        debug_assert!(!self.attempt.read_only || self.writes.is_empty(), "it only reads");
        debug_assert!(!self.attempt.in_past || self.writes.is_empty(), "the past does not change");
        let known = |write: &Write<M>| view.get(write.table).is_ok();
        debug_assert!(self.writes.entries.iter().all(known), "each record is of a table it sees");
        let fresh = |write: &Write<M>| !write.latched && write.spare.iter().all(Option::is_none);
        debug_assert!(self.writes.entries.iter().all(fresh), "nothing is prepared yet");
    }

    /// The transaction cannot commit, which its scheme was to prepare, or has prepared: rolls it back.
    #[cold]
    fn abort_commit(&mut self, view: &View<M>, error: Error) -> Error {
        self.heap.unpin();
        self.abort_and_collect(view, false);
        M::leave_section();
        debug_assert!(matches!(self.attempt.state, State::Idle), "it is rolled back");
        error
    }

    /// Looks the records to be written up again if their slots may have changed hands since they were
    /// found, which takes a reclaim epoch. From here on the pin keeps them.
    #[inline]
    fn find_again(&mut self, view: &View<M>) -> Result<()> {
        debug_assert!(self.heap.is_pinned(), "what is found stays from here on");
        if self.heap.pin_epoch() == self.attempt.begun_in || self.writes.is_empty() {
            return Ok(());
        }
        let gone = self.writes.entries.iter().filter(|write| !write.placed).find(|write| {
            let found = view
                .get(write.table)
                .map(|table| table.find(&self.heap, self.arena.get(write.key)));
            !matches!(found, Ok(Found::Record(record)) if record == write.record)
        });
        let Some(record) = gone.map(|write| write.record) else {
            return Ok(());
        };
        self.heap.unpin();
        Err(self.mark_aborted(Abort::over(Reason::Vanished, record)))
    }

    /// Whether what was read is still one state of the database.
    pub fn validate(&mut self) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        self.heap.pin();
        self.renew_gaps()?;
        let valid = self.scheme.validate(&mut context!(self), &self.writes);
        self.heap.unpin();
        valid.map_err(|abort| self.mark_aborted(abort))
    }

    /// Looks again at what the transaction has not found, where something may have come.
    #[inline]
    fn renew_gaps(&mut self) -> Result<()> {
        debug_assert!(self.heap.is_pinned(), "leaves stay while they are looked at");
        if !S::NEEDS.watches_gaps || self.gaps.renew(&self.heap, &self.writes) {
            return Ok(());
        }
        self.heap.unpin();
        Err(self.mark_aborted(Abort::new(Reason::Phantom)))
    }

    /// Refuses what the log does not take at once, and changes that could not become durable: a transaction
    /// that has changed nothing does not need the log.
    #[inline]
    fn check_log(&mut self) -> Result<()> {
        let Some(durable) = &self.inner.words.durable else { return Ok(()) };
        debug_assert!(self.log.is_some(), "a durable database has a buffer for each worker");
        let writable = durable.check();
        if self.writes.is_empty() {
            return Ok(());
        }
        // The arena holds reads as well, so its size only says when to count the writes.
        if self.arena.used() > TRANSACTION_BYTES_MAX {
            self.check_written()?;
        }
        writable.map_err(|error| self.abort_with(error))
    }

    /// Refuses writes that the log does not take at once.
    #[cold]
    fn check_written(&mut self) -> Result<()> {
        let bytes = |write: &Write<M>| (write.key.length() + write.value.length()) as usize;
        let bytes = self.writes.entries.iter().map(bytes).sum();
        if bytes <= TRANSACTION_BYTES_MAX {
            return Ok(());
        }
        let accepted = TRANSACTION_BYTES_MAX;
        Err(self.abort_with(Error::TransactionTooLarge { bytes, accepted }))
    }

    /// Gives the writes to the log, but for those of secondary indexes, which recovery makes anew.
    #[inline]
    fn append(&mut self, point: CommitPoint) {
        let (Some(durable), Some(buffer)) = (&self.inner.words.durable, &self.log) else {
            return;
        };
        let logged = |write: &&Write<M>| !self.rules.is_unlogged(write.table) && !write.is_void();
        let writes = self.writes.entries.iter().filter(logged);
        debug_assert!(point.epoch > 0, "a commit has an epoch");
        if writes.clone().next().is_none() {
            return;
        }
        debug_assert!(point.order & record_word::FLAGS == 0, "an order leaves room for flags");
        let writes = writes.map(|write| entry::Write {
            table: write.table.0,
            removed: write.kind == Kind::Remove,
            key: self.arena.get(write.key),
            value: self.verification.payload(write, &self.arena),
        });
        durable.log.append(buffer, point.epoch, point.order, writes);
    }

    /// Rows removed leave their index later.
    #[inline]
    fn leave_tombstones(&mut self, point: CommitPoint) {
        let kept = self.inner.words.epochs.keeps_versions();
        for write in &self.writes.entries {
            let void = write.is_void();
            // The other parts of a row leave with its first one.
            let leaves = !self.rules.is_group(write.table);
            if write.kind == Kind::Remove && leaves && (write.placed || !void) {
                self.garbage.add(Garbage {
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
