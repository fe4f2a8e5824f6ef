//! The drivers' own random numbers, and which transactions are timed.
//!
//! Reading the clock twice costs a transaction of a microsecond some five percent, so only one in
//! [`TIMED_ONE_IN`] is timed, drawn at random so that no pattern in the requests is met or missed.

/// One transaction in this many is timed, on average.
pub(crate) const TIMED_ONE_IN: u32 = 16;

/// A small generator (xorshift64*), one per client.
#[derive(Debug)]
pub struct Generator(u64);

impl Generator {
    /// The generator of client `index` in a run with `seed`.
    #[must_use]
    pub fn new(seed: u64, index: usize) -> Self {
        // Two rounds of splitmix64, so that neighbouring seeds have nothing in common.
        let mut state = seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for _ in 0..2 {
            state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            state ^= state >> 31;
        }
        Self(state | 1)
    }

    /// 64 random bits.
    #[inline]
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which is not zero.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        let wide = u128::from(self.bits()) * u128::from(limit);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number above zero and at most one.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

/// Chooses the transactions to be timed, before they begin.
pub(crate) struct Sampler {
    one_in: u32,
    left: u32,
}

impl Sampler {
    /// One in `one_in`, on average; every one if it is one.
    pub(crate) fn new(one_in: u32) -> Self {
        Self { one_in, left: 1 }
    }

    /// Whether the next transaction is one of them.
    #[inline]
    pub(crate) fn take(&mut self, random: &mut Generator) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        // Uniform in 1 ..= 2n - 1, so n on average.
        let gap = 1 + random.below(u64::from(self.one_in) * 2 - 1);
        self.left = u32::try_from(gap).unwrap_or(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_sixteen_is_one_in_sixteen() {
        let mut random = Generator::new(1, 0);
        let mut sampler = Sampler::new(TIMED_ONE_IN);
        let taken = (0..160_000).filter(|_| sampler.take(&mut random)).count();
        assert!((9_500..10_500).contains(&taken), "{taken}");
    }

    #[test]
    fn one_in_one_is_every_one() {
        let mut random = Generator::new(1, 0);
        let mut sampler = Sampler::new(1);
        assert!((0..100).all(|_| sampler.take(&mut random)));
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Generator::new(7, 3);
        for limit in 1..1000 {
            assert!(random.below(limit) < limit);
            let unit = random.unit();
            assert!(unit > 0.0 && unit <= 1.0);
        }
    }
}
