//! The calls of a task's body besides accesses, and how an execution ends.

use super::abort::Toll;
use super::chip::{Blocks, Swarm};
use super::commit::Finish;
use super::counts::Cause;
use super::verdict::TaskVerdict;
use crate::Sim;
use crate::hook;
use crate::outcome::{CorePanic, Verdict};
use crate::state::State;
use crate::timed::Timed;
use crate::word::SimWord;
use chiliad_machine::WorkerId;
use chiliad_machine::tasks::{FunctionId, LinePool, Lines, Program, Task, Tasks, Violation};
use std::any::Any;
use std::cell::RefCell;
use std::ptr::NonNull;

/// The task units of a run, as the body of a task has them.
pub struct Hardware {
    pub(super) state: *const State,
    pub(super) program: *const dyn Program<Self>,
}

impl Hardware {
    fn state(&self) -> &State {
        // SAFETY: the state outlives all coroutines, on whose stacks these handles live.
        unsafe { &*self.state }
    }

    fn parts(&self) -> (&RefCell<Timed>, &RefCell<Swarm>) {
        let state = self.state();
        let (Some(timed), Some(swarm)) = (state.timed(), state.swarm.get()) else {
            unreachable!("tasks run on task units, where time passes")
        };
        (timed, swarm)
    }

    fn name(&self, function: FunctionId) -> &'static str {
        // SAFETY: the program outlives the run of tasks.
        unsafe { &*self.program }.name(function)
    }

    /// Children that a task may have.
    fn children(&self) -> u32 {
        self.parts().1.borrow().what.children
    }

    /// The rule that a child of `parent` would break.
    fn violation(
        &self,
        parent: &Task,
        enqueued: u32,
        child: (FunctionId, u64, usize),
    ) -> Option<Violation> {
        let (function, timestamp, words) = child;
        let (task, child) = (self.name(parent.function), self.name(function));
        if words > chiliad_machine::tasks::TASK_WORDS_MAX {
            Some(Violation::TooManyWords { task, child })
        } else if timestamp < parent.timestamp {
            let (timestamp, child_timestamp) = (parent.timestamp, timestamp);
            Some(Violation::ChildBeforeParent { task, child, timestamp, child_timestamp })
        } else if enqueued >= self.children() {
            Some(Violation::TooManyChildren { task })
        } else {
            None
        }
    }
}

impl Blocks for LinePool<Sim> {
    fn take(&self, lines: usize) -> Option<NonNull<u8>> {
        Self::take(self, lines).map(NonNull::cast)
    }

    unsafe fn give(&self, block: NonNull<u8>, lines: usize) {
        // SAFETY: as the caller says.
        unsafe { Self::give(self, block.cast(), lines) };
    }
}

impl Lines for Hardware {
    type Machine = Sim;

    fn alloc(&self, lines: usize) -> Option<NonNull<SimWord>> {
        let (_, swarm) = self.parts();
        let state = self.state();
        let mut units = swarm.borrow_mut();
        state.time.set(state.time.get() + u64::from(units.what.allocate));
        // SAFETY: the pool is borrowed for the run of tasks.
        let block = unsafe { &*units.pool }.take(lines)?;
        let (tile, slot) = units.running(state.core.get());
        let it = &mut units.units[tile].slots[slot as usize];
        if !it.irrevocable {
            it.obtained.push((block, lines));
        }
        Some(block.cast())
    }

    unsafe fn free(&self, block: NonNull<SimWord>, lines: usize) {
        let (_, swarm) = self.parts();
        let state = self.state();
        let mut units = swarm.borrow_mut();
        state.time.set(state.time.get() + u64::from(units.what.allocate));
        let (tile, slot) = units.running(state.core.get());
        if units.fault(&super::faults::FREED) {
            units.units[tile].slots[slot as usize].obtained.retain(|it| it.0 != block.cast());
            units.give_back(&[(block.cast(), lines)]);
            return;
        }
        units.units[tile].slots[slot as usize].returned.push((block.cast(), lines));
    }

    fn trap(&self, why: &'static str) -> ! {
        let (_, swarm) = self.parts();
        let state = self.state();
        let mut units = swarm.borrow_mut();
        let (tile, slot) = units.running(state.core.get());
        let it = &units.units[tile].slots[slot as usize];
        let (irrevocable, function) = (it.irrevocable, it.task.function);
        drop(units);
        if irrevocable {
            panic!("task {}: {why}", self.name(function));
        }
        state.task_exception()
    }
}

