//! A shared log in local files, over any disk: the embedded default.
//!
//! Records lie in segments of frames ([`chiliad_log::frame`]), a frame for each group of appends that was synced
//! together, and a head says which log it is and where it begins. Nobody else keeps time or threads for the log: one
//! of its callers at a time has the `Writer` and writes what all of them have queued; the others sleep, and the next
//! of them takes over. How to sleep says the machine, so that the log runs on simulated cores too.
//!
//! Invariants:
//!
//! - a frame is synced before an append returns that it holds records of, and before a reader sees them;
//! - after a failed write or sync nothing more is appended until the log is opened anew: what a later sync would say
//!   about the earlier writes is worth nothing. A full disk is no failure: nothing was appended, and after a trim or
//!   with more room appends go on;
//! - a crash can cut the last frame short, and nothing else. That frame is cut off at the next opening; one that is
//!   whole is written again and synced, since it may be one whose sync failed. Anything else that is missing is damage.
//!   (Damage that hits the very last frame of a log looks like one that was cut short.)
//!
//! From the bottom up: `names`, `payload`, `head`, `writer` (the open end), `cursor` (from files back), `state` (what
//! callers share), `append`, `read`, `trim`, `open`.

mod append;
mod cursor;
mod faults;
mod head;
mod names;
mod open;
mod payload;
mod read;
mod state;
mod trim;
mod writer;

pub use faults::FAULTS;

use crate::RECORD_BYTES_MAX;
use crate::window::Window;
use chiliad_log::LogError;
use chiliad_machine::Machine;
use chiliad_machine::disk::{Disk, Lock, NativeDisk};
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use names::{HEAD_NAME, segment_first};
use open::{Opened, open};
use state::{Shared, State};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The most that a record may have: a frame holds a few of them.
const RECORD_BYTES_ACCEPTED: usize = 256 << 20;

/// How a log in files is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileLogOptions {
    /// Bytes after which a segment is complete: what is trimmed goes by whole segments.
    pub segment_bytes: u64,
    /// The most bytes that a record may have, up to 256 MiB.
    pub record_bytes_max: usize,
    /// Bytes of the newest records that are held in memory, for readers that keep up.
    pub memory_bytes: usize,
}

impl Default for FileLogOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl FileLogOptions {
    /// Segments of 64 MiB, records of up to [`RECORD_BYTES_MAX`], and 64 MiB in memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { segment_bytes: 64 << 20, record_bytes_max: RECORD_BYTES_MAX, memory_bytes: 64 << 20 }
    }

    /// Sets [`FileLogOptions::segment_bytes`].
    #[must_use]
    pub const fn segment_bytes(self, segment_bytes: u64) -> Self {
        Self { segment_bytes, ..self }
    }

    /// Sets [`FileLogOptions::record_bytes_max`].
    #[must_use]
    pub const fn record_bytes_max(self, record_bytes_max: usize) -> Self {
        Self { record_bytes_max, ..self }
    }

    /// Sets [`FileLogOptions::memory_bytes`].
    #[must_use]
    pub const fn memory_bytes(self, memory_bytes: usize) -> Self {
        Self { memory_bytes, ..self }
    }
}

/// Records in local files. Clones are the same log: a directory is opened once, by one process, whose servers share
/// the value.
///
/// ```
/// use chiliad_machine::Native;
/// use chiliad_machine::shared_log::SharedLog;
/// use chiliad_shared_log::{FileLog, FileLogOptions};
/// use std::time::Duration;
///
/// # let path = std::env::temp_dir().join(format!("chiliad-file-log-{}", std::process::id()));
/// let log = FileLog::<Native>::open_directory(&path, FileLogOptions::default())?;
/// log.append(&[b"record"])?;
/// drop(log);
/// let log = FileLog::<Native>::open_directory(&path, FileLogOptions::default())?;
/// log.read(1, 1 << 20, Duration::ZERO, &mut |position, record| {
///     assert_eq!((position, record), (1, &b"record"[..]));
/// })?;
/// # drop(log);
/// # std::fs::remove_dir_all(path).unwrap();
/// # Ok::<(), chiliad_machine::shared_log::SharedLogError>(())
/// ```
pub struct FileLog<M> {
    shared: Arc<Shared<M>>,
}

