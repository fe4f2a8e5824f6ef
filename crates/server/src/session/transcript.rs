//! What a block has done and has said, for the case that it resumes (`session/resume`).

use super::formats::Formats;
use super::portals::{OwnPlan, bytes_of};
use chiliad_sql::OwnedDatum;
use std::time::Instant;

/// What a block has done, and has said.
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

    /// A statement was run, and so many bytes at most are kept.
    pub fn add(&mut self, part: Part, bytes_max: usize) {
        if self.has_gap {
            return;
        }
        self.bytes += size_of::<Part>() + bytes_of(&part.values) + part.said.len();
        self.parts.push(part);
        if self.bytes > bytes_max {
            self.leave_gap();
        }
    }
}
