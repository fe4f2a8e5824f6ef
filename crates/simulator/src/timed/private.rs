//! The caches between the cores and the network: each core's first cache, and a second one that is the core's own
//! or that the cores of a tile share.
//!
//! - A *cluster* is what the directory knows: the cores that share a second cache, which is a core by itself or those of
//!   a tile. A cluster has one right to a line.
//! - A core by itself has one state of a line in both caches. The second one holds all that the first does (inclusion).
//! - In a tile of several cores the second cache holds the cluster's right, and the first caches write through: a
//!   write is over when the second cache has it, and removes the line from the first caches of the siblings. A first cache
//!   whose word says modified is the only one of its tile with the line.
//! - Nothing here takes time or sends messages: a look-up returns how long it takes, and an insertion which
//!   line it displaced.

use super::core::Access;
use super::tags::{Right, Tags};
use crate::description::Description;

/// The caches of all cores.
pub(crate) struct Private {
    first: Tags,
    /// By cluster.
    second: Option<Tags>,
    first_cycles: u32,
    second_cycles: u32,
    cores: u32,
    tiles: Option<Clusters>,
}

/// Which cores share a second cache.
#[derive(Default)]
struct Clusters {
    /// By core.
    of: Vec<u32>,
    /// By cluster.
    members: Vec<Vec<u32>>,
}

impl Private {
    /// Those of a machine without cores as yet, whose cores fill some cycles of each access with other work.
    pub(crate) fn new(machine: &Description) -> Self {
        // An access takes a cycle at least, so that time goes on for a core that does nothing else.
        let felt = |cycles: u32| cycles.saturating_sub(machine.hidden_cycles).max(1);
        Self {
            first: Tags::new(machine.first, 0),
            second: machine.second.map(|cache| Tags::new(cache, 0)),
            first_cycles: felt(machine.first.cycles),
            second_cycles: machine.second.map_or(0, |cache| felt(cache.cycles)),
            cores: 0,
            tiles: machine.tiles.map(|_| Clusters::default()),
        }
    }

    /// There are so many tiles more, whose caches hold nothing.
    pub(crate) fn add_tiles(&mut self, count: u32) {
        if let Some(tiles) = &mut self.tiles {
            tiles.members.resize_with(tiles.members.len() + count as usize, Vec::new);
            if let Some(second) = &mut self.second {
                second.grow(tiles.members.len());
            }
        }
    }

    /// There is one core more, whose own caches hold nothing: one of `cluster`, where tiles have several cores.
    pub(crate) fn add_core(&mut self, cluster: u32) {
        let core = self.cores;
        self.cores += 1;
        self.first.grow(self.cores as usize);
        match (&mut self.tiles, &mut self.second) {
            (Some(tiles), _) => {
                tiles.of.push(cluster);
                tiles.members[cluster as usize].push(core);
            }
            (None, Some(second)) => second.grow(self.cores as usize),
            (None, None) => {}
        }
    }

    /// How many clusters there are.
    pub(crate) fn clusters(&self) -> u32 {
        self.tiles.as_ref().map_or(self.cores, |tiles| tiles.members.len() as u32)
    }

    /// The cluster of a core.
    #[inline]
    pub(crate) fn cluster_of(&self, core: u32) -> u32 {
        self.tiles.as_ref().map_or(core, |tiles| tiles.of[core as usize])
    }