impl<M> Clone for FileLog<M> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<M> fmt::Debug for FileLog<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileLog").field("disk", &self.shared.disk).finish_non_exhaustive()
    }
}

impl<M: Machine> FileLog<M> {
    /// Opens the log in a directory of the host, or makes one there; the directory is made if it is missing, and
    /// locked as long as the log lives.
    ///
    /// # Errors
    /// [`SharedLogError::Unavailable`] if this process or another one has the directory open, and as
    /// [`FileLog::open`].
    pub fn open_directory(path: &Path, options: FileLogOptions) -> Result<Self, SharedLogError> {
        let place = path.display().to_string();
        let failed = |error| SharedLogError::of_file(&format!("opening {place}"), &error);
        std::fs::create_dir_all(path).map_err(failed)?;
        let disk = NativeDisk::open(path, Lock::Exclusive).map_err(|error| {
            let place = place.clone();
            let in_use = match error.kind() {
                ErrorKind::WouldBlock => LogError::Locked { place },
                ErrorKind::ResourceBusy => LogError::OpenHere { place },
                _ => return failed(error),
            };
            SharedLogError::Unavailable(in_use.to_string())
        })?;
        Self::open(Arc::new(disk), options)
    }

    /// Whether there is a log on a disk, or was meant to be: it may be damaged.
    ///
    /// # Errors
    /// The disk's.
    pub fn is_on(disk: &dyn Disk) -> io::Result<bool> {
        let is_ours = |name: &String| name == HEAD_NAME || segment_first(name).is_some();
        Ok(disk.names()?.iter().any(is_ours))
    }

    /// Opens the log on a disk, or makes one there. Nobody else may have it open.
    ///
    /// # Errors
    /// [`SharedLogError::Damaged`] if something is missing that was durable, or of another format;
    /// [`SharedLogError::Full`].
    ///
    /// # Panics
    /// When the options allow records of more than 256 MiB.
    pub fn open(disk: Arc<dyn Disk>, options: FileLogOptions) -> Result<Self, SharedLogError> {
        assert!(options.record_bytes_max <= RECORD_BYTES_ACCEPTED, "records fit into frames");
        let Opened { writer, segments, next } = open::<M>(&disk, options.segment_bytes)?;
        let (identity, first) = (writer.head.identity, writer.head.first);
        let state = State {
            queue: VecDeque::new(),
            writer: Some(writer),
            broken: None,
            window: Window::new(next),
            first,
            segments,
            cursors: Vec::new(),
            readers: Vec::new(),
            trimmers: Vec::new(),
        };
        Ok(Self {
            shared: Arc::new(Shared {
                disk,
                identity,
                record_bytes_max: options.record_bytes_max,
                memory_bytes: options.memory_bytes,
                state: Mutex::new(state),
                machine: PhantomData,
            }),
        })
    }
}

impl<M: Machine> SharedLog for FileLog<M> {
    fn place(&self) -> String {
        self.shared.disk.place()
    }

    fn identity(&self) -> Result<u128, SharedLogError> {
        Ok(self.shared.identity)
    }

    fn record_bytes_max(&self) -> usize {
        self.shared.record_bytes_max
    }

    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        self.shared.append(records)
    }

    fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        self.shared.read(from, bytes, patience, take)
    }

    fn bounds(&self) -> Result<Range<Position>, SharedLogError> {
        let state = self.shared.lock();
        Ok(state.first..state.window.next())
    }

    fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        self.shared.trim(position)
    }

    fn stored_bytes(&self) -> Option<u64> {
        Some(self.shared.lock().segments.iter().map(|it| it.bytes).sum())
    }
}
