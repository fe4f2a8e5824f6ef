//! How much room a process has for stacks, and that there is none.
//!
//! A stack and the page below it are two of the mappings of which the system allows a process only so many
//! (`vm.max_map_count`). Without any left, the allocator and the start of a thread end the process. So stacks
//! keep to half of them.

use core::{fmt, ptr};
use std::sync::OnceLock;

/// Mappings that a process may have where the system does not say.
const MAPPINGS: usize = 65_530;

/// Mappings of a stack: itself, and the page below it that nobody may touch.
const OF_A_STACK: usize = 2;

/// Stacks have this part of all mappings.
const PART: usize = 2;

/// The system has no room for a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom {
    /// The stack's size in bytes.
    pub bytes: usize,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no room for a stack of {} KiB: it is limited by the address space of the process (ulimit -v) \
             and by vm.max_map_count, with which there are at most {} stacks",
            self.bytes >> 10,
            stacks_max()
        )
    }
}

impl std::error::Error for NoRoom {}

/// Mappings of memory that the system allows a process, looked at once.
#[must_use]
pub fn mappings_max() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(MAPPINGS)
    })
}

/// Stacks besides those of threads that a process can have at a time.
#[must_use]
pub fn stacks_max() -> usize {
    mappings_max() / PART / OF_A_STACK
}

/// Address space of the process that is kept free for what comes when this is dropped.
#[derive(Debug)]
pub struct Spare {
    at: *mut libc::c_void,
    bytes: usize,
}

impl Spare {
    /// Keeps `bytes`, which must not be zero. `None` where the process has no more: its address space can have a limit
    /// (`ulimit -v`).
    #[must_use]
    pub fn keep(bytes: usize) -> Option<Self> {
        debug_assert!(bytes > 0, "no mapping is empty");
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, where the system likes, which nobody may touch.
        let at = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, kind, -1, 0) };
        (at != libc::MAP_FAILED).then_some(Self { at, bytes })
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        // SAFETY: mapped by `keep`, and nobody else knows of it.
        unsafe { libc::munmap(self.at, self.bytes) };
    }
}
