//! Stacks of fibers, pooled by the thread that uses them.
//!
//! A stack is reserved address space with a guard page below, of which only what was used takes memory.
//! Spare ones are kept with their thread, so that a group that is called together costs no system calls.
//!
//! All stacks begin at the same place within a page, and the frames of fibers that do the same then
//! fall on the same lines of a cache that is indexed by the place within a page: so each begins a
//! little further down than the one before.

use crate::{NoRoom, stacks_max};
use corosensei::stack::{DefaultStack, Stack};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a fiber's stack.
pub(super) const STACK_BYTES: usize = 512 << 10;

/// How far two neighbours' stacks are apart within a page, and over how many places they spread.
const SHIFT_BYTES: usize = 5 * 64;
const PLACES: usize = 12;

/// The greatest number of fibers that a thread can have.
pub const MEMBERS_MAX: usize = 256;

/// Spare stacks that a thread keeps.
const SPARE_MAX: usize = MEMBERS_MAX;

thread_local! {
    static SPARE: RefCell<Vec<Counted>> = const { RefCell::new(Vec::new()) };
}

/// Stacks of all threads, spare ones among them.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// One of them.
struct Counted(DefaultStack);

impl Counted {
    /// A new one; `None` if the system has no room for it.
    fn new() -> Option<Self> {
        // Relaxed, here and in the drop: nothing but the number is meant.
        let more = |count: usize| (count < stacks_max()).then_some(count + 1);
        COUNT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        match DefaultStack::new(STACK_BYTES) {
            Ok(stack) => Some(Self(stack)),
            Err(_) => {
                COUNT.fetch_sub(1, Ordering::Relaxed);
                None
            }
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A fiber's stack.
pub(super) struct FiberStack {
    /// `None` once it has been given back.
    stack: Option<Counted>,
    shift: usize,
}

impl FiberStack {
    /// A spare one, or a new one.
    pub(super) fn obtain(fiber: usize) -> Result<Self, NoRoom> {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
        let stack = match spare {
            Some(stack) => stack,
            None => Counted::new().ok_or(NoRoom { bytes: STACK_BYTES })?,
        };
        Ok(Self { stack: Some(stack), shift: fiber % PLACES * SHIFT_BYTES })
    }

    /// The page below it.
    pub(super) fn guard(&self) -> Range<usize> {
        let limit = self.inner().limit().get();
        limit..self.inner().base().get() - STACK_BYTES
    }

    /// Its end, where it begins to be used; 16-byte aligned.
    pub(super) fn base(&self) -> *mut u8 {
        core::ptr::with_exposed_provenance_mut(self.inner().base().get() - self.shift)
    }

    fn inner(&self) -> &DefaultStack {
        let Some(stack) = &self.stack else { unreachable!("given back by the drop alone") };
        &stack.0
    }
}

impl Drop for FiberStack {
    fn drop(&mut self) {
        let stack = self.stack.take();
        // A thread that ends gives its stacks back to the system.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_MAX {
                spare.extend(stack);
            }
        });
    }
}
