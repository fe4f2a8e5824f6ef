//! The ways to falsify a history. Each operator makes every mutant that it can.

use super::model::{Key, Kind, Model, Op, Read, Scan, Stamp, Transaction, Version, Write_};
use std::collections::BTreeSet;

pub struct Operator {
    pub name: &'static str,
    pub apply: fn(&Model) -> Vec<Model>,
}

const fn operator(name: &'static str, apply: fn(&Model) -> Vec<Model>) -> Operator {
    Operator { name, apply }
}

pub const ALL: &[Operator] = &[
    operator("drop a transaction", drop_transaction),
    operator("duplicate a transaction", |m| duplicate_transaction(m, false)),
    operator("duplicate a transaction, under a stamp of its own", |m| {
        duplicate_transaction(m, true)
    }),
    operator("drop a write", |m| drop_op(m, |op| matches!(op, Op::Write(_)))),
    operator("drop a read", |m| drop_op(m, |op| matches!(op, Op::Read(_)))),
    operator("drop a scan", |m| drop_op(m, |op| matches!(op, Op::Scan(_)))),
    operator("duplicate a write", |m| duplicate_op(m, |op| matches!(op, Op::Write(_)))),
    operator("duplicate a read", |m| duplicate_op(m, |op| matches!(op, Op::Read(_)))),
    operator("give a write to another transaction", |m| {
        move_op(m, |op| matches!(op, Op::Write(_)))
    }),
    operator("give a read to another transaction", |m| {
        move_op(m, |op| !matches!(op, Op::Write(_)))
    }),
    operator("swap two versions", swap_versions),
    operator("change the kind of a write", change_kind),
    operator("change the version overwritten", change_overwritten),
    operator("change the index of a write", |m| each_write(m, |w| vec![with_index(w)])),
    operator("change the key of a write", change_written_key),
    operator("change the version read", change_read),
    operator("change the index read", change_index_read),
    operator("turn absence into presence, or back", flip_presence),
    operator("change the key of a read", change_read_key),
    operator("widen a range", widen_range),
    operator("narrow a range", narrow_range),
    operator("turn a scan around", |m| each_scan(m, |s| vec![with(s, |s| s.descending ^= true)])),
    operator("change a limit", |m| each_scan(m, |s| vec![with(s, |s| s.limited ^= true)])),
    operator("remove a row from a range", remove_row),
    operator("add a row to a range", add_row),
    operator("swap two rows of a range", swap_rows),
    operator("swap two transactions' times", swap_times),
    operator("move a transaction in time", move_in_time),
    operator("commit what was aborted, or back", |m| each_transaction(m, |t| t.committed ^= true)),
    operator("swap two claimed orders", swap_orders),
    operator("claim another's order", claim_order),
    operator("claim another order for a write", claim_write_order),
    operator("swap two stamps", swap_stamps),
    operator("change a stamp", |m| each_transaction(m, |t| t.stamp = FRESH.to_owned())),
    operator("take a snapshot, or none", |m| each_transaction(m, |t| t.snapshot ^= true)),
    operator("keep tombstones, or not", |m| vec![with(m, |m| m.kept ^= true)]),
    operator("cut the recording short, or not", |m| vec![with(m, |m| m.incomplete ^= true)]),
];

/// A stamp that no history of the set has.
const FRESH: &str = "999";

fn with<T: Clone>(of: &T, change: impl FnOnce(&mut T)) -> T {
    let mut copy = of.clone();
    change(&mut copy);
    copy
}

fn each_transaction(model: &Model, change: impl Fn(&mut Transaction)) -> Vec<Model> {
    let all = 0..model.transactions.len();
    all.map(|n| with(model, |m| change(&mut m.transactions[n]))).collect()
}

/// The places of all operations.
fn places(model: &Model) -> Vec<(usize, usize)> {
    let numbered = model.transactions.iter().enumerate();
    numbered.flat_map(|(n, t)| (0..t.ops.len()).map(move |at| (n, at))).collect()
}

/// Each operation replaced by each of its variants.
fn each_op(model: &Model, variants: impl Fn(&Transaction, &Op) -> Vec<Op>) -> Vec<Model> {
    let mut mutants = Vec::new();
    for (n, at) in places(model) {
        let t = &model.transactions[n];
        for variant in variants(t, &t.ops[at]) {
            mutants.push(with(model, |m| m.transactions[n].ops[at] = variant));
        }
    }
    mutants
}

fn each_write(model: &Model, variants: impl Fn(&Write_) -> Vec<Write_>) -> Vec<Model> {
    each_op(model, |_, op| match op {
        Op::Write(write) => variants(write).into_iter().map(Op::Write).collect(),
        _ => Vec::new(),
    })
}

fn each_scan(model: &Model, variants: impl Fn(&Scan) -> Vec<Scan>) -> Vec<Model> {
    each_op(model, |_, op| match op {
        Op::Scan(scan) => variants(scan).into_iter().map(Op::Scan).collect(),
        _ => Vec::new(),
    })
}

