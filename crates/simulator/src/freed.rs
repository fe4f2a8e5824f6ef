//! Freeing and poisoning, and the verdict on a worker that touches what is freed, poisoned or another host's.
//!
//! - Closing memory makes the stores to it visible first, so that no buffer holds a store to it.
//! - The stack of the access is captured at once; that of the free only in a run that was asked for
//!   it, since it is not known beforehand which free will matter. A run repeats, so that costs one more.

use crate::host::Host;
use crate::outcome::{Access, ForeignAccess, Freed, Trace, UseOfFreedMemory, Verdict};
use crate::region::{Closed, Closing};
use crate::state::State;
use chiliad_machine::WorkerId;
use std::alloc::Layout;

impl State {
    fn closing(&self, poisoned: bool) -> Closing {
        if self.config.trace_free == Some(self.region.next_serial()) {
            self.free_trace.replace(Some(Trace::capture()));
        }
        let (worker, event) = (WorkerId(self.running.get()), self.event.get());
        Closing { worker, event, poisoned, owner: Host::default() }
    }

    /// Frees a block at a host address.
    pub(crate) fn free(&self, host: usize, layout: Layout) {
        let offset = self.region.offset(host);
        self.drain_range(host, host + layout.size());
        self.digest_address(Access::Free, offset as u64);
        if matches!(self.region.closed(offset), Some(Closed::Foreign(_))) {
            self.stray(offset, Access::Free);
        }
        if !self.region.free(offset, layout, self.closing(false)) {
            self.stray(offset, Access::Free);
        }
    }

    /// Poisons or unpoisons memory at a host address.
    pub(crate) fn poison(&self, host: usize, bytes: usize, poison: bool) {
        let offset = self.region.offset(host);
        self.digest_address(Access::Poison, offset as u64);
        let freed = match self.region.closed(offset) {
            None => false,
            Some(Closed::Foreign(_)) => {
                self.stray(offset, Access::Poison);
                false
            }
            Some(Closed::NeverAllocated) => true,
            Some(Closed::By(serial)) => {
                self.region.closing(serial).is_none_or(|closing| !closing.poisoned)
            }
        };
        if freed {
            self.stray(offset, Access::Poison);
            return;
        }
        if poison {
            self.drain_range(host, host + bytes);
            self.region.poison(offset, offset + bytes, self.closing(true));
        } else {
            self.region.unpoison(offset, offset + bytes);
        }
    }

    /// An access to memory that must not be accessed: the run's verdict.
    #[cold]
    #[inline(never)]
    pub(crate) fn stray(&self, offset: usize, access: Access) {
        if !self.region.contains(offset) {
            if std::thread::panicking() {
                return;
            }
            panic!(
                "{access:?} of a shared word outside the run's memory: shared words live in memory \
                 obtained from Machine::alloc, and no longer than the run"
            );
        }
        if let Some(Closed::Foreign(owner)) = self.region.closed(offset) {
            self.trespass(owner, offset, access);
            return;
        }
        let worker = self.running.get();
        let name = |worker: u32| self.workers.borrow()[worker as usize].name.clone();
        let freed = match self.region.closed(offset) {
            Some(Closed::By(serial)) => self.region.closing(serial).map(|closing| Freed {
                serial,
                worker: closing.worker,
                name: name(closing.worker.0),
                event: closing.event,
                poisoned: closing.poisoned,
                trace: self
                    .free_trace
                    .borrow()
                    .clone()
                    .filter(|_| self.config.trace_free == Some(serial)),
            }),
            _ => None,
        };
        let report = UseOfFreedMemory {
            address: offset as u64,
            access,
            worker: WorkerId(worker),
            name: name(worker),
            event: self.event.get(),
            trace: Trace::capture(),
            freed,
        };
        let said = report.to_string();
        self.verdict.borrow_mut().get_or_insert(Verdict::UseOfFreedMemory(Box::new(report)));
        if std::thread::panicking() {
            // The core cannot be left here without leaving the host thread panicking for good. The
            // region stays mapped, so the access harms nobody; the run ends when the core does.
            return;
        }
        if worker == 0 {
            panic!("{said}");
        }
        self.halt();
    }

    /// An access to another host's memory: the run's verdict. The host's own stack may look at all.
    fn trespass(&self, owner: Host, offset: usize, access: Access) {
        let worker = self.running.get();
        if worker == 0 {
            return;
        }
        self.note(Verdict::ForeignMemory(Box::new(ForeignAccess {
            host: self.host(),
            owner,
            address: offset as u64,
            access,
            worker: WorkerId(worker),
            name: self.workers.borrow()[worker as usize].name.clone(),
            event: self.event.get(),
            trace: Trace::capture(),
        })));
        // As for freed memory, a core that unwinds cannot be left here.
        if !std::thread::panicking() {
            self.halt();
        }
    }
}
