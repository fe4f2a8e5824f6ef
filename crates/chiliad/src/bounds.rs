//! Ranges of encoded keys.

use crate::key::Prefix;
use crate::key_range::KeyRange;
use crate::raw::Range;
use chiliad_engine::key::prefix_end;
use core::ops::Bound;

/// A range of encoded keys.
pub(crate) struct Bounds {
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>) -> Bound<()>) -> Bound<Vec<u8>> {
    let mut key = Vec::new();
    encode(&mut key).map(|()| key)
}

/// Where the keys that begin with `prefix` end.
fn above(prefix: &[u8]) -> Bound<Vec<u8>> {
    prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded)
}

impl Bounds {
    pub fn of<K>(range: &impl KeyRange<K>) -> Self {
        Self {
            low: encoded(|key| range.encode_low(key)),
            high: encoded(|key| range.encode_high(key)),
        }
    }

    pub fn of_prefix<K>(prefix: &(impl Prefix<K> + ?Sized)) -> Self {
        let mut low = Vec::new();
        prefix.encode_prefix(&mut low);
        Self { high: above(&low), low: Bound::Included(low) }
    }

    /// Index keys go on with the primary key: a bound stands for all of them that begin with it.
    pub fn of_leading(self) -> Self {
        let high = match self.high {
            Bound::Included(key) => above(&key),
            other => other,
        };
        let low = match self.low {
            Bound::Excluded(key) => prefix_end(&key).map_or(Bound::Excluded(key), Bound::Included),
            other => other,
        };
        Self { low, high }
    }

    /// Cuts off the part of the range that a scan has read, up to and with `key`.
    pub fn go_on_after(&mut self, key: Vec<u8>, reverse: bool) {
        let bound = if reverse { &mut self.high } else { &mut self.low };
        *bound = Bound::Excluded(key);
    }

    pub fn range(&self, reverse: bool, limit: usize) -> Range<'_> {
        Range {
            low: self.low.as_ref().map(Vec::as_slice),
            high: self.high.as_ref().map(Vec::as_slice),
            reverse,
            limit,
        }
    }

    /// Whether no key can lie in the range, as in `5..3`.
    pub fn is_empty(&self) -> bool {
        use Bound::{Excluded, Included};
        match (&self.low, &self.high) {
            (Included(low), Included(high)) => low > high,
            (Included(low) | Excluded(low), Included(high) | Excluded(high)) => low >= high,
            _ => false,
        }
    }
}
