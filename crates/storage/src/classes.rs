//! The sizes that slots have, and what of a record's slot is not its value.

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

/// The bytes of the slot that holds so many: those of the smallest class that does, and `bytes` above the greatest.
#[must_use]
pub fn slot_bytes_for(bytes: usize) -> u64 {
    class_for(bytes).map_or(bytes, class_bytes) as u64
}

/// The smallest class of at least `bytes`; `None` above the greatest.
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
