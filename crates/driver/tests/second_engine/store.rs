//! The toy engine as a [`Store`]: all tables behind one turn, an epoch that nothing depends on, no log.

use crate::attempt::Plant;
use crate::session::ToySession;
use crate::tables::Tables;
use crate::turn::{Limits, Turn};
use chiliad_api::{
    Info, Isolation, NativeSession, NativeStore, OpenedNatively, OpenedOn, OpenedStore, Result,
    Session, Stats, Store, TableId, TableLayout, TableSpec,
};
use chiliad_machine::{Interleaved, Machine, Ordering, Shared, Word};
use core::time::Duration;
use std::sync::Arc;

/// How a database is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToyOptions {
    /// Versions are stamped, and sessions report to their recorders.
    pub verify: bool,
    /// An error that the tests must catch.
    pub plant: Option<Plant>,
}

/// What the engine promises.
pub const INFO: Info = Info {
    name: "toy",
    summary: "one transaction at a time, on sorted maps",
    isolation: Isolation::Serializable,
    strict: true,
    order_follows_reads: true,
    snapshots: false,
    needs_partitions: false,
    wait_timeout: Duration::ZERO,
    source: "nowhere",
};

/// The state that a database shares with its sessions.
pub struct Inner<M: Machine> {
    pub options: ToyOptions,
    pub turn: Turn<M, Tables>,
    words: Shared<M, Words<M>>,
}

struct Words<M: Machine> {
    epoch: M::Word,
    sessions: M::Word,
}

impl<M: Machine> Inner<M> {
    /// The epoch. Those of commits never fall: they are read by one transaction after the other.
    pub fn epoch(&self) -> u64 {
        self.words.epoch.load(Ordering::Relaxed)
    }

    /// The number of a new session, from one.
    pub fn next_session(&self) -> u64 {
        self.words.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A database.
pub struct Toy<M: Machine>(Arc<Inner<M>>);

impl<M: Machine> Toy<M> {
    pub fn open(options: ToyOptions) -> Self {
        let words = Words { epoch: M::Word::new(1), sessions: M::Word::new(0) };
        let (turn, words) = (Turn::new(Tables::default()), Shared::new(words));
        Self(Arc::new(Inner { options, turn, words }))
    }

    /// The same database once more.
    pub fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// All keys that a table has, or has had in a verified run: how the rows of a hash table are found.
    pub fn keys(&self, name: &str) -> Result<Vec<Vec<u8>>> {
        self.with(|tables| {
            let table = tables.get(tables.find(name)?)?;
            Ok(table.rows.keys().cloned().collect())
        })
    }

    /// Runs `body` between two transactions.
    fn with<R>(&self, body: impl FnOnce(&mut Tables) -> Result<R>) -> Result<R> {
        let mut tables = self.0.turn.take(&Limits::none())?;
        let result = body(&mut tables);
        self.0.turn.give_back(tables);
        result
    }
}

/// A database that is bound to a native driver.
pub fn open_native(options: ToyOptions) -> OpenedNatively {
    let store = Box::new(Toy::<Interleaved>::open(options));
    OpenedStore { store, log_tasks: Vec::new(), recovered: Default::default() }
}

/// A database that is bound to a driver on machine `M`.
pub fn open<M: Machine>(options: ToyOptions) -> OpenedOn<M> {
    let store = Box::new(Toy::<M>::open(options));
    OpenedStore { store, log_tasks: Vec::new(), recovered: Default::default() }
}

impl NativeStore for Toy<Interleaved> {
    fn native_session(&self) -> Result<Box<NativeSession>> {
        Ok(Box::new(ToySession::new(Arc::clone(&self.0))))
    }
}

impl<M: Machine> Store<M> for Toy<M> {
    fn info(&self) -> Info {
        INFO
    }

    fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        self.with(|tables| tables.create(spec))
    }

    fn change_layout(&self, table: TableId, layout: TableLayout) -> Result<()> {
        self.with(|tables| tables.change_layout(table, layout))
    }

    fn seal(&self, name: &str) -> Result<()> {
        self.with(|tables| tables.seal(name))
    }

    fn tables(&self) -> Vec<(TableId, TableSpec)> {
        let listed = self.with(|tables| {
            Ok(tables.declared().map(|(id, table)| (id, table.spec.clone())).collect())
        });
        listed.unwrap_or_default()
    }

    fn table(&self, name: &str) -> Result<TableId> {
        self.with(|tables| tables.find(name))
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        self.with(|tables| tables.drop_table(name))
    }

    fn session(&self) -> Result<Box<dyn Session<M>>> {
        Ok(Box::new(ToySession::new(Arc::clone(&self.0))))
    }

    fn tick(&self) {
        self.0.words.epoch.fetch_add(1, Ordering::Relaxed);
    }

    fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    fn reach_snapshot(&self) {
        self.tick();
    }

    fn stats(&self) -> Stats {
        let counted = self.with(|tables| Ok((tables.committed, tables.rolled_back)));
        let (committed, rolled_back) = counted.unwrap_or_default();
        let mut stats = Stats::default();
        (stats.committed, stats.rolled_back) = (committed, rolled_back);
        stats.epoch = self.0.epoch();
        stats
    }
}
