//! Helpers that the tests share.
#![allow(dead_code, reason = "each program of tests uses some of it")]

pub mod gated_log;
pub mod records;

use chiliad::raw::{Range, TableId, Transaction as _};
use chiliad::{
    Database, Error, Isolation, Options, Result, Row, RunOptions, Scheme, Snapshots, Table,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

/// All schemes under which transactions are serializable.
pub fn serializable() -> Vec<Scheme> {
    let keeps = |scheme: &Scheme| scheme.info().isolation == Isolation::Serializable;
    Scheme::ALL.into_iter().filter(keeps).collect()
}

/// Schemes that detect conflicts when a transaction commits, which no list of their promises says.
pub const OPTIMISTIC: [Scheme; 4] =
    [Scheme::Silo, Scheme::GlobalTid, Scheme::Occ, Scheme::OccSerial];

pub fn open(scheme: Scheme) -> Database {
    Database::in_memory_with(Options::default().scheme(scheme)).unwrap()
}

/// A database whose snapshots are a few milliseconds apart.
pub fn open_with_snapshots(scheme: Scheme) -> Database {
    let options = Options::default()
        .scheme(scheme)
        .snapshots(Snapshots::Always)
        .epoch(Duration::from_millis(1))
        .snapshot_every(3);
    Database::in_memory_with(options).unwrap()
}

/// The bytes of the keys of a table's rows, in order.
pub fn keys_of(db: &Database, id: TableId) -> Vec<Vec<u8>> {
    let keys = db.run(|tx| {
        let scanned = tx.raw().scan(id, Range::all())?;
        let entries = tx.raw().entries(scanned)?.to_vec();
        let keys = entries.iter().map(|it| Ok(tx.raw().row_key(it.row)?.to_vec()));
        keys.collect::<Result<Vec<_>>>()
    });
    keys.unwrap()
}

/// A table of counters `0..rows`, all zero.
pub fn counters(db: &Database, rows: u64) -> Table<u64, u64> {
    let table = db.create_table("counters").unwrap();
    db.bulk_load(&table, (0..rows).map(|key| (key, 0))).unwrap();
    table
}

/// Long enough for any transaction that is not stuck.
pub fn patience() -> RunOptions {
    RunOptions::default().deadline(Duration::from_secs(20))
}

/// Another thread can still write these rows: nothing is left latched or locked.
pub fn others_can_write<V: Row + Send + Sync>(
    db: &Database,
    table: Table<u64, V>,
    rows: impl IntoIterator<Item = (u64, V)> + Send,
) {
    std::thread::scope(|scope| {
        let written = scope.spawn(|| {
            let rows: Vec<(u64, V)> = rows.into_iter().collect();
            db.run_with(&patience(), |tx| {
                for (key, row) in &rows {
                    tx.put(&table, key, row)?;
                }
                Ok::<_, Error>(())
            })
        });
        written.join().unwrap().expect("the rows can be written");
    });
}

/// Numbers that look random, the same in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// A directory that goes with its test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("chiliad-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl std::ops::Deref for Scratch {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Copies that were made, each in an order of its own.
static SHUFFLES: AtomicU64 = AtomicU64::new(0);

/// A copy of the directory as a process that is killed now would leave it.
pub fn killed(path: &Path) -> Scratch {
    let copy = Scratch::new();
    std::fs::create_dir(&copy).unwrap();
    let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    // In any order: what comes later is what has been written meanwhile.
    let turn = SHUFFLES.fetch_add(1, Ordering::Relaxed);
    names.sort_by_key(|name| {
        let mut hasher = DefaultHasher::new();
        (turn, name).hash(&mut hasher);
        hasher.finish()
    });
    for name in names {
        match std::fs::copy(path.join(&name), copy.join(&name)) {
            // Spares and the next manifest get other names.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            copied => _ = copied.unwrap(),
        }
    }
    copy
}

/// Wakes a thread that blocks on a future.
struct Bell(Thread);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The result of a future, and the number of polls.
pub fn block_on<F: Future>(future: F) -> (F::Output, u32) {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Bell(std::thread::current())));
    let mut polls = 0;
    loop {
        polls += 1;
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return (output, polls),
            Poll::Pending => std::thread::park(),
        }
    }
}
