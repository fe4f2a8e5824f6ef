//! Shared words and links: each operation is an event, then the plain operation.
//!
//! Both hold a host atomic, accessed relaxed: the cores of a run share one host thread, so the host's
//! memory model never shows. The simulated one does: what a store's ordering means is decided here
//! (weaker than `SeqCst`: it may be held back) and in the read-modify-writes, which drain.

use crate::outcome::Access;
use crate::state::State;
use crate::timed::Access as TimedAccess;
use chiliad_machine::{Link, Ordering, Tagged, Word, bytes, words_for};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU64};

const _: () = assert!(size_of::<usize>() == 8, "the simulator runs on 64-bit hosts");

/// A simulated shared word.
#[repr(transparent)]
pub struct SimWord(AtomicU64);

impl SimWord {
    fn target(&self) -> *const AtomicPtr<()> {
        ptr::from_ref(self).cast()
    }

    /// A read-modify-write, which makes the core's earlier stores visible.
    #[inline]
    fn modify<R>(&self, mut effect: impl FnMut(&AtomicU64) -> R) -> R {
        let state = State::current();
        if let Some(timed) = state.timed() {
            let host = self.target().addr();
            return state.timed_access(timed, host, TimedAccess::Modify, || effect(&self.0));
        }
        state.access(self.target().addr(), Access::Rmw);
        state.drain_own();
        effect(&self.0)
    }
}

impl Word for SimWord {
    #[inline]
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    #[inline]
    fn load(&self, _order: Ordering) -> u64 {
        let state = State::current();
        if let Some(timed) = state.timed() {
            let load = || self.0.load(Relaxed);
            return state.timed_access(timed, self.target().addr(), TimedAccess::Read, load);
        }
        state.access(self.target().addr(), Access::Load);
        match state.forward(self.target()) {
            Some(own) => own.addr() as u64,
            None => self.0.load(Relaxed),
        }
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        let state = State::current();
        if let Some(timed) = state.timed() {
            let store = || self.0.store(value, Relaxed);
            return state.timed_access(timed, self.target().addr(), TimedAccess::Write, store);
        }
        state.access(self.target().addr(), Access::Store);
        if order == Ordering::SeqCst {
            state.drain_own();
        } else {
            let held = ptr::without_provenance_mut(value as usize);
            if state.hold_back(self.target(), held) {
                return;
            }
        }
        self.0.store(value, Relaxed);
    }

    /// In a timed run line by line.
    fn read_bytes(source: &[Self], target: &mut [u8]) {
        if State::current().timed().is_none() {
            return bytes::read(source, target);
        }
        by_lines(source, target.len(), TimedAccess::Read, |words, part| {
            for (chunk, word) in target[part].chunks_mut(8).zip(words) {
                chunk.copy_from_slice(&word.0.load(Relaxed).to_le_bytes()[..chunk.len()]);
            }
        });
    }

    /// In a timed run line by line.
    fn write_bytes(target: &[Self], source: &[u8]) {
        if State::current().timed().is_none() {
            return bytes::write(target, source);
        }
        by_lines(target, source.len(), TimedAccess::Write, |words, part| {
            for (chunk, word) in source[part].chunks(8).zip(words) {
                let mut bytes = [0; 8];
                bytes[..chunk.len()].copy_from_slice(chunk);
                word.0.store(u64::from_le_bytes(bytes), Relaxed);
            }
        });
    }

    /// In a timed run line by line, all of the source first.
    fn copy_words(target: &[Self], source: &[Self]) {
        if State::current().timed().is_none() {
            return bytes::copy(target, source);
        }
        let mut bytes = vec![0; source.len() * 8];
        Self::read_bytes(source, &mut bytes);
        Self::write_bytes(target, &bytes);
    }

    #[inline]
    fn swap(&self, value: u64, _order: Ordering) -> u64 {
        self.modify(|it| it.swap(value, Relaxed))
    }

    #[inline]
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<u64, u64> {
        self.modify(|it| it.compare_exchange(current, new, Relaxed, Relaxed))
    }

    #[inline]
    fn fetch_add(&self, value: u64, _order: Ordering) -> u64 {
        self.modify(|it| it.fetch_add(value, Relaxed))
    }

    #[inline]
    fn fetch_and(&self, value: u64, _order: Ordering) -> u64 {
        self.modify(|it| it.fetch_and(value, Relaxed))
    }

