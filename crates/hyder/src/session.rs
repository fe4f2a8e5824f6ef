//! A session of a server: runs one transaction at a time, on the state that is published when it begins.

use crate::attempt::{Attempt, Purpose};
use crate::pending::Answer;
use crate::record::Kind;
use crate::server::SharedServer;
use crate::state::Published;
use chiliad_api::{
    Cancel, Committed, Entry, Error, Get, Intent, Outer, Range, Recorder, Result, Row, Scanned,
    Session, TableId, Tally, Transaction, Visit,
};
use chiliad_machine::{Fault, Machine};

/// Bytes of rows that are loaded by one intention.
const LOAD_BYTES: usize = 256 << 10;

/// Bits of the number of a transaction among those of its session, in a stamp.
const TRANSACTION_BITS: u32 = 32;

/// Transactions after which a session hands its counts over.
const TALLY_EVERY: u64 = 64;

/// A session.
pub struct HyderSession<M: Machine> {
    server: SharedServer<M>,
    /// Which session, of all servers.
    serial: u64,
    slot: u32,
    /// How many transactions it has begun.
    begun: u64,
    catalog_version: u64,
    cancel: Option<Cancel<M>>,
    recorder: Option<Box<dyn Recorder>>,
    attempt: Attempt<M>,
    phase: Phase,
    /// Bytes of keys and values in the intention that is being loaded.
    loading: usize,
    /// Ended transactions whose counts are in `tally`.
    counted: u64,
    tally: Tally,
}

/// The phase of the session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
    /// Rows are being loaded, and not all of them handed over.
    Loading,
}

impl<M: Machine> HyderSession<M> {
    /// A session of `server`.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    pub fn new(server: SharedServer<M>) -> Result<Self> {
        let slot = server.heap.slots.acquire().ok_or(Error::NO_SLOT)?;
        let serial = server.next_session();
        Ok(Self {
            server,
            serial,
            slot,
            begun: 0,
            catalog_version: 0,
            cancel: None,
            recorder: None,
            attempt: Attempt::new(),
            phase: Phase::Idle,
            loading: 0,
            counted: 0,
            tally: Tally::default(),
        })
    }

    fn attempt(&mut self) -> Result<&mut Attempt<M>> {
        if self.phase == Phase::Running {
            Ok(&mut self.attempt)
        } else {
            Err(Error::TransactionOver)
        }
    }

    fn running(&self) -> Result<&Attempt<M>> {
        if self.phase == Phase::Running { Ok(&self.attempt) } else { Err(Error::TransactionOver) }
    }

    fn is_canceled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_canceled)
    }

    /// Begins with the newest state.
    fn begin(&mut self, purpose: Purpose) {
        let server = &self.server;
        self.attempt.clear();
        self.attempt.purpose = purpose;
        self.attempt.state = Some(server.published.pin(server.slot(self.slot)));
        // After the state: all its tables are known.
        if let Some(catalog) = server.catalog_since(&mut self.catalog_version) {
            self.attempt.catalog = catalog;
        }
    }

    /// Leaves the state that was read.
    fn leave(&mut self) {
        self.phase = Phase::Idle;
        self.attempt.state = None;
        Published::unpin(self.server.slot(self.slot));
    }

    /// Counts a transaction that has ended, and hands the counts over now and then.
    fn count(&mut self, count: impl FnOnce(&mut Tally)) {
        count(&mut self.tally);
        self.counted += 1;
        if self.counted >= TALLY_EVERY {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        self.counted = 0;
        self.server.tally.lock().absorb(&mut self.tally);
    }

    /// Ends the transaction in progress without its writes.
    fn forget(&mut self, count: impl FnOnce(&mut Tally)) {
        if self.phase != Phase::Running {
            return;
        }
        self.leave();
        if let Some(recorder) = &mut self.attempt.recorder {
            recorder.abort(M::now());
        }
        self.recorder = self.attempt.recorder.take().or(self.recorder.take());
        self.count(count);
        M::ended(true);
    }

    /// Ends it with its writes, which are part of the state of this label.
    fn install(&mut self, label: u64, wrote: bool) -> Committed {
        self.attempt.record_writes(label);
        self.leave();
        if let Some(recorder) = &mut self.attempt.recorder {
            recorder.prepared(label, label);
            recorder.commit(M::now(), label, label);
        }
        self.recorder = self.attempt.recorder.take().or(self.recorder.take());
        self.count(|tally| tally.committed += 1);
        M::ended(true);
        Committed { epoch: label, seen_epoch: label, order: label, wrote }
    }

    /// Appends the intention in hand and waits for its verdict.
    fn decide(&mut self) -> Answer {
        let local = self.server.next_local();
        let intention = self.attempt.intention(local);
        self.server.decide(Kind::Intention, local, intention)
    }

    /// Hands over what was loaded.
    fn hand_over_load(&mut self) -> Result<()> {
        if self.phase != Phase::Loading {
            return Ok(());
        }
        let answer = if self.attempt.has_writes() { Some(self.decide()) } else { None };
        self.leave();
        match answer {
            None | Some(Answer::Committed(_)) => Ok(()),
            Some(Answer::Refused(reason)) => Err(Error::Conflict(reason)),
            Some(Answer::Failed(error)) => Err(error),
            Some(Answer::Changed(_)) => Err(Error::TransactionOver),
        }
    }
}

