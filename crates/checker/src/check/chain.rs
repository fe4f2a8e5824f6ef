//! Links the versions of each key into the order in which they replaced each other.
//!
//! The order comes from what each write says it overwrote. The claimed order settles two things
//! that this leaves open:
//!
//! - *Lives.* A record that is inserted where nothing is left of it overwrites "nothing", be that
//!   the absence from the start or an unlinked tombstone. So several inserts of a key may be over
//!   the initial state, and each but the first begins a new life after the tombstone that ended
//!   another. Which followed which, the claimed order says. If it lies, it does not grow along the
//!   versions either, so that no sound history is blamed.
//! - *Insertions*, where the options allow them: multi-version timestamp ordering may place a blind
//!   write before a version that exists already.
//!
//! Invariant: what is linked agrees with `Versions`; each disagreement of the history with itself
//! is reported once, here.

use super::Options;
use super::findings::{Findings, show_key};
use super::stamps::{Stamps, Writer};
use super::versions::{NONE, Versions};
use crate::anomaly::Class;
use crate::history::History;
use crate::history::keys::KeyId;
use crate::stamp::Stamp;

/// Links all versions and reports what does not fit.
pub(crate) fn link(
    versions: &mut Versions,
    history: &History,
    stamps: &Stamps,
    options: &Options,
    findings: &mut Findings,
) {
    let kept = history.header.tombstones_kept;
    let mut linker = Linker { versions, history, stamps, findings };
    for key in 0..history.keys.len() as KeyId {
        if linker.versions.of(key).is_empty() {
            continue;
        }
        let contested = linker.link_key(key);
        if contested && options.version_insertion {
            linker.arrange_by_order(key);
        } else if contested || linker.inserted_over_record(key) {
            linker.settle(key, kept);
        }
        linker.check_order(key);
        linker.check_kinds(key);
    }
    linker.versions.forks.sort_unstable();
}

struct Linker<'a, 'h> {
    versions: &'a mut Versions,
    history: &'a History,
    stamps: &'a Stamps,
    findings: &'a mut Findings<'h>,
}

impl Linker<'_, '_> {
    /// Links each version to the one that it overwrote. True if one was overwritten twice.
    fn link_key(&mut self, key: KeyId) -> bool {
        let mut contested = false;
        let mut before = NONE;
        for version in self.versions.of(key) {
            let writer = self.versions.writes[version as usize].writer;
            if writer == before {
                self.findings.direct(Class::Malformed, &[writer], &[key], || {
                    format!("one transaction wrote {} twice", show_key(self.history, key))
                });
            }
            before = writer;
            let prev = self.overwritten(key, version);
            if prev == NONE {
                continue;
            }
            self.versions.prev[version as usize] = prev;
            if self.versions.next(prev) == NONE {
                self.versions.set_next(prev, version);
            } else {
                contested = true;
            }
        }
        contested
    }

    /// The node that a version overwrote, or `NONE` with a finding.
    fn overwritten(&mut self, key: KeyId, version: u32) -> u32 {
        let write = self.versions.writes[version as usize];
        let over = self.history.ops[write.op as usize].stamp;
        if over == Stamp::INITIAL {
            return self.versions.initial(key);
        }
        let (class, parties) = match self.stamps.get(over) {
            Writer::Committed(writer) if writer == write.writer => {
                (Class::Malformed, vec![write.writer])
            }
            Writer::Committed(writer) => match self.versions.find(key, writer) {
                Some(prev) => return prev,
                None => (Class::BrokenChain, vec![write.writer, writer]),
            },
            Writer::Aborted(writer) => (Class::G1a, vec![write.writer, writer]),
            Writer::Unknown => (Class::BrokenChain, vec![write.writer]),
        };
        self.findings.direct(class, &parties, &[key], || {
            let key = show_key(self.history, key);
            match class {
                Class::Malformed => format!("a write of {key} overwrote itself"),
                Class::G1a => format!("{key}: the version of the aborted {over} was overwritten"),
                _ => format!("{key}: the version {over} was overwritten and never committed"),
            }
        });
        NONE
    }

    /// The first version is an insert, though the record was there.
    fn inserted_over_record(&self, key: KeyId) -> bool {
        let first = self.versions.next(self.versions.initial(key));
        self.versions.present.get(key)
            && first != NONE
            && self.versions.writes[first as usize].is_insert()
    }

    /// A key with a version that was overwritten twice: forks, or several lives.
    fn settle(&mut self, key: KeyId, tombstones_kept: bool) {
        let initial = self.versions.initial(key);
        let mut links: Vec<(u32, u64, u32)> = Vec::new();
        for version in self.versions.of(key) {
            let order = self.versions.order(self.history, version);
            links.push((self.versions.prev[version as usize], order, version));
        }
        links.sort_unstable();
        for siblings in links.chunk_by(|a, b| a.0 == b.0) {
            let node = siblings[0].0;
            let versions: Vec<u32> = siblings.iter().map(|&(_, _, version)| version).collect();
            if node == initial {
                self.settle_roots(key, versions, tombstones_kept);
            } else if node != NONE {
                self.fork(key, node, &versions);
            }
        }
    }

