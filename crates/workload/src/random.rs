//! Random numbers for workloads: small, fast, and a pure function of seed and stream.
//!
//! SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Bounded numbers are made by multiplication; with
//! bounds far below 2^32 the bias is less than one in a million and no loop is needed.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// 62 letters and digits, and two of them again, so that six random bits choose one.
const ALPHANUMERIC: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789Zz";

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// Stream number `stream` of `seed`. Different streams share nothing.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let state = mix(seed.wrapping_add(STEP)) ^ mix(mix(stream.wrapping_add(1)));
        Self { state }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number below `bound`, which must not be zero.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// A number below `bound`, for bounds beyond 32 bits.
    #[inline]
    pub fn below_u64(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn range(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// A number in `0.0 .. 1.0`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, chance: Chance) -> bool {
        (self.bits() >> 32) < chance.0
    }

    /// Fills `target` with random letters and digits.
    pub fn letters(&mut self, target: &mut [u8]) {
        for part in target.chunks_mut(10) {
            let mut bits = self.bits();
            for byte in part {
                *byte = ALPHANUMERIC[(bits & 63) as usize];
                bits >>= 6;
            }
        }
    }

    /// Fills `target` with random digits.
    pub fn digits(&mut self, target: &mut [u8]) {
        for byte in target {
            *byte = b'0' + self.below(10) as u8;
        }
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below_u64(last as u64 + 1) as usize);
        }
    }
}

/// A probability, ready for comparison with 32 random bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Chance(u64);

impl Chance {
    /// From percent; below 0 and above 100 count as 0 and 100.
    #[must_use]
    pub fn percent(percent: f64) -> Self {
        Self((percent.clamp(0.0, 100.0) / 100.0 * (1u64 << 32) as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_and_differ() {
        let draw = |seed, stream| {
            let mut random = Random::new(seed, stream);
            (0..8).map(|_| random.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
        assert_ne!(draw(1, 2), draw(1, 3));
    }

    #[test]
    fn ranges_are_covered_to_both_ends() {
        let mut random = Random::new(7, 0);
        let mut seen = [0u32; 16];
        for _ in 0..16_000 {
            seen[random.range(5, 15) as usize] += 1;
        }
        assert_eq!(seen[..5], [0; 5]);
        assert!(seen[5..].iter().all(|&count| count > 1200), "{seen:?}");
    }

    #[test]
    fn chances_are_kept() {
        let mut random = Random::new(3, 0);
        let one = Chance::percent(1.0);
        let hits = (0..100_000).filter(|_| random.chance(one)).count();
        assert!((800..1200).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| !random.chance(Chance::percent(0.0))));
        assert!((0..1000).all(|_| random.chance(Chance::percent(100.0))));
    }

    #[test]
    fn shuffling_keeps_the_items() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(1, 1).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
