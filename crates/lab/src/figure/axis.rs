//! Axes of charts: where a value lies between the ends, which values are marked and what stands there.

use super::describe::Scale;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// An axis, for either direction.
#[derive(Clone)]
pub struct Axis {
    scale: Scale,
    /// Its ends, of `Steps` in positions.
    ends: (f64, f64),
    /// The values of `Steps`, in their order.
    steps: Vec<f64>,
    /// Marked values and what stands there.
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis for values that were measured, each with its text.
    pub fn of_values(scale: Scale, values: &[(f64, String)]) -> Self {
        let mut ticks: Vec<(f64, String)> = values.to_vec();
        ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        ticks.dedup_by(|a, b| a.0 == b.0);
        let steps: Vec<f64> = ticks.iter().map(|tick| tick.0).collect();
        let first = steps.first().copied().unwrap_or(0.0);
        let last = steps.last().copied().unwrap_or(1.0);
        let ends = match scale {
            Scale::Steps => (-0.4, steps.len() as f64 - 0.6),
            Scale::Log | Scale::Log2 => {
                let (low, high) = (first.max(1e-9).log2(), last.max(1e-9).log2());
                let margin = ((high - low) * 0.06).max(0.12);
                (low - margin, high + margin)
            }
            Scale::Linear => {
                let margin = ((last - first) * 0.05).max(0.02 * last.abs()).max(1e-9);
                (first - margin, last + margin)
            }
        };
        let mut axis = Self { scale, ends, steps, ticks };
        axis.thin();
        axis
    }

    /// An axis from zero to at least `most`, or of powers of ten around `least` and `most`.
    pub fn of_amounts(scale: Scale, least: f64, most: f64, text: impl Fn(f64) -> String) -> Self {
        let (ends, values) = if scale == Scale::Log {
            let low = least.max(1e-9).log10().floor();
            let high = most.max(1e-9).log10().ceil().max(low + 1.0);
            let powers = (low as i32..=high as i32).map(|power| 10_f64.powi(power)).collect();
            ((low / 2_f64.log10(), high / 2_f64.log10()), powers)
        } else {
            let step = step(most.max(1e-9) / 4.0);
            let count = (most.max(1e-9) / step - 1e-9).ceil() as usize;
            let values: Vec<f64> = (0..=count).map(|at| at as f64 * step).collect();
            ((0.0, count as f64 * step), values)
        };
        let ticks = values.into_iter().map(|value| (value, text(value))).collect();
        Self { scale, ends, steps: Vec::new(), ticks }
    }

    /// Leaves out marks that would stand on one another.
    fn thin(&mut self) {
        let mut last = f64::NEG_INFINITY;
        let places: Vec<f64> = self.ticks.iter().map(|tick| self.place(tick.0)).collect();
        let mut places = places.into_iter();
        self.ticks.retain(|_| {
            let place = places.next().unwrap_or(0.0);
            let room = place - last > 0.055;
            if room {
                last = place;
            }
            room
        });
    }

    /// Where a value lies: 0 at one end, 1 at the other.
    pub fn place(&self, value: f64) -> f64 {
        let at = match self.scale {
            Scale::Linear => value,
            Scale::Log | Scale::Log2 => value.max(1e-9).log2(),
            Scale::Steps => {
                self.steps.iter().position(|&step| step == value).map_or(0.0, |at| at as f64)
            }
        };
        (at - self.ends.0) / (self.ends.1 - self.ends.0)
    }
}

/// The next of 1, 2, 5, 10, ... times a power of ten.
fn step(about: f64) -> f64 {
    let power = 10_f64.powf(about.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= about * 0.999);
    factor.unwrap_or(10.0) * power
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (self.place(*value) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|tick| tick.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.0 == *value);
        tick.map_or(String::new(), |tick| tick.1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.1.as_str()).collect()
    }

    fn values(values: &[f64]) -> Vec<(f64, String)> {
        values.iter().map(|&value| (value, format!("{value}"))).collect()
    }

    #[test]
    fn powers_of_two_lie_at_equal_distances() {
        let axis = Axis::of_values(Scale::Log2, &values(&[1.0, 2.0, 4.0, 8.0]));
        let gap = axis.place(2.0) - axis.place(1.0);
        assert!((axis.place(8.0) - axis.place(4.0) - gap).abs() < 1e-9);
        assert_eq!(texts(&axis), ["1", "2", "4", "8"]);
    }

    #[test]
    fn steps_lie_in_their_order() {
        let axis = Axis::of_values(Scale::Steps, &values(&[0.0, 1.0, 100.0]));
        let gap = axis.place(1.0) - axis.place(0.0);
        assert!((axis.place(100.0) - axis.place(1.0) - gap).abs() < 1e-9);
    }

    #[test]
    fn marks_keep_their_distance() {
        let axis = Axis::of_values(Scale::Linear, &values(&[0.0, 1.0, 2.0, 99.0, 100.0]));
        assert_eq!(texts(&axis), ["0", "99"]);
    }

    #[test]
    fn amounts_are_round() {
        let axis = Axis::of_amounts(Scale::Linear, 0.0, 7.3, |value| format!("{value}"));
        assert_eq!(texts(&axis), ["0", "2", "4", "6", "8"]);
        let axis = Axis::of_amounts(Scale::Linear, 0.0, 100.0, |value| format!("{value}"));
        assert_eq!(texts(&axis), ["0", "25", "50", "75", "100"]);
        let axis = Axis::of_amounts(Scale::Log, 3e5, 2e7, |value| format!("{value:.0e}"));
        assert_eq!(texts(&axis), ["1e5", "1e6", "1e7", "1e8"]);
        assert!((axis.place(1e5)).abs() < 1e-9 && (axis.place(1e8) - 1.0).abs() < 1e-9);
    }
}
