//! No-yield sections, *sections* for short, and the verdict on a worker that breaks their rules.
//!
//! A section brackets a latch or a commit window ([`chiliad_machine::Machine::enter_section`]). What
//! holds with several transactions on each thread is checked in every run, with siblings or without:
//!
//! - no worker lets a sibling run, or sleeps, in a section (one that keeps its turn may wait for memory);
//! - sections that begin end, and no others do;
//! - a worker that spins without letting a sibling run waits for one in a section, on another core. This is
//!   judged where the spin waits, before any other worker can run; a store that is still in another core's
//!   buffer counts as a section that has not ended.
//!
//! Nothing is judged outside the schedule, while unwinding, and once the run is told to end.

use crate::outcome::{Breach, Rule, Trace, Verdict};
use crate::state::{State, Worker};
use chiliad_machine::WorkerId;

/// Waits of one spin with no worker in a section after which it is clear that it waits for none. A rightful
/// spin has next to no such waits: the worker that it waits for was in a section a moment ago.
const VAIN_STALLS_MAX: u32 = 1_000;

impl State {
    fn with_running<R>(&self, f: impl FnOnce(&mut Worker) -> R) -> R {
        f(&mut self.workers.borrow_mut()[self.running.get() as usize])
    }

    fn is_judged(&self) -> bool {
        self.is_scheduled() && !self.ending.get()
    }

    /// The running worker begins a section.
    pub(crate) fn enter_section(&self) {
        self.no_task("a section");
        let outermost = self.with_running(|worker| {
            worker.sections += 1;
            worker.vain_stalls = 0;
            worker.sections == 1
        });
        self.in_sections.set(self.in_sections.get() + u32::from(outermost));
    }

    /// The running worker ends a section.
    pub(crate) fn leave_section(&self) {
        let left = self.with_running(|worker| {
            worker.vain_stalls = 0;
            worker.sections = worker.sections.checked_sub(1)?;
            Some(worker.sections)
        });
        match left {
            Some(0) => self.in_sections.set(self.in_sections.get() - 1),
            Some(_) => {}
            None if self.is_judged() => {
                self.breach(Rule::UnbalancedSection, "ended what had not begun")
            }
            None => {}
        }
    }

    /// The running worker is about to let a sibling run, if it has one.
    pub(crate) fn may_switch(&self, what: &'static str) {
        let sections = self.with_running(|worker| {
            worker.vain_stalls = 0;
            worker.sections
        });
        if sections > 0 && self.is_judged() {
            self.breach(Rule::SwitchInSection, what);
        }
    }

    /// The running worker spins: whether it has done so too often with no worker in a section.
    pub(crate) fn stalls_in_vain(&self) -> bool {
        let held = self.others_hold_back();
        let vain = self.with_running(|worker| {
            let others = self.in_sections.get() > u32::from(worker.sections > 0);
            worker.vain_stalls += u32::from(!others && !held);
            worker.vain_stalls
        });
        vain >= VAIN_STALLS_MAX && self.is_judged()
    }

    /// The running worker has returned: whether in a section, which is the verdict then.
    pub(crate) fn returned_in_section(&self) -> bool {
        let found = self.with_running(|worker| worker.sections > 0) && self.is_judged();
        if found {
            self.note(self.breached(Rule::UnbalancedSection, "returned without an end"));
        }
        found
    }

    /// The running worker has broken a rule: the run ends here.
    #[cold]
    #[inline(never)]
    pub(crate) fn breach(&self, rule: Rule, what: &'static str) -> ! {
        self.note(self.breached(rule, what));
        self.halt();
    }

    fn breached(&self, rule: Rule, what: &'static str) -> Verdict {
        Verdict::RuleBroken(Box::new(Breach {
            rule,
            what,
            worker: WorkerId(self.running.get()),
            name: self.with_running(|worker| worker.name.clone()),
            event: self.event.get(),
            trace: Trace::capture(),
        }))
    }
}
