//! Where the stores keep their files: a fresh directory, removed in the end with all that is in it.

use crate::store::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A directory that did not exist before and is removed when this is dropped.
pub struct Directory(PathBuf);

impl Directory {
    /// Makes one in `parent`.
    pub fn new(parent: &Path, name: &str) -> Result<Self> {
        let path = parent.join(name);
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => Err(Error::Failed(format!(
                "--dir {}: cannot make the directory {name} in it: {error}",
                parent.display()
            ))),
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("comparison: {} is left behind: {error}", self.0.display());
        }
    }
}
