//! Scans, leaf by leaf: the bounds on the way to one say where the next begins.

use super::find::Side;
use super::node::{Entries, Found, Inner, Tree, Way};
use crate::record::{KeySource, Place, Prefix};
use chiliad_machine::tasks::Lines;
use chiliad_machine::{Link as _, Machine, Ordering};
use core::cmp;
use core::ops::Bound;

/// The keys that a scan covers, and its direction.
pub(crate) struct Span<'k, M: Machine> {
    pub(crate) low: Bound<KeySource<'k, M>>,
    pub(crate) high: Bound<KeySource<'k, M>>,
    pub(crate) reverse: bool,
    /// Only the first row is asked for.
    pub(crate) one: bool,
}

/// A bound of a span, and the first bytes of its key.
type End<'k, M> = Bound<(Prefix, KeySource<'k, M>)>;

impl<'k, M: Machine> Span<'k, M> {
    /// Both bounds, with what most entries need of them.
    fn ends(&self) -> [End<'k, M>; 2] {
        [self.low, self.high].map(|bound| bound.map(|key| (key.prefix(), key)))
    }
}

/// Whether an entry lies between two bounds.
fn lies_between<M: Machine>((prefix, row): Found<M>, [low, high]: &[End<'_, M>; 2]) -> bool {
    let order = |&(first, key): &(Prefix, KeySource<'_, M>)| {
        prefix.cmp(&first).then_with(|| row.compare_key(key))
    };
    (match low {
        Bound::Unbounded => true,
        Bound::Included(low) => order(low) != cmp::Ordering::Less,
        Bound::Excluded(low) => order(low) == cmp::Ordering::Greater,
    }) && match high {
        Bound::Unbounded => true,
        Bound::Included(high) => order(high) != cmp::Ordering::Greater,
        Bound::Excluded(high) => order(high) == cmp::Ordering::Less,
    }
}

impl<M: Machine> Way<'_, M> {
    /// The bound above the leaf at its end, or below it.
    fn bound(&self, below: bool) -> Option<Place<M>> {
        let bound = |(inner, child): (&Inner<M>, usize)| {
            let at = if below { child.checked_sub(1)? } else { child };
            let bound = inner.bounds.get(at)?.load(Ordering::Relaxed).pointer();
            (at + 1 < inner.count()).then(|| Place::from_pointer(bound)).flatten()
        };
        self.steps[..self.depth].iter().rev().find_map(|step| step.and_then(bound))
    }
}

impl<T: Lines> Tree<'_, T> {
    /// Gives the rows of `span` to `visit`, in its direction, until that says that it has enough. Nothing may be removed
    /// meanwhile.
    pub(crate) fn scan(
        &self,
        span: &Span<'_, T::Machine>,
        visit: &mut dyn FnMut(Place<T::Machine>) -> bool,
    ) {
        // The first leaf; then the one that begins, or ends, with the bound of the last.
        let (mut from, mut side) = match (span.reverse, span.low, span.high) {
            (false, Bound::Included(key) | Bound::Excluded(key), _) => (Some(key), Side::At),
            (true, _, Bound::Included(key)) => (Some(key), Side::At),
            (true, _, Bound::Excluded(key)) => (Some(key), Side::Below),
            (false, Bound::Unbounded, _) => (Some(KeySource::Bytes(&[])), Side::At),
            (true, _, Bound::Unbounded) => (None, Side::At),
        };
        let (mut entries, ends) = (Entries::new(), span.ends());
        loop {
            let (leaf, way) = match from {
                Some(key) => self.descend(key, side),
                None => self.descend_last(),
            };
            let wanted = |entry| lies_between(entry, &ends);
            if span.one {
                entries.fill_with_end(leaf, wanted, span.reverse);
            } else {
                entries.fill(leaf, wanted);
                entries.sort();
            }
            let mut visits = |(_, row)| visit(row);
            let goes_on = match span.reverse {
                false => entries.all().all(&mut visits),
                true => entries.all().rev().all(&mut visits),
            };
            if !goes_on {
                return;
            }
            let Some(next) = way.bound(span.reverse) else { return };
            if span.is_over(next) {
                return;
            }
            from = Some(KeySource::Of(next));
            side = if span.reverse { Side::Below } else { Side::At };
        }
    }
}

impl<M: Machine> Span<'_, M> {
    /// Whether nothing of it lies beyond the bound of a leaf.
    fn is_over(&self, bound: Place<M>) -> bool {
        match (self.reverse, self.low, self.high) {
            (false, _, Bound::Included(high)) => bound.compare_key(high) == cmp::Ordering::Greater,
            (false, _, Bound::Excluded(high)) => bound.compare_key(high) != cmp::Ordering::Less,
            (true, Bound::Included(low) | Bound::Excluded(low), _) => {
                bound.compare_key(low) != cmp::Ordering::Greater
            }
            _ => false,
        }
    }
}
