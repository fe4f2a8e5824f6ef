//! Batches: whole records of the log on their way through the stages.
//!
//! The first stage makes them, any thread builds overlays for their intentions, the last stage decides them in order, and
//! the first clears away what is left of them.

use crate::blocks::Block;
use crate::catalog::Change;
use crate::intention::Intention;
use crate::item::{Item, Refused};
use crate::maker::Maker;
use crate::record::{CheckpointNote, Head, Kind, items};
use chiliad_machine::Machine;
use chiliad_machine::shared_log::Position;
use std::sync::Arc;

/// Where an item comes from, and its number in the log.
#[derive(Clone, Copy)]
pub struct By {
    pub head: Head,
    /// Its number among those of its server.
    pub local: u64,
    /// For a barrier or a checkpoint, the number of the last item before it.
    pub label: u64,
    /// The checksum of its bytes.
    pub content: u32,
}

/// The request of an item.
pub enum Task<'b, M: Machine> {
    /// A server joins: its nonce and rules.
    Join(&'b [u8]),
    Intention(Intention, &'b [u8]),
    /// An intention that is ready for its turn, or was decided; or why it does not commit.
    Ready(Result<Item<'b, M>, Refused>),
    Change(Change),
    Barrier,
    Checkpoint(CheckpointNote),
}

/// Items in the order of the log.
pub type Tasks<'b, M> = Vec<(By, Task<'b, M>)>;

/// A record of the log.
pub struct Record {
    /// Its head; `None` for a malformed record, which every server skips alike.
    pub head: Option<Head>,
    pub bytes: Vec<u8>,
}

impl Record {
    /// Its items.
    pub fn items(&self) -> impl Iterator<Item = (Kind, &[u8])> {
        self.head.is_some().then(|| items(&self.bytes)).into_iter().flatten()
    }
}

/// The bytes that items refer to.
#[derive(Default)]
pub struct Source {
    pub records: Vec<Record>,
    /// Intentions that were put together from parts in several records.
    pub wholes: Vec<Vec<u8>>,
}

/// The part of a checkpoint's summary that the first stage knows.
pub struct Place {
    /// The checksum of the last record.
    pub checksum: u32,
    /// [`crate::seen::Seen::encode`], [`crate::parts::Assembly::encode`].
    pub seen: Vec<u8>,
    pub assembly: Vec<u8>,
}

/// Records on their way through the stages.
pub struct Batch<M: Machine> {
    /// Before `source` in the order of their drops: they refer to it.
    tasks: Tasks<'static, M>,
    source: Arc<Source>,
    /// The heads of its records.
    pub heads: Vec<Head>,
    /// The position after its last record.
    pub end: Position,
    /// Bytes of its records.
    pub bytes: u64,
    /// Where somebody wants to make a checkpoint of the state after it.
    pub place: Option<Place>,
}

impl<M: Machine> Batch<M> {
    /// A batch of these records, without items as yet.
    pub fn new(source: Arc<Source>, end: Position) -> Self {
        Self { tasks: Vec::new(), source, heads: Vec::new(), end, bytes: 0, place: None }
    }

    /// Does something with the items, whose bytes are there as long as `work` runs. It puts back what is to go on.
    pub fn work<R>(
        &mut self,
        work: impl for<'b> FnOnce(&'b Source, Tasks<'b, M>) -> (Tasks<'b, M>, R),
    ) -> R {
        let tasks = core::mem::take(&mut self.tasks);
        let (tasks, outcome) = work(&self.source, tasks);
        // SAFETY: as `work` is good for any lifetime, what it returns refers to nothing but `source`, which is immutable
        // and on the heap, and which this batch keeps longer than its items: nobody else gets at them but in here, with a
        // lifetime for which `source` is borrowed.
        self.tasks = unsafe { core::mem::transmute::<Tasks<'_, M>, Tasks<'static, M>>(tasks) };
        outcome
    }

    /// Clears away what is left of its intentions, which are decided. What they have replaced is appended to `replaced`.
    pub fn clear_away(mut self, maker: &mut Maker<M>, replaced: &mut Vec<Block<M>>) {
        self.work(|_, tasks| {
            for (_, task) in tasks {
                if let Task::Ready(Ok(item)) = task {
                    item.clear_away(maker, replaced);
                }
            }
            (Tasks::new(), ())
        });
    }

    /// How many items it has.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }
}
