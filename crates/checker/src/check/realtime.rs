//! Real time: a transaction that ended before another started stands before it.
//!
//! All such pairs are too many. A chain of helpers stands for them, one for each end, in the order
//! of the ends:
//!
//! ```text
//!   T1 ends   T2 ends         T3 ends
//!      |         |               |
//!      v         v               v
//!      e1 -----> e2 -----------> e3          T4 starts after e2:  e2 -> T4
//! ```
//!
//! so that three edges a transaction do. Snapshot transactions read a state in the past and stand
//! outside; aborted ones are not in the graph.
//!
//! Invariant: a path from T to U through the chain exists exactly if T ended before U started.

use super::edges::Reason;
use super::ranges::MANY_KEYS;
use crate::anomaly::EdgeKind;
use crate::history::History;

/// Emits the chain; its helpers are numbered from `base`. How many there are.
pub(crate) fn emit(history: &History, base: u32, mut sink: impl FnMut(Reason)) -> u32 {
    let numbered = history.transactions.iter().enumerate();
    let timed = numbered.filter(|(_, t)| t.committed && !t.snapshot);
    let mut ends: Vec<(u64, u32)> = timed.clone().map(|(n, t)| (t.end, n as u32)).collect();
    ends.sort_unstable();
    let mut edge = |from, to| sink(Reason { from, to, key: MANY_KEYS, kind: EdgeKind::RealTime });
    for (at, &(_, transaction)) in ends.iter().enumerate() {
        let helper = base + at as u32;
        edge(transaction, helper);
        if at > 0 {
            edge(helper - 1, helper);
        }
    }
    for (number, transaction) in timed {
        let before = ends.partition_point(|&(end, _)| end < transaction.start);
        if before > 0 {
            edge(base + before as u32 - 1, number as u32);
        }
    }
    ends.len() as u32
}
