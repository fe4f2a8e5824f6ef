//! Copies of shared bytes, sixteen at a time.
//!
//! A reader of a record copies bytes that somebody may be writing meanwhile, and looks afterwards whether anybody has. The
//! language's atomics move eight bytes at most, and the compiler joins no two of them; its vectors are no atomics. So the
//! moves are written as instructions: to the compiler each stands for relaxed accesses of its bytes, in any order, of
//! which it knows nothing but that they touch memory.
//!
//! Where a sanitizer is to see each access (`--cfg copies_by_word`), under Miri, and on other processors the words are copied
//! one by one (`bytes.rs`).
//!
//! The last move overlaps the one before it, so that no rest is left. Most values of a table then take the same number of moves,
//! although their lengths differ.

use core::arch::asm;

/// Whether to copy so: Miri does not run instructions, and sanitizers do not see what they touch.
pub const SERVES: bool = !cfg!(any(miri, copies_by_word));

/// Bytes of one round.
const BLOCK_BYTES: usize = 64;

/// Copies so many bytes, eight at least. Where the two places overlap, what arrives there may be anything that was in them.
///
/// # Safety
/// Both places are so long. Each is either the caller's alone, or made of atomics, which others access as such or by this
/// function.
#[inline(always)]
pub unsafe fn copy(target: *mut u8, source: *const u8, bytes: usize) {
    debug_assert!(bytes >= 8, "a word is moved at least");
    // SAFETY: all moves lie within the first `bytes` of both places, which the caller vouches for.
    unsafe {
        match bytes {
            0..16 => {
                eight(target, source);
                eight(target.add(bytes - 8), source.add(bytes - 8));
            }
            16..32 => {
                sixteen::<0>(target, source);
                sixteen::<0>(target.add(bytes - 16), source.add(bytes - 16));
            }
            32..BLOCK_BYTES => {
                thirty_two(target, source);
                thirty_two(target.add(bytes - 32), source.add(bytes - 32));
            }
            _ => {
                let last = bytes - BLOCK_BYTES;
                let mut at = 0;
                while at < last {
                    block(target.add(at), source.add(at));
                    at += BLOCK_BYTES;
                }
                block(target.add(last), source.add(last));
            }
        }
    }
}

#[inline(always)]
unsafe fn eight(target: *mut u8, source: *const u8) {
    // SAFETY: as for `copy`; x86-64 moves unaligned words.
    unsafe {
        asm!(
            "mov {word}, [{source}]",
            "mov [{target}], {word}",
            word = out(reg) _,
            source = in(reg) source,
            target = in(reg) target,
            options(nostack, preserves_flags),
        );
    }
}

/// Moves the bytes from `AT` on.
#[inline(always)]
unsafe fn sixteen<const AT: usize>(target: *mut u8, source: *const u8) {
    // SAFETY: as for `copy`; every x86-64 has these registers.
    unsafe {
        asm!(
            "movdqu {a}, [{source} + {at}]",
            "movdqu [{target} + {at}], {a}",
            a = out(xmm_reg) _,
            source = in(reg) source,
            target = in(reg) target,
            at = const AT,
            options(nostack, preserves_flags),
        );
    }
}

#[inline(always)]
unsafe fn thirty_two(target: *mut u8, source: *const u8) {
    // SAFETY: as for `copy`.
    unsafe {
        sixteen::<0>(target, source);
        sixteen::<16>(target, source);
    }
}

#[inline(always)]
unsafe fn block(target: *mut u8, source: *const u8) {
    // SAFETY: as for `copy`.
    unsafe {
        thirty_two(target, source);
        sixteen::<32>(target, source);
        sixteen::<48>(target, source);
    }
}
