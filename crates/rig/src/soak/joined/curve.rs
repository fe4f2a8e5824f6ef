//! A number over time, and whether it grows: the third quarter of the run beside the last.

/// Samples in a quarter below which nothing is said.
const SAMPLES_MIN: usize = 8;

/// A number over time.
#[derive(Clone, Debug, Default)]
pub struct Curve(Vec<u64>);

/// Which number stands for a quarter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// The one in the middle: it takes no notice of a server that is away.
    Median,
    /// The greatest: a log that is trimmed goes up and down.
    Greatest,
}

/// The numbers that stand for the third quarter, and for the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Halves {
    pub third: u64,
    pub last: u64,
}

impl Halves {
    /// How much the last quarter has of the third.
    pub fn ratio(self) -> f64 {
        self.last as f64 / (self.third as f64).max(1.0)
    }
}

impl Curve {
    /// One more sample; they lie as far apart as each other.
    pub fn add(&mut self, sample: u64) {
        self.0.push(sample);
    }

    /// All samples.
    pub fn all(&self) -> &[u64] {
        &self.0
    }

    /// The second half of the run; nothing where there are too few samples.
    pub fn second_half(&self, of: Of) -> Option<Halves> {
        let quarter = self.0.len() / 4;
        if quarter < SAMPLES_MIN {
            return None;
        }
        let (before, last) = self.0.split_at(self.0.len() - quarter);
        let third = &before[before.len() - quarter..];
        let stands = |samples: &[u64]| {
            let mut sorted = samples.to_vec();
            sorted.sort_unstable();
            match of {
                Of::Median => sorted[sorted.len() / 2],
                Of::Greatest => sorted[sorted.len() - 1],
            }
        };
        Some(Halves { third: stands(third), last: stands(last) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_told_from_what_goes_up_and_down() {
        let halves = |number: &dyn Fn(u64) -> u64, of| {
            let mut curve = Curve::default();
            (0..400).for_each(|at| curve.add(number(at)));
            curve.second_half(of).expect("enough samples").ratio()
        };
        assert!((halves(&|at| 1_000 + at % 40, Of::Greatest) - 1.0).abs() < 1e-9);
        assert!(halves(&|at| 1_000 + 10 * at, Of::Greatest) > 1.2);
        assert!(halves(&|at| 1_000 + 10 * at, Of::Median) > 1.2);
        let once = |at| if at == 390 { 9_000 } else { 1_000 };
        assert!((halves(&once, Of::Median) - 1.0).abs() < 1e-9);
        assert!(Curve(vec![1; 31]).second_half(Of::Median).is_none());
    }
}