    #[inline]
    fn fetch_or(&self, value: u64, _order: Ordering) -> u64 {
        self.modify(|it| it.fetch_or(value, Relaxed))
    }

    #[inline]
    fn fetch_max(&self, value: u64, _order: Ordering) -> u64 {
        self.modify(|it| it.fetch_max(value, Relaxed))
    }
}

/// An access to the words that hold `bytes` bytes, in a timed run: `effect` is what it does to those of one
/// line and to their part of the bytes.
fn by_lines(
    words: &[SimWord],
    bytes: usize,
    access: TimedAccess,
    mut effect: impl FnMut(&[SimWord], Range<usize>),
) {
    let state = State::current();
    let mut lines = lines(words, bytes);
    let (Some(timed), Some(mut line)) = (state.timed(), lines.next()) else { return };
    let start = line.0[0].target().addr();
    // No line of a copy depends on the one before.
    let many = (start % 64 + bytes).div_ceil(64) as u64;
    if many > 1 {
        state.timed_prefetch(timed, start, many);
    }
    state.timed_lines(timed, start, access, || {
        effect(line.0, line.1.clone());
        line = lines.next()?;
        Some(line.0[0].target().addr())
    });
}

/// The words that hold `bytes` bytes, by the cache lines that they lie in, and the bytes of each.
fn lines(words: &[SimWord], bytes: usize) -> impl Iterator<Item = (&[SimWord], Range<usize>)> {
    let words = &words[..words_for(bytes)];
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = words.get(at)?;
        let in_line = (64 - first.target().addr() % 64) / 8;
        let end = (at + in_line).min(words.len());
        let part = at * 8..(end * 8).min(bytes);
        let found = &words[at..end];
        at = end;
        Some((found, part))
    })
}

/// A simulated shared pointer.
#[repr(transparent)]
pub struct SimLink<T>(AtomicPtr<T>);

impl<T> SimLink<T> {
    fn target(&self) -> *const AtomicPtr<()> {
        ptr::from_ref(self).cast()
    }

    /// As [`SimWord::modify`].
    #[inline]
    fn modify<R>(&self, mut effect: impl FnMut(&AtomicPtr<T>) -> R) -> R {
        let state = State::current();
        if let Some(timed) = state.timed() {
            let host = self.target().addr();
            return state.timed_access(timed, host, TimedAccess::Modify, || effect(&self.0));
        }
        state.access(self.target().addr(), Access::Rmw);
        state.drain_own();
        effect(&self.0)
    }
}

impl<T> Link<T> for SimLink<T> {
    #[inline]
    fn new(value: Tagged<T>) -> Self {
        Self(AtomicPtr::new(value.into_raw()))
    }

    #[inline]
    fn load(&self, _order: Ordering) -> Tagged<T> {
        let state = State::current();
        if let Some(timed) = state.timed() {
            let load = || self.0.load(Relaxed);
            return Tagged::from_raw(state.timed_access(
                timed,
                self.target().addr(),
                TimedAccess::Read,
                load,
            ));
        }
        state.access(self.target().addr(), Access::Load);
        Tagged::from_raw(match state.forward(self.target()) {
            Some(own) => own.cast(),
            None => self.0.load(Relaxed),
        })
    }

    #[inline]
    fn store(&self, value: Tagged<T>, order: Ordering) {
        let state = State::current();
        if let Some(timed) = state.timed() {
            let store = || self.0.store(value.into_raw(), Relaxed);
            return state.timed_access(timed, self.target().addr(), TimedAccess::Write, store);
        }
        state.access(self.target().addr(), Access::Store);
        let raw = value.into_raw();
        if order == Ordering::SeqCst {
            state.drain_own();
        } else if state.hold_back(self.target(), raw.cast()) {
            return;
        }
        self.0.store(raw, Relaxed);
    }

    #[inline]
    fn swap(&self, value: Tagged<T>, _order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.modify(|it| it.swap(value.into_raw(), Relaxed)))
    }

    #[inline]
    fn compare_exchange(
        &self,
        current: Tagged<T>,
        new: Tagged<T>,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<Tagged<T>, Tagged<T>> {
        let (current, new) = (current.into_raw(), new.into_raw());
        match self.modify(|it| it.compare_exchange(current, new, Relaxed, Relaxed)) {
            Ok(found) => Ok(Tagged::from_raw(found)),
            Err(found) => Err(Tagged::from_raw(found)),
        }
    }
}
