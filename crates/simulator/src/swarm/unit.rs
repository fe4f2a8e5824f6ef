//! The task unit of a tile: its queues, and the speculative state of its tasks.

use super::sets::{ByLine, Sets};
use super::time::VirtualTime;
use chiliad_machine::tasks::{CHILDREN_MAX, Task};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A task by its place in a task queue, which it keeps for life, and the number of the task that has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pointer {
    pub(super) tile: u16,
    pub(super) slot: u16,
    pub(super) birth: u32,
}

/// An execution of a task: messages of an earlier one find that it is not this one any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Execution {
    pub(super) task: Pointer,
    pub(super) number: u32,
}

/// The state of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Nothing: the place is free.
    Free,
    /// Its roll-back is being paid for.
    Resting,
    /// It waits in the order queue.
    Idle,
    /// It has a core.
    Running,
    /// It waits for its commit.
    Finished,
}

/// An entry of the task queue.
pub(super) struct Slot {
    pub(super) phase: Phase,
    pub(super) birth: u32,
    pub(super) task: Task,
    /// Its arrival's number, by which tasks of equal timestamps are ordered before they have a virtual time.
    pub(super) arrival: u64,
    pub(super) time: VirtualTime,
    /// The number of its execution.
    pub(super) execution: u32,
    /// Its parent, as long as that has not committed.
    pub(super) parent: Option<Pointer>,
    pub(super) children: [Option<Pointer>; CHILDREN_MAX],
    /// Children that it has enqueued.
    pub(super) enqueued: u32,
    /// Of these, those that no tile has acknowledged.
    pub(super) pending: u32,
    /// Of these, those that a tile refused at least once.
    pub(super) refused: u32,
    /// Its core while it runs.
    pub(super) core: u32,
    /// Its entry among the sets.
    pub(super) entry: u8,
    /// It has an entry of the commit queue.
    pub(super) queued: bool,
    /// It cannot be undone any more, and nothing of it is tracked.
    pub(super) irrevocable: bool,
    /// It met what no finished run would have shown it: it runs when it is the earliest of all.
    pub(super) excepted: bool,
    /// It is about to be aborted (1), or squashed (2).
    pub(super) fate: u8,
    pub(super) accesses: u32,
    /// Words that it overwrote, by their offsets, and what they held, the oldest first.
    pub(super) undo: Vec<(usize, u64)>,
    /// Blocks that it obtained, and that it gave back, each with its lines.
    pub(super) obtained: Vec<(Block, usize)>,
    pub(super) returned: Vec<(Block, usize)>,
    /// When its execution began, the cycles that it took so far without waits.
    pub(super) begun: u64,
    pub(super) waited: u64,
    pub(super) ran: u64,
}

/// A block of tracked memory, by its first byte.
pub(super) type Block = std::ptr::NonNull<u8>;

impl Slot {
    /// A place without a task.
    pub(super) fn new(task: Task) -> Self {
        Self {
            phase: Phase::Free,
            birth: 0,
            task,
            arrival: 0,
            time: VirtualTime::MAX,
            execution: 0,
            parent: None,
            children: [None; CHILDREN_MAX],
            enqueued: 0,
            pending: 0,
            refused: 0,
            core: 0,
            entry: 0,
            queued: false,
            irrevocable: false,
            excepted: false,
            fate: 0,
            accesses: 0,
            undo: Vec::new(),
            obtained: Vec::new(),
            returned: Vec::new(),
            begun: 0,
            waited: 0,
            ran: 0,
        }
    }

    /// A task that has not run comes here.
    pub(super) fn take(&mut self, task: Task, parent: Option<Pointer>, arrival: u64) {
        debug_assert!(self.phase == Phase::Free && self.undo.is_empty());
        self.birth += 1;
        self.phase = Phase::Idle;
        (self.task, self.parent, self.arrival) = (task, parent, arrival);
        self.excepted = false;
        self.forget();
    }

    /// Nothing of an execution is left.
    pub(super) fn forget(&mut self) {
        self.time = VirtualTime::MAX;
        self.execution += 1;
        self.children = [None; CHILDREN_MAX];
        (self.enqueued, self.pending, self.refused) = (0, 0, 0);
        (self.queued, self.irrevocable) = (false, false);
        (self.fate, self.accesses) = (0, 0);
        (self.waited, self.ran) = (0, 0);
        self.undo.clear();
        self.obtained.clear();
        self.returned.clear();
    }

