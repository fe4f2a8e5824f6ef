//! The transaction in progress on a worker: the interface of [`Transaction`], and its endings.

use crate::contract::Scheme;
use crate::core::{Core, State};
use crate::tables::dropped::unpin_catalog_version;
use crate::worker::Worker;
use chiliad_api::{
    Cancel, Columns, Committed, Entry, Error, Get, Intent, Number, Outer, Part, Range, Recorder,
    Result, Row, Scanned, Session, TableId, Transaction, Visit, VisitIndex, VisitMany,
};
use chiliad_machine::{Fault, Machine, Ticks};

impl<M: Machine, S: Scheme<M>> Worker<M, S> {
    /// The transaction in progress has ended: hands back what it has collected. It has `finished` if it went
    /// through, or was given up by its own logic.
    #[inline]
    fn end(&mut self, finished: bool) {
        let core = &mut self.core;
        core.release_locks();
        unpin_catalog_version(core.heap.slot());
        M::ended(finished);
    }

    /// No transaction has begun, for this reason.
    #[cold]
    fn fail_to_begin(&mut self, error: Error) -> Error {
        unpin_catalog_version(self.core.heap.slot());
        M::ended(false);
        error
    }

    /// The transaction in progress has not committed, for this reason: rolls it back. The reason is a conflict where it was
    /// found in a state that never was: an index may have the entry of a later value of a row that was changed.
    #[cold]
    fn fail_to_commit(&mut self, error: Error) -> Error {
        let is_active = self.core.attempt.state == State::Active;
        let error = if is_active { self.judge(error) } else { error };
        let Self { view, core } = self;
        if core.attempt.state != State::Idle {
            core.abort_and_collect(view, false);
        }
        core.clean_up(view);
        self.end(false);
        error
    }

    /// Why no commit or look at the transaction in progress is possible.
    #[cold]
    fn over(&self) -> Error {
        match self.core.attempt.state {
            State::Aborted => self.core.attempt.failure.clone(),
            State::Idle | State::Active => Error::TransactionOver,
        }
    }
}

/// Called through a vtable by all but tests: none of its functions is worth a copy in a caller, and loads, which call
/// several, would have one of each for each scheme.
impl<M: Machine, S: Scheme<M>> Session<M> for Worker<M, S> {
    #[inline(never)]
    fn start(&mut self, intent: &Intent<'_>) -> Result<()> {
        let partitions = self.core.inner.options.partitions;
        if S::INFO.needs_partitions && intent.partitions.iter().any(|&it| it >= partitions) {
            let given = intent.partitions;
            let what = format!("partitions {given:?}: 0 to {} are accepted", partitions - 1);
            return Err(Error::InvalidOption(what));
        }
        debug_assert!(
            matches!(self.core.attempt.state, State::Idle),
            "a worker has one transaction"
        );
        self.core.limits.begin(intent);
        if !(intent.read_only || intent.snapshot) {
            self.core.wait_for_log()?;
        }
        M::begun(intent.retries > 0);
        self.catch_up();
        self.core.begin(intent).map_err(|error| self.fail_to_begin(error))
    }

    #[inline(never)]
    fn commit(&mut self) -> Result<Committed> {
        if self.core.attempt.state != State::Active {
            return Err(self.fail_to_commit(self.over()));
        }
        let Self { view, core } = self;
        match core.commit(view) {
            Ok(committed) => {
                debug_assert!(core.attempt.state == State::Idle, "no commit leaves one in hand");
                core.clean_up(view);
                self.end(true);
                Ok(committed)
            }
            Err(error) => Err(self.fail_to_commit(error)),
        }
    }

    fn rollback(&mut self) {
        let Self { view, core } = self;
        let finished = core.attempt.state == State::Active;
        core.abort_and_collect(view, finished);
        core.clean_up(view);
        self.end(finished);
    }

    fn abandon(&mut self) {
        match self.core.attempt.state {
            State::Idle => {}
            State::Active => self.core.roll_back(true),
            State::Aborted => self.core.roll_back(false),
        }
        self.end(false);
    }

    fn resume(&mut self) {
        M::resumed();
        self.catch_up_with_new();
    }

    fn set_limits(&mut self, deadline: Option<Ticks>, wait_limit: Option<Ticks>) {
        self.core.limits.set(deadline, wait_limit);
    }

    fn validate(&mut self) -> Result<()> {
        if self.core.attempt.state != State::Active {
            return Err(self.over());
        }
        self.core.validate()
    }

    fn seen_epoch(&self, columns: Columns, durable: u64) -> u64 {
        let Core { scheme, inner, gaps, attempt, .. } = &self.core;
        match attempt.went_by {
            true => u64::MAX,
            false => scheme.seen_epoch_of(&inner.recent, gaps, columns, durable),
        }
    }

    #[inline]
    fn as_outer(&self) -> Outer {
        Outer::new(self.core.heap.slot_number(), self.core.limits.name())
    }

