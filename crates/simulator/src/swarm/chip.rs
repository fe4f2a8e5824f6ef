//! All task units of a chip, and what is on its way between them.

use super::counts::{Begun, Passed, TaskCounts};
use super::sets::{ByLine, Sets};
use super::time::VirtualTime;
use super::unit::{Arrival, Block, Execution, Phase, Pointer, Slot, Unit};
use crate::description::TaskUnits;
use crate::random::{Generator, Stream};
use crate::timed::Timed;
use chiliad_machine::Fault;
use chiliad_machine::tasks::{FunctionId, Task};
use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Accesses of a speculative execution after which it is one that goes round and round.
const ACCESSES_MAX: u32 = 1 << 16;

/// How the lines that a task has accessed are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetKind {
    /// In Bloom filters, which may name tasks that have not accessed a line.
    Bloom,
    /// As they are.
    Precise,
}

/// The tasks that an abort takes along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aborts {
    /// Those that depend on it.
    Selective,
    /// Every later task.
    All,
}

/// The tile that an enqueued task goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Any, drawn evenly.
    Random,
    /// That of its hint, where it has one.
    Hint,
}

/// Whose lines a canary stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Canary {
    /// Those of a set of the second cache, by the latest task that installed one of them.
    Set,
    /// One line.
    Line,
}

/// When a task takes its entry of the commit queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitEntry {
    /// When it finishes.
    Finish,
    /// When it is dispatched.
    Dequeue,
}

/// How task units work, where they could work differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskOptions {
    /// The sets.
    pub sets: SetKind,
    /// The tasks that an abort takes along.
    pub aborts: Aborts,
    /// Where tasks go.
    pub place: Place,
    /// The canaries.
    pub canary: Canary,
    /// The entries of the commit queue.
    pub commit_entry: CommitEntry,
    /// Each access that a cache or canary lets pass is compared with the exact sets.
    pub audit: bool,
    /// Accesses that a speculative execution may make.
    pub accesses_max: u32,
    /// The function of tasks whose executions are listed as they begin.
    pub watched: Option<FunctionId>,
}

impl Default for TaskOptions {
    /// As in Yan, 2015, chapter 3.
    fn default() -> Self {
        Self {
            sets: SetKind::Bloom,
            aborts: Aborts::Selective,
            place: Place::Random,
            canary: Canary::Set,
            commit_entry: CommitEntry::Finish,
            audit: false,
            accesses_max: ACCESSES_MAX,
            watched: None,
        }
    }
}

/// The state of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Nothing.
    Idle,
    /// It runs the task in this place of its tile's queue.
    Busy(u16),
    /// It pays for a roll-back.
    Draining,
    /// It takes tasks to memory or brings them back.
    Job,
}

/// A core of a tile.
pub(super) struct TaskCore {
    pub(super) tile: u16,
    pub(super) role: Role,
    /// Nothing is under way any more for an execution that was aborted.
    pub(super) rested: bool,
    /// Until when it drains.
    pub(super) until: u64,
    /// The virtual time of its last execution: its first cache is conflict-free from there on.
    pub(super) last: VirtualTime,
    /// Its execution has not begun.
    pub(super) starts: bool,
    /// Its execution waits, since when, and has no event.
    pub(super) waits: bool,
    pub(super) waits_since: u64,
    /// How many executions it has begun.
    pub(super) epoch: u32,
}

/// A message that is on its way.
pub(super) enum Message {
    /// A task to a tile.
    Arrive { tile: u16, arrival: Arrival },
    /// Word to a parent that a child has its place; `refused`: it had been sent away before.
    Ack { parent: Execution, refused: bool },
    /// Word to a parent's tile that a task must be sent again.
    Nack { tile: u16, arrival: Arrival },
    /// It is sent again.
    Retry { tile: u16, arrival: Arrival },
    /// A task's roll-back is over.
    Rested(Pointer),
    /// A core's is, or its job.
    Free(u32),
    /// Tiles send the times of their earliest tasks.
    Sample,
    /// They hear of the earliest of all.
    Update(VirtualTime),
}

/// Where tracked words lie on the host.
#[derive(Clone, Copy)]
pub(super) struct Words(NonNull<u8>);

impl Words {
    /// The word at an offset of the region at which an access of a task found open memory.
    pub(super) fn at(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is one that the region had open, so a word lies there; the region outlives the run of tasks,
        // and all that access it are on one host thread.
        unsafe { self.0.add(offset).cast::<AtomicU64>().as_ref() }
    }
}

/// The memory that tasks obtain lines from.
pub(super) trait Blocks {
    /// Takes so many lines, whose words are zero; `None` when there are no more.
    fn take(&self, lines: usize) -> Option<Block>;

