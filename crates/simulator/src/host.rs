//! A host: a group of cores that crash alone, are stopped alone, and share memory with no other.

use std::fmt;

/// A host of a run, by its number. Cores that are added without one are of host 0, the default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Host(pub u32);

impl Host {
    /// Hosts have numbers below this.
    pub const COUNT_MAX: u32 = 1 << 16;
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}", self.0)
    }
}
