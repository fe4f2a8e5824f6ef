//! The names of files in a data directory.
//!
//! ```text
//! MANIFEST                         what is in use: see `manifest`
//! MANIFEST.new                     the next one, until it takes the place of that
//! LOCK                             held by the process that uses the directory
//! claims-IIIIIIII                  how far the logs of incarnation I are durable: see `claims`
//! log-IIIIIIII-WWWW-SSSSSSSS       segment S of writer W in incarnation I, in hexadecimal
//! checkpoint-NNNNNNNN-PPPP         part P of checkpoint N
//! spare-NNNNNNNN                   room for a segment to come
//! ```

use crate::frame::Identity;
use chiliad_machine::disk::LOCK_NAME;
use core::fmt;

/// The name of the manifest.
pub const MANIFEST_NAME: &str = "MANIFEST";
/// The name of the next manifest, until it takes the place of that.
pub(crate) const MANIFEST_NEW: &str = "MANIFEST.new";

/// One file of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SegmentId {
    /// Which opening of the database wrote it.
    pub incarnation: u32,
    /// Which of its log writers.
    pub writer: u32,
    /// Counts the writer's segments from 0.
    pub sequence: u32,
}

impl SegmentId {
    /// The identity that its frames are checked against.
    #[must_use]
    pub fn identity(self, database: u128) -> Identity {
        Identity { database, room: 0, numbers: [self.incarnation, self.writer, self.sequence] }
    }

    /// The identity that its marks are checked against.
    pub(crate) fn identity_of_marks(self, database: u128) -> Identity {
        Identity { room: 3, ..self.identity(database) }
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log-{:08x}-{:04x}-{:08x}", self.incarnation, self.writer, self.sequence)
    }
}

/// The file that a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// The manifest.
    Manifest,
    /// A manifest that did not take its place.
    ManifestNew,
    /// The lock.
    Lock,
    /// The claims of the writers of an incarnation.
    Claims(u32),
    /// A segment of the log.
    Segment(SegmentId),
    /// A part of a checkpoint.
    Part {
        /// The checkpoint.
        checkpoint: u32,
        /// Counts its parts from 0.
        part: u32,
    },
    /// Room for a segment.
    Spare(u32),
    /// Not ours.
    Foreign,
}

impl Name {
    /// The number of a spare file; `None` if the name is of something else.
    #[must_use]
    pub fn spare(name: &str) -> Option<u32> {
        match Self::parse(name) {
            Self::Spare(number) => Some(number),
            _ => None,
        }
    }

    /// Parses `name`.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        match name {
            MANIFEST_NAME => return Self::Manifest,
            MANIFEST_NEW => return Self::ManifestNew,
            LOCK_NAME => return Self::Lock,
            _ => {}
        }
        let numbers: Option<Vec<u32>> =
            name.split('-').skip(1).map(|digits| u32::from_str_radix(digits, 16).ok()).collect();
        let found = match (name.split('-').next(), numbers.as_deref()) {
            (Some("log"), Some(&[incarnation, writer, sequence])) => {
                Self::Segment(SegmentId { incarnation, writer, sequence })
            }
            (Some("checkpoint"), Some(&[checkpoint, part])) => Self::Part { checkpoint, part },
            (Some("claims"), Some(&[incarnation])) => Self::Claims(incarnation),
            (Some("spare"), Some(&[number])) => Self::Spare(number),
            _ => return Self::Foreign,
        };
        // One file, one name: no other spelling of the numbers.
        if found.to_string() == name { found } else { Self::Foreign }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest => f.write_str(MANIFEST_NAME),
            Self::ManifestNew => f.write_str(MANIFEST_NEW),
            Self::Lock => f.write_str(LOCK_NAME),
            Self::Claims(incarnation) => write!(f, "claims-{incarnation:08x}"),
            Self::Segment(id) => id.fmt(f),
            Self::Part { checkpoint, part } => write!(f, "checkpoint-{checkpoint:08x}-{part:04x}"),
            Self::Spare(number) => write!(f, "spare-{number:08x}"),
            Self::Foreign => f.write_str("(a file of somebody else)"),
        }
    }
}

/// The identity that the frames of a part are checked against.
pub(crate) fn part_identity(database: u128, checkpoint: u32, part: u32) -> Identity {
    Identity { database, room: 1, numbers: [checkpoint, part, 0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let id = SegmentId { incarnation: 3, writer: 1, sequence: 0xabc };
        for name in [
            Name::Manifest,
            Name::ManifestNew,
            Name::Lock,
            Name::Claims(0xfe),
            Name::Segment(id),
            Name::Part { checkpoint: 9, part: 2 },
            Name::Spare(17),
        ] {
            assert_eq!(Name::parse(&name.to_string()), name);
        }
        for foreign in ["", "log", "log-1-2-3", "log-00000003-0001-00000ABC", "notes.txt", "spare-"]
        {
            assert_eq!(Name::parse(foreign), Name::Foreign, "{foreign}");
        }
    }
}
