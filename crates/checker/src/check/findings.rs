//! Anomalies that need no cycle, and the words for all of them.
//!
//! Invariant: text is made only for anomalies that are kept, since a broken engine may produce one
//! for every operation.

use crate::anomaly::{Anomaly, Class};
use crate::history::History;
use crate::history::keys::KeyId;
use crate::history::model::{End, Scan};
use crate::history::text_write::{brief, describe, show_op, show_scan, show_table};
use crate::verdict::Verdict;

/// Collects what is found into the verdict.
pub(crate) struct Findings<'a> {
    pub(crate) history: &'a History,
    pub(crate) verdict: Verdict,
    /// How many anomalies of each class are kept.
    pub(crate) keep: usize,
}

impl Findings<'_> {
    /// An anomaly that shows in a single place.
    pub(crate) fn direct(
        &mut self,
        class: Class,
        transactions: &[u32],
        keys: &[KeyId],
        what: impl FnOnce() -> String,
    ) {
        let kept = self.wants(class);
        let text = if kept {
            let shown = transactions.iter().map(|&t| show_transaction(self.history, t, keys));
            format!("  {}\n{}", what(), shown.collect::<String>())
        } else {
            String::new()
        };
        let stamps = transactions.iter().map(|&t| self.history.transactions[t as usize].stamp);
        let transactions = if kept { stamps.collect() } else { Vec::new() };
        let anomaly = Anomaly { class, violation: false, cycle: Vec::new(), transactions, text };
        self.verdict.add(anomaly, self.keep, false);
    }

    /// Whether another anomaly of this class would be kept.
    pub(crate) fn wants(&self, class: Class) -> bool {
        self.verdict.count(class) < self.keep as u64
    }
}

/// A key with its table, for people.
pub(crate) fn show_key(history: &History, key: KeyId) -> String {
    let table = show_table(history, history.keys.table(key), brief);
    format!("{table} {}", brief(history.keys.bytes(key)))
}

/// A transaction with those of its operations that touch one of the keys.
pub(crate) fn show_transaction(history: &History, number: u32, keys: &[KeyId]) -> String {
    const SHOWN_MAX: usize = 40;
    let transaction = &history.transactions[number as usize];
    let mut lines = Vec::new();
    let mut scans = history.scans_of(transaction).iter().peekable();
    let mut op = transaction.ops.start;
    loop {
        while let Some(scan) = scans.next_if(|scan| scan.entries.start == op) {
            if keys.iter().any(|&key| covers(history, scan, key)) {
                lines.push(show_scan(history, scan, brief, |key| keys.contains(&key)));
            }
            op = scan.entries.end;
        }
        if op == transaction.ops.end {
            break;
        }
        if keys.contains(&history.ops[op as usize].key) {
            lines.push(show_op(history, op, brief));
        }
        op += 1;
    }
    let mut out = format!("  txn {}\n", describe(transaction));
    let more = lines.len().saturating_sub(SHOWN_MAX);
    for line in lines.iter().take(SHOWN_MAX) {
        out += &format!("    {line}\n");
    }
    if more > 0 {
        out += &format!("    ({more} more)\n");
    }
    out
}

/// The key lies between the bounds of the scan, or was returned by it.
fn covers(history: &History, scan: &Scan, key: KeyId) -> bool {
    let keys = &history.keys;
    let bytes = keys.bytes(key);
    let entries = &history.ops[scan.entries.start as usize..scan.entries.end as usize];
    if entries.iter().any(|op| op.key == key) {
        return true;
    }
    let above = match scan.low {
        End::Unbounded => true,
        End::Included(low) => bytes >= keys.bytes(low),
        End::Excluded(low) => bytes > keys.bytes(low),
    };
    let below = match scan.high {
        End::Unbounded => true,
        End::Included(high) => bytes <= keys.bytes(high),
        End::Excluded(high) => bytes < keys.bytes(high),
    };
    keys.table(key) == scan.table && above && below
}
