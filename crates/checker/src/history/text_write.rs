//! The text form, written: what `text_read` reads, and the operations in an anomaly's explanation.
//!
//! Invariant: reading what was written gives the same history again.

use std::fmt::Write;

use super::model::{End, History, OpKind, Scan, Transaction};

pub(super) fn write(history: &History) -> String {
    let mut out = String::new();
    for (id, name) in &history.header.tables {
        line(&mut out, format_args!("table {id} {}", quote(name.as_bytes())));
    }
    if history.header.tombstones_kept {
        line(&mut out, format_args!("tombstones kept"));
    }
    if !history.header.complete {
        line(&mut out, format_args!("incomplete"));
    }
    if history.transactions.is_empty() {
        line(&mut out, format_args!("empty"));
    }
    for transaction in &history.transactions {
        line(&mut out, format_args!("txn {}", describe(transaction)));
        let mut scans = history.scans_of(transaction).iter().peekable();
        let mut op = transaction.ops.start;
        loop {
            while let Some(scan) = scans.next_if(|scan| scan.entries.start == op) {
                line(&mut out, format_args!("  {}", show_scan(history, scan, quote, |_| true)));
                op = scan.entries.end;
            }
            if op == transaction.ops.end {
                break;
            }
            line(&mut out, format_args!("  {}", show_op(history, op, quote)));
            op += 1;
        }
    }
    out
}

fn line(out: &mut String, what: std::fmt::Arguments) {
    writeln!(out, "{what}").expect("a string takes all that is written");
}

/// The line that opens a transaction, without the word `txn`.
pub(crate) fn describe(transaction: &Transaction) -> String {
    let t = transaction;
    let mut out = format!("{} worker {} start {}", t.stamp, t.worker, t.start);
    if t.end != u64::MAX {
        out += &format!(" end {}", t.end);
    }
    if t.committed {
        out += &format!(" order {} epoch {}", t.order, t.epoch);
    }
    if t.snapshot {
        out += " snapshot";
    }
    out + if t.committed { " commit" } else { " abort" }
}

/// How a key or a name is shown: by [`quote`] or [`brief`].
type Show = fn(&[u8]) -> String;

/// One operation; an entry of a scan is shown as a read.
pub(crate) fn show_op(history: &History, at: u32, show: Show) -> String {
    let op = history.ops[at as usize];
    let verb = match op.kind() {
        OpKind::Read | OpKind::Entry => "r",
        OpKind::Absent | OpKind::EntryAbsent => "a",
        OpKind::Insert => "i",
        OpKind::Update => "u",
        OpKind::Remove => "d",
    };
    let table = show_table(history, history.keys.table(op.key), show);
    let key = show(history.keys.bytes(op.key));
    if !op.kind().is_write() {
        return format!("{verb} {table} {key} {}", op.seen());
    }
    let mut out = format!("{verb} {table} {key} over {}", op.stamp);
    if op.index() != 0 {
        out += &format!(" index {}", op.index());
    }
    if let Ok(found) = history.write_orders.binary_search_by_key(&at, |&(op, _)| op) {
        out += &format!(" order {}", history.write_orders[found].1);
    }
    out
}

/// A scan with those of its entries whose keys are wanted.
pub(crate) fn show_scan(
    history: &History,
    scan: &Scan,
    show: Show,
    wanted: impl Fn(u32) -> bool,
) -> String {
    let mut out = format!("s {}", show_table(history, scan.table, show));
    for (end, included, excluded) in [(scan.low, "from", "after"), (scan.high, "to", "before")] {
        match end {
            End::Unbounded => {}
            End::Included(key) => out += &format!(" {included} {}", show(history.keys.bytes(key))),
            End::Excluded(key) => out += &format!(" {excluded} {}", show(history.keys.bytes(key))),
        }
    }
    for (flag, word) in [(scan.descending, " desc"), (scan.limited, " limit")] {
        if flag {
            out += word;
        }
    }
    out += " :";
    for op in &history.ops[scan.entries.start as usize..scan.entries.end as usize] {
        if wanted(op.key) {
            let gone = if op.kind() == OpKind::Entry { "" } else { "gone " };
            out += &format!(" {} {gone}{}", show(history.keys.bytes(op.key)), op.seen());
        }
    }
    out
}

/// A table by its name, or its number where it has none.
pub(crate) fn show_table(history: &History, table: u32, show: Show) -> String {
    let named = history.header.tables.iter().find(|(id, _)| *id == table);
    named.map_or_else(|| table.to_string(), |(_, name)| quote_name(name, show))
}

/// A name stands bare only where it cannot be taken for a number.
fn quote_name(name: &str, show: Show) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        let shown = show(name.as_bytes());
        if shown.starts_with('"') { shown } else { format!("\"{shown}\"") }
    } else {
        show(name.as_bytes())
    }
}

/// A key in an explanation: what is long is cut.
pub(crate) fn brief(bytes: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 64;
    if bytes.len() <= SHOWN_BYTES_MAX {
        return quote(bytes);
    }
    format!("{}.. ({} bytes)", quote(&bytes[..SHOWN_BYTES_MAX]), bytes.len())
}

/// A key: bare where it is a plain word, else in quotes with escapes.
fn quote(bytes: &[u8]) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    format!("\"{}\"", escape(bytes))
}

fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            0x20..=0x7e => out.push(char::from(byte)),
            _ => out += &format!("\\x{byte:02x}"),
        }
    }
    out
}
