//! Memory outside of any task, and its end.

use chiliad_machine::Machine;
use chiliad_machine::tasks::{LinePool, Lines};
use core::ptr::NonNull;

/// The machine has no more memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoMemory;

/// Memory outside of any task: taken and given back at once.
pub(crate) struct Memory<'p, M: Machine>(pub(crate) &'p LinePool<M>);

impl<M: Machine> Lines for Memory<'_, M> {
    type Machine = M;

    fn alloc(&self, lines: usize) -> Option<NonNull<M::Word>> {
        self.0.take(lines)
    }

    unsafe fn free(&self, block: NonNull<M::Word>, lines: usize) {
        // SAFETY: the caller vouches for it.
        unsafe { self.0.give(block, lines) };
    }

    fn trap(&self, why: &'static str) -> ! {
        panic!("outside of any task: {why}")
    }
}
