//! A run of tasks: its cores, and the coroutines of the executions.

use super::body::Hardware;
use super::chip::{Blocks, Given, Swarm, TaskOptions};
use super::counts::Passed;
use crate::Sim;
use crate::fibre::{Fibre, obtain_stack, take_apart};
use crate::host::Host;
use crate::outcome::Outcome;
use crate::run::Run;
use crate::state::State;
use crate::timed::Post;
use chiliad_machine::tasks::{LinePool, Program, Task};
use corosensei::Coroutine;
use corosensei::stack::DefaultStack;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

impl Run {
    /// Runs `program` on the task units of the run's machine, from the tasks `first` on until all have committed, on so
    /// many cores. Tasks take their lines from `pool`, which was made outside of the schedule.
    ///
    /// # Panics
    /// When the machine has no task units or tiles, or more than 64 tiles; when the run has cores already, has gone, or
    /// is to have none; when there is no room for a stack.
    pub fn go_tasks(
        &mut self,
        cores: usize,
        pool: &LinePool<Sim>,
        program: &dyn Program<Hardware>,
        first: &[Task],
        options: TaskOptions,
    ) -> Outcome {
        self.go_tasks_beside(cores, pool, (program, first), options, &mut |_| {})
    }

    /// As [`Run::go_tasks`], of a program and its first tasks, with a process beside the cores that takes no time of theirs:
    /// `beside` is called, as by [`Run::outside`], soon after tiles have heard of a later global virtual time. What tasks
    /// before it have written stays.
    ///
    /// # Panics
    /// As [`Run::go_tasks`].
    pub fn go_tasks_beside(
        &mut self,
        cores: usize,
        pool: &LinePool<Sim>,
        (program, first): (&dyn Program<Hardware>, &[Task]),
        options: TaskOptions,
        beside: &mut dyn FnMut(Passed),
    ) -> Outcome {
        self.begin_tasks(cores);
        let state = &*self.state;
        let _current = state.enter_run();
        let began = Instant::now();
        state.begin_time();
        let timed = state.timed().expect("a machine with task units is timed");
        let what = timed.borrow().machine.tasks.expect("a machine with task units");
        timed.borrow_mut().machine.use_task_prices();
        let pool: *const (dyn Blocks + '_) = pool;
        // SAFETY: only the lifetime changes: no task runs after this call, and the pool is borrowed for it.
        let pool: *const dyn Blocks = unsafe { std::mem::transmute(pool) };
        let given = Given {
            what,
            options,
            pool,
            start: state.region.start().expect("a run has memory"),
            seed: state.config.seed,
            fault: state.config.fault,
        };
        let mut units = Swarm::new(&mut timed.borrow_mut(), given);
        for &task in first {
            let tile = units.target(&task);
            units.put(tile, task);
        }
        for tile in 0..units.units.len() {
            units.dispatch(&mut timed.borrow_mut(), tile, 0);
        }
        units.begin_updates(&mut timed.borrow_mut());
        assert!(state.swarm.set(RefCell::new(units)).is_ok(), "a run goes once");
        let discarded = match first {
            [] => 0,
            _ => run_cores(state, program, &mut |passed| self.outside(|| beside(passed))),
        };
        state.running.set(0);
        state.core.set(0);
        state.settle_tasks(cores as u64);
        self.outcome(discarded, began)
    }

    /// Adds the cores.
    fn begin_tasks(&mut self, cores: usize) {
        let state = self.begin_once();
        assert!(cores > 0, "tasks need a core");
        let machine = state.config.machine.as_ref();
        let fits = machine.is_some_and(|it| {
            let tiles = cores.div_ceil(it.cores_per_tile() as usize);
            it.tasks.is_some() && it.tiles.is_some() && tiles <= 64
        });
        assert!(fits, "tasks need a machine with task units and up to 64 tiles");
        for core in 0..cores {
            let added = state.add_core(Host(0), vec![format!("core {core}")], Post::Tile, false);
            state.rounds.borrow_mut()[core + 1].join(added[0].0);
        }
    }
}

/// Runs the cores until no task is left: how many executions were under way then.
fn run_cores(
    state: &State,
    program: &dyn Program<Hardware>,
    beside: &mut dyn FnMut(Passed),
) -> u32 {
    let mut told = 0;
    let bytes = state.config.stack_bytes;
    let cores = state.rounds.borrow().len();
    let mut fibres: Vec<Option<Fibre>> = (0..cores).map(|_| None).collect();
    let chosen = state.next_core();
    state.take_over(chosen);
    while !state.halted.get() {
        let core = state.core.get();
        let place = &mut fibres[core as usize];
        if state.starts(core) {
            let stack = match place.take() {
                Some(before) => stack_of(before),
                None => obtain_stack(bytes, core as usize).unwrap_or_else(|no| panic!("{no}")),
            };
            *place = Some(execution(state, core, program, stack));
        }
        place.as_mut().expect("a core that goes on has an execution").resume(());
        if let Some(passed) = state.passed_since(&mut told) {
            beside(passed);
        }
    }
    let left = fibres.into_iter().flatten().map(|it| u32::from(take_apart(it, bytes)));
    left.sum()
}

/// The stack of an execution that is over, or that has been given up where it stands.
fn stack_of(mut fibre: Fibre) -> DefaultStack {
    if !fibre.done() {
        // SAFETY: the frames are never resumed or unwound. A task's body owns nothing with a destructor; its request has
        // been taken back, so nothing else points into them.
        unsafe { fibre.force_reset() };
    }
    fibre.into_stack()
}

/// The coroutine of the task that a core begins.
fn execution(
    state: &State,
    core: u32,
    program: &dyn Program<Hardware>,
    stack: DefaultStack,
) -> Fibre {
    let task = state.task_on(core);
    let worker = state.turn_on(core);
    let state: *const State = state;
    let program: *const (dyn Program<Hardware> + '_) = program;
    // SAFETY: only the lifetime changes: all coroutines are taken apart before the program's borrow ends.
    let program: *const dyn Program<Hardware> = unsafe { std::mem::transmute(program) };
    Coroutine::with_stack(stack, move |yielder, ()| {
        // SAFETY: the state outlives the coroutine, which `run_cores` takes apart before it returns; so does the program.
        let (state, run) = unsafe { (&*state, &*program) };
        state.workers.borrow_mut()[worker as usize].yielder = yielder;
        let hardware = Hardware { state, program };
        let result = catch_unwind(AssertUnwindSafe(|| run.run(&hardware, &task)));
        let goes_on = catch_unwind(AssertUnwindSafe(|| {
            state.task_ended(result);
            if !state.halted.get() {
                let chosen = state.next_core();
                state.take_over(chosen);
            }
        }));
        if let Err(payload) = goes_on {
            state.ends_by_panic(&*payload);
        }
    })
}

impl State {
    /// The execution of a core has not begun; it does now.
    fn starts(&self, core: u32) -> bool {
        let Some(swarm) = self.swarm.get() else { return false };
        std::mem::take(&mut swarm.borrow_mut().cores[core as usize].starts)
    }

    /// The last global virtual time, if tiles have heard of one after the first `told`.
    fn passed_since(&self, told: &mut usize) -> Option<Passed> {
        let units = self.swarm.get()?.borrow();
        let is_new = units.passed.len() > *told;
        *told = units.passed.len();
        units.passed.last().copied().filter(|_| is_new)
    }

    /// The task that a core runs.
    fn task_on(&self, core: u32) -> Task {
        let swarm = self.swarm.get().expect("cores run tasks");
        let mut units = swarm.borrow_mut();
        let (tile, slot) = units.running(core);
        units.units[tile].slots[slot as usize].task
    }

    /// Books as idle the time that cores did not spend on tasks.
    fn settle_tasks(&self, cores: u64) {
        let (Some(timed), Some(swarm)) = (self.timed(), self.swarm.get()) else { return };
        let mut units = swarm.borrow_mut();
        let all = cores * timed.borrow().last();
        let spent = units.counts.core_time.total();
        units.counts.core_time.idle = all.saturating_sub(spent);
        self.marks.borrow_mut().extend(&units.marks);
    }
}
