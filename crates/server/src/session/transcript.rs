//! The transcript of a block: the statements that it has run and their results, by which it can resume (`session/resume`).

use super::formats::Formats;
use super::portals::{OwnPlan, bytes_of};
use chiliad_sql::OwnedDatum;
use std::time::Instant;

/// The statements of a block and their results, unless the block has done something else.
#[derive(Default)]
pub(super) struct Transcript {
    pub parts: Vec<Part>,
    bytes: usize,
    pub has_gap: bool,
}

/// A statement that reads or writes rows.
pub(super) struct Part {
    pub plan: OwnPlan,
    pub values: Vec<OwnedDatum>,
    pub formats: Formats,
    /// When it was run.
    pub time: i64,
    /// The number in its tag.
    pub rows: u64,
    /// The messages of its rows.
    pub said: Vec<u8>,
}

/// How often a statement or a commit was refused, and until when it is tried.
#[derive(Default)]
pub(super) struct Trials {
    pub refusals: u32,
    pub deadline: Option<Instant>,
}

impl Transcript {
    /// Something was done that cannot be done again: the block is not resumed any more.
    pub fn leave_gap(&mut self) {
        *self = Self { has_gap: true, ..Self::default() };
    }

    /// The block, whose transcript is whole, has run a statement. Where that makes more than `bytes_max`, nothing is kept.
    pub fn add(&mut self, part: Part, bytes_max: usize) {
        debug_assert!(!self.has_gap, "only a whole transcript goes on");
        self.bytes += size_of::<Part>() + bytes_of(&part.values) + part.said.len();
        self.parts.push(part);
        if self.bytes > bytes_max {
            self.leave_gap();
        }
    }
}
