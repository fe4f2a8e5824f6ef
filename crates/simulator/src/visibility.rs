//! When the running core's stores become visible to the others: under total store order, by its buffer.

use crate::config::MemoryModel;
use crate::state::{FENCE_EVENT, State};
use std::sync::atomic::AtomicPtr;

impl State {
    /// Makes one store visible, if that is due.
    pub(crate) fn drain_due(&self) {
        let event = self.event.get();
        if !self.buffered.get() || self.drain_at.get() > event {
            return;
        }
        let mut buffers = self.buffers.borrow_mut();
        buffers.drain_one();
        self.buffered.set(!buffers.is_empty());
        self.drain_at.set(event + buffers.gap());
    }

    /// Whether the running core holds stores back.
    #[inline]
    fn buffers_stores(&self) -> bool {
        self.config.memory_model == MemoryModel::Tso && self.running.get() != 0
    }

    /// The value that the running core must see at a word instead of what memory holds.
    #[inline]
    pub(crate) fn forward(&self, target: *const AtomicPtr<()>) -> Option<*mut ()> {
        if !self.buffered.get() {
            return None;
        }
        self.buffers.borrow().forward(self.core.get(), target)
    }

    /// Takes a store of the running core into its buffer; `false` if it must be performed at once.
    #[inline]
    pub(crate) fn hold_back(&self, target: *const AtomicPtr<()>, value: *mut ()) -> bool {
        if !self.buffers_stores() {
            return false;
        }
        let mut buffers = self.buffers.borrow_mut();
        buffers.store(self.core.get(), target, value);
        if !self.buffered.get() && !buffers.is_empty() {
            self.buffered.set(true);
            let due = self.event.get() + buffers.gap();
            self.drain_at.set(due);
            self.next.set(self.next.get().min(due));
        }
        true
    }

    /// Makes the running core's stores visible.
    #[inline]
    pub(crate) fn drain_own(&self) {
        if self.buffered.get() {
            let mut buffers = self.buffers.borrow_mut();
            buffers.drain(self.core.get());
            self.buffered.set(!buffers.is_empty());
        }
    }

    /// Makes all stores visible.
    pub(crate) fn drain_all(&self) {
        self.buffers.borrow_mut().drain_all();
        self.buffered.set(false);
    }

    pub(crate) fn drain_range(&self, from: usize, to: usize) {
        if self.buffered.get() {
            let mut buffers = self.buffers.borrow_mut();
            buffers.drain_range(from, to);
            self.buffered.set(!buffers.is_empty());
        }
    }

    /// A fence: `own` and `all` say whose stores it makes visible.
    pub(crate) fn fence(&self, own: bool, all: bool) {
        if self.timed().is_some() {
            // Nothing is held back.
            return;
        }
        self.other_event(FENCE_EVENT);
        if all {
            self.drain_all();
        } else if own {
            self.drain_own();
        }
    }
}
