//! Segments that are complete.

use crate::names::SegmentId;

/// A segment that no checkpoint newer than its content needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retired {
    /// Which.
    pub id: SegmentId,
    /// The newest epoch of a transaction in it.
    pub newest_epoch: u64,
}
