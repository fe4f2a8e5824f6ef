//! Seeded pseudo-random numbers, the same for every store: SplitMix64, and Zipf by Gray's method.

/// A generator.
pub struct Random(u64);

impl Random {
    /// One of many independent streams.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `end`, which is greater than 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(u64::from(high - low) + 1) as u32
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// Fills bytes with letters.
    pub fn letters(&mut self, bytes: &mut [u8]) {
        for eight in bytes.chunks_mut(8) {
            for (byte, random) in eight.iter_mut().zip(self.next().to_le_bytes()) {
                *byte = b'a' + random % 26;
            }
        }
    }

    /// From 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Numbers below `end`, of which the low ones are more frequent the greater `theta` is.
pub struct Zipf {
    end: u64,
    theta: f64,
    alpha: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    /// For `end` greater than 0 and `theta` from 0 (uniform) to below 1.
    pub fn new(end: u64, theta: f64) -> Self {
        let sum = |n: u64| (1..=n).map(|i| (i as f64).powf(-theta)).sum::<f64>();
        let zeta = sum(end);
        let eta = (1.0 - (2.0 / end as f64).powf(1.0 - theta)) / (1.0 - sum(2) / zeta);
        Self { end, theta, alpha: 1.0 / (1.0 - theta), zeta, eta }
    }

    pub fn draw(&self, random: &mut Random) -> u64 {
        if self.theta == 0.0 {
            return random.below(self.end);
        }
        let unit = random.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(self.theta) {
            return 1.min(self.end - 1);
        }
        let drawn = self.end as f64 * (self.eta * unit - self.eta + 1.0).powf(self.alpha);
        (drawn as u64).min(self.end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Random, Zipf};

    #[test]
    fn a_zipf_of_theta_0_9_is_as_skewed_as_its_formula_says() {
        let (zipf, mut random) = (Zipf::new(1000, 0.9), Random::new(7, 0));
        let mut counts = vec![0_u32; 1000];
        for _ in 0..200_000 {
            counts[zipf.draw(&mut random) as usize] += 1;
        }
        let zeta: f64 = (1..=1000).map(|i| f64::from(i).powf(-0.9)).sum();
        let expected = 200_000.0 / zeta;
        assert!((f64::from(counts[0]) / expected - 1.0).abs() < 0.05, "{} {expected}", counts[0]);
        assert!(counts[999] < counts[0] / 100);
    }

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let draw = |stream| Random::new(1, stream).below(u64::MAX);
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
