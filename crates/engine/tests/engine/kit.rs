//! What the tests share.

use chiliad_engine::any;
use chiliad_engine::{
    Error, Intent, KeyPart, Options, PartType, Range, Result, Running, SecondarySpec, Session,
    Source, Store, TableId, Transaction,
};
use chiliad_machine::{Fault, Interleaved, Machine};
use chiliad_simulated::open_on_simulator;
use chiliad_simulator::{Config, MemoryModel, Run, Schedule, Sim, stopping};
use core::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A database under a scheme that is chosen by its name. The instance of each scheme comes from a library, so that what a
/// test does is compiled once, not for every scheme.
pub struct Db<M: Machine>(Rc<dyn Store<M>>);

impl Db<Interleaved> {
    /// A new database in memory, which this thread uses.
    pub fn open(scheme: &str, options: Options) -> Self {
        Self(Rc::from(
            any::open_native(scheme, options, None).expect("opens").store as Box<dyn Store<_>>,
        ))
    }
}

impl Db<Sim> {
    /// A new database in the memory of the current simulated run.
    pub fn open(scheme: &str, options: Options) -> Self {
        Self(Rc::from(open_on_simulator(scheme, options, None).expect("opens").store))
    }
}

impl<M: Machine> Db<M> {
    /// The name of its scheme.
    pub fn scheme(&self) -> &'static str {
        self.info().name
    }

    /// One more worker.
    pub fn worker(&self) -> Result<Worker<M>> {
        self.session().map(Worker)
    }
}

impl<M: Machine> Clone for Db<M> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<M: Machine> Deref for Db<M> {
    type Target = dyn Store<M>;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// A worker of a [`Db`].
pub struct Worker<M: Machine>(Box<dyn Session<M>>);

/// A transaction in progress on a [`Worker`].
pub type Tx<'w, M> = Running<'w, M, dyn Session<M>>;

impl<M: Machine> Worker<M> {
    /// Begins a transaction.
    pub fn begin(&mut self, intent: &Intent<'_>) -> Result<Tx<'_, M>> {
        Tx::begin(&mut *self.0, intent)
    }
}

impl<M: Machine> Deref for Worker<M> {
    type Target = dyn Session<M>;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl<M: Machine> DerefMut for Worker<M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

/// A generator whose every run is the same.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// An index over bytes of the rows.
pub fn index(name: &str, offset: usize, length: usize, unique: bool) -> SecondarySpec {
    let (source, part_type) = (Source::Value, PartType::Bytes);
    let part = KeyPart { source, offset, length, part_type, descending: false };
    SecondarySpec { name: name.into(), parts: vec![part].into(), unique }
}

/// How many seeds a test tries: `CHILIAD_SEEDS`, or as many as it says itself.
pub fn seeds(usual: u64) -> u64 {
    std::env::var("CHILIAD_SEEDS").map_or(usual, |it| it.parse().expect("a number"))
}

/// Lets the other cores run until something is so.
pub fn pause_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        Sim::yield_now();
    }
}

/// The schedule of a seed: one of three has few preemptions.
pub fn schedule(seed: u64) -> Schedule {
    if seed.is_multiple_of(3) { Schedule::few_preemptions() } else { Schedule::Random }
}

/// A run with the schedule and the memory model of its seed.
pub fn drawn(seed: u64, fault: Option<&'static Fault>) -> Config {
    let memory_model = if seed.is_multiple_of(2) { MemoryModel::Tso } else { MemoryModel::Sc };
    Config { memory_model, schedule: schedule(seed), fault, ..Config::new(seed) }
}

/// Runs a transaction on a worker of its own until it commits. Between two attempts it stands back for as long as the dice of
/// `by` say, so that of two in each other's way one gets on.
pub fn until_committed<R>(
    db: &Db<Sim>,
    by: u64,
    mut body: impl FnMut(&mut dyn Transaction) -> Result<R>,
) -> R {
    let mut worker = db.worker().expect("a slot");
    let mut dice = Dice(by + 1);
    loop {
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let done = body(&mut tx).and_then(|done| tx.commit().map(|_| done));
        match done {
            Ok(done) => return done,
            Err(Error::Conflict(_)) => {
                Sim::park_until(Sim::now() + dice.below(20_000));
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// Keys and bytes of the rows of a range.
pub fn rows_of(
    tx: &mut dyn Transaction,
    table: TableId,
    range: Range<'_>,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let scanned = tx.scan(table, range)?;
    let entries = tx.entries(scanned)?.iter();
    entries.map(|it| Ok((tx.key(*it)?.to_vec(), tx.bytes(it.row)?.to_vec()))).collect()
}

/// A core that ticks until the run is over.
pub fn spawn_ticker(run: &mut Run, db: &Db<Sim>) {
    let db = db.clone();
    run.spawn_daemon("ticks", move || {
        while !stopping() {
            db.tick();
            Sim::park_until(Sim::now() + 5_000);
        }
    });
}
