//! Which of a core's workers runs, and when its turn passes on.
//!
//! ```text
//! scheduler: which core runs        round: which of its workers runs there
//!   core 1 --------------------------> worker 1 -> worker 2 -> worker 3 -+
//!   core 2 --> worker 4                  ^-------------------------------+
//! ```
//!
//! - Most cores have a single worker, for which none of this makes a difference.
//! - A core's turn passes on only where its worker says that it waits: for memory, a moment, or
//!   asleep. A worker that stalls keeps it, and other cores run.
//! - Siblings share the core's store buffer, which a hand-over leaves as it is.
//! - A core can run while one of its workers can, and sleeps otherwise.
//! - A worker that unwinds hands on to nobody, like any core that unwinds.

use crate::config::MemoryModel;
use crate::outcome::Rule;
use crate::state::{AWAIT_EVENT, State};
use chiliad_machine::Ticks;

impl State {
    /// The worker whose turn it is on a core that can run.
    pub(crate) fn turn_on(&self, core: u32) -> u32 {
        let current = self.rounds.borrow()[core as usize].current();
        current.expect("a core that can run has a worker that can")
    }

    /// Books that a worker can run.
    pub(crate) fn admit(&self, worker: u32) {
        if self.timed().is_some() {
            self.admit_at(worker, self.time.get());
            return;
        }
        let core = self.workers.borrow()[worker as usize].core;
        if self.rounds.borrow_mut()[core as usize].join(worker) && !self.is_paused(core) {
            self.scheduler.borrow_mut().admit(core, self.core.get());
        }
    }

    /// Books that the running worker cannot run any more; whether a sibling can.
    pub(crate) fn leave_round(&self) -> bool {
        let core = self.core.get();
        let round = &mut self.rounds.borrow_mut()[core as usize];
        round.leave(self.running.get());
        let others = round.current().is_some();
        if !others {
            self.scheduler.borrow_mut().remove(core);
        }
        others
    }

    /// Whether the running worker has siblings that can run.
    pub(crate) fn has_company(&self) -> bool {
        !self.rounds.borrow()[self.core.get() as usize].is_alone()
    }

    /// Counts that a sibling takes over.
    pub(crate) fn count_hand_over(&self) {
        let mut counters = self.counters.get();
        counters.hand_overs += 1;
        self.counters.set(counters);
    }

    /// The core's turn passes to the next in the round, if there is another.
    pub(crate) fn pass_turn(&self) {
        if self.has_company() {
            self.count_hand_over();
            self.rounds.borrow_mut()[self.core.get() as usize].pass();
        }
    }

    /// The running worker waits for memory: a sibling runs, unless the memory is there or the worker
    /// keeps its turn.
    pub(crate) fn await_line(&self) {
        let mut counters = self.counters.get();
        counters.lines_awaited += 1;
        self.counters.set(counters);
        let keeps_turn = self.workers.borrow()[self.running.get() as usize].keeps_turn;
        if !keeps_turn {
            self.may_switch("a wait for memory");
        }
        if !self.is_scheduled() || !self.has_company() {
            return;
        }
        if keeps_turn {
            self.marks.borrow_mut().insert("turn kept from siblings");
            return;
        }
        if let Some(timed) = self.timed() {
            self.pass_turn();
            self.turn_passed(timed);
            return;
        }
        self.other_event(AWAIT_EVENT);
        if self.luck.borrow_mut().is_there() {
            return;
        }
        self.marks.borrow_mut().insert("sibling ran while memory came");
        self.pass_turn();
        self.switch_to(self.core.get());
    }

    /// The running worker waits for a moment: a sibling may run, and so may other cores.
    pub(crate) fn pause(&self, steady: bool) {
        self.may_switch("a pause");
        if let Some(timed) = self.timed() {
            self.timed_pause(timed, true, steady);
            return;
        }
        if self.is_scheduled() && self.has_company() {
            self.marks.borrow_mut().insert("sibling ran in a wait");
        }
        self.give_way(true);
    }

    /// The running worker waits for a moment and keeps the core: others run.
    pub(crate) fn stall(&self, steady: bool) {
        if let Some(timed) = self.timed() {
            self.timed_pause(timed, false, steady);
            return;
        }
        if self.stalls_in_vain() {
            self.breach(Rule::SpinForNobody, "spun");
        }
        self.give_way(false);
    }

    /// Lets another core run, if one can, and when this one runs again, `siblings` or not.
    pub(crate) fn give_way(&self, siblings: bool) {
        if let Some(timed) = self.timed() {
            self.timed_pause(timed, siblings, false);
            return;
        }
        self.wait_event();
        if !self.is_scheduled() {
            self.wait_in_vain();
            return;
        }
        if siblings {
            self.pass_turn();
        }
        let chosen = self.scheduler.borrow_mut().hand_on(self.event.get(), self.core.get());
        self.switch_to(chosen);
    }

    /// The core stands still until a time, as a thread does in a call of the system. `false`: the
    /// running worker has no siblings, and may as well sleep.
    pub(crate) fn stand_still(&self, until: Ticks) -> bool {
        let siblings = self.workers.borrow()[self.running.get() as usize].siblings;
        while siblings && self.now() < until {
            self.give_way(false);
        }
        siblings
    }

    /// Whether the running worker may be switched away from: not on the host's own stack, and not
    /// while it unwinds.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.running.get() != 0 && !std::thread::panicking()
    }

    /// Whether stores that other cores have made are still on their way.
    pub(crate) fn others_hold_back(&self) -> bool {
        self.config.memory_model == MemoryModel::Tso
            && self.buffers.borrow().others_hold(self.core.get())
    }
}
