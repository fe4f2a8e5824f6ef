//! Generators of random numbers: small, and the same on every host.
//!
//! Each purpose draws from a stream of its own, so that a program that asks for one random number
//! more does not change its schedule thereby.

/// The purpose of a stream; each yields different numbers from one seed.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Schedule,
    StoreBuffers,
    Memory,
    /// Which operations of a disk fail, and how.
    DiskFaults,
    /// The content of a disk after power was lost.
    DiskImage,
    /// Whether a worker of a fiber group finds its memory there.
    Fibers,
    /// The faults of calls to a shared log.
    LogFaults,
    /// Which tile a task goes to.
    Tasks,
    /// The numbers that the program of a worker asks for.
    Worker(u32),
}

/// A splitmix64 generator (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    state: u64,
}

impl Generator {
    pub(crate) fn new(seed: u64, stream: Stream) -> Self {
        let stream = match stream {
            Stream::Schedule => 1,
            Stream::StoreBuffers => 2,
            Stream::Memory => 3,
            Stream::DiskFaults => 4,
            Stream::DiskImage => 5,
            Stream::Fibers => 6,
            Stream::LogFaults => 7,
            Stream::Tasks => 8,
            Stream::Worker(worker) => 16 + u64::from(worker),
        };
        let mut generator = Self { state: seed };
        let scrambled = generator.next();
        Self { state: scrambled ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// One of `choices`, which is not empty.
    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap_or(0)]
    }

    /// The number of events until one of probability `1 / mean` comes true, at least one.
    ///
    /// Exponentially distributed by integers alone (the logarithm is interpolated between powers of
    /// two), so that no mathematics library decides a schedule.
    pub(crate) fn gap(&mut self, mean: u64) -> u64 {
        if mean <= 1 {
            return 1;
        }
        let bits = self.next() | 1;
        let zeros = u64::from(bits.leading_zeros());
        let fraction = (bits << zeros << 1) >> 54;
        // -log2 of a number in (0, 1], in units of 1/1024; 710 / 1024 is the natural logarithm of 2.
        let log = (zeros << 10) + (1023 - fraction);
        1 + (((mean - 1) * log * 710) >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_their_mean() {
        for mean in [1, 2, 4, 16, 64, 256] {
            let mut generator = Generator::new(mean, Stream::Schedule);
            let sum: u64 = (0..100_000).map(|_| generator.gap(mean)).sum();
            let measured = sum as f64 / 100_000.0;
            let expected = mean as f64;
            assert!((measured / expected - 1.0).abs() < 0.3, "{mean}: {measured}");
        }
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, stream| Generator::new(seed, stream).next();
        assert_eq!(draw(1, Stream::Memory), draw(1, Stream::Memory));
        assert_ne!(draw(1, Stream::Memory), draw(1, Stream::Schedule));
        assert_ne!(draw(1, Stream::Worker(0)), draw(1, Stream::Worker(1)));
        assert_ne!(draw(1, Stream::Worker(0)), draw(2, Stream::Worker(0)));
    }
}
