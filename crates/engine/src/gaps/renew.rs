//! Looking again at the pieces whose leaves have changed.

use super::faults::{ANOTHER_ABSENCE, RANGE_NOT_LOOKED_AT_AGAIN};
use super::{Extent, Gaps, Node, Piece, Scratch};
use crate::access::WriteSet;
use chiliad_machine::Machine;
use chiliad_storage::{Direction, Found, Index, LocalHeap, OrderedIndex, RecordRef};

impl<M: Machine> Gaps<M> {
    /// Looks again at the pieces in whose leaves something has changed, and remembers the leaves that cover them now.
    /// Returns whether each piece is as it was when the transaction looked at it, but for what it has inserted itself.
    /// The versions of the records met are not compared. Pinned.
    #[inline]
    pub(crate) fn renew(&mut self, heap: &LocalHeap<M>, writes: &WriteSet<M>) -> bool {
        debug_assert!(heap.is_pinned(), "leaves stay while they are looked at");
        self.holds() || self.look_again(heap, writes)
    }

    /// As [`Gaps::renew`], where a count has moved.
    #[cold]
    pub(crate) fn look_again(&mut self, heap: &LocalHeap<M>, writes: &WriteSet<M>) -> bool {
        M::mark("pieces looked at again");
        for node in self.nodes.iter().filter(|node| !node.seen.holds()) {
            self.pieces[node.piece as usize].is_stale = true;
        }
        let mut scratch = core::mem::replace(&mut self.scratch, Scratch::new());
        let mut same = true;
        for (number, piece) in (0u32..).zip(&self.pieces) {
            if same && piece.is_stale {
                same = self.is_same(number, piece, heap, writes, &mut scratch);
            }
        }
        if !same {
            scratch.fresh.clear();
        } else {
            self.nodes.retain(|node| !self.pieces[node.piece as usize].is_stale);
            self.nodes.append(&mut scratch.fresh);
            self.pieces.iter_mut().for_each(|piece| piece.is_stale = false);
        }
        debug_assert!(
            self.nodes.iter().all(|node| (node.piece as usize) < self.pieces.len()),
            "each leaf is of a piece"
        );
        self.scratch = scratch;
        same
    }

    /// Looks at a piece again and collects the leaves that cover it now. Returns whether it is as it was.
    fn is_same(
        &self,
        number: u32,
        piece: &Piece,
        heap: &LocalHeap<M>,
        writes: &WriteSet<M>,
        scratch: &mut Scratch<M>,
    ) -> bool {
        let Some(Some(table)) = self.tables.get(piece.table.0 as usize) else {
            debug_assert!(false, "a table that was read is known");
            return false;
        };
        let same = match (&piece.extent, &table.index) {
            (Extent::Key { key, least }, index) => match index.get(heap, self.key(*key)) {
                // One that has come and gone again is not the absence that was read.
                Found::Absent(seen) => {
                    scratch.fresh.push(Node { seen, piece: number });
                    super::least(seen) <= *least || M::fault(&ANOTHER_ABSENCE)
                }
                Found::Record(_) => false,
            },
            (Extent::Keys(keys), Index::Ordered(index)) => {
                let (from, to) = (self.bound(&keys.from), self.bound(&keys.to));
                let (low, high) = match keys.direction {
                    Direction::Forward => (from, to),
                    Direction::Reverse => (to, from),
                };
                scratch.cursor.reset(low, high, keys.direction);
                let met = &self.met[keys.met.range()];
                are_met(number, index, met, heap, writes, scratch)
            }
            // Nobody else inserts the key while the transaction's own record is there.
            (Extent::Own, _) => true,
            (Extent::Keys(_), Index::Hash(_)) => unreachable!("only ordered indexes are scanned"),
        };
        same || M::fault(&RANGE_NOT_LOOKED_AT_AGAIN)
    }
}

/// Whether the scan on which the cursor has been set meets the records in `met`, all of them and no others.
fn are_met<M: Machine>(
    number: u32,
    index: &OrderedIndex<M>,
    met: &[RecordRef<M>],
    heap: &LocalHeap<M>,
    writes: &WriteSet<M>,
    scratch: &mut Scratch<M>,
) -> bool {
    let mut met = met.iter().copied().filter(|&record| !is_own(record, writes));
    let Scratch { cursor, run, fresh } = scratch;
    while index.next_leaf(heap, cursor, run, usize::MAX) {
        fresh.extend(run.seen.map(|seen| Node { seen, piece: number }));
        let foreign = run.records.iter().filter(|(_, record)| !is_own(*record, writes));
        for &(_, record) in foreign {
            if met.next() != Some(record) {
                return false;
            }
        }
    }
    met.next().is_none()
}

/// Whether the transaction has put the record into its index itself.
#[inline]
fn is_own<M: Machine>(record: RecordRef<M>, writes: &WriteSet<M>) -> bool {
    writes.find(record).is_some_and(|at| writes.entries[at as usize].placed)
}