/// Point reads and the entries of scans.
fn each_read(model: &Model, variants: impl Fn(&Read) -> Vec<Read>) -> Vec<Model> {
    each_op(model, |_, op| match op {
        Op::Read(read) => variants(read).into_iter().map(Op::Read).collect(),
        Op::Scan(scan) => {
            let entries = scan.entries.iter().enumerate();
            let changed = entries.flat_map(|(at, entry)| {
                let variants = variants(entry).into_iter();
                variants.map(move |entry| with(scan, |s| s.entries[at] = entry))
            });
            changed.map(Op::Scan).collect()
        }
        Op::Write(_) => Vec::new(),
    })
}

fn stamps(model: &Model) -> Vec<Stamp> {
    let known = model.transactions.iter().map(|t| t.stamp.clone());
    known.chain(["0".to_owned(), FRESH.to_owned()]).collect()
}

fn keys(model: &Model) -> BTreeSet<Key> {
    let reads = model.transactions.iter().flat_map(|t| t.reads()).map(|read| read.key.clone());
    let writes = model.transactions.iter().flat_map(|t| t.writes()).map(|write| write.key.clone());
    reads.chain(writes).collect()
}

fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}

fn drop_transaction(model: &Model) -> Vec<Model> {
    let all = 0..model.transactions.len();
    all.map(|n| with(model, |m| drop(m.transactions.remove(n)))).collect()
}

fn duplicate_transaction(model: &Model, own_stamp: bool) -> Vec<Model> {
    let copy = |n: usize| {
        with(&model.transactions[n], |t| {
            if own_stamp {
                t.stamp = FRESH.to_owned();
            }
        })
    };
    let all = 0..model.transactions.len();
    all.map(|n| with(model, |m| m.transactions.push(copy(n)))).collect()
}

fn drop_op(model: &Model, wanted: impl Fn(&Op) -> bool) -> Vec<Model> {
    let all = places(model).into_iter().filter(|&(n, at)| wanted(&model.transactions[n].ops[at]));
    all.map(|(n, at)| with(model, |m| drop(m.transactions[n].ops.remove(at)))).collect()
}

fn duplicate_op(model: &Model, wanted: impl Fn(&Op) -> bool) -> Vec<Model> {
    let all = places(model).into_iter().filter(|&(n, at)| wanted(&model.transactions[n].ops[at]));
    let copied = all.map(|(n, at)| {
        let copy = model.transactions[n].ops[at].clone();
        with(model, |m| m.transactions[n].ops.push(copy))
    });
    copied.collect()
}

fn move_op(model: &Model, wanted: impl Fn(&Op) -> bool) -> Vec<Model> {
    let mut mutants = Vec::new();
    for (n, at) in places(model) {
        if !wanted(&model.transactions[n].ops[at]) {
            continue;
        }
        for to in (0..model.transactions.len()).filter(|&to| to != n) {
            mutants.push(with(model, |m| {
                let op = m.transactions[n].ops.remove(at);
                m.transactions[to].ops.push(op);
            }));
        }
    }
    mutants
}

/// Two writes of a key say of each other's predecessor that they replaced it.
fn swap_versions(model: &Model) -> Vec<Model> {
    let writes: Vec<(usize, usize, &Write_)> = places(model)
        .into_iter()
        .filter_map(|(n, at)| match &model.transactions[n].ops[at] {
            Op::Write(write) => Some((n, at, write)),
            _ => None,
        })
        .collect();
    let mut mutants = Vec::new();
    for (a, b) in pairs(writes.len()) {
        let ((n, at, first), (m, to, second)) = (writes[a], writes[b]);
        if first.key == second.key && first.over != second.over {
            let earlier = with(first, |w| w.over = second.over.clone());
            let later = with(second, |w| w.over = first.over.clone());
            mutants.push(with(model, |model| {
                model.transactions[n].ops[at] = Op::Write(earlier);
                model.transactions[m].ops[to] = Op::Write(later);
            }));
        }
    }
    mutants
}

fn change_kind(model: &Model) -> Vec<Model> {
    each_write(model, |write| {
        let others = Kind::ALL.into_iter().filter(|&kind| kind != write.kind);
        others.map(|kind| with(write, |w| w.kind = kind)).collect()
    })
}

fn change_overwritten(model: &Model) -> Vec<Model> {
    each_write(model, |write| {
        let others = stamps(model).into_iter().filter(|stamp| *stamp != write.over);
        others.map(|stamp| with(write, |w| w.over = stamp)).collect()
    })
}

fn with_index(write: &Write_) -> Write_ {
    with(write, |write| write.index += 1)
}

fn change_written_key(model: &Model) -> Vec<Model> {
    each_write(model, |write| {
        let others = keys(model).into_iter().filter(|key| *key != write.key);
        others.map(|key| with(write, |w| w.key = key)).collect()
    })
}

fn change_read(model: &Model) -> Vec<Model> {
    each_read(model, |read| {
        let others = stamps(model).into_iter().filter(|stamp| *stamp != read.seen.stamp);
        others.map(|stamp| with(read, |r| r.seen = Version { stamp, index: 0 })).collect()
    })
}

