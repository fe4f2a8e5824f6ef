//! This computer's processors and caches, from `/sys/devices/system/cpu`.
//!
//! Cores that share a last-level cache count as a socket, whatever it is soldered to: that is where distance
//! begins. Caches of sizes that the simulator has no sets for are rounded down to a power of two of sets.

use chiliad_machine::LINE_BYTES;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The most cores that a machine has.
pub const CORES_MAX: u32 = 1024;

/// Where the system says it.
const ROOT: &str = "/sys/devices/system/cpu";

/// A cache as found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundCache {
    /// All of it.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Processors that share it.
    pub sharers: u32,
}

/// A computer; what it does not tell is missing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Processors in sockets that are all alike.
    pub cores: Option<u32>,
    /// Each processor's first cache.
    pub first: Option<FoundCache>,
    /// Its second, if that is its own.
    pub second: Option<FoundCache>,
    /// The one that a socket shares.
    pub shared: Option<FoundCache>,
}

/// This computer, looked at once.
pub fn this_computer() -> Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| found(Path::new(ROOT))).clone()
}

fn found(root: &Path) -> Found {
    let text = |path: &str| Some(fs::read_to_string(root.join(path)).ok()?.trim().to_owned());
    let online = text("online").and_then(|list| members(&list));
    let mut caches: Vec<(u32, FoundCache)> = Vec::new();
    for index in 0..8 {
        let cache = |name: &str| text(&format!("cpu0/cache/index{index}/{name}"));
        let one = || {
            if cache("type")? == "Instruction" {
                return None;
            }
            let bytes = cache("size")?.strip_suffix('K')?.parse::<u64>().ok()? * 1024;
            let ways = cache("ways_of_associativity")?.parse().ok()?;
            let sharers = members(&cache("shared_cpu_list")?)?;
            Some((cache("level")?.parse().ok()?, FoundCache { bytes, ways, sharers }))
        };
        caches.extend(one());
    }
    let of = |level: u32| caches.iter().find(|cache| cache.0 == level).map(|cache| cache.1);
    let last = caches.iter().map(|cache| cache.0).max().and_then(of).map(whole_sets);
    Found {
        cores: online.zip(last).map(|(online, last)| {
            let online = online.min(CORES_MAX);
            online - online % last.sharers.clamp(1, online)
        }),
        first: of(1),
        second: of(2).filter(|_| caches.iter().any(|cache| cache.0 > 2)),
        shared: last,
    }
}

/// How many a list such as `0-3,8` names.
fn members(list: &str) -> Option<u32> {
    let count = |part: &str| match part.split_once('-') {
        Some((low, high)) => {
            high.parse::<u32>().ok()?.checked_sub(low.parse().ok()?)?.checked_add(1)
        }
        None => part.parse::<u32>().ok().map(|_| 1),
    };
    list.split(',').map(count).sum()
}

/// A shared cache, each of whose sharers has a slice with a power of two of sets.
fn whole_sets(cache: FoundCache) -> FoundCache {
    let FoundCache { bytes, ways, sharers } = cache;
    let lines = bytes / LINE_BYTES as u64 / u64::from(sharers.max(1));
    let ways = ways.max(1);
    let sets = lines / u64::from(ways);
    if sets == 0 || sets.is_power_of_two() {
        return cache;
    }
    // As many sets as the power of two below, and ways for what they do not hold.
    let sets = sets.next_power_of_two() / 2;
    let ways = (lines / sets).min(64) as u32;
    let bytes = sets * u64::from(ways) * LINE_BYTES as u64 * u64::from(sharers);
    FoundCache { bytes, ways, sharers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted() {
        assert_eq!(members("0"), Some(1));
        assert_eq!(members("0-3,8,10-11"), Some(7));
        assert_eq!(members("3-1"), None);
        assert_eq!(members("x"), None);
    }

    #[test]
    fn slices_have_a_power_of_two_of_sets() {
        let odd = FoundCache { bytes: 266_240 << 10, ways: 20, sharers: 2 };
        let even = whole_sets(odd);
        let sets = even.bytes / 64 / 2 / u64::from(even.ways);
        assert!(sets.is_power_of_two());
        assert!(even.bytes <= odd.bytes && even.bytes > odd.bytes * 9 / 10, "{even:?}");
        let whole = FoundCache { bytes: 32 << 20, ways: 16, sharers: 8 };
        assert_eq!(whole_sets(whole), whole);
    }

    #[test]
    fn a_computer_is_read_from_its_files() {
        let root = std::env::temp_dir().join(format!("chiliad-found-{}", std::process::id()));
        let cache = |index: u32, kind: &str, level: u32, size: &str, ways: u32, list: &str| {
            let folder = root.join(format!("cpu0/cache/index{index}"));
            fs::create_dir_all(&folder).expect("a folder");
            let files = [
                ("type", kind.to_owned()),
                ("level", level.to_string()),
                ("size", size.to_owned()),
                ("ways_of_associativity", ways.to_string()),
                ("shared_cpu_list", list.to_owned()),
            ];
            for (name, text) in files {
                fs::write(folder.join(name), text + "\n").expect("a file");
            }
        };
        cache(0, "Data", 1, "32K", 8, "0");
        cache(1, "Instruction", 1, "32K", 8, "0");
        cache(2, "Unified", 2, "1024K", 16, "0");
        cache(3, "Unified", 3, "32768K", 16, "0-7");
        fs::write(root.join("online"), "0-15\n").expect("a file");
        let found = found(&root);
        fs::remove_dir_all(&root).expect("removable");
        assert_eq!(found.cores, Some(16));
        assert_eq!(found.second.map(|cache| cache.bytes), Some(1 << 20));
        assert_eq!(found.shared.map(|cache| (cache.ways, cache.sharers)), Some((16, 8)));
        assert_eq!(super::found(&root), Found::default());
    }
}
