//! Which items of which servers have been numbered: an item that is in the log twice counts once.
//!
//! An append whose outcome its server does not know is made again, so the log may have an item more than once. The
//! second is ignored: by every server, as this is a function of the log alone.

use std::collections::{BTreeSet, HashMap};

/// Numbers above the floor of a server that are kept; the floor rises when there are more.
const KEPT_MAX: usize = 1 << 16;

/// The items of one server.
#[derive(Default)]
struct Locals {
    /// All below have been seen, or are taken for seen.
    floor: u64,
    above: BTreeSet<u64>,
}

/// The items of all servers.
#[derive(Default)]
pub struct Seen {
    servers: HashMap<u64, Locals>,
}

impl Seen {
    /// Takes note of an item; whether it is the first of its number.
    pub fn is_new(&mut self, server: u64, local: u64) -> bool {
        let locals = self.servers.entry(server).or_default();
        if local < locals.floor || !locals.above.insert(local) {
            return false;
        }
        while locals.above.remove(&locals.floor) {
            locals.floor += 1;
        }
        if locals.above.len() > KEPT_MAX {
            locals.floor = locals.above.pop_first().map_or(locals.floor, |first| first + 1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counts_once_in_whatever_order() {
        let mut seen = Seen::default();
        for local in [0, 2, 1, 5, 3, 4] {
            assert!(seen.is_new(7, local));
            assert!(!seen.is_new(7, local));
        }
        assert!(seen.is_new(8, 0) && !seen.is_new(7, 0));
        assert!(seen.servers[&7].above.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = Seen::default();
        for local in (1..4 * KEPT_MAX as u64).step_by(2) {
            seen.is_new(1, local);
        }
        assert!(seen.servers[&1].above.len() <= KEPT_MAX);
        assert!(!seen.is_new(1, 0), "below the floor");
    }
}
