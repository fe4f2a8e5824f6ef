//! From a stamp to its transaction.
//!
//! An open-addressing table with Fibonacci hashing: sequences of stamps are dense for each worker,
//! which a multiplication spreads well, and every read of the history looks one up.
//!
//! Invariant: the table is at most half full, so that a probe ends soon.

use super::findings::Findings;
use crate::anomaly::Class;
use crate::history::History;
use crate::stamp::Stamp;

/// The knowledge about a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Committed(u32),
    Aborted(u32),
    Unknown,
}

/// The transactions by stamp.
pub(crate) struct Stamps {
    stamps: Vec<u64>,
    /// `transaction << 1 | aborted`: a history numbers at most 2^31 transactions.
    values: Vec<u32>,
    shift: u32,
}

impl Stamps {
    pub(crate) fn build(history: &History, findings: &mut Findings) -> Stamps {
        let bits = (history.transactions.len() * 2).next_power_of_two().trailing_zeros().max(4);
        let size = 1 << bits;
        let mut map = Stamps { stamps: vec![0; size], values: vec![0; size], shift: 64 - bits };
        for (number, transaction) in history.transactions.iter().enumerate() {
            let number = number as u32;
            let at = map.slot(transaction.stamp);
            if map.stamps[at] == 0 {
                map.stamps[at] = transaction.stamp.0;
                map.values[at] = number << 1 | u32::from(!transaction.committed);
            } else {
                let other = map.values[at] >> 1;
                findings.direct(Class::Malformed, &[other, number], &[], || {
                    format!("two transactions have the stamp {}", transaction.stamp)
                });
            }
        }
        map
    }

    /// The transaction of a stamp other than the initial one.
    #[inline]
    pub(crate) fn get(&self, stamp: Stamp) -> Writer {
        let at = self.slot(stamp);
        let (known, value) = (self.stamps[at], self.values[at]);
        match (known, value & 1) {
            (0, _) => Writer::Unknown,
            (_, 0) => Writer::Committed(value >> 1),
            _ => Writer::Aborted(value >> 1),
        }
    }

    /// Where the stamp is, or would be.
    #[inline]
    fn slot(&self, stamp: Stamp) -> usize {
        let mut at = (stamp.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.stamps[at] != stamp.0 && self.stamps[at] != 0 {
            at = (at + 1) & (self.stamps.len() - 1);
        }
        at
    }
}
