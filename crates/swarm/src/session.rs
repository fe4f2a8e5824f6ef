//! A session: transactions one after another, outside of any task.

use crate::attempt::Attempt;
use crate::base::Base;
use crate::memory::Memory;
use crate::view::View;
use chiliad_api::{
    Cancel, Committed, Entry, Error, Intent, Outer, Range, Recorder, Result, Row, Scanned, Session,
    TableId, Transaction,
};
use chiliad_machine::Machine;
use std::rc::Rc;

/// The only session of a database.
pub(crate) struct SwarmSession<M: Machine> {
    base: Rc<Base<M>>,
    attempt: Attempt,
    is_running: bool,
    cancel: Option<Cancel<M>>,
    recorder: Option<Box<dyn Recorder>>,
}

/// A view of the database, outside of any task.
type Outside<'v, M> = View<'v, Memory<'v, M>>;

impl<M: Machine> SwarmSession<M> {
    pub(crate) fn new(base: Rc<Base<M>>) -> Self {
        let attempt = Attempt::default();
        Self { base, attempt, is_running: false, cancel: None, recorder: None }
    }

    /// A statement, or an end, of the transaction in progress.
    fn statement<R>(
        &mut self,
        run: impl FnOnce(&mut Attempt, &mut Outside<'_, M>) -> Result<R>,
    ) -> Result<R> {
        if !self.is_running {
            return Err(Error::TransactionOver);
        }
        let memory = Memory(&self.base.pool);
        run(&mut self.attempt, &mut View::new(&memory, &self.base.tables))
    }

    fn running(&self) -> Result<&Attempt> {
        if self.is_running { Ok(&self.attempt) } else { Err(Error::TransactionOver) }
    }

    /// Takes back the transaction in progress, if there is one.
    fn forget(&mut self) {
        let is_ended = self.statement(|attempt, view| {
            attempt.rollback(view);
            Ok(())
        });
        if is_ended.is_ok() {
            self.end(false);
        }
    }

    fn end(&mut self, committed: bool) {
        self.is_running = false;
        self.base.count(committed);
        M::ended(true);
    }
}

impl<M: Machine> Drop for SwarmSession<M> {
    fn drop(&mut self) {
        self.forget();
    }
}

impl<M: Machine> Session<M> for SwarmSession<M> {
    fn start(&mut self, intent: &Intent<'_>) -> Result<()> {
        if self.cancel.as_ref().is_some_and(Cancel::is_canceled) {
            return Err(Error::Canceled);
        }
        self.forget();
        M::begun(intent.retries > 0);
        self.attempt.begin(intent.read_only || intent.snapshot);
        self.is_running = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<Committed> {
        let committed = self.statement(|attempt, view| attempt.commit(view));
        if !matches!(committed, Err(Error::TransactionOver)) {
            self.end(committed.is_ok());
        }
        let order = self.base.committed();
        committed.map(|wrote| Committed { epoch: 1, seen_epoch: 1, order, wrote })
    }

    fn rollback(&mut self) {
        self.forget();
    }

    fn abandon(&mut self) {
        self.forget();
    }

    fn validate(&mut self) -> Result<()> {
        // There is nobody beside it.
        self.running().map(|_| ())
    }

    fn as_outer(&self) -> Outer {
        Outer::new(0, self.base.committed())
    }

    fn try_load(
        &mut self,
        _outer: &[Outer],
        table: TableId,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()> {
        if self.is_running {
            return Err(Error::TransactionOver);
        }
        self.attempt.begin(false);
        self.attempt.loads = true;
        self.is_running = true;
        let loaded = self.statement(|attempt, view| {
            let inserted = attempt.insert_parts(view, table, key, parts);
            if inserted.is_err() {
                attempt.rollback(view);
            }
            inserted
        });
        self.is_running = false;
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

impl<M: Machine> Transaction for SwarmSession<M> {
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.statement(|attempt, view| attempt.find(view, table, key))
    }

    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.get(table, key)
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        self.statement(|attempt, view| attempt.scan(view, table, &range))
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        self.statement(|attempt, view| attempt.scan_index(view, table, index, &range))
    }

    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        self.running()?.entries(scanned)
    }

    fn key(&self, entry: Entry) -> Result<&[u8]> {
        self.running()?.key(entry)
    }

    fn table_of(&self, row: Row) -> Result<TableId> {
        self.running()?.table_of(row)
    }

    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.running()?.bytes(row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.statement(|attempt, view| attempt.insert(view, table, key, value))
    }

    fn insert_parts(&mut self, table: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        self.statement(|attempt, view| attempt.insert_parts(view, table, key, parts))
    }

    fn groups(&self, table: TableId) -> Result<usize> {
        let known = self.base.tables.get(table.0);
        let known = known.ok_or_else(|| Error::UnknownTable(table.0.to_string()))?;
        Ok(known.spec.groups.len())
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        self.statement(|attempt, view| attempt.change(view, row, Some(value)))
    }

    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        if !self.is_running {
            return Err(Error::TransactionOver);
        }
        let memory = Memory(&self.base.pool);
        self.attempt.modify(&mut View::new(&memory, &self.base.tables), row)
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.statement(|attempt, view| attempt.put(view, table, key, value))
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        self.statement(|attempt, view| attempt.remove(view, row))
    }
}
