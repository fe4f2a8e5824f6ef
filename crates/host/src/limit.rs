//! The limits of this process, and refusals of what cannot fit, before anything is made.

use crate::failure::Stop;
use chiliad_machine::mappings_max;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// Mappings of a thread: its stack, the one that it handles signals on, and the pages below both.
const MAPPINGS_OF_A_THREAD: usize = 4;

/// Mappings of everything else.
const MAPPINGS_BESIDES: usize = 4_000;

/// The most memory that the process may have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit {
    bytes: u64,
    /// The origin of the limit.
    by: String,
}

impl Limit {
    /// Of this process: the least of its control groups', its own limits, and what the computer has. `None`
    /// where the system does not say. The system's files are read once: the list of figures checks
    /// thousands of points.
    pub fn of_this_process() -> Option<&'static Self> {
        static LIMIT: LazyLock<Option<Limit>> = LazyLock::new(Limit::read);
        LIMIT.as_ref()
    }

    fn read() -> Option<Self> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let groups = of_groups(&read("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
        let own = of_process(&read("/proc/self/limits"));
        let all = of_computer(&read("/proc/meminfo"));
        groups.into_iter().chain(own).chain(all).min_by_key(|limit| limit.bytes)
    }

    /// Refuses `bytes` if they are more, naming the flag that asks for them.
    pub fn check(&self, flag: &str, bytes: u64) -> Result<(), Stop> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let [needed, most] = [bytes, self.bytes].map(readable);
        let problem =
            format!("needs about {needed} of memory; accepted: what fits {most} ({})", self.by);
        Err(Stop::bad(flag, problem))
    }
}

/// The most bytes of memory that this process may have, as far as the system says.
pub fn memory_bytes() -> u64 {
    Limit::of_this_process().map_or(u64::MAX, |limit| limit.bytes)
}

/// Refuses what is estimated to need more memory than this process can have, naming the flag that asks for it.
pub fn check_memory(flag: &str, bytes: u64) -> Result<(), Stop> {
    Limit::of_this_process().map_or(Ok(()), |limit| limit.check(flag, bytes))
}

/// Refuses threads, each with so many more stacks, for which a process cannot have enough mappings of memory:
/// without them threads cannot even say that they cannot start.
pub fn check_threads(flag: &str, threads: usize, stacks_each: usize) -> Result<(), Stop> {
    let each = MAPPINGS_OF_A_THREAD + 2 * stacks_each;
    let most = mappings_max().saturating_sub(MAPPINGS_BESIDES) / each;
    if threads <= most {
        return Ok(());
    }
    let needed = threads.saturating_mul(each);
    let problem = format!(
        "{threads} need {needed} mappings of memory, of which a process may have {}; accepted: 1 to {most} \
         here, or a greater vm.max_map_count",
        mappings_max()
    );
    Err(Stop::bad(flag, problem))
}

fn readable(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20)];
    let found = units.iter().find(|(_, shift)| bytes >> shift > 0);
    let (unit, shift) = found.unwrap_or(&("KiB", 10));
    format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64)
}

/// The limits of the control groups that a process is in, and of those above them. `groups` is what the
/// system says of them, `root` where they are.
fn of_groups(groups: &str, root: &Path) -> Vec<Limit> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(kind), Some(group)) = (fields.next(), fields.next()) else { continue };
        let (top, file) = match kind {
            "" => (root.to_owned(), "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // In a container the group's own path may not be visible, but the top is the group.
        for group in Path::new(group.trim_start_matches('/')).ancestors() {
            let path = top.join(group).join(file);
            let bytes = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
            limits.extend(bytes.map(|bytes| Limit { bytes, by: path.display().to_string() }));
        }
    }
    limits
}

/// The limits that the process was started with.
fn of_process(limits: &str) -> Vec<Limit> {
    let of = |name: &str, by: &str| {
        let soft = limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
        Some(Limit { bytes: soft.into_iter().next()?.parse().ok()?, by: by.into() })
    };
    [of("Max address space", "ulimit -v"), of("Max data size", "ulimit -d")]
        .into_iter()
        .flatten()
        .collect()
}

/// The memory of the computer.
fn of_computer(meminfo: &str) -> Option<Limit> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(Limit { bytes: kibibytes << 10, by: "all that this computer has".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_above_count_too() {
        let root = std::env::temp_dir().join(format!("chiliad-groups-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        put("a/b/memory.max", "max\n");
        put("a/memory.max", "3221225472\n");
        put("memory/x/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/memory.limit_in_bytes", "1000\n");
        let bytes = |groups: &str| {
            let mut all: Vec<u64> = of_groups(groups, &root).iter().map(|it| it.bytes).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(bytes("0::/a/b\n"), [3 << 30]);
        assert_eq!(bytes("0::/elsewhere\n"), [0; 0]);
        assert_eq!(
            bytes("2:cpu:/x\n4:memory,freezer:/x/y\n0::/\n"),
            [1000, 9_223_372_036_854_771_712]
        );
        fs::remove_dir_all(root).expect("removable");
    }

    #[test]
    fn own_limits_and_the_computers_are_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max data size             unlimited            unlimited            bytes     \n\
                      Max address space         12884901888          unlimited            bytes     \n";
        let own = of_process(limits);
        assert_eq!(own, [Limit { bytes: 12 << 30, by: "ulimit -v".into() }]);
        let all = of_computer("MemTotal:       24083880 kB\nMemFree: 1 kB\n").expect("said");
        assert_eq!(all.bytes, 24_083_880 << 10);
        let refused = own[0].check("--records", 200 << 40);
        let said =
            "--records: needs about 200.0 TiB of memory; accepted: what fits 12.0 GiB (ulimit -v)";
        assert!(matches!(refused, Err(Stop::BadInput(line)) if line == said));
        assert!(all.check("--records", 1 << 30).is_ok());
    }
}