    fn try_load(
        &mut self,
        outer: &[Outer],
        table: TableId,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()> {
        debug_assert!(
            matches!(self.core.attempt.state, State::Idle),
            "a worker has one transaction"
        );
        let recorder = self.core.verification.take_recorder();
        self.core.attempt.sequence = self.core.attempt.sequence.wrapping_sub(1);
        let loaded = self.load_once(outer, table, key, parts);
        self.core.verification.report_to(recorder);
        loaded
    }

    #[inline]
    fn cancel_by(&mut self, cancel: Option<&Cancel<M>>) {
        self.core.limits.cancel_by(cancel);
    }

    fn set_recorder(&mut self, recorder: Box<dyn Recorder>) {
        self.core.verification.report_to(Some(recorder));
    }

    fn take_recorder(&mut self) -> Option<Box<dyn Recorder>> {
        self.core.verification.take_recorder()
    }

    fn sample_next(&mut self) {
        self.core.clockwork.arm();
    }

    fn take_sample(&mut self) -> [u64; Part::ALL.len()] {
        self.core.clockwork.take()
    }

    #[inline]
    fn durable_epoch(&self) -> u64 {
        match &self.core.inner.words.durable {
            Some(durable) => durable.log.durable(),
            None => u64::MAX,
        }
    }

    fn hurry(&self, epoch: u64) {
        if let Some(durable) = &self.core.inner.words.durable {
            durable.log.hurry(epoch);
        }
    }

    fn log_failure(&self) -> Option<Error> {
        self.core.inner.words.durable.as_ref().and_then(|durable| durable.check().err())
    }

    fn rest(&mut self, budget: usize) -> (bool, u64) {
        debug_assert!(matches!(self.core.attempt.state, State::Idle), "it is idle");
        self.catch_up();
        self.core.collect(&self.view, budget);
        unpin_catalog_version(self.core.heap.slot());
        let given_bytes = self.core.heap.give_back();
        (self.core.garbage.is_empty(), given_bytes)
    }
}

impl<M: Machine, S: Scheme<M>> Transaction for Worker<M, S> {
    #[inline]
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let Worker { view, core } = self;
        core.ready(false)?;
        core.get(view.readable(table, core.attempt.in_past)?, Get::read(table, key))
    }

    #[inline(never)]
    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.get(view.writable(table, core.attempt.loads)?, Get::update(table, key))
    }

    fn reread_for_update(&mut self, row: Row) -> Result<Option<Row>> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.reread_for_update(view, row)
    }

    #[inline]
    fn get_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(false)?;
        core.get_many(view, requests, rows)
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        let Worker { view, core } = self;
        core.ready(false)?;
        core.scan(table, view.readable(table, core.attempt.in_past)?, &range)
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        let Worker { view, core } = self;
        core.ready(false)?;
        core.scan_index(view, table, index, &range)
    }

    fn visit(&mut self, table: TableId, range: Range<'_>, visit: &mut Visit<'_>) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(false)?;
        core.visit(table, view.readable(table, core.attempt.in_past)?, &range, visit)
    }

    fn visit_many(
        &mut self,
        table: TableId,
        keys: &[&[u8]],
        visit: &mut VisitMany<'_>,
    ) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(false)?;
        core.visit_many(table, view.readable(table, core.attempt.in_past)?, keys, visit)
    }

    fn visit_index(
        &mut self,
        table: TableId,
        index: usize,
        range: Range<'_>,
        visit: &mut VisitIndex<'_>,
    ) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(false)?;
        core.visit_index(view, table, index, &range, visit)
    }

    fn visit_index_keys(
        &mut self,
        table: TableId,
        index: usize,
        range: Range<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(false)?;
        core.visit_index_keys(view, table, index, &range, visit)
    }

    #[inline]
    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        self.core.handles.entries_of(scanned)
    }

    #[inline]
    fn key(&self, entry: Entry) -> Result<&[u8]> {
        let core = &self.core;
        Ok(core.arena.get(core.handles.access(entry.key())?.key))
    }

    fn table_of(&self, row: Row) -> Result<TableId> {
        Ok(self.core.handles.access(row)?.table)
    }

    #[inline]
    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.core.bytes(row)
    }

    #[inline]
    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.insert(view, table, key, value)
    }

    #[inline]
    fn insert_many(&mut self, table: TableId, rows: &[(&[u8], &[u8])]) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.insert_many(view, table, rows)
    }

    fn insert_parts(&mut self, table: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.insert_parts(view, table, key, parts)
    }

    fn groups(&self, table: TableId) -> Result<usize> {
        Ok(self.view.get(table)?.parts() - 1)
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.update(view, row, value)
    }

    fn update_columns(&mut self, row: Row, value: &[u8], columns: Columns) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.update_columns(view, row, value, columns)
    }

    fn look_at(&mut self, columns: Columns) {
        if S::NEEDS.knows_columns {
            self.core.scheme.look_at(columns);
            self.core.verification.look_at(columns);
        }
    }

    #[inline]
    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.modify(view, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.put(view, table, key, value)
    }

    #[inline]
    fn add(&mut self, table: TableId, key: &[u8], number: Number, n: i64) -> Result<bool> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.add(view, table, key, number, n)
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        let Worker { view, core } = self;
        core.ready(true)?;
        core.remove_row(view, row)
    }

    fn planted(&self) -> Option<fn(&'static Fault) -> bool> {
        M::SIMULATED.then_some(M::fault)
    }
}
