//! Group meld: two intentions that follow each other become one, which is melded with the state once.
//!
//! That is done before their turn comes, by any stage that has built their overlays. Whether the two stay together is not
//! known before: where one of them does not commit, each is decided alone (`judge.rs`), so the verdicts are the same
//! whatever was paired with what.

use crate::faults::INNER_CONFLICT_IGNORED;
use crate::intention::bound_at;
use crate::item::Item;
use crate::maker::Maker;
use crate::node::Key;
use crate::pair::PairOverlay;
use chiliad_machine::Machine;
use core::ops::RangeBounds;

/// Melds two intentions into one, which the second takes along; whether that goes. It does not where the second depends
/// on what the first writes, nor where there is no memory for it: then both are as they were.
pub fn meld_into_one<'b, M: Machine>(
    maker: &mut Maker<M>,
    first: &mut Item<'b, M>,
    second: &mut Item<'b, M>,
) -> bool {
    debug_assert!(second.pairs.is_empty(), "paired once");
    if is_in_conflict(first, second) && !M::fault(&INNER_CONFLICT_IGNORED) {
        return false;
    }
    let mut pairs = Vec::with_capacity(first.parts.len());
    for part in &mut first.parts {
        let Some(other) = second.parts.iter_mut().find(|other| other.table == part.table) else {
            continue;
        };
        match PairOverlay::new(maker, part, other) {
            Ok(pair) => pairs.push((part.table, pair)),
            Err(_) => {
                pairs.into_iter().for_each(|(_, pair)| pair.free(maker));
                first.revive();
                second.revive();
                return false;
            }
        }
    }
    second.pairs = pairs;
    second.is_paired = true;
    true
}

/// Whether the second of two intentions depends on what the first one writes.
fn is_in_conflict<M: Machine>(first: &Item<'_, M>, second: &Item<'_, M>) -> bool {
    for part in &first.parts {
        let written = || part.entries.iter().filter(|entry| entry.write.is_some());
        if let Some(other) = second.parts.iter().find(|other| other.table == part.table) {
            let depends = |key: Key<'_>| {
                let found = other.entries.binary_search_by(|entry| entry.key.cmp(&key));
                let base = found.ok().and_then(|at| other.entries[at].base);
                base.is_some_and(|base| base < first.label)
            };
            if written().any(|entry| depends(entry.key)) {
                return true;
            }
        }
        let ranges = second.intention.ranges.iter().filter(|range| range.table == part.table);
        for range in ranges {
            let low = bound_at(second.bytes, &range.low);
            let bounds = (low, bound_at(second.bytes, &range.high));
            if second.intention.snapshot < first.label
                && written().any(|entry| bounds.contains(entry.key.bytes()))
            {
                return true;
            }
        }
    }
    false
}
