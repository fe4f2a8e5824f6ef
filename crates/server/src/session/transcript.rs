//! The transcript of a block: the statements that it has run and their results, by which it can resume (`session/resume`).

use super::formats::Formats;
use super::portals::{OwnPlan, bytes_of};
use chiliad_sql::{Late, OwnedDatum};
use std::cell::RefCell;
use std::time::Instant;

/// Transcripts whose memory a thread keeps for others, at most, and the most statements, values and bytes of messages of one.
const SPARE_MAX: usize = 32;
const PARTS_MAX: usize = 256;
const VALUES_MAX: usize = 1024;
const SAID_BYTES_MAX: usize = 32 << 10;

thread_local! {
    /// The memory of transcripts that are over.
    static SPARE: RefCell<Vec<Lists>> = const { RefCell::new(Vec::new()) };
}

/// The statements of a block and their results, unless the block has done something else.
#[derive(Default)]
pub(super) struct Transcript {
    lists: Lists,
    bytes: usize,
    pub has_gap: bool,
}

/// A statement that reads or writes rows.
pub(super) struct Part {
    pub plan: OwnPlan,
    pub formats: Formats,
    /// When it was run.
    pub time: i64,
    /// The number in its tag.
    pub rows: u64,
}

/// A statement that is still to be executed, and what it will change.
pub(super) struct PutOff {
    pub plan: OwnPlan,
    pub values: Vec<OwnedDatum>,
    /// When the client sent it.
    pub time: i64,
    pub late: Late,
}

/// What the statements of a transcript hold, each after the one before: most blocks are of many short statements.
#[derive(Default)]
struct Lists {
    parts: Vec<Kept>,
    values: Vec<OwnedDatum>,
    /// The messages of their rows.
    said: Vec<u8>,
}

/// A statement of a transcript.
struct Kept {
    part: Part,
    /// Where its values and its messages end.
    values_end: usize,
    said_end: usize,
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

    /// The block, whose transcript is whole, has run a statement with these values, which it takes, and of which the rows are
    /// told by these messages. Where that makes more than `bytes_max`, nothing is kept.
    pub fn add(&mut self, part: Part, values: &mut Vec<OwnedDatum>, said: &[u8], bytes_max: usize) {
        debug_assert!(!self.has_gap, "only a whole transcript goes on");
        self.bytes += size_of::<Kept>() + bytes_of(values) + said.len();
        if self.bytes > bytes_max {
            return self.leave_gap();
        }
        if self.lists.parts.capacity() == 0 {
            self.lists = Lists::in_spare_memory();
        }
        let lists = &mut self.lists;
        lists.values.append(values);
        lists.said.extend_from_slice(said);
        let (values_end, said_end) = (lists.values.len(), lists.said.len());
        lists.parts.push(Kept { part, values_end, said_end });
    }

    /// The statements, with their values and the messages of their rows.
    pub fn parts(&self) -> impl Iterator<Item = (&Part, &[OwnedDatum], &[u8])> {
        let Lists { parts, values, said } = &self.lists;
        let (mut value, mut byte) = (0, 0);
        parts.iter().map(move |kept| {
            let values = &values[value..kept.values_end];
            let said = &said[byte..kept.said_end];
            (value, byte) = (kept.values_end, kept.said_end);
            (&kept.part, values, said)
        })
    }
}

impl Lists {
    fn in_spare_memory() -> Self {
        SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    fn is_worth_keeping(&self) -> bool {
        let Self { parts, values, said } = self;
        parts.capacity() > 0
            && parts.capacity() <= PARTS_MAX
            && values.capacity() <= VALUES_MAX
            && said.capacity() <= SAID_BYTES_MAX
    }
}

impl Drop for Lists {
    fn drop(&mut self) {
        if !self.is_worth_keeping() {
            return;
        }
        self.parts.clear();
        self.values.clear();
        self.said.clear();
        let Self { parts, values, said } = self;
        let (parts, values, said) =
            (std::mem::take(parts), std::mem::take(values), std::mem::take(said));
        // A thread that ends keeps nothing.
        _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_MAX {
                spare.push(Self { parts, values, said });
            }
        });
    }
}