    /// Takes a block back.
    ///
    /// # Safety
    /// It came from [`Blocks::take`] with as many lines, and nobody has a way to it any more.
    unsafe fn give(&self, block: Block, lines: usize);
}

/// The inputs of a run of tasks.
pub(super) struct Given {
    pub(super) what: TaskUnits,
    pub(super) options: TaskOptions,
    pub(super) pool: *const dyn Blocks,
    /// The beginning of the run's memory.
    pub(super) start: NonNull<u8>,
    pub(super) seed: u64,
    pub(super) fault: Option<&'static Fault>,
}

/// The task units.
pub(crate) struct Swarm {
    pub(super) units: Vec<Unit>,
    /// By core.
    pub(super) cores: Vec<TaskCore>,
    messages: Vec<Option<Message>>,
    free_messages: Vec<u32>,
    pub(super) what: TaskUnits,
    pub(super) options: TaskOptions,
    pub(super) gvt: VirtualTime,
    /// The timestamps that it has come to.
    pub(super) passed: Vec<Passed>,
    /// The executions that are watched.
    pub(super) begun: Vec<Begun>,
    /// Dispatches and arrivals so far.
    pub(super) dispatches: u64,
    pub(super) arrivals: u64,
    /// Tasks that have neither committed nor been squashed.
    pub(super) alive: u64,
    /// By line, the tiles that had speculative tasks with it when they lost it.
    pub(super) sticky: ByLine<u64>,
    pub(super) random: Generator,
    pub(super) words: Words,
    pub(super) pool: *const dyn Blocks,
    pub(super) counts: TaskCounts,
    pub(super) marks: BTreeSet<&'static str>,
    /// An access passed unchecked that conflicts.
    pub(super) unsound: Option<&'static str>,
    /// Updates since anything was dispatched or committed.
    pub(super) still: u32,
    pub(super) fault: Option<&'static Fault>,
}