    /// The cores of a tile share their second cache.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.tiles.is_some()
    }

    /// The cores of a cluster whose second cache several can share, one by one.
    #[inline]
    pub(crate) fn member(&self, cluster: u32, index: usize) -> Option<u32> {
        self.tiles.as_ref()?.members[cluster as usize].get(index).copied()
    }

    /// Asks the host for the set that a line is soon put into.
    #[inline]
    pub(crate) fn prefetch(&self, core: u32, line: u64) {
        self.first.prefetch(core, line);
    }

    /// The rights of `core` to `line`, and in how many cycles it knows.
    #[inline]
    pub(crate) fn look(&mut self, core: u32, line: u64, access: Access) -> (Right, u32) {
        if self.tiles.is_some() {
            return self.look_in_tile(core, line, access);
        }
        if let Some(word) = self.first.touch(core, line) {
            return (Right::of(*word), self.first_cycles);
        }
        let Some(second) = &mut self.second else { return (Right::None, self.first_cycles) };
        let Some(word) = second.touch(core, line) else {
            return (Right::None, self.second_cycles);
        };
        let right = Right::of(*word);
        // What goes stays in the second cache, which holds all.
        self.first.insert(core, line, right);
        (right, self.second_cycles)
    }

    /// As [`Private::look`]: reads may be answered by the first cache, writes go through it.
    fn look_in_tile(&mut self, core: u32, line: u64, access: Access) -> (Right, u32) {
        let near = self.first.touch(core, line).map(|word| Right::of(*word));
        if let (Some(right), Access::Read) = (near, access) {
            return (right, self.first_cycles);
        }
        let cluster = self.cluster_of(core);
        let word = self.second.as_mut().and_then(|second| second.touch(cluster, line));
        (word.map_or(Right::None, |word| Right::of(*word)), self.second_cycles)
    }

    /// The first cache of `core`, which shares its second one, has the line.
    #[inline]
    pub(crate) fn is_near(&mut self, core: u32, line: u64) -> bool {
        self.first.find(core, line).is_some()
    }

    /// The first cache of `core`, which shares its second one, has a line that may be accessed so without looking
    /// further: to write it, the core must have been the last of its tile to access it, by writing it.
    #[inline]
    pub(crate) fn answers_near(&mut self, core: u32, line: u64, access: Access) -> bool {
        let right = self.first.find(core, line).map_or(Right::None, |word| Right::of(*word));
        if access == Access::Read { right != Right::None } else { right == Right::Modified }
    }

    /// The right of a core's cluster to a line, as its second cache has it.
    pub(crate) fn right_of_tile(&mut self, core: u32, line: u64) -> Right {
        let cluster = self.cluster_of(core);
        let word = self.second.as_mut().and_then(|second| second.find(cluster, line));
        word.map_or(Right::None, |word| Right::of(*word))
    }

    /// The first cache of `core`, which writes through, holds nothing any more.
    pub(crate) fn clear_near(&mut self, core: u32) {
        self.first.clear(core);
    }

    /// Sets of the second cache.
    pub(crate) fn second_sets(&self) -> usize {
        self.second.as_ref().map_or(0, Tags::sets)
    }

    /// `core`, which shares its second cache, takes a line from there into its first one, to read it.
    pub(crate) fn fetch(&mut self, core: u32, line: u64) {
        self.for_siblings(core, |first, sibling| first.restate(sibling, line, Right::Shared));
        if self.first.find(core, line).is_none() {
            // What goes stays in the second cache, which holds all.
            self.first.insert(core, line, Right::Shared);
        }
    }

    /// `core`, whose cluster may write a line of its second cache, does: the line is modified there, and in the core's first
    /// cache alone among the siblings'. Calls `lost` with each sibling that lost it.
    pub(crate) fn write_through(&mut self, core: u32, line: u64, mut lost: impl FnMut(u32)) {
        let cluster = self.cluster_of(core);
        match self.first.find(core, line) {
            // Then no sibling has it, and the second cache has it modified.
            Some(word) if Right::of(*word) == Right::Modified => return,
            Some(word) => *word = line << 2 | Right::Modified as u64,
            None => _ = self.first.insert(core, line, Right::Modified),
        }
        if let Some(second) = &mut self.second {
            second.restate(cluster, line, Right::Modified);
        }
        self.for_siblings(core, |first, sibling| {
            if first.remove(sibling, line) != Right::None {
                lost(sibling);
            }
        });
    }

    fn for_siblings(&mut self, core: u32, mut f: impl FnMut(&mut Tags, u32)) {
        let Some(tiles) = &self.tiles else { return };
        let members = &tiles.members[tiles.of[core as usize] as usize];
        members.iter().filter(|&&it| it != core).for_each(|&it| f(&mut self.first, it));
    }

    /// `core`, whose caches are its own, has written a line that it may write.
    #[inline]
    pub(crate) fn modify(&mut self, core: u32, line: u64) {
        self.restate(core, line, Right::Modified);
    }

    /// Changes the right of a cluster to a line that is held.
    pub(crate) fn restate(&mut self, cluster: u32, line: u64, right: Right) {
        if let Some(second) = &mut self.second {
            second.restate(cluster, line, right);
        }
        match &self.tiles {
            None => self.first.restate(cluster, line, right),
            Some(tiles) => {
                let members = &tiles.members[cluster as usize];
                members.iter().for_each(|&core| self.first.restate(core, line, right));
            }
        }
    }

    /// Puts a line in for a core whose caches are its own, or changes the right to it; the line that goes, if one does.
    pub(crate) fn install(&mut self, core: u32, line: u64, right: Right) -> Option<(u64, Right)> {
        let outer = self.second.as_mut().unwrap_or(&mut self.first);
        if outer.find(core, line).is_some() {
            self.restate(core, line, right);
            return None;
        }
        let gone = outer.insert(core, line, right);
        if self.second.is_some() {
            let first = gone.map_or(Right::None, |(line, _)| self.first.remove(core, line));
            debug_assert!(gone.is_some_and(|gone| first <= gone.1) || first == Right::None);
            self.first.insert(core, line, right);
        }
        gone
    }

    /// Puts a line into the second cache of a tile, or raises the right to it; the line that goes, if one does, whose
    /// copies in the first caches are the caller's to remove.
    pub(crate) fn install_in_tile(
        &mut self,
        cluster: u32,
        line: u64,
        right: Right,
    ) -> Option<(u64, Right)> {
        let second = self.second.as_mut()?;
        if let Some(word) = second.find(cluster, line) {
            // A sibling may have written it since it was asked for.
            *word = line << 2 | (right.max(Right::of(*word)) as u64);
            return None;
        }
        second.insert(cluster, line, right)
    }

    /// The line that would go if `line` came.
    pub(crate) fn victim(&mut self, core: u32, line: u64) -> Option<u64> {
        let cluster = self.cluster_of(core);
        self.second.as_mut().unwrap_or(&mut self.first).victim(cluster, line)
    }

    /// Takes a line away from a core whose caches are its own: the right to it that it had.
    pub(crate) fn remove(&mut self, core: u32, line: u64) -> Right {
        let right = self.first.remove(core, line);
        match &mut self.second {
            Some(second) => second.remove(core, line),
            None => right,
        }
    }

    /// Takes a line away from the second cache of a tile.
    pub(crate) fn remove_from_tile(&mut self, cluster: u32, line: u64) {
        if let Some(second) = &mut self.second {
            second.remove(cluster, line);
        }
    }

    /// Takes a line away from the first cache of a core of a tile: whether it had it.
    pub(crate) fn remove_near(&mut self, core: u32, line: u64) -> bool {
        self.first.remove(core, line) != Right::None
    }

    /// Until a cluster answers for a line that it holds.
    pub(crate) fn answer_cycles(&self) -> u32 {
        self.first_cycles.max(self.second_cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Cache, Tiles};

    fn caches(first: Cache, second: Option<Cache>, hidden_cycles: u32, cores: u32) -> Private {
        let mut caches =
            Private::new(&Description { first, second, hidden_cycles, ..Description::mesh() });
        (0..cores).for_each(|core| caches.add_core(core));
        caches
    }

    #[test]
    fn the_least_recently_used_goes() {
        let cache = Cache { bytes: 64 * 8, ways: 4, cycles: 1 };
        let mut caches = caches(cache, None, 0, 2);
        for line in [2, 4, 6, 8] {
            assert_eq!(caches.install(1, line, Right::Shared), None);
        }
        assert_eq!(caches.look(1, 2, Access::Read).0, Right::Shared);
        assert_eq!(caches.look(0, 2, Access::Read).0, Right::None, "the other core's");
        assert_eq!(caches.install(1, 10, Right::Modified), Some((4, Right::Shared)));
        assert_eq!(caches.remove(1, 10), Right::Modified);
        assert_eq!(caches.look(1, 10, Access::Read).0, Right::None);
        assert_eq!(caches.install(1, 12, Right::Shared), None, "a place is free");
    }

    #[test]
    fn two_caches_hold_one_state() {
        let first = Cache { bytes: 64 * 2, ways: 1, cycles: 1 };
        let second = Cache { bytes: 64 * 4, ways: 2, cycles: 9 };
        let mut caches = caches(first, Some(second), 0, 1);
        caches.install(0, 2, Right::Exclusive);
        caches.install(0, 4, Right::Shared);
        assert_eq!(caches.look(0, 2, Access::Read), (Right::Exclusive, 9), "pushed out");
        caches.modify(0, 2);
        assert_eq!(caches.look(0, 4, Access::Read), (Right::Shared, 9));
        assert_eq!(caches.install(0, 6, Right::Shared), Some((2, Right::Modified)));
        assert_eq!(caches.look(0, 2, Access::Read).0, Right::None);
    }

    #[test]
    fn a_core_hides_less_than_an_access() {
        let cache = |bytes, cycles| Cache { bytes, ways: 1, cycles };
        let mut caches = caches(cache(64 * 2, 3), Some(cache(64 * 4, 9)), 4, 1);
        caches.install(0, 2, Right::Shared);
        assert_eq!(caches.look(0, 2, Access::Read).1, 1);
        caches.install(0, 4, Right::Shared);
        assert_eq!(caches.look(0, 2, Access::Read).1, 5);
    }

    /// Two cores of one tile and one of another.
    #[test]
    fn siblings_share_a_second_cache_and_lose_what_one_writes() {
        let machine = Description {
            tiles: Some(Tiles { cores: 2 }),
            first: Cache { bytes: 64 * 2, ways: 1, cycles: 2 },
            second: Some(Cache { bytes: 64 * 4, ways: 2, cycles: 7 }),
            ..Description::mesh()
        };
        let mut caches = Private::new(&machine);
        caches.add_tiles(2);
        [0, 0, 1].into_iter().for_each(|cluster| caches.add_core(cluster));
        assert_eq!(caches.install_in_tile(0, 2, Right::Exclusive), None);
        for core in [0, 1] {
            assert_eq!(caches.look(core, 2, Access::Read), (Right::Exclusive, 7));
            caches.fetch(core, 2);
            assert_eq!(caches.look(core, 2, Access::Read), (Right::Shared, 2));
            assert_eq!(caches.look(core, 2, Access::Write), (Right::Exclusive, 7), "through");
        }
        assert_eq!(caches.look(2, 2, Access::Read).0, Right::None);
        let mut lost = Vec::new();
        caches.write_through(0, 2, |core| lost.push(core));
        assert_eq!(lost, [1]);
        assert!(caches.is_near(0, 2) && !caches.is_near(1, 2));
        assert_eq!(caches.look(1, 2, Access::Read), (Right::Modified, 7));
        caches.write_through(0, 2, |_| panic!("no sibling has it"));
        caches.fetch(1, 2);
        caches.write_through(0, 2, |core| lost.push(core));
        assert_eq!(lost, [1, 1], "a sibling that reads is seen");
        assert_eq!(caches.install_in_tile(0, 4, Right::Shared), None);
        assert_eq!(caches.install_in_tile(0, 6, Right::Shared), Some((2, Right::Modified)));
    }
}
