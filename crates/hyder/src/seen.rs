//! Which items of which servers have been numbered: an item that is in the log twice counts once.
//!
//! An append whose outcome its server does not know is made again, so the log may have an item more than once. The
//! second is ignored: by every server, as this is a function of the log alone.

use chiliad_log::codec::Decoder;
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

    /// All of it, for a checkpoint:
    ///
    /// ```text
    /// u32 servers, each: u64 server | u64 floor | u32 items above it, each: u64 number
    /// ```
    pub fn encode(&self) -> Vec<u8> {
        let mut out = (self.servers.len() as u32).to_le_bytes().to_vec();
        // In an order that is the same on every server.
        let mut servers: Vec<_> = self.servers.iter().collect();
        servers.sort_unstable_by_key(|(server, _)| **server);
        for (server, locals) in servers {
            out.extend_from_slice(&server.to_le_bytes());
            out.extend_from_slice(&locals.floor.to_le_bytes());
            out.extend_from_slice(&(locals.above.len() as u32).to_le_bytes());
            locals.above.iter().for_each(|local| out.extend_from_slice(&local.to_le_bytes()));
        }
        out
    }

    /// Reads what [`Seen::encode`] has written; `None` if the bytes are something else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder::new(bytes);
        let mut seen = Self::default();
        for _ in 0..from.u32()? {
            let server = from.u64()?;
            let mut locals = Locals { floor: from.u64()?, above: BTreeSet::new() };
            for _ in 0..from.u32()? {
                locals.above.insert(from.u64()?);
            }
            seen.servers.insert(server, locals);
        }
        from.is_empty().then_some(seen)
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
    fn it_comes_back() {
        let mut seen = Seen::default();
        for (server, local) in [(7, 0), (7, 1), (7, 5), (9, 3), (2, 0)] {
            seen.is_new(server, local);
        }
        let bytes = seen.encode();
        let mut read = Seen::decode(&bytes).expect("whole");
        assert_eq!(read.encode(), bytes);
        assert!(!read.is_new(7, 1) && !read.is_new(7, 5) && !read.is_new(9, 3));
        assert!(read.is_new(7, 2) && read.is_new(9, 0) && read.is_new(2, 1));
        for end in 0..bytes.len() {
            assert!(Seen::decode(&bytes[..end]).is_none(), "{end}");
        }
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
