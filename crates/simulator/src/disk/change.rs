//! A change of a file that may be lost: it was emptied, or sectors were written.

use super::sector::Sector;

/// A change of a file's content.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// It was emptied.
    Truncate,
    /// Sectors were written, from the one of this number on.
    Write(usize, Vec<Sector>),
}

/// Puts sectors in place, from the one of number `first` on.
pub(super) fn put(into: &mut Vec<Sector>, first: usize, sectors: &[Sector]) {
    let end = first + sectors.len();
    if into.len() < end {
        into.resize(end, Sector::Hole);
    }
    into[first..end].clone_from_slice(sectors);
}
