//! The sizes that slots have, what of a record's slot is not its value, and the numbers by which a record names both.
//!
//! A record's note has a *form*: the number of its size class or, where it leads to a mate (`mates.rs`), that number counted from the end
//! of the classes.

/// The bytes of a record before its payload.
pub(crate) const HEAD_BYTES: usize = 16;

/// The most further words that a scheme may ask for in each record.
pub const SCHEME_WORDS_MAX: usize = 2;

/// Steps of a word up to a cache line, of two up to 512 bytes, then four to each doubling up to
/// 2 MiB.
const WORD_CLASSES: usize = 8;
const FINE_CLASSES: usize = WORD_CLASSES + (512 - 64) / 16;
const COARSE_DOUBLINGS: usize = 12;
pub(crate) const CLASSES: usize = FINE_CLASSES + 4 * COARSE_DOUBLINGS;

const CLASS_BYTES: [u32; CLASSES] = {
    let mut bytes = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        bytes[class] = if class < WORD_CLASSES {
            (class + 1) * 8
        } else if class < FINE_CLASSES {
            64 + (class + 1 - WORD_CLASSES) * 16
        } else {
            let coarse = class - FINE_CLASSES;
            let base = 512 << (coarse / 4);
            base + base / 4 * (coarse % 4 + 1)
        } as u32;
        class += 1;
    }
    bytes
};

/// The bytes of a slot of `class`.
#[inline]
pub(crate) const fn class_bytes(class: u8) -> usize {
    CLASS_BYTES[class as usize] as usize
}

/// The bytes of a slot of a pool, whether they all exist or not: each kind has a pool for each class, in their order.
#[inline]
pub(crate) fn pool_bytes(pool: usize) -> usize {
    class_bytes((pool % CLASSES) as u8)
}

/// The bytes of the slot that holds so many: those of the smallest class that does, and `bytes` above the greatest.
#[must_use]
pub fn slot_bytes_for(bytes: usize) -> u64 {
    class_for(bytes).map_or(bytes, class_bytes) as u64
}

/// The smallest class of at least `bytes`; `None` above the greatest.
#[inline]
pub(crate) fn class_for(bytes: usize) -> Option<u8> {
    let class = match bytes {
        0..=64 => bytes.max(1).div_ceil(8) - 1,
        65..=512 => WORD_CLASSES + (bytes - 64).div_ceil(16) - 1,
        _ => {
            FINE_CLASSES + CLASS_BYTES[FINE_CLASSES..].partition_point(|&it| (it as usize) < bytes)
        }
    };
    debug_assert!(CLASS_BYTES.get(class).is_none_or(|&it| it as usize >= bytes), "it has room");
    debug_assert!(class == 0 || (CLASS_BYTES[class - 1] as usize) < bytes, "and no lesser one has");
    (class < CLASSES).then_some(class as u8)
}

/// The bytes of the pointer to a mate, at the end of a slot.
pub(crate) const LINK_BYTES: usize = 8;

/// The classes that records with a mate may have: those of slots of up to 2 KiB.
const MATED_CLASSES: usize = 44;

/// The first number that is no form.
pub(crate) const FORMS_END: usize = CLASSES + MATED_CLASSES;

/// The longest value, with the scheme's words, that a record with a mate has in place.
const PLAIN_BYTES_MAX: usize = class_bytes(MATED_CLASSES as u8 - 1) - HEAD_BYTES - LINK_BYTES;

/// The size class of a form.
#[inline]
pub(crate) const fn class_of(form: u8) -> u8 {
    if has_mate(form) { form - CLASSES as u8 } else { form }
}

/// Whether a record of this form has a place for the pointer to a mate.
#[inline]
pub(crate) const fn has_mate(form: u8) -> bool {
    form as usize >= CLASSES
}

/// The form of a record with a place for a mate, and for so many bytes or, where those are too many, for some.
pub(crate) fn form_for(bytes: usize) -> u8 {
    let slot = HEAD_BYTES + bytes.min(PLAIN_BYTES_MAX) + LINK_BYTES;
    let class = class_for(slot).map_or(MATED_CLASSES - 1, usize::from);
    debug_assert!(class < MATED_CLASSES, "the longest has the last class");
    (CLASSES + class) as u8
}