impl Swarm {
    /// The units of a timed run, all of whose cores but the one outside run tasks.
    pub(super) fn new(timed: &mut Timed, given: Given) -> Self {
        let Given { what, options, pool, start, seed, fault } = given;
        let cores_per_tile = timed.machine.cores_per_tile() as usize;
        let count = timed.cores.len();
        let tasks: Vec<u32> = (1..count as u32).collect();
        let filters = (options.sets == SetKind::Bloom).then_some(what.filter_way_bits);
        let canaries = timed.private.second_sets();
        let units: Vec<Unit> = tasks
            .chunks(cores_per_tile)
            .map(|cores| {
                let of = cores_per_tile as u32;
                let (queue, commits) = (what.queue * of, what.commit_queue * of);
                let sets = Sets::new(commits as usize + cores.len(), filters);
                Unit::new(cores.to_vec(), queue, commits, sets, canaries)
            })
            .collect();
        let core = |core: usize| TaskCore {
            tile: (core.saturating_sub(1) / cores_per_tile) as u16,
            role: if core == 0 { Role::Job } else { Role::Idle },
            rested: true,
            until: 0,
            last: VirtualTime::ZERO,
            starts: false,
            waits: false,
            waits_since: 0,
            epoch: 0,
        };
        timed.lost = Some(Vec::new());
        Self {
            units,
            cores: (0..count).map(core).collect(),
            messages: Vec::new(),
            free_messages: Vec::new(),
            what,
            options,
            gvt: VirtualTime::ZERO,
            passed: Vec::new(),
            begun: Vec::new(),
            dispatches: 0,
            arrivals: 0,
            alive: 0,
            sticky: ByLine::default(),
            random: Generator::new(seed, Stream::Tasks),
            words: Words(start),
            pool,
            counts: TaskCounts::default(),
            marks: BTreeSet::new(),
            unsound: None,
            still: 0,
            fault,
        }
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> TaskCounts {
        self.counts
    }

    /// The global virtual times so far, which are then its caller's.
    pub(crate) fn take_passed(&mut self) -> Vec<Passed> {
        std::mem::take(&mut self.passed)
    }

    /// The executions so far that are watched, which are then its caller's.
    pub(crate) fn take_begun(&mut self) -> Vec<Begun> {
        std::mem::take(&mut self.begun)
    }

    /// Whether a planted bug is switched on.
    pub(super) fn fault(&self, fault: &'static Fault) -> bool {
        self.fault.is_some_and(|planted| std::ptr::eq(planted, fault))
    }

    /// Puts a message on its way, which comes at `time`.
    pub(super) fn post(&mut self, timed: &mut Timed, time: u64, message: Message) {
        let number = self.free_messages.pop().unwrap_or_else(|| {
            self.messages.push(None);
            self.messages.len() as u32 - 1
        });
        self.messages[number as usize] = Some(message);
        timed.post(time, number);
    }

    /// A message has come.
    pub(crate) fn comes(&mut self, timed: &mut Timed, time: u64, number: u32) {
        self.free_messages.push(number);
        let Some(message) = self.messages[number as usize].take() else { return };
        match message {
            Message::Arrive { tile, arrival } => self.arrives(timed, time, tile, arrival),
            Message::Ack { parent, refused } => self.acknowledged(timed, time, parent, refused),
            Message::Nack { tile, arrival } => self.refused(timed, time, tile, arrival),
            Message::Retry { tile, arrival } => self.send(timed, time, tile, arrival),
            Message::Rested(pointer) => self.task_rested(timed, time, pointer),
            Message::Free(core) => self.core_freed(timed, time, core),
            Message::Sample => self.sample(timed, time),
            Message::Update(gvt) => self.update(timed, time, gvt),
        }
    }

    /// The task that a pointer leads to, unless that is gone.
    pub(super) fn find(&mut self, pointer: Pointer) -> Option<&mut Slot> {
        let slot = &mut self.units[pointer.tile as usize].slots[pointer.slot as usize];
        (slot.birth == pointer.birth && slot.phase != Phase::Free).then_some(slot)
    }

    /// The task of an execution, unless that is over.
    pub(super) fn executing(&mut self, execution: Execution) -> Option<&mut Slot> {
        self.find(execution.task).filter(|slot| slot.execution == execution.number)
    }

    /// The task that a core runs.
    pub(super) fn running(&mut self, core: u32) -> (usize, u16) {
        let it = &self.cores[core as usize];
        let Role::Busy(slot) = it.role else { unreachable!("only asked of cores that run a task") };
        (it.tile as usize, slot)
    }

    /// The task that a core runs, as others name it.
    pub(super) fn pointer(&self, tile: usize, slot: u16) -> Pointer {
        let birth = self.units[tile].slots[slot as usize].birth;
        Pointer { tile: tile as u16, slot, birth }
    }

    /// A core's execution waits until somebody wakes it.
    pub(super) fn waits(&mut self, core: u32, time: u64) {
        let it = &mut self.cores[core as usize];
        (it.waits, it.waits_since) = (true, time);
    }

    /// A core's execution goes on, if it waits.
    pub(super) fn wake(&mut self, timed: &mut Timed, core: u32, time: u64) {
        let it = &mut self.cores[core as usize];
        if !std::mem::take(&mut it.waits) {
            return;
        }
        let waited = time.saturating_sub(it.waits_since);
        let (tile, slot) = self.running(core);
        self.units[tile].slots[slot as usize].waited += waited;
        self.counts.core_time.stalled += waited;
        timed.resume_at(time, core);
    }

    /// A tile of the task, and all of its words, as the tile has been told.
    pub(super) fn target(&mut self, task: &Task) -> u16 {
        let tiles = self.units.len() as u64;
        match (self.options.place, task.hint) {
            (Place::Hint, Some(hint)) => {
                let mixed = hint.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                ((((mixed ^ mixed >> 32) & 0xffff_ffff) * tiles) >> 32) as u16
            }
            _ => self.random.below(tiles) as u16,
        }
    }

    /// The lines that tiles have lost since the last time: those that their tasks have accessed are remembered.
    pub(super) fn absorb_losses(&mut self, timed: &mut Timed) {
        let Some(lost) = &mut timed.lost else { return };
        if lost.is_empty() {
            return;
        }
        let forgets = self.fault.is_some_and(|it| std::ptr::eq(it, &super::faults::STICKY));
        for (tile, line) in lost.drain(..) {
            let sets = &self.units[tile as usize].sets;
            if sets.candidates(line, true) != 0 && !forgets {
                *self.sticky.entry(line).or_default() |= 1 << tile;
            }
            self.units[tile as usize].line_canaries.remove(&line);
        }
    }

    /// Restores a word.
    pub(super) fn restore(&self, (offset, word): (usize, u64)) {
        self.words.at(offset).store(word, Relaxed);
    }

    /// Gives blocks back.
    pub(super) fn give_back(&self, blocks: &[(Block, usize)]) {
        for &(block, lines) in blocks {
            // SAFETY: the pool outlives the run of tasks; the block came from it, by a task that was undone or one that
            // gave it back and has committed, so that none has a way to it.
            unsafe { (*self.pool).give(block, lines) };
        }
    }
}
