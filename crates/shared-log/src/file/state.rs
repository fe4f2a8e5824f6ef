//! State shared by the callers of a log in files. The mutex is held for instructions, never while a disk is called or
//! a thread sleeps: on a simulated machine either lets another core run.

use super::cursor::Cursor;
use super::writer::{Refusal, Writer};
use crate::batch::Batch;
use crate::window::Window;
use chiliad_machine::disk::Disk;
use chiliad_machine::shared_log::Position;
use chiliad_machine::{Machine, WorkerId};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A batch on its way to the disk.
pub(super) struct Request {
    pub batch: Arc<Batch>,
    /// The worker that waits for the outcome.
    pub worker: WorkerId,
    pub outcome: OnceLock<Result<(), Refusal>>,
}

/// A file of records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// The position of its first record.
    pub first: Position,
    /// Its length.
    pub bytes: u64,
}

pub(super) struct State<M> {
    /// Requests that are not written yet, oldest first.
    pub queue: VecDeque<Arc<Request>>,
    /// `None`: somebody writes.
    pub writer: Option<Writer>,
    /// Why nothing more is appended.
    pub broken: Option<Refusal>,
    /// The newest records. Its end is that of what is durable.
    pub window: Window,
    /// The first position that can be read.
    pub first: Position,
    /// The segments that are there, oldest first; the last one is written to.
    pub segments: Vec<Segment>,
    /// Where readers of files have come to.
    pub cursors: Vec<Cursor<M>>,
    /// The workers that wait for records.
    pub readers: Vec<WorkerId>,
    /// The workers that wait for the writer, to trim.
    pub trimmers: Vec<WorkerId>,
}

pub(super) struct Shared<M> {
    pub disk: Arc<dyn Disk>,
    pub identity: u128,
    pub record_bytes_max: usize,
    pub memory_bytes: usize,
    pub state: Mutex<State<M>>,
    pub machine: PhantomData<fn() -> M>,
}

impl<M: Machine> Shared<M> {
    /// The state. No panic leaves it half changed.
    pub fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the writer back, and wakes the workers that may want it next.
    pub fn release(&self, writer: Writer) {
        let mut state = self.lock();
        debug_assert!(state.writer.is_none(), "one writer");
        state.note_segment(&writer);
        state.writer = Some(writer);
        let mut wanting = std::mem::take(&mut state.trimmers);
        wanting.extend(state.queue.front().map(|it| it.worker));
        drop(state);
        wake::<M>(wanting);
    }
}

impl<M> State<M> {
    /// The writer may have begun a segment, and what it writes to has grown.
    pub fn note_segment(&mut self, writer: &Writer) {
        let open = Segment { first: writer.segment, bytes: writer.prepared };
        match self.segments.last_mut().filter(|it| it.first == open.first) {
            Some(last) => *last = open,
            None => self.segments.push(open),
        }
    }
}

/// Wakes sleepers.
pub(super) fn wake<M: Machine>(sleepers: impl IntoIterator<Item = WorkerId>) {
    for worker in sleepers {
        M::unpark(worker);
    }
}
