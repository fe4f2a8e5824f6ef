//! The digests of the last labels: what other servers say of theirs is compared with them.
//!
//! Every record says the newest label of its writer and the digest of all items and verdicts up to it. A server that reads the record
//! has come to that label before, from the same log, so to the same digest: if not, one of the two was shown another
//! log, or decides by other rules, and goes no further.

use crate::record::Head;
use std::collections::VecDeque;

/// Labels whose digests are kept. A writer that lags further behind is not compared.
const KEPT: usize = 1 << 16;

/// The digest after an item: of its number, whether it has changed anything, and the checksum of its bytes, after those
/// of all items before.
pub fn digest_after(before: u64, label: u64, has_committed: bool, content: u32) -> u64 {
    mix(before ^ mix(label << 1 | u64::from(has_committed)) ^ u64::from(content))
}

fn mix(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 32).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (hash ^ hash >> 29).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}

/// The digests of consecutive labels.
pub struct Digests {
    /// The label of the first.
    first: u64,
    digests: VecDeque<u64>,
}

impl Digests {
    /// Those of one label.
    pub fn new(label: u64, digest: u64) -> Self {
        Self { first: label, digests: VecDeque::from([digest]) }
    }

    /// The digest of the next label.
    pub fn push(&mut self, digest: u64) {
        self.digests.push_back(digest);
        if self.digests.len() > KEPT {
            self.digests.pop_front();
            self.first += 1;
        }
    }

    /// The label of the last.
    pub fn last(&self) -> u64 {
        self.first + self.digests.len() as u64 - 1
    }

    /// Whether a record's writer has come to the same verdicts, as far as that is known.
    pub fn agree_with(&self, head: &Head) -> bool {
        let Some(at) = head.label.checked_sub(self.first) else { return true };
        // Its writer knows a label that is not there yet, though the record comes after all that it has read.
        self.digests.get(at as usize) == Some(&head.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_compared() {
        let mut digests = Digests::new(10, 100);
        for label in 11..11 + KEPT as u64 + 5 {
            digests.push(label * 10);
        }
        let agree = |label, digest| digests.agree_with(&Head { server: 1, label, digest });
        let last = digests.last();
        assert_eq!(last, 10 + KEPT as u64 + 5);
        assert!(agree(last, last * 10) && agree(100, 1000) && agree(12, 0), "12 is not known");
        assert!(!agree(last, 0) && !agree(100, 1001) && !agree(last + 1, (last + 1) * 10));
    }
}
