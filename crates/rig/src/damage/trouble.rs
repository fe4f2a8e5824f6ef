//! Reasons why a damaged copy cannot be judged.

use std::fmt;
use std::io;

/// The host or a sound directory has failed, which says nothing about damage.
#[derive(Debug)]
pub enum Trouble {
    /// The rig's own files, or a database of its own in them.
    Files(String),
    /// The system gave no thread.
    NoThread(io::Error),
}

/// An error of the rig's own files.
pub(super) fn trouble(error: impl fmt::Display) -> Trouble {
    Trouble::Files(error.to_string())
}
