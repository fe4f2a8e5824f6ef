//! Buffers for the keys of removed rows, which outlive their transaction: kept from one removal to
//! the next, so that none of them allocates once there are enough.

/// Longer keys are not worth keeping room for.
const KEPT_BYTES_MAX: usize = 256;

/// A worker's spare buffers. There are never more than it once had keys in use together.
#[derive(Default)]
pub struct KeyPool {
    spare: Vec<Vec<u8>>,
}

impl KeyPool {
    /// A copy of `key`.
    pub fn take(&mut self, key: &[u8]) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        debug_assert!(buffer.is_empty(), "spare buffers are empty");
        buffer.extend_from_slice(key);
        buffer
    }

    /// A key that has served.
    pub fn give(&mut self, key: Option<Vec<u8>>) {
        if let Some(mut key) = key.filter(|key| key.capacity() <= KEPT_BYTES_MAX) {
            key.clear();
            self.spare.push(key);
        }
    }
}
