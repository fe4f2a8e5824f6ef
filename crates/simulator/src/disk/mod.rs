//! A disk that tears, reorders and loses what was not synced, and fails, as a seed says.
//!
//! It keeps the promises of [`chiliad_machine::disk`] and no other. Its content lives in the host's
//! memory and outlives runs: a run is halted, [`FaultyDisk::crash`] gives the disk as it is found
//! after power was lost, and the next run mounts that.
//!
//! - Everything is a function of the disk's seed, the crash's seed and the order of operations.
//! - A core of a run lets others run at every operation, and a sync takes simulated time; elsewhere
//!   an operation is just performed. The mutex is never held while cores switch.
//! - After a crash or a kill the disk of before is off, with all its files: what still holds it, a
//!   discarded core for instance, can neither read nor change anything.
//!
//! From the bottom up: `sector`, `pending` (changes by age), `faults`, `change` and `fates` (which
//! changes survive), `content` (one file), `image` (what survives of it), `names` (the directory), `state` (all
//! of it), `file`. When others run says `device`, for shared logs too.

mod change;
mod content;
mod fates;
mod faults;
mod file;
mod image;
mod names;
mod pending;
mod sector;
mod state;

pub use faults::{DiskCounters, DiskFaults, DiskLosses};

use crate::device::{Operation, perform, wait};
use chiliad_machine::disk::{Access, BLOCK_BYTES, Disk, DiskFile};
use file::FaultyFile;
use names::FileId;
use sector::{SECTOR_BYTES, Sector};
use state::DiskState;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A simulated disk. Clones are the same disk.
///
/// ```
/// use chiliad_machine::disk::{BLOCK_BYTES, Blocks, Disk};
/// use chiliad_simulator::{DiskFaults, FaultyDisk};
///
/// let disk = FaultyDisk::new(1, DiskFaults::default());
/// let file = disk.create("log", BLOCK_BYTES as u64)?;
/// let mut blocks = Blocks::new();
/// blocks.push(b"hello");
/// blocks.pad();
/// file.write_at(0, &blocks)?;
/// file.sync()?;
/// disk.sync_names()?;
/// for seed in 0..10 {
///     let after = disk.crash(seed);
///     assert_eq!(after.contents("log").expect("its name is durable"), blocks.bytes());
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct FaultyDisk {
    seed: u64,
    state: Arc<Mutex<DiskState>>,
}

