//! Virtual time: the order in which tasks appear to run.

/// A task's place in the order (Yan, 2015, 3.4): its timestamp, then the moment of its dispatch.
///
/// The moment is the number of the dispatch: the tiles of one cycle dispatch in the order of their events, so numbers
/// order as the thesis' cycle and tile do. A parent is dispatched before its children, so it precedes them whatever their
/// timestamps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct VirtualTime(u128);

impl VirtualTime {
    /// Before all tasks, and after all.
    pub(super) const ZERO: Self = Self(0);
    pub(super) const MAX: Self = Self(u128::MAX);

    /// That of a task with this timestamp whose dispatch has this number.
    pub(super) fn new(timestamp: u64, dispatch: u64) -> Self {
        Self(u128::from(timestamp) << 64 | u128::from(dispatch))
    }

    /// The timestamp in it.
    pub(super) fn timestamp(self) -> u64 {
        (self.0 >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_come_first_and_then_dispatches() {
        let order = [(0, 9), (1, 2), (1, 3), (2, 1), (u64::MAX, 0)];
        let times = order.map(|(timestamp, dispatch)| VirtualTime::new(timestamp, dispatch));
        assert!(times.is_sorted() && VirtualTime::ZERO < times[0] && times[4] < VirtualTime::MAX);
        assert_eq!(times[4].timestamp(), u64::MAX);
    }
}
