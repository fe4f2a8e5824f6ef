//! Directories that a copy is written to: nothing is changed where there is something, and where the
//! copy fails nothing stays.

use crate::place::{disk, make_directory, names};
use crate::{LogError, Result};
use chiliad_engine::MANIFEST_NAME;
use chiliad_machine::disk::{LOCK_NAME, Lock, NativeDisk};
use std::fs;
use std::path::{Path, PathBuf};

/// A directory that was empty or missing, and is locked. Dropped, it is that again.
pub(crate) struct CopyDestination {
    path: PathBuf,
    disk: NativeDisk,
    /// It was missing.
    made: bool,
    kept: bool,
}

impl CopyDestination {
    /// Makes and locks a directory, unless there is something in it.
    pub fn new(path: &Path) -> Result<Self> {
        let there = names(path)?;
        if there.iter().flatten().any(|name| name != LOCK_NAME) {
            return Err(LogError::NotEmpty { place: path.display().to_string() }.into());
        }
        if let Some(made) = make_directory(path)? {
            // It goes when the destination does.
            made.keep();
        }
        let disk = disk(path, Lock::Exclusive)?;
        Ok(Self { path: path.into(), disk, made: there.is_none(), kept: false })
    }

    pub fn disk(&self) -> &NativeDisk {
        &self.disk
    }

    /// Keeps the files that were written.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for CopyDestination {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // It was empty when it was locked: all of it is of the copy that failed, and that is what is
        // reported. What cannot be removed stays.
        for name in names(&self.path).ok().flatten().into_iter().flatten() {
            let _ = fs::remove_file(self.path.join(name));
        }
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Refuses a directory with files of somebody else before anything, such as a lock, is put into it.
pub(crate) fn refuse_foreign(path: &Path) -> Result<()> {
    let names = names(path)?.unwrap_or_default();
    match names.is_empty() || names.iter().any(|name| name == MANIFEST_NAME || name == LOCK_NAME) {
        true => Ok(()),
        false => Err(LogError::NotOurs { place: path.display().to_string() }.into()),
    }
}
