//! Ranges that a transaction has scanned: whether anything was written there since.

use crate::maker::Maker;
use crate::node::{Key, Tree};
use chiliad_machine::Machine;
use core::cmp::Ordering;
use core::ops::Bound;

/// Whether the tree has a version newer than `base` within these bounds. Subtrees without any newer version are not
/// entered.
pub fn is_changed<M: Machine>(
    maker: &mut Maker<M>,
    tree: Tree<M>,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
    base: u64,
) -> bool {
    let Some(node) = tree.root.filter(|_| tree.newest > base) else { return false };
    if (low, high) == (Bound::Unbounded, Bound::Unbounded) {
        return true;
    }
    maker.visit();
    let side = |bound: Bound<&[u8]>| match bound {
        Bound::Unbounded => None,
        Bound::Included(key) | Bound::Excluded(key) => Some(node.compare(Key::new(key))),
    };
    let is_above = match side(low) {
        None | Some(Ordering::Less) => true,
        Some(Ordering::Equal) => matches!(low, Bound::Included(_)),
        Some(Ordering::Greater) => false,
    };
    let is_below = match side(high) {
        None | Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => matches!(high, Bound::Included(_)),
        Some(Ordering::Less) => false,
    };
    match (is_above, is_below) {
        (true, true) => {
            node.version() > base
                || is_changed(maker, node.left(), low, Bound::Unbounded, base)
                || is_changed(maker, node.right(), Bound::Unbounded, high, base)
        }
        (true, false) => is_changed(maker, node.left(), low, high, base),
        (false, true) => is_changed(maker, node.right(), low, high, base),
        (false, false) => false,
    }
}