    /// The versions over the initial state, in claimed order: forks of it, or births.
    fn settle_roots(&mut self, key: KeyId, roots: Vec<u32>, tombstones_kept: bool) {
        let initial = self.versions.initial(key);
        let present = self.versions.present.get(key);
        self.versions.set_next(initial, NONE);
        if tombstones_kept && !present {
            return self.fork(key, initial, &roots);
        }
        let is_insert = |&version: &u32| self.versions.writes[version as usize].is_insert();
        let (mut births, continued): (Vec<u32>, Vec<u32>) = roots.into_iter().partition(is_insert);
        // A life that did not end can only be the last.
        births
            .sort_by_key(|&birth| !self.versions.writes[self.tail(birth) as usize].is_tombstone());
        self.fork(key, initial, &continued);
        let mut tail = continued.first().map_or(initial, |&first| self.tail(first));
        for birth in births {
            let ended = self.versions.write(tail).is_some_and(|write| write.is_tombstone());
            if tail == initial && !present {
                self.versions.set_next(initial, birth);
            } else if ended && !tombstones_kept {
                self.versions.set_next(tail, birth);
                self.versions.prev[birth as usize] = tail;
            } else {
                self.insert_over_record(key, birth);
            }
            tail = self.tail(birth);
        }
    }

    /// An insert over nothing, though the record was there: from the start, or by another insert.
    fn insert_over_record(&mut self, key: KeyId, birth: u32) {
        let initial = self.versions.initial(key);
        let first = self.versions.next(initial);
        if first == NONE {
            self.versions.set_next(initial, birth);
        } else {
            self.versions.forks.push((initial, birth));
        }
        // `check_kinds` reports it.
        if self.versions.present.get(key) {
            return;
        }
        let writes = &self.versions.writes;
        let writer = writes[birth as usize].writer;
        // Unless a tombstone makes the absences ambiguous, a cycle shows this fork too.
        let first = writes[first as usize].writer;
        let mut all = self.versions.of(key);
        let plain = !all.any(|version| writes[version as usize].is_tombstone());
        if !(plain && self.observed(first, key, initial) && self.observed(writer, key, initial)) {
            self.report_fork(key, first, writer);
        }
    }

    fn tail(&self, mut version: u32) -> u32 {
        loop {
            match self.versions.next(version) {
                NONE => return version,
                next => version = next,
            }
        }
    }

    /// Several versions replaced the same node: the first in claimed order becomes the next.
    fn fork(&mut self, key: KeyId, node: u32, siblings: &[u32]) {
        let Some((&first, others)) = siblings.split_first() else { return };
        self.versions.set_next(node, first);
        for &other in others {
            self.versions.forks.push((node, other));
            let [a, b] = [first, other].map(|v| self.versions.writes[v as usize].writer);
            // Where both saw what they replaced, they form a cycle, which says more. One writer
            // twice was reported before.
            if a != b && !(self.observed(a, key, node) && self.observed(b, key, node)) {
                self.report_fork(key, a, b);
            }
        }
    }

    fn report_fork(&mut self, key: KeyId, a: u32, b: u32) {
        self.findings.direct(Class::Fork, &[a, b], &[key], || {
            format!("both replaced the same version of {}", show_key(self.history, key))
        });
    }

    /// A transaction read the node, not only replaced it.
    fn observed(&self, transaction: u32, key: KeyId, node: u32) -> bool {
        let (seen, present) = match self.versions.write(node) {
            Some(write) => {
                let stamp = self.history.transactions[write.writer as usize].stamp;
                (stamp, !write.is_tombstone())
            }
            None => (Stamp::INITIAL, self.versions.present.get(key)),
        };
        let range = self.history.transactions[transaction as usize].op_range();
        let mut reads = self.history.ops[range].iter().filter(|op| !op.kind().is_write());
        reads.any(|op| op.key == key && op.stamp == seen && op.kind().is_present() == present)
    }

    /// Puts all versions in claimed order. A write that read what it replaced must still follow it.
    fn arrange_by_order(&mut self, key: KeyId) {
        let mut sorted: Vec<u32> = self.versions.of(key).collect();
        sorted.sort_by_key(|&version| self.versions.order(self.history, version));
        let mut node = self.versions.initial(key);
        for version in sorted {
            self.versions.set_next(node, version);
            self.versions.prev[version as usize] = node;
            self.versions.set_next(version, NONE);
            node = version;
        }
    }

    /// The claimed order must grow from each version to the next.
    fn check_order(&mut self, key: KeyId) {
        for version in self.versions.of(key) {
            let prev = self.versions.prev[version as usize];
            if prev as usize >= self.versions.writes.len() {
                continue;
            }
            let old = self.versions.order(self.history, prev);
            let new = self.versions.order(self.history, version);
            if old < new {
                continue;
            }
            let parties = [prev, version].map(|v| self.versions.writes[v as usize].writer);
            self.findings.direct(Class::OrderReversal, &parties, &[key], || {
                format!("{}: order {new} replaced order {old}", show_key(self.history, key))
            });
        }
    }

    /// Only an insert replaces an absence, and it replaces nothing else.
    fn check_kinds(&mut self, key: KeyId) {
        for version in self.versions.of(key) {
            let prev = self.versions.prev[version as usize];
            let write = self.versions.writes[version as usize];
            if prev == NONE {
                continue;
            }
            let old = self.versions.write(prev);
            let there = old.map_or(self.versions.present.get(key), |old| !old.is_tombstone());
            if there != write.is_insert() {
                continue;
            }
            let parties: Vec<u32> =
                [write.writer].into_iter().chain(old.map(|old| old.writer)).collect();
            self.findings.direct(Class::BrokenChain, &parties, &[key], || {
                let key = show_key(self.history, key);
                match (write.is_insert(), write.is_tombstone()) {
                    (true, _) => format!("{key} was inserted over a record"),
                    (_, true) => format!("{key} was removed where there was no record"),
                    _ => format!("{key} was updated where there was no record"),
                }
            });
        }
    }
}
