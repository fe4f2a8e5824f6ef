//! Skewed choice of an item: rank `k` of `n` with probability proportional to `1 / k^theta`.
//!
//! Three ways, by `theta`: uniform at 0; the method of Gray et al. ("Quickly generating
//! billion-record synthetic databases", SIGMOD 1994) between 0 and 1, which the benchmark's users
//! compare against; and above, where Gray's formulas divide by zero or turn negative, Hörmann and
//! Derflinger's rejection-inversion (1996), which is exact for every positive exponent.

use crate::random::Random;
use crate::real::{exp, exp_m1, ln, ln_1p, pow};

/// A distribution over `0..items`, the most likely first.
#[derive(Clone, Debug)]
pub struct Zipf {
    items: u64,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Uniform,
    Gray { theta: f64, alpha: f64, zeta: f64, eta: f64 },
    Rejection { theta: f64, high: f64, low: f64, shortcut: f64 },
}

impl Zipf {
    /// Over `items` items (at least one) with skew `theta` (0 to 2).
    #[must_use]
    pub fn new(items: u64, theta: f64) -> Self {
        let items = items.max(1);
        let way = if theta <= 0.0 || items == 1 {
            Way::Uniform
        } else if theta < 1.0 {
            let zeta = zeta(items, theta);
            let two = zeta_exact(2, theta);
            let eta = (1.0 - pow(2.0 / items as f64, 1.0 - theta)) / (1.0 - two / zeta);
            Way::Gray { theta, alpha: 1.0 / (1.0 - theta), zeta, eta }
        } else {
            Way::Rejection {
                theta,
                high: integral(items as f64 + 0.5, theta),
                low: integral(1.5, theta) - 1.0,
                shortcut: 2.0 - integral_inverse(integral(2.5, theta) - pow(2.0, -theta), theta),
            }
        };
        Self { items, way }
    }

    /// The number of items.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Draws an item: 0 is the most likely.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        // Most often there is no skew, and what draws with one is no small function.
        match self.way {
            Way::Uniform => random.below_u64(self.items),
            Way::Gray { .. } | Way::Rejection { .. } => self.draw_skewed(random),
        }
    }

    fn draw_skewed(&self, random: &mut Random) -> u64 {
        match self.way {
            Way::Uniform => random.below_u64(self.items),
            Way::Gray { theta, alpha, zeta, eta } => {
                let u = random.unit();
                let scaled = u * zeta;
                if scaled < 1.0 {
                    return 0;
                }
                if scaled < 1.0 + pow(0.5, theta) {
                    return 1;
                }
                let rank = self.items as f64 * pow(eta * u - eta + 1.0, alpha);
                (rank as u64).min(self.items - 1)
            }
            Way::Rejection { theta, high, low, shortcut } => loop {
                let u = high + random.unit() * (low - high);
                let x = integral_inverse(u, theta);
                let rank = (x + 0.5).floor().clamp(1.0, self.items as f64);
                let accepted =
                    rank - x <= shortcut || u >= integral(rank + 0.5, theta) - pow(rank, -theta);
                if accepted {
                    return rank as u64 - 1;
                }
            },
        }
    }
}

/// The sum of `1 / k^theta` for `k` in `1..=items`, term by term.
fn zeta_exact(items: u64, theta: f64) -> f64 {
    (1..=items).map(|k| pow(k as f64, -theta)).sum()
}

/// The sum by the Euler-Maclaurin formula beyond the first thousand terms: exact to the precision
/// of a double, and as fast for a billion items as for a thousand.
fn zeta(items: u64, theta: f64) -> f64 {
    const TERMS: u64 = 1000;
    if items <= TERMS {
        return zeta_exact(items, theta);
    }
    let (a, b) = (TERMS as f64, items as f64);
    let area = (pow(b, 1.0 - theta) - pow(a, 1.0 - theta)) / (1.0 - theta);
    let ends = (pow(b, -theta) - pow(a, -theta)) / 2.0;
    let slope = theta * (pow(a, -theta - 1.0) - pow(b, -theta - 1.0)) / 12.0;
    zeta_exact(TERMS, theta) + area + ends + slope
}

/// An antiderivative of `1 / x^theta` that is continuous in `theta` at 1.
#[inline]
fn integral(x: f64, theta: f64) -> f64 {
    let log = ln(x);
    let power = (1.0 - theta) * log;
    // (e^p - 1) / p, which is 1 at p = 0.
    let factor = if power.abs() > 1e-8 { exp_m1(power) / power } else { 1.0 + power / 2.0 };
    factor * log
}

/// The inverse of [`integral`].
#[inline]
fn integral_inverse(area: f64, theta: f64) -> f64 {
    let scaled = (area * (1.0 - theta)).max(-1.0);
    // ln(1 + s) / s, which is 1 at s = 0.
    let factor = if scaled.abs() > 1e-8 { ln_1p(scaled) / scaled } else { 1.0 - scaled / 2.0 };
    exp(factor * area)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(items: u64, theta: f64, draws: usize) -> Vec<f64> {
        let zipf = Zipf::new(items, theta);
        let mut random = Random::new(42, 0);
        let mut counts = vec![0u64; items as usize];
        for _ in 0..draws {
            counts[zipf.draw(&mut random) as usize] += 1;
        }
        counts.iter().map(|&count| count as f64 / draws as f64).collect()
    }

    #[test]
    fn shares_follow_the_law() {
        // Gray's method is exact for the first two ranks and an approximation further down.
        for (theta, tolerance) in
            [(0.0, 0.05), (0.5, 0.25), (0.9, 0.25), (1.0, 0.05), (1.3, 0.05), (2.0, 0.05)]
        {
            let shares = shares(100, theta, 1_000_000);
            let total = zeta_exact(100, theta);
            for rank in [1usize, 2, 3, 5, 10] {
                let law = (rank as f64).powf(-theta) / total;
                let error = (shares[rank - 1] - law).abs() / law;
                let allowed = if rank <= 2 { 0.05 } else { tolerance };
                assert!(error < allowed, "theta {theta} rank {rank}: {} {law}", shares[rank - 1]);
            }
        }
    }

    #[test]
    fn the_sum_by_formula_is_the_sum_by_terms() {
        for theta in [0.1, 0.5, 0.9, 0.99] {
            let (fast, slow) = (zeta(200_000, theta), zeta_exact(200_000, theta));
            assert!((fast - slow).abs() / slow < 1e-10, "{theta}: {fast} {slow}");
        }
    }

    #[test]
    fn extremes_stay_in_range() {
        let mut random = Random::new(1, 0);
        for items in [1, 2, 3, 1_000_000_000] {
            for theta in [0.0, 0.01, 0.999, 1.0, 1.000_001, 2.0] {
                let zipf = Zipf::new(items, theta);
                assert!((0..2000).all(|_| zipf.draw(&mut random) < items), "{items} {theta}");
            }
        }
    }
}