    /// Its place in the order queue.
    pub(super) fn order(&self) -> (u64, u64) {
        (self.task.timestamp, self.arrival)
    }
}

/// A task that has come and finds no free entry.
pub(super) struct Arrival {
    pub(super) task: Task,
    pub(super) parent: Option<Execution>,
    pub(super) attempts: u32,
}

/// The task unit of a tile.
pub(super) struct Unit {
    pub(super) slots: Vec<Slot>,
    pub(super) free: Vec<u16>,
    /// Idle tasks.
    pub(super) order: BTreeSet<(u64, u64, u16)>,
    /// Aborted tasks whose roll-back is being paid for.
    pub(super) resting: Vec<u16>,
    /// Finished tasks.
    pub(super) finished: Vec<(VirtualTime, u16)>,
    pub(super) commit_free: u32,
    /// The tile's cores.
    pub(super) cores: Vec<u32>,
    pub(super) sets: Sets,
    pub(super) entries_free: Vec<u8>,
    /// By entry, its task's place.
    pub(super) entry_slots: Vec<u16>,
    /// Tasks that have come and wait for entries.
    pub(super) waiting: VecDeque<Arrival>,
    /// Tasks in memory, by timestamp and arrival.
    pub(super) spilled: BTreeMap<(u64, u64), Task>,
    /// By set of the second cache: the greatest virtual time of those that installed its lines.
    pub(super) canaries: Vec<VirtualTime>,
    /// By line of the second cache: that of whoever installed it, where canaries are the lines'.
    pub(super) line_canaries: ByLine<VirtualTime>,
    /// A core takes tasks to memory or brings them back.
    pub(super) job: bool,
}

impl Unit {
    /// The unit of a tile with these cores.
    pub(super) fn new(
        cores: Vec<u32>,
        queue: u32,
        commits: u32,
        sets: Sets,
        canaries: usize,
    ) -> Self {
        let entries = commits as usize + cores.len();
        let empty = Task::new(chiliad_machine::tasks::FunctionId(0), 0, &[], None);
        let empty = empty.expect("a task may have no words");
        Self {
            slots: (0..queue).map(|_| Slot::new(empty)).collect(),
            free: (0..queue as u16).rev().collect(),
            order: BTreeSet::new(),
            resting: Vec::new(),
            finished: Vec::new(),
            commit_free: commits,
            cores,
            sets,
            entries_free: (0..entries as u8).rev().collect(),
            entry_slots: vec![0; entries],
            waiting: VecDeque::new(),
            spilled: BTreeMap::new(),
            canaries: vec![VirtualTime::ZERO; canaries],
            line_canaries: ByLine::default(),
            job: false,
        }
    }

    /// Tasks of these entries that come after `time`: how many times are compared, and calls `f` with each such place.
    #[inline]
    pub(super) fn later(
        &self,
        mut entries: u128,
        time: VirtualTime,
        mut f: impl FnMut(u16),
    ) -> u32 {
        let compared = entries.count_ones();
        while entries != 0 {
            let slot = self.entry_slots[entries.trailing_zeros() as usize];
            entries &= entries - 1;
            if self.slots[slot as usize].time > time {
                f(slot);
            }
        }
        compared
    }

    /// A task leaves the order queue.
    pub(super) fn unlist(&mut self, slot: u16) {
        let (timestamp, arrival) = self.slots[slot as usize].order();
        self.order.remove(&(timestamp, arrival, slot));
    }

    /// A task waits in the order queue.
    pub(super) fn list(&mut self, slot: u16) {
        let (timestamp, arrival) = self.slots[slot as usize].order();
        self.slots[slot as usize].phase = Phase::Idle;
        self.order.insert((timestamp, arrival, slot));
    }

    /// Whether idle tasks can go to memory: those but the first whose parents have committed.
    pub(super) fn has_untied(&self) -> bool {
        self.order.iter().skip(1).any(|&(_, _, slot)| self.is_untied(slot))
    }

    /// A task's parent has committed.
    pub(super) fn is_untied(&self, slot: u16) -> bool {
        self.slots[slot as usize].parent.is_none()
    }

    /// Entries of the task queue in use.
    pub(super) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
