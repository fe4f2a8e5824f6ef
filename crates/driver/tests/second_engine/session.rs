//! A session: waits for its turn when a transaction begins, and has all tables until it ends.

use crate::attempt::{Attempt, Plant};
use crate::store::Inner;
use crate::turn::Limits;
use chiliad_api::{
    Cancel, Committed, Entry, Error, Intent, Outer, Range, Recorder, Result, Row, Scanned, Session,
    TableId, Transaction,
};
use chiliad_machine::Machine;
use std::sync::Arc;

pub struct ToySession<M: Machine> {
    inner: Arc<Inner<M>>,
    /// Which session of its database, from one.
    serial: u64,
    /// How many transactions it has begun.
    begun: u64,
    cancel: Option<Cancel<M>>,
    recorder: Option<Box<dyn Recorder>>,
    attempt: Option<Attempt>,
}

impl<M: Machine> ToySession<M> {
    pub fn new(inner: Arc<Inner<M>>) -> Self {
        let serial = inner.next_session();
        Self { inner, serial, begun: 0, cancel: None, recorder: None, attempt: None }
    }

    fn attempt(&mut self) -> Result<&mut Attempt> {
        self.attempt.as_mut().ok_or(Error::TransactionOver)
    }

    fn running(&self) -> Result<&Attempt> {
        self.attempt.as_ref().ok_or(Error::TransactionOver)
    }

    fn is_canceled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_canceled)
    }

    /// Ends the transaction in progress, if there is one, without its writes.
    fn forget(&mut self) {
        let Some(Attempt { mut tables, mut recorder, .. }) = self.attempt.take() else { return };
        tables.rolled_back += 1;
        self.inner.turn.give_back(tables);
        if let Some(recorder) = &mut recorder {
            recorder.abort(M::now());
        }
        self.recorder = recorder.or(self.recorder.take());
        M::ended(true);
    }

    /// Makes the writes of a transaction visible and gives the tables back.
    fn install(&mut self, mut attempt: Attempt) -> Result<Committed> {
        let order = attempt.tables.last_order + 1;
        attempt.tables.last_order = order;
        let epoch = self.inner.epoch();
        let versions = attempt.resolve_writes(order)?;
        let Attempt { mut tables, mut recorder, .. } = attempt;
        if let Some(recorder) = &mut recorder {
            recorder.prepared(epoch, order);
        }
        if self.inner.options.plant == Some(Plant::ReleasesEarly) {
            self.inner.turn.give_back(tables);
            M::yield_now();
            tables = self.inner.turn.take(&Limits::none())?;
        }
        let wrote = !versions.is_empty();
        for ((table, key), version) in versions {
            tables.install(table, key, version)?;
        }
        tables.committed += 1;
        self.inner.turn.give_back(tables);
        if let Some(recorder) = &mut recorder {
            recorder.commit(M::now(), epoch, order);
        }
        self.recorder = recorder.or(self.recorder.take());
        M::ended(true);
        Ok(Committed { epoch, seen_epoch: epoch, order, wrote })
    }
}

impl<M: Machine> Drop for ToySession<M> {
    fn drop(&mut self) {
        self.forget();
    }
}

impl<M: Machine> Session<M> for ToySession<M> {
    fn start(&mut self, intent: &Intent<'_>) -> Result<()> {
        let cancel = self.cancel.as_ref();
        let limits = Limits { deadline: intent.deadline, cancel, nested: !intent.outer.is_empty() };
        if self.is_canceled() {
            return Err(Error::Canceled);
        }
        M::begun(intent.retries > 0);
        let tables = self.inner.turn.take(&limits).inspect_err(|_| M::ended(false))?;
        self.begun += 1;
        let verify = self.inner.options.verify;
        let mut attempt = Attempt::new(tables, self.recorder.take_if(|_| verify));
        attempt.read_only = intent.read_only || intent.snapshot;
        attempt.loads = intent.loads;
        attempt.plant = self.inner.options.plant;
        let stamp = self.serial << 40 | self.begun;
        attempt.stamp = verify.then_some(stamp);
        if let Some(recorder) = &mut attempt.recorder {
            // There are no snapshots: such a transaction reads the present.
            recorder.begin(stamp, M::now(), false);
        }
        self.attempt = Some(attempt);
        Ok(())
    }

    fn commit(&mut self) -> Result<Committed> {
        let canceled = self.is_canceled();
        let aligned = self.attempt()?.align();
        let ready = if canceled { Err(Error::Canceled) } else { aligned };
        if let Err(error) = ready {
            self.forget();
            return Err(error);
        }
        let attempt = self.attempt.take().ok_or(Error::TransactionOver)?;
        self.install(attempt)
    }

    fn rollback(&mut self) {
        self.forget();
    }

    fn abandon(&mut self) {
        self.forget();
    }

    fn validate(&mut self) -> Result<()> {
        self.running().map(|_| ())
    }

    fn as_outer(&self) -> Outer {
        Outer::new(self.serial as u32, self.begun)
    }

    fn try_load(
        &mut self,
        outer: &[Outer],
        table: TableId,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()> {
        let recorder = self.recorder.take();
        let started = self.start(&Intent { loads: true, outer, ..Intent::update() });
        let loaded = started.and_then(|()| {
            let attempt = self.attempt()?;
            // Loaded rows are versions from before the history.
            attempt.stamp = attempt.stamp.map(|_| 0);
            for (at, part) in parts.iter().enumerate() {
                attempt.insert(TableId(table.0 + at as u32), key, part)?;
            }
            self.commit().map(|_| ())
        });
        self.forget();
        self.recorder = recorder;
        loaded
    }

    fn cancel_by(&mut self, cancel: Option<&Cancel<M>>) {
        self.cancel = cancel.cloned();
    }

    fn set_recorder(&mut self, recorder: Box<dyn Recorder>) {
        self.recorder = Some(recorder);
    }

    fn take_recorder(&mut self) -> Option<Box<dyn Recorder>> {
        self.recorder.take()
    }
}

impl<M: Machine> Transaction for ToySession<M> {
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.attempt()?.look(table, key)
    }

    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let attempt = self.attempt()?;
        attempt.writable(table)?;
        attempt.look(table, key)
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        self.attempt()?.scan(table, &range)
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        self.attempt()?.scan_index(table, index, &range)
    }

    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        self.running()?.entries(scanned)
    }

    fn key(&self, entry: Entry) -> Result<&[u8]> {
        self.running()?.place_of(entry.key()).map(|place| place.1)
    }

    fn table_of(&self, row: Row) -> Result<TableId> {
        self.running()?.place_of(row).map(|place| place.0)
    }

    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.running()?.bytes(row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.attempt()?.insert(table, key, value)
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        self.attempt()?.update(row, value)
    }

    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        self.attempt()?.modify(row)
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.attempt()?.put(table, key, value)
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        self.attempt()?.remove_row(row)
    }
}
