//! How transactions become tasks, where a graph could do it differently.

use crate::ranges::within;

/// The options of graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphOptions {
    /// Tasks with several parents are begun by the last of them, which a counter tells (Yan, 2015, 4.2.1); else by one of
    /// them, which runs early as often as not.
    pub joins: bool,
    /// Parts of a scan, or of what it has found, that are tasks of their own (Yan, 2015, 4.2.2), 1 to
    /// [`SCAN_PARTITIONS_MAX`]; `None`: sixteen, so that the lines of a part leave its filters sparse. TPC-E's graph has such scans.
    pub scan_partitions: Option<u32>,
    /// What tasks write is logged, by tasks of their own (Yan, 2015, 4.3).
    pub task_log: Option<TaskLogOptions>,
}

/// The most parts of a scan.
pub const SCAN_PARTITIONS_MAX: u32 = 64;

/// Parts of a scan where nothing is said of them.
const SCAN_PARTITIONS: u32 = 16;

impl GraphOptions {
    /// The parts of a scan.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn scan_partitions(&self) -> Result<u32, String> {
        let parts = self.scan_partitions.unwrap_or(SCAN_PARTITIONS);
        within("--scan-partitions", parts.into(), 1, SCAN_PARTITIONS_MAX.into()).map(|()| parts)
    }
}

/// The log of tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskLogOptions {
    /// Slots for entries; a power of two. `None`: one for each timestamp, so that it is never full.
    pub slots: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_parts_and_too_many_are_refused() {
        let of = |parts| GraphOptions { scan_partitions: parts, ..Default::default() };
        assert_eq!(of(None).scan_partitions(), Ok(16));
        assert_eq!(of(Some(64)).scan_partitions(), Ok(64));
        for parts in [0, 65] {
            let message = format!("--scan-partitions {parts}: accepted is 1 to 64");
            assert_eq!(of(Some(parts)).scan_partitions(), Err(message));
        }
    }
}