fn change_index_read(model: &Model) -> Vec<Model> {
    each_read(model, |read| {
        let named = !read.seen.is_initial();
        named.then(|| with(read, |r| r.seen.index += 1)).into_iter().collect()
    })
}

fn flip_presence(model: &Model) -> Vec<Model> {
    each_read(model, |read| vec![with(read, |r| r.present ^= true)])
}

fn change_read_key(model: &Model) -> Vec<Model> {
    each_op(model, |_, op| match op {
        Op::Read(read) => {
            let others = keys(model).into_iter().filter(|key| *key != read.key);
            others.map(|key| Op::Read(with(read, |r| r.key = key))).collect()
        }
        _ => Vec::new(),
    })
}

fn widen_range(model: &Model) -> Vec<Model> {
    each_scan(model, |scan| {
        let mut wider = Vec::new();
        if scan.low.is_some() {
            wider.push(with(scan, |s| s.low = None));
        }
        if scan.high.is_some() {
            wider.push(with(scan, |s| s.high = None));
        }
        wider
    })
}

/// Up to each known key, on either side; the rows beyond it stay, or go with the range.
fn narrow_range(model: &Model) -> Vec<Model> {
    each_scan(model, |scan| {
        let known = keys(model).into_iter().filter(|key| key.table == scan.table);
        let mut narrower = Vec::new();
        for key in known.map(|key| key.bytes) {
            narrower.push(with(scan, |s| s.low = Some((key.clone(), false))));
            narrower.push(with(scan, |s| s.high = Some((key.clone(), false))));
            narrower.push(with(scan, |s| {
                s.low = Some((key.clone(), false));
                s.entries.retain(|entry| entry.key.bytes > key);
            }));
        }
        narrower
    })
}

fn remove_row(model: &Model) -> Vec<Model> {
    each_scan(model, |scan| {
        let all = 0..scan.entries.len();
        all.map(|at| with(scan, |s| drop(s.entries.remove(at)))).collect()
    })
}

/// A row of each known key that the scan did not return, in its place, of each version.
fn add_row(model: &Model) -> Vec<Model> {
    each_scan(model, |scan| {
        let mut more = Vec::new();
        let new = |key: &Key| {
            key.table == scan.table && !scan.entries.iter().any(|entry| entry.key == *key)
        };
        for key in keys(model).into_iter().filter(new) {
            let before = |entry: &Read| (entry.key.bytes < key.bytes) != scan.descending;
            let at = scan.entries.partition_point(before);
            for stamp in stamps(model) {
                let seen = Version { stamp, index: 0 };
                let row = Read { key: key.clone(), seen, present: true };
                more.push(with(scan, |s| s.entries.insert(at, row)));
            }
        }
        more
    })
}

fn swap_rows(model: &Model) -> Vec<Model> {
    each_scan(model, |scan| {
        let all = pairs(scan.entries.len());
        all.map(|(a, b)| with(scan, |s| s.entries.swap(a, b))).collect()
    })
}

fn swap_times(model: &Model) -> Vec<Model> {
    swap_two(model, |a, b| {
        std::mem::swap(&mut a.start, &mut b.start);
        std::mem::swap(&mut a.end, &mut b.end);
    })
}

/// Before all others, and after all others.
fn move_in_time(model: &Model) -> Vec<Model> {
    let ends = model.transactions.iter().filter(|t| t.end != u64::MAX).map(|t| t.end);
    let last = ends.max().unwrap_or(0);
    let first = each_transaction(model, |t| (t.start, t.end) = (0, 0));
    let behind = each_transaction(model, |t| (t.start, t.end) = (last + 1, last + 2));
    first.into_iter().chain(behind).collect()
}

fn swap_two(model: &Model, swap: impl Fn(&mut Transaction, &mut Transaction)) -> Vec<Model> {
    let swapped = pairs(model.transactions.len()).map(|(a, b)| {
        with(model, |m| {
            let (front, back) = m.transactions.split_at_mut(b);
            swap(&mut front[a], &mut back[0]);
        })
    });
    swapped.collect()
}

fn swap_orders(model: &Model) -> Vec<Model> {
    swap_two(model, |a, b| std::mem::swap(&mut a.order, &mut b.order))
}

fn claim_order(model: &Model) -> Vec<Model> {
    let mut mutants = Vec::new();
    for a in 0..model.transactions.len() {
        for b in (0..model.transactions.len()).filter(|&b| b != a) {
            let order = model.transactions[b].order;
            mutants.push(with(model, |m| m.transactions[a].order = order));
        }
    }
    mutants
}

fn claim_write_order(model: &Model) -> Vec<Model> {
    each_write(model, |write| {
        let orders: BTreeSet<u64> = model.transactions.iter().map(|t| t.order).collect();
        orders.into_iter().map(|order| with(write, |w| w.order = Some(order))).collect()
    })
}

fn swap_stamps(model: &Model) -> Vec<Model> {
    swap_two(model, |a, b| std::mem::swap(&mut a.stamp, &mut b.stamp))
}