impl<M: Machine> Drop for HyderSession<M> {
    fn drop(&mut self) {
        // A log that takes no more has told so, or tells the next one that uses it.
        let _ = self.hand_over_load();
        self.forget(|tally| tally.rolled_back += 1);
        self.hand_over();
        self.server.heap.slots.release(self.slot);
    }
}

impl<M: Machine> Session<M> for HyderSession<M> {
    fn start(&mut self, intent: &Intent<'_>) -> Result<()> {
        self.hand_over_load()?;
        if self.is_canceled() {
            return Err(Error::Canceled);
        }
        if intent.newest {
            self.server.catch_up()?;
        }
        M::begun(intent.retries > 0);
        self.begun += 1;
        let stamp = self.serial << TRANSACTION_BITS | self.begun;
        let verify = self.server.options.verify;
        self.begin(Purpose {
            read_only: intent.read_only || intent.snapshot,
            loads: intent.loads,
            stamp: verify.then_some(stamp),
        });
        self.phase = Phase::Running;
        self.attempt.recorder = self.recorder.take_if(|_| verify);
        if let Some(recorder) = &mut self.attempt.recorder {
            recorder.begin(stamp, M::now(), intent.snapshot);
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<Committed> {
        let canceled = self.is_canceled();
        let aligned = self.attempt()?.align();
        let ready = if canceled { Err(Error::Canceled) } else { aligned };
        if let Err(error) = ready {
            self.forget(|tally| tally.rolled_back += 1);
            return Err(error);
        }
        if !self.attempt.has_writes() {
            let label = self.attempt.state.map_or(0, crate::state::StateRef::label);
            return Ok(self.install(label, false));
        }
        match self.decide() {
            Answer::Committed(label) => Ok(self.install(label, true)),
            Answer::Refused(reason) => {
                self.forget(|tally| tally.conflict(reason, None));
                Err(Error::Conflict(reason))
            }
            Answer::Failed(error) => {
                self.forget(|tally| tally.rolled_back += 1);
                Err(error)
            }
            Answer::Changed(_) => Err(Error::TransactionOver),
        }
    }

    fn rollback(&mut self) {
        self.forget(|tally| tally.rolled_back += 1);
    }

    fn abandon(&mut self) {
        self.forget(|tally| tally.rolled_back += 1);
    }

    fn validate(&mut self) -> Result<()> {
        // One state was read, whatever becomes of it.
        self.running().map(|_| ())
    }

    fn as_outer(&self) -> Outer {
        Outer::new(self.slot, self.begun)
    }

    fn try_load(
        &mut self,
        _outer: &[Outer],
        table: TableId,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()> {
        match self.phase {
            Phase::Running => return Err(Error::TransactionOver),
            Phase::Loading if self.loading < LOAD_BYTES => {}
            _ => {
                self.hand_over_load()?;
                // Loaded rows are versions from before the history.
                let stamp = self.server.options.verify.then_some(0);
                self.begin(Purpose { read_only: false, loads: true, stamp });
                self.phase = Phase::Loading;
                self.loading = 0;
            }
        }
        self.loading += key.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        self.attempt.insert_parts(table, key, parts)
    }

    fn end_load(&mut self) -> Result<()> {
        self.hand_over_load()
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

    fn log_failure(&self) -> Option<Error> {
        self.server.failure()
    }
}

impl<M: Machine> Transaction for HyderSession<M> {
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.attempt()?.look(table, key)
    }

    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let attempt = self.attempt()?;
        attempt.writable(table)?;
        attempt.look(table, key)
    }

    fn get_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        assert_eq!(requests.len(), rows.len(), "one answer for each request");
        self.attempt()?.look_many(requests, rows)
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        self.attempt()?.scan(table, &range)
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        self.attempt()?.scan_index(table, index, &range)
    }

    fn visit_index_keys(
        &mut self,
        table: TableId,
        index: usize,
        range: Range<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let scanned = self.attempt()?.scan_entries(table, index, &range)?;
        for &entry in self.entries(scanned)? {
            if visit(self.key(entry)?, self.bytes(entry.row)?).is_break() {
                break;
            }
        }
        Ok(())
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

    fn insert_parts(&mut self, table: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        self.attempt()?.insert_parts(table, key, parts)
    }

    fn groups(&self, table: TableId) -> Result<usize> {
        Ok(self.server.catalog().get(table)?.spec.groups.len())
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

    fn planted(&self) -> Option<fn(&'static Fault) -> bool> {
        M::SIMULATED.then_some(M::fault)
    }
}
