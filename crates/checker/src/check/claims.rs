//! The claimed order along reads, for schemes that promise that it grows along them.
//!
//! A scheme whose order is that of its dependencies gives every writer a greater one than all that
//! it read (Tu, 2013, 4.2). No cycle shows where it fails: each key's own versions may still be in
//! order. What was already there when the history began has no order, an absence is named by nothing
//! that a scheme must have kept, and a transaction that writes nothing takes no place.

use super::edges::Derived;
use super::findings::{Findings, show_key};
use super::stamps::Writer;
use crate::anomaly::Class;

/// Reports each read of a version whose writer claims no lesser order than the reader, a writer too.
pub(crate) fn check_reads(derived: &Derived<'_>, findings: &mut Findings<'_>) {
    let history = derived.history;
    for (number, reader) in history.transactions.iter().enumerate() {
        let ops = &history.ops[reader.op_range()];
        if !reader.committed || !ops.iter().any(|op| op.kind().is_write()) {
            continue;
        }
        for op in ops.iter().filter(|op| op.kind().is_present() && op.stamp != reader.stamp) {
            let Writer::Committed(writer) = derived.stamps.get(op.stamp) else { continue };
            let Some(version) = derived.versions.find(op.key, writer) else { continue };
            let claimed = derived.versions.order(history, version);
            if claimed < reader.order {
                continue;
            }
            findings.direct(Class::OrderReversal, &[number as u32, writer], &[op.key], || {
                let (key, own) = (show_key(history, op.key), reader.order);
                format!("{key}: a version of order {claimed} was read by a writer of order {own}")
            });
        }
    }
}