impl Tasks for Hardware {
    fn enqueue(&self, function: FunctionId, timestamp: u64, words: &[u64], hint: Option<u64>) {
        let (timed, swarm) = self.parts();
        let state = self.state();
        if std::thread::panicking() {
            return;
        }
        let core = state.core.get();
        let (parent, enqueued, irrevocable) = {
            let mut units = swarm.borrow_mut();
            state.time.set(state.time.get() + u64::from(units.what.instruction));
            let (tile, slot) = units.running(core);
            let it = &units.units[tile].slots[slot as usize];
            (it.task, it.enqueued, it.irrevocable)
        };
        if let Some(violation) =
            self.violation(&parent, enqueued, (function, timestamp, words.len()))
        {
            if !irrevocable {
                state.task_exception();
            }
            state.end_tasks(TaskVerdict::Violation(violation));
        }
        let Some(child) = Task::new(function, timestamp, words, hint) else { return };
        state.let_others(timed);
        loop {
            let mut units = swarm.borrow_mut();
            let (tile, slot) = units.running(core);
            if units.units[tile].slots[slot as usize].refused == 0 {
                units.enqueue(&mut timed.borrow_mut(), core, state.time.get(), child);
                return;
            }
            // The core stalls until the tile has taken the child that it refused.
            units.waits(core, state.time.get());
            drop(units);
            state.go_on();
        }
    }
}

impl State {
    /// The running core's execution met what no finished run would have shown it: it is undone, and its task runs again when
    /// it is the earliest.
    pub(crate) fn task_exception(&self) -> ! {
        let running = self.running.get();
        self.except();
        let chosen = self.next_core();
        self.take_over(chosen);
        loop {
            self.suspend(running);
        }
    }

    fn except(&self) {
        let (Some(timed), Some(swarm)) = (self.timed(), self.swarm.get()) else { return };
        let (mut timed, mut units) = (timed.borrow_mut(), swarm.borrow_mut());
        let (core, time) = (self.core.get(), self.time.get());
        let (tile, slot) = units.running(core);
        units.units[tile].slots[slot as usize].excepted = true;
        units.marks.insert("exception in a speculative task");
        // It has no event: the core is free as soon as the roll-back is paid for.
        units.waits(core, time);
        let _: Toll = units.abort(&mut timed, &[(tile, slot)], Cause::Exception, time);
    }

    /// The body of the running core's task has returned or panicked.
    pub(super) fn task_ended(&self, result: Result<(), Box<dyn Any + Send>>) {
        let (Some(timed), Some(swarm)) = (self.timed(), self.swarm.get()) else { return };
        let core = self.core.get();
        if let Err(payload) = result {
            let speculative = !self.choosing.get() && {
                let mut units = swarm.borrow_mut();
                let (tile, slot) = units.running(core);
                !units.units[tile].slots[slot as usize].irrevocable
            };
            if speculative {
                self.panic_message.take();
                self.except();
            } else {
                self.ends_by_panic(&*payload);
            }
            return;
        }
        let cycles = u64::from(swarm.borrow().what.instruction);
        self.time.set(self.time.get() + cycles);
        self.let_others(timed);
        loop {
            let (mut it, mut units) = (timed.borrow_mut(), swarm.borrow_mut());
            match units.finish(&mut it, core, self.time.get()) {
                Finish::Done => return,
                Finish::Waits => units.waits(core, self.time.get()),
            }
            drop((it, units));
            self.go_on();
        }
    }

    /// A panic that is nobody's speculation ends the run.
    pub(super) fn ends_by_panic(&self, payload: &(dyn Any + Send)) {
        let worker = self.running.get();
        let name = self.workers.borrow()[worker as usize].name.clone();
        let (worker, event) = (WorkerId(worker), self.event.get());
        let message = hook::describe(self, payload);
        self.panics.borrow_mut().push(CorePanic { worker, name, message, event });
        self.halted.set(true);
    }

    /// The run of tasks ends here and now, with a verdict.
    pub(crate) fn end_tasks(&self, verdict: TaskVerdict) -> ! {
        self.note(Verdict::Task(Box::new(verdict)));
        self.halt()
    }

    /// Ends the run if a task makes this call, which none may.
    #[inline]
    pub(crate) fn no_task(&self, what: &'static str) {
        if self.swarm.get().is_some() && self.running.get() != 0 && !std::thread::panicking() {
            self.end_tasks(TaskVerdict::Forbidden(what));
        }
    }

    /// How many executions the running core has begun, where cores run tasks.
    #[inline]
    pub(crate) fn execution(&self) -> u32 {
        let swarm = self.swarm.get();
        swarm.map_or(0, |units| units.borrow().cores[self.core.get() as usize].epoch)
    }

    /// Ends the run if there is nothing more to do, or nothing that can be done.
    pub(crate) fn look_at_tasks(&self) {
        let Some(swarm) = self.swarm.get() else { return };
        let units = swarm.borrow();
        let verdict = match units.unsound {
            Some(who) => TaskVerdict::Unsound(who),
            None if units.is_over() => {
                drop(units);
                self.halt();
            }
            None if units.is_stuck() => TaskVerdict::Stuck,
            None => return,
        };
        drop(units);
        self.end_tasks(verdict);
    }
}
