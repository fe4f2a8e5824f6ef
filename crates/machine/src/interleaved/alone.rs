//! Where stacks cannot be switched (see `switch`): a thread has one fiber, and nobody hands on.

use crate::{Idle, Machine, Native, NoRoom, Ticks, Woken, WorkerId};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::Result;

/// The greatest number of fibers that a thread can have.
pub const MEMBERS_MAX: usize = 1;

pub(super) fn worker() -> Option<WorkerId> {
    None
}

pub(super) fn park(_until: Option<Ticks>) -> Option<Woken> {
    None
}

/// Sleeps as [`Machine::park`] or [`Machine::park_until`] do. There is no sibling to give a place to.
pub fn park_for_long(until: Option<Ticks>) {
    match until {
        Some(time) => _ = Native::park_until(time),
        None => Native::park(),
    }
}

#[inline(always)]
pub(super) fn await_line(_start: *const u8, _lines: u32) {}

#[inline]
pub(super) fn hand_on() -> bool {
    false
}

pub(super) mod waiting {
    #[inline]
    pub(crate) fn give_way() -> bool {
        false
    }

    pub(crate) fn rest(_pauses: u64) -> bool {
        false
    }

    pub(crate) fn has_siblings() -> bool {
        false
    }

    #[inline]
    pub(crate) fn has_woken() {}
}

#[inline]
pub(super) fn keep_turn(_keep: bool) -> bool {
    true
}
#[inline]
pub(super) fn begun(_again: bool) {}
#[inline]
pub(super) fn ended(_finished: bool) {}
#[inline]
pub(super) fn suspended() {}
#[inline]
pub(super) fn resumed() {}
#[inline]
pub(super) fn between() {}
#[inline]
pub(super) fn enter_section() {}
#[inline]
pub(super) fn leave_section() {}

/// Runs `body` for the one fiber that a thread can have here.
///
/// # Errors
/// Never: it needs no stack.
///
/// # Panics
/// When `fibers` is not 1.
pub fn interleave<T>(
    fibers: usize,
    body: impl Fn(usize) -> T,
) -> core::result::Result<Vec<Result<T>>, NoRoom> {
    assert!(fibers == 1, "{fibers} fibers: 1");
    Ok(vec![catch_unwind(AssertUnwindSafe(|| body(0)))])
}

/// As [`interleave`]. A park of the one fiber wakes when it is woken, and not by what `idle` brings: so it sleeps by
/// `idle` itself where it has nothing to do.
///
/// # Errors
/// As for [`interleave`].
///
/// # Panics
/// As for [`interleave`].
pub fn interleave_idle<T>(
    fibers: usize,
    idle: &dyn Idle,
    body: impl Fn(usize) -> T,
) -> core::result::Result<Vec<Result<T>>, NoRoom> {
    let _ = idle;
    interleave(fibers, body)
}

/// One transaction in flight on each thread.
#[derive(Clone, Default)]
pub struct Pace(());

impl Pace {
    /// One.
    #[must_use]
    pub fn new() -> Self {
        Self(())
    }

    /// As [`interleave`].
    ///
    /// # Errors
    /// As for [`interleave`].
    ///
    /// # Panics
    /// As for [`interleave`].
    pub fn interleave<T>(
        &self,
        fibers: usize,
        body: impl Fn(usize) -> T,
    ) -> core::result::Result<Vec<Result<T>>, NoRoom> {
        interleave(fibers, body)
    }

    /// One.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        1
    }
}
