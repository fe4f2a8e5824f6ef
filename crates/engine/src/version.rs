//! The version of a record that is in place: its payload and the header word that names it.

use crate::arena::{Arena, Piece};
use crate::record_word;
use chiliad_api::stamp;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::RecordRef;

/// The version of a record that a read found. One word, for the reason that a [`Piece`] is one.
#[derive(Clone, Copy)]
pub struct Version(u64);

/// The key is absent in the version; no piece is so long.
const ABSENT: u64 = 1 << 63;

impl Version {
    /// A version with these bytes in the arena; for an absent one the stamp, in a verified run, or nothing.
    #[inline]
    pub fn new(absent: bool, bytes: Piece) -> Self {
        debug_assert!(bytes.to_word() & ABSENT == 0, "a value has less than 2 GiB");
        Self(bytes.to_word() | if absent { ABSENT } else { 0 })
    }

    /// Whether the key is absent in it.
    #[inline]
    pub fn is_absent(self) -> bool {
        self.0 & ABSENT != 0
    }

    /// Its bytes in the arena.
    #[inline]
    pub fn bytes(self) -> Piece {
        Piece::from_word(self.0 & !ABSENT)
    }
}

/// Copies the version in place, whose word is `word`.
#[inline]
pub fn copy<M: Machine>(
    record: RecordRef<M>,
    word: u64,
    arena: &mut Arena,
    stamped: bool,
) -> Version {
    let absent = word & record_word::ABSENT != 0;
    let source = record.value();
    let length = if absent && !stamped { 0 } else { source.length() };
    Version::new(absent, arena.fill(length, |target| source.read(target)))
}

/// As [`copy`], where others may write: `None` if the version has changed meanwhile, or if it is the absence
/// that an insertion places and its stamp is not there yet.
#[inline]
pub fn copy_whole<M: Machine>(
    record: RecordRef<M>,
    word: u64,
    arena: &mut Arena,
    stamped: bool,
) -> Option<Version> {
    debug_assert!(word & record_word::DEAD == 0, "a dead record is looked up again");
    let version = copy(record, word, arena, stamped);
    // Acquire: the copy happens before the check; pairs with the release fence of the writer.
    M::fence(Ordering::Acquire);
    if record.word().load(Ordering::SeqCst) != word {
        return None;
    }
    // An insertion writes the stamp of its record's absence when the index has it already.
    let torn = version.is_absent()
        && stamped
        && stamp::read_absent(arena.get(version.bytes())) == stamp::TORN;
    (!torn).then_some(version)
}

/// Reads a record of a table that is sealed; `None` if it has left its index, as the rows of a load that failed
/// may still do. All else stays as it is.
#[inline]
pub fn read_sealed<M: Machine>(
    record: RecordRef<M>,
    arena: &mut Arena,
    stamped: bool,
) -> Option<Version> {
    // Acquire pairs with the release of the installation.
    let word = record.word().load(Ordering::Acquire);
    let is_dead = word & record_word::DEAD != 0;
    (!is_dead).then(|| copy(record, word, arena, stamped))
}

/// The version in place, for the recorder: its bytes, and whether it is absent.
pub fn current_version<M: Machine>(record: RecordRef<M>, out: &mut Vec<u8>) -> bool {
    let source = record.value();
    out.resize(source.length(), 0);
    source.read(out);
    record.word().load(Ordering::Relaxed) & record_word::ABSENT != 0
}
