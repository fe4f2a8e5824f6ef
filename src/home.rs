//! The directory of a native run with a log: empty when the run begins, and a temporary one gone when
//! it has ended.

use crate::failure::Stop;
use crate::settings::Storage;
use chiliad_engine::LogError;
use chiliad_machine::disk::{Lock, NativeDisk};
use chiliad_workload::driver::TimedDisk;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory, ours while the run lasts.
pub struct Place {
    /// The disk, its syncs timed.
    pub disk: Arc<TimedDisk<NativeDisk>>,
    /// To be removed.
    temporary: Option<PathBuf>,
}

impl Place {
    /// Obtains the directory. One that a run of a workload with the same `tables` has left is emptied;
    /// anything else in it is refused.
    pub fn obtain(storage: &Storage, tables: &[String]) -> Result<Self, Stop> {
        let (path, temporary) = match &storage.data {
            Some(path) => (path.clone(), None),
            None => {
                let name = format!("chiliad-bench-{}", std::process::id());
                let path = std::env::temp_dir().join(name);
                (path.clone(), Some(path))
            }
        };
        let flag = |problem: String| Stop::bad("--data", problem);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                let accepted = "accepted: a directory, or a name for one";
                return Err(flag(format!("{}: {error}; {accepted}", path.display())));
            }
            _ => {}
        }
        let disk = open(&path).map_err(flag)?;
        let declared = chiliad_engine::declared(&disk).map_err(|error| flag(error.to_string()))?;
        if let Some(strange) = declared.iter().flatten().find(|name| !tables.contains(name)) {
            return Err(flag(format!(
                "{}: holds a database with a table `{strange}`; accepted: an empty directory, or one \
                 that a run of the same workload has left",
                path.display()
            )));
        }
        chiliad_engine::erase(&disk).map_err(|error| flag(error.to_string()))?;
        Ok(Self { disk: Arc::new(TimedDisk::new(disk)), temporary })
    }
}

fn open(path: &Path) -> Result<NativeDisk, String> {
    NativeDisk::open(path, Lock::Exclusive).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => LogError::Locked { place: path.display().to_string() }.to_string(),
        _ => format!("{}: {error}; accepted: a directory that can be written to", path.display()),
    })
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(path) = &self.temporary {
            // What is left of it lies among other temporary files.
            let _ = fs::remove_dir_all(path);
        }
    }
}
