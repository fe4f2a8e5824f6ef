//! Names of the files of a log, and the identities of their frames.

use chiliad_log::frame::Identity;
use chiliad_machine::disk::{Disk, DiskFile};
use chiliad_machine::shared_log::Position;
use std::io;

/// The file that says which log this is and where it begins.
pub(super) const HEAD_NAME: &str = "shared-log";

const SEGMENT_PREFIX: &str = "shared-log-";
const SEGMENT_DIGITS: usize = 20;

/// The segment whose first record has this position.
pub(super) fn segment_name(first: Position) -> String {
    format!("{SEGMENT_PREFIX}{first:0SEGMENT_DIGITS$}")
}

/// The position of the first record of a segment; `None`: another file.
pub(super) fn segment_first(name: &str) -> Option<Position> {
    let first = name.strip_prefix(SEGMENT_PREFIX)?.parse().ok()?;
    (segment_name(first) == name).then_some(first)
}

/// By what the frames of a segment are known.
pub(super) fn segment_identity(log: u128, first: Position) -> Identity {
    Identity { database: log, room: 4, numbers: [(first >> 32) as u32, first as u32, 0] }
}

/// By what the head's frames are known: it is they that say which log this is.
pub(super) fn head_identity() -> Identity {
    Identity { database: 0, room: 5, numbers: [0; 3] }
}

/// Creates a file in place of one of this name. That goes first: where the name was given by a process whose sync of
/// names failed, no later sync makes it durable, and this one's does.
pub(super) fn create_anew(
    disk: &dyn Disk,
    name: &str,
    bytes: u64,
) -> io::Result<Box<dyn DiskFile>> {
    match disk.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => disk.create(name, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for first in [1, 77, u64::MAX] {
            assert_eq!(segment_first(&segment_name(first)), Some(first));
        }
        for other in [HEAD_NAME, "shared-log-7", "shared-log-+0000000000000000001", "LOCK"] {
            assert_eq!(segment_first(other), None, "{other}");
        }
    }
}
