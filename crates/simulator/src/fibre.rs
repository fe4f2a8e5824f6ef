//! The coroutine of a worker, and the stacks of those that have ended, which later ones use again.

use chiliad_machine::{NoRoom, WorkerId, stacks_max};
use corosensei::Coroutine;
use corosensei::stack::DefaultStack;
use std::cell::RefCell;

/// Stacks that a host thread keeps for later runs.
const SPARE_MAX: usize = 128;

thread_local! {
    static SPARE: RefCell<Vec<(usize, DefaultStack)>> = const { RefCell::new(Vec::new()) };
}

/// A worker's coroutine.
pub(crate) type Fibre = Coroutine<(), (), ()>;

/// The body of a worker.
pub(crate) type Body = Box<dyn FnOnce()>;

/// A worker that joins a run that is going on.
pub(crate) struct Arrival {
    pub(crate) worker: WorkerId,
    pub(crate) body: Body,
    pub(crate) stack: DefaultStack,
}

/// A stack that an earlier worker has left, or a new one, where `used` are in use already.
///
/// # Errors
/// When there is no room for one.
pub(crate) fn obtain_stack(bytes: usize, used: usize) -> Result<DefaultStack, NoRoom> {
    if used >= stacks_max() {
        return Err(NoRoom { bytes });
    }
    let spare = SPARE.with_borrow_mut(|spare| {
        let found = spare.iter().rposition(|(size, _)| *size == bytes)?;
        Some(spare.swap_remove(found).1)
    });
    spare.or_else(|| DefaultStack::new(bytes).ok()).ok_or(NoRoom { bytes })
}

/// Takes a coroutine apart, which `bytes` of stack have been obtained for. Whether it had not ended: it is
/// discarded where it stands then.
pub(crate) fn take_apart(mut fibre: Fibre, bytes: usize) -> bool {
    let discarded = !fibre.done();
    if discarded {
        // SAFETY: the stack's frames are never resumed or unwound. What they own leaks; nothing else points
        // into them: cores share only the region and the host's heap, and a timed run has let go of what the
        // core has asked for.
        unsafe { fibre.force_reset() };
    }
    let stack = fibre.into_stack();
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < SPARE_MAX {
            spare.push((bytes, stack));
        }
    });
    discarded
}
