//! Directories, made and locked.

use crate::{Error, LogError, Result};
use chiliad_machine::disk::{Lock, NativeDisk};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A directory that was made just now. Dropped, it goes, unless something is in it.
pub(crate) struct Made(Option<PathBuf>);

impl Made {
    /// It stays.
    pub fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What somebody has put into it stays, and the directory with it.
            let _ = fs::remove_dir(path);
        }
    }
}

/// Makes a directory; `None` if it is there.
pub(crate) fn make_directory(path: &Path) -> Result<Option<Made>> {
    match fs::create_dir(path) {
        Ok(()) => Ok(Some(Made(Some(path.into())))),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(LogError::io(format!("creating {}", path.display()))(error).into()),
    }
}

/// A directory, locked.
pub(crate) fn disk(path: &Path, lock: Lock) -> Result<NativeDisk> {
    let place = path.display().to_string();
    NativeDisk::open(path, lock).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => Error::Data(LogError::Locked { place }),
        ErrorKind::ResourceBusy => Error::Data(LogError::OpenHere { place }),
        _ => Error::Data(LogError::io(format!("opening {place}"))(error)),
    })
}

/// The names in a directory; `None` if there is no such directory.
pub(crate) fn names(path: &Path) -> Result<Option<Vec<OsString>>> {
    let doing = || LogError::io(format!("opening {}", path.display()));
    match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::Data(doing()(error))),
        Ok(entries) => {
            let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
            names.collect::<std::io::Result<_>>().map(Some).map_err(|it| doing()(it).into())
        }
    }
}
