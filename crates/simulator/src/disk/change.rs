//! A change of a file that may be lost: it was emptied, or sectors were written.

use super::sector::Sector;
use core::ops::Range;

/// A change of a file's content.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// It was emptied.
    Truncate,
    /// Sectors were written, from the one of this number on.
    Write(usize, Vec<Sector>),
}

impl Change {
    /// Whether it is of some of these sectors.
    pub(super) fn meets(&self, range: &Range<usize>) -> bool {
        match self {
            Self::Truncate => true,
            Self::Write(first, sectors) => {
                *first < range.end && range.start < first + sectors.len()
            }
        }
    }
}

/// Puts sectors in place, from the one of number `first` on.
pub(super) fn put(into: &mut Vec<Sector>, first: usize, sectors: &[Sector]) {
    let end = first + sectors.len();
    if into.len() < end {
        into.resize(end, Sector::Hole);
    }
    into[first..end].clone_from_slice(sectors);
}
