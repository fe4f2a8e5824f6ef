//! Facts about the computer, as the system reports them.

use std::sync::OnceLock;

/// The processor's name; empty where the system does not tell.
pub fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    model
        .and_then(|line| line.split_once(':'))
        .map_or(String::new(), |(_, name)| name.trim().into())
}

/// Memory that programs can still obtain without any other giving its own up, in bytes: what the system
/// says, or less where this process' container may have less. `None` where the system does not tell.
pub fn memory_available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    let container = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse().ok()
    };
    let left =
        container("max").zip(container("current")).map(|(most, now)| most.saturating_sub(now));
    Some((kilobytes * 1024).min(left.unwrap_or(u64::MAX)))
}

/// The cores that this process may use, looked at once.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
