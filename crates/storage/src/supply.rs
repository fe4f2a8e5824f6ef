//! Where the heap's slots come from: its own pools, or an allocator to compare them with (Yu, 2015,
//! 4.1.1).

use chiliad_machine::Allocator;

/// Where slots come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Supply {
    /// Pools of each worker, filled from chunks, that grow and shrink with the load.
    #[default]
    Pools,
    /// Pools that stay at the size at which they begin: for measuring what growing gains.
    FixedPools,
    /// An allocator, one by one: for measuring what pools gain.
    Single(&'static Allocator),
}

impl Supply {
    /// The allocator, if that is where they come from.
    #[must_use]
    pub fn allocator(self) -> Option<&'static Allocator> {
        match self {
            Self::Pools | Self::FixedPools => None,
            Self::Single(allocator) => Some(allocator),
        }
    }
}
