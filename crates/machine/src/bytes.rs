//! Record bytes are copied word by word, so that an optimistic reader races with no one: both sides
//! use relaxed atomic words, and the caller's version check throws torn copies away.

use crate::{Ordering, Word};

/// Words that hold `bytes` bytes.
#[must_use]
#[inline]
pub const fn words_for(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// Copies `target.len()` bytes out of `source`.
///
/// # Panics
/// When `source` is shorter than `target`.
#[inline]
pub fn copy_out<W: Word>(source: &[W], target: &mut [u8]) {
    let source = &source[..words_for(target.len())];
    let mut chunks = target.chunks_exact_mut(8);
    let mut words = source.iter();
    for (chunk, word) in (&mut chunks).zip(&mut words) {
        chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
    }
    let rest = chunks.into_remainder();
    if let Some(word) = words.next() {
        rest.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes()[..rest.len()]);
    }
}

/// Copies all of `source` into `target`, the last word padded with zeroes.
///
/// # Panics
/// When `target` is too short.
#[inline]
pub fn copy_in<W: Word>(target: &[W], source: &[u8]) {
    let target = &target[..words_for(source.len())];
    let mut chunks = source.chunks_exact(8);
    let mut words = target.iter();
    for (chunk, word) in (&mut chunks).zip(&mut words) {
        let bytes: [u8; 8] = chunk.try_into().expect("chunks of eight");
        word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
    }
    let rest = chunks.remainder();
    if let Some(word) = words.next() {
        let mut bytes = [0; 8];
        bytes[..rest.len()].copy_from_slice(rest);
        word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, Plain};

    #[test]
    fn every_length_survives_the_round_trip() {
        for length in 0..40 {
            let words: Vec<_> = (0..5).map(|_| <Plain as Machine>::Word::new(!0)).collect();
            let bytes: Vec<u8> = (1..=length).collect();
            copy_in(&words, &bytes);
            let mut back = vec![0; bytes.len()];
            copy_out(&words, &mut back);
            assert_eq!(bytes, back);
        }
    }
}
