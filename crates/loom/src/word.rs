//! Words and links that loom watches.

use chiliad_machine::{Link, Ordering, Tagged, Word, bytes};
use loom::sync::atomic::{AtomicPtr, AtomicU64};

/// A word that loom watches.
pub struct LoomWord(AtomicU64);

impl Word for LoomWord {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }
    fn read_bytes(source: &[Self], target: &mut [u8]) {
        bytes::read(source, target);
    }
    fn write_bytes(target: &[Self], source: &[u8]) {
        bytes::write(target, source);
    }
    fn copy_words(target: &[Self], source: &[Self]) {
        bytes::copy(target, source);
    }
    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }
    fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.0.swap(value, order)
    }
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, success, failure)
    }
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_add(value, order)
    }
    fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_and(value, order)
    }
    fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_or(value, order)
    }
    fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_max(value, order)
    }
}

/// A link that loom watches.
pub struct LoomLink<T>(AtomicPtr<T>);

impl<T> Link<T> for LoomLink<T> {
    fn new(value: Tagged<T>) -> Self {
        Self(AtomicPtr::new(value.into_raw()))
    }
    fn load(&self, order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.0.load(order))
    }
    fn store(&self, value: Tagged<T>, order: Ordering) {
        self.0.store(value.into_raw(), order);
    }
    fn store_beside(&self, value: Tagged<T>, order: Ordering) {
        // Stores that do not happen before one another have no order here, so that an exchange may read one that has been
        // overwritten.
        self.0.swap(value.into_raw(), order);
    }
    fn swap(&self, value: Tagged<T>, order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.0.swap(value.into_raw(), order))
    }
    fn compare_exchange(
        &self,
        current: Tagged<T>,
        new: Tagged<T>,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Tagged<T>, Tagged<T>> {
        match self.0.compare_exchange(current.into_raw(), new.into_raw(), success, failure) {
            Ok(found) => Ok(Tagged::from_raw(found)),
            Err(found) => Err(Tagged::from_raw(found)),
        }
    }
}
