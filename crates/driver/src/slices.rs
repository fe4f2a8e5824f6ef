//! The cost of following transactions through the parts of their time, measured in the run itself.
//!
//! The window is cut into slices, with following and without in the order on, off, off, on: what drifts
//! evenly falls out of each four. Each four gives one difference, and all of them their mean and its
//! standard error.

/// The cost of following.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FollowingCost {
    /// The share of throughput that is lost; negative where chance outweighs it.
    pub share: f64,
    /// Its standard error.
    pub error: f64,
}

/// Slices so far.
#[derive(Default)]
pub(crate) struct Slices {
    seconds: f64,
    committed: u64,
    /// Commits and seconds, without and with following, of the four slices in hand.
    sums: [(f64, f64); 2],
    slices: usize,
    shares: Vec<f64>,
}

/// Whether slice `number` follows.
fn follows(number: usize) -> bool {
    matches!(number % 4, 0 | 3)
}

impl Slices {
    /// Nothing measured, with `committed` transactions so far.
    pub(crate) fn new(committed: u64) -> Self {
        Self { committed, ..Self::default() }
    }

    /// A slice ends at these seconds of the window, with so many transactions so far. Whether the next
    /// one follows.
    pub(crate) fn end(&mut self, seconds: f64, committed: u64) -> bool {
        let sum = &mut self.sums[usize::from(follows(self.slices))];
        sum.0 += (committed - self.committed) as f64;
        sum.1 += seconds - self.seconds;
        (self.seconds, self.committed) = (seconds, committed);
        self.slices += 1;
        if self.slices.is_multiple_of(4) {
            let [without, with] = core::mem::take(&mut self.sums).map(|(count, time)| count / time);
            self.shares.push(1.0 - with / without);
        }
        follows(self.slices)
    }

    /// The cost; `None` where there were too few slices to say, or no transactions.
    pub(crate) fn cost(&self) -> Option<FollowingCost> {
        let count = self.shares.len() as f64;
        let share = self.shares.iter().sum::<f64>() / count;
        let squares = self.shares.iter().map(|it| (it - share).powi(2)).sum::<f64>();
        let error = (squares / (count - 1.0) / count).sqrt();
        (share.is_finite() && error.is_finite()).then_some(FollowingCost { share, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_is_no_cost_and_a_cost_is_one() {
        for cost in [0.0, 0.02] {
            let mut slices = Slices::new(5);
            let (mut committed, mut followed) = (5.0, true);
            for slice in 0..80 {
                let rate = 100_000.0 * (1.0 + f64::from(slice) * 0.001);
                committed += if followed { rate * (1.0 - cost) } else { rate };
                followed = slices.end(f64::from(slice + 1), committed as u64);
            }
            let found = slices.cost().expect("twenty fours");
            assert!((found.share - cost).abs() < 1e-4, "{found:?}");
            assert!(found.error < 1e-4, "{found:?}");
        }
        assert_eq!(Slices::new(0).cost(), None);
    }
}
