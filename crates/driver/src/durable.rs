//! A native run with a log: its disk, with syncs timed, and clients that wait for them.

use chiliad_machine::disk::{Access, Blocks, Disk, DiskFile};
use chiliad_machine::{Machine, WorkerId};
use hdrhistogram::Histogram;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

/// When a transaction counts as committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// When it has committed in memory; nothing is logged.
    None,
    /// When its epoch is durable; its client goes on meanwhile.
    Epoch,
    /// When its epoch is durable; its client waits for it.
    Sync,
}

/// The longest sync that is told from longer ones, in nanoseconds: about 69 seconds.
const SYNC_NS_MAX: u64 = 1 << 36;

type Times = Arc<Mutex<Histogram<u64>>>;

/// A disk whose syncs are timed.
#[derive(Debug)]
pub struct TimedDisk<D> {
    disk: D,
    times: Times,
}

impl<D: Disk> TimedDisk<D> {
    /// Wraps `disk`.
    pub fn new(disk: D) -> Self {
        let times = Histogram::new_with_bounds(1, SYNC_NS_MAX, 2).expect("bounds in range");
        Self { disk, times: Arc::new(Mutex::new(times)) }
    }

    /// The times so far.
    pub fn times(&self) -> Histogram<u64> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets the times so far.
    pub fn forget_times(&self) {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).reset();
    }

    fn timed(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(TimedFile { file, times: Arc::clone(&self.times) })
    }
}

impl<D: Disk> Disk for TimedDisk<D> {
    fn place(&self) -> String {
        self.disk.place()
    }
    fn names(&self) -> io::Result<Vec<String>> {
        self.disk.names()
    }
    fn is_file(&self, name: &str) -> io::Result<bool> {
        self.disk.is_file(name)
    }
    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn DiskFile>> {
        self.disk.create(name, bytes).map(|file| self.timed(file))
    }
    fn create_cached(&self, name: &str, bytes: u64) -> io::Result<Box<dyn DiskFile>> {
        self.disk.create_cached(name, bytes).map(|file| self.timed(file))
    }
    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        self.disk.open(name, access).map(|file| self.timed(file))
    }
    fn open_cached(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.open_cached(name).map(|file| self.timed(file))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }
}

#[derive(Debug)]
struct TimedFile {
    file: Box<dyn DiskFile>,
    times: Times,
}

impl DiskFile for TimedFile {
    fn bytes(&self) -> io::Result<u64> {
        self.file.bytes()
    }
    fn read_at(&self, offset: u64, bytes: usize, into: &mut Blocks) -> io::Result<()> {
        self.file.read_at(offset, bytes, into)
    }
    fn write_at(&self, offset: u64, blocks: &Blocks) -> io::Result<()> {
        self.file.write_at(offset, blocks)
    }
    fn write_durably_at(&self, offset: u64, blocks: &Blocks) -> io::Result<()> {
        self.timed(|| self.file.write_durably_at(offset, blocks))
    }
    fn sync(&self) -> io::Result<()> {
        self.timed(|| self.file.sync())
    }
}

impl TimedFile {
    fn timed(&self, synced: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let begun = Instant::now();
        let synced = synced();
        let ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.times.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(ns.max(1));
        synced
    }
}

/// Where clients end epochs, if time does not.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Clients are running.
    counting: AtomicBool,
    asked: AtomicBool,
    ticker: OnceLock<Thread>,
}

impl Turns {
    /// The calling thread is the ticker, which a client's call wakes.
    pub(crate) fn ticks_here(&self) {
        _ = self.ticker.set(thread::current());
    }

    /// Clients begin, or have ended: from then on epochs end with time again.
    pub(crate) fn count(&self, counting: bool) {
        // Relaxed: an epoch more or less between the two.
        self.counting.store(counting, Ordering::Relaxed);
    }

    /// Whether the ticker, whose time has come or who was woken, shall end an epoch.
    pub(crate) fn is_due(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed) || !self.counting.load(Ordering::Relaxed)
    }

    /// A client has run its share of an epoch.
    pub(crate) fn ask(&self) {
        // Relaxed: the wake-up comes after it.
        self.asked.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.get() {
            ticker.unpark();
        }
    }
}

/// Where clients wait for epochs to become durable. A waiter parks, so that a fiber lets its
/// peers run.
#[derive(Debug, Default)]
pub struct Bell {
    pub(crate) turns: Turns,
    waiting: Mutex<Vec<WorkerId>>,
}

impl Bell {
    /// Waits until `durable` says so, which is asked after every ring.
    pub(crate) fn wait<M: Machine>(&self, mut durable: impl FnMut() -> bool) {
        while !durable() {
            self.lock().push(M::worker());
            // It may have become so before the ringer could see us.
            if durable() {
                return;
            }
            M::park();
        }
    }

    /// Something has become durable.
    pub(crate) fn ring<M: Machine>(&self) {
        let waiting = mem::take(&mut *self.lock());
        waiting.into_iter().for_each(M::unpark);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<WorkerId>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;

    #[test]
    fn while_clients_count_an_epoch_ends_when_one_asks_for_it() {
        let turns = Turns::default();
        assert!(turns.is_due() && turns.is_due(), "with time");
        turns.count(true);
        assert!(!turns.is_due());
        turns.ask();
        assert!(turns.is_due() && !turns.is_due(), "once for each");
        turns.ticks_here();
        turns.ask();
        std::thread::park();
        assert!(turns.is_due(), "the ticker was woken");
        turns.count(false);
        assert!(turns.is_due() && turns.is_due());
    }
}
