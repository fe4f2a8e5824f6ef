//! The directory of a native run with a log: empty when the run begins, and a temporary one gone when
//! it has ended.

use crate::spec::Storage;
use chiliad_driver::TimedDisk;
use chiliad_engine::LogError;
use chiliad_host::Leftover;
use chiliad_host::Stop;
use chiliad_machine::disk::{Lock, NativeDisk};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// A directory, ours while the run lasts.
pub struct Place {
    /// The disk, its syncs timed.
    pub disk: Arc<TimedDisk<NativeDisk>>,
    /// A temporary one; or one that was missing, until something is to be written to it.
    leftover: Option<Leftover>,
    temporary: bool,
}

impl Place {
    /// Obtains the directory. One that a run of a workload with the same `tables` has left is emptied;
    /// anything else in it is refused, before so much as a lock is put into it.
    pub fn obtain(storage: &Storage, tables: &[String]) -> Result<Self, Stop> {
        let flag = |problem: String| Stop::bad("--data", problem);
        let temporary = storage.data.is_none();
        let (path, leftover) = match &storage.data {
            Some(path) if path.exists() => (path.clone(), None),
            given => {
                let name = format!("chiliad-bench-{}", std::process::id());
                let path = given.clone().unwrap_or_else(|| std::env::temp_dir().join(name));
                let made = Leftover::tree(&path).map_err(|error| {
                    let accepted = "accepted: a directory, or a name for one";
                    flag(format!("{}: {error}; {accepted}", path.display()))
                })?;
                (path, Some(made))
            }
        };
        refuse_strange(&path, tables)?;
        let disk = open(&path, Lock::Exclusive).map_err(flag)?;
        chiliad_engine::erase(&disk).map_err(|error| flag(error.to_string()))?;
        Ok(Self { disk: Arc::new(TimedDisk::new(disk)), leftover, temporary })
    }

    /// Something is about to be written to it: it stays, unless it is a temporary one.
    pub fn begin(&mut self) {
        if !self.temporary
            && let Some(made) = self.leftover.take()
        {
            made.keep();
        }
    }
}

/// Refuses a directory with something else in it than what a run of this workload has left.
fn refuse_strange(path: &Path, tables: &[String]) -> Result<(), Stop> {
    let flag = |problem: String| Stop::bad("--data", problem);
    let disk = open(path, Lock::Shared).map_err(flag)?;
    let declared = chiliad_engine::declared(&disk).map_err(|error| flag(error.to_string()))?;
    match declared.iter().flatten().find(|name| !tables.contains(name)) {
        None => Ok(()),
        Some(strange) => Err(flag(format!(
            "{}: holds a database with a table `{strange}`; accepted: an empty directory, or one \
             that a run of the same workload has left",
            path.display()
        ))),
    }
}

fn open(path: &Path, lock: Lock) -> Result<NativeDisk, String> {
    NativeDisk::open(path, lock).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => LogError::Locked { place: path.display().to_string() }.to_string(),
        _ => format!("{}: {error}; accepted: a directory that can be written to", path.display()),
    })
}