impl fmt::Debug for FaultyDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyDisk").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl FaultyDisk {
    /// An empty disk. Its seed decides which operations fail and how long syncs take.
    #[must_use]
    pub fn new(seed: u64, faults: DiskFaults) -> Self {
        Self::mount(seed, DiskState::new(seed, faults))
    }

    fn mount(seed: u64, state: DiskState) -> Self {
        Self { seed, state: Arc::new(Mutex::new(state)) }
    }

    /// Power is lost: this disk is off from now on, and the one that is returned is found
    /// afterwards. What was synced is there; of the rest, the seed says what. Another seed, passed to
    /// the same disk, shows another way in which it could have gone.
    ///
    /// The disk found has the same faults switched on, but for
    /// [`DiskFaults::off_after_operations`].
    #[must_use]
    pub fn crash(&self, seed: u64) -> Self {
        Self::mount(self.seed, lock(&self.state).crash(seed))
    }

    /// The process is killed and the system goes on: as [`FaultyDisk::crash`], but everything
    /// written is there, durable or not. What a failed sync covered is there too and still not
    /// durable.
    #[must_use]
    pub fn kill(&self) -> Self {
        Self::mount(self.seed, lock(&self.state).kill())
    }

    /// Another disk with the same files, as reads see them and all of it durable: to be changed and
    /// looked at while this one stays as it is.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::mount(self.seed, lock(&self.state).fork())
    }

    /// Switches faults on and off.
    pub fn set_faults(&self, faults: DiskFaults) {
        lock(&self.state).faults = faults;
    }

    /// Turns over one bit of a file, where it is durable and in what reads see: damage to a file at
    /// rest. A disk that is off has it too, in what [`FaultyDisk::crash`] finds.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] without a file of that name, [`io::ErrorKind::InvalidInput`] beyond
    /// its end.
    pub fn flip(&self, name: &str, offset: u64, bit: u8) -> io::Result<()> {
        let mut state = lock(&self.state);
        let file = state.find(name)?;
        let content = state.content(file);
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let (sector, byte) = (at / SECTOR_BYTES, at % SECTOR_BYTES);
        let cached = content.cached.get_mut(sector).ok_or(io::ErrorKind::InvalidInput)?;
        cached.flip(byte, bit);
        if let Some(durable) = content.durable.get_mut(sector).filter(|it| **it != Sector::Hole) {
            durable.flip(byte, bit);
        }
        Ok(())
    }

    /// Whether power is lost, or was for some while: nothing is performed any more.
    #[must_use]
    pub fn is_off(&self) -> bool {
        lock(&self.state).check().is_err()
    }

    /// Operations since the disk was mounted.
    #[must_use]
    pub fn counters(&self) -> DiskCounters {
        lock(&self.state).counters
    }

    /// The losses of the crash that this disk was found after.
    #[must_use]
    pub fn losses(&self) -> DiskLosses {
        lock(&self.state).losses
    }

    /// The bytes that reads of the whole file see, without faults, on a disk that is off too; `None` without a
    /// file of that name.
    #[must_use]
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let mut state = lock(&self.state);
        let file = state.find(name).ok()?;
        let cached = &state.content(file).cached;
        let mut bytes = vec![0; cached.len() * SECTOR_BYTES];
        sector::read(cached, 0, &mut bytes);
        Some(bytes)
    }

    /// The names that [`Disk::names`] would list, in order, on a disk that is off too.
    #[must_use]
    pub fn file_names(&self) -> Vec<String> {
        lock(&self.state).names.list()
    }

    fn opened(&self, state: &mut DiskState, file: FileId, access: Access) -> Box<dyn DiskFile> {
        let told = state.open(file);
        Box::new(FaultyFile::new(&self.state, file, access, told))
    }
}

/// The state. If a core panicked while it held the mutex, the run says so; the state is whole.
fn lock(state: &Mutex<DiskState>) -> MutexGuard<'_, DiskState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a write may begin at most, and what it may have: the host's memory has to hold it.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// The sectors up to a multiple of [`BLOCK_BYTES`].
fn aligned(bytes: u64) -> io::Result<usize> {
    if !bytes.is_multiple_of(BLOCK_BYTES as u64) {
        let message = format!("{bytes} is no multiple of {BLOCK_BYTES}, the bytes of a block");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    match usize::try_from(bytes) {
        Ok(size) if bytes <= FILE_BYTES_MAX => Ok(size / SECTOR_BYTES),
        _ => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

impl Disk for FaultyDisk {
    fn place(&self) -> String {
        format!("the simulated disk of seed {}", self.seed)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        perform(Operation::Look, || {
            let state = lock(&self.state);
            state.check()?;
            Ok(state.names.list())
        })
    }

    fn is_file(&self, name: &str) -> io::Result<bool> {
        perform(Operation::Look, || {
            let state = lock(&self.state);
            state.check()?;
            state.find(name).map(|_| true)
        })
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn DiskFile>> {
        let sectors = aligned(bytes)?;
        perform(Operation::Create, || {
            let mut state = lock(&self.state);
            let file = state.create(name, sectors)?;
            Ok(self.opened(&mut state, file, Access::Write))
        })
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        perform(Operation::Open, || {
            let mut state = lock(&self.state);
            state.check()?;
            let file = state.find(name)?;
            Ok(self.opened(&mut state, file, access))
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        perform(Operation::Rename, || lock(&self.state).rename(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        perform(Operation::Remove, || lock(&self.state).remove(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        perform(Operation::SyncNames, || {
            let (mark, ticks) = {
                let mut state = lock(&self.state);
                state.check()?;
                (state.names.mark(), state.sync_ticks())
            };
            wait(ticks);
            lock(&self.state).sync_names(mark)
        })
    }
}
