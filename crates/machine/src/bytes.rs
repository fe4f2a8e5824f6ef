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
    W::read_bytes(source, target);
}

/// Copies all of `source` into `target`, the last word padded with zeroes.
///
/// # Panics
/// When `target` is too short.
#[inline]
pub fn copy_in<W: Word>(target: &[W], source: &[u8]) {
    W::write_bytes(target, source);
}

/// [`Word::read_bytes`] by single loads, for machines that have nothing better.
#[inline]
pub fn read<W: Word>(source: &[W], target: &mut [u8]) {
    let source = &source[..words_for(target.len())];
    let (chunks, rest) = target.as_chunks_mut::<8>();
    let (words, last) = source.split_at(chunks.len());
    for (chunk, word) in chunks.iter_mut().zip(words) {
        *chunk = word.load(Ordering::Relaxed).to_le_bytes();
    }
    let Some(word) = last.first() else { return };
    let (word, bits) = (word.load(Ordering::Relaxed), 8 * rest.len());
    match target.last_chunk_mut() {
        // The last eight bytes at once: a copy of as many as the length says is a call.
        Some(end) => {
            let before = u64::from_le_bytes(*end) << bits >> bits;
            *end = (before | word << (64 - bits)).to_le_bytes();
        }
        None => target.copy_from_slice(&word.to_le_bytes()[..target.len()]),
    }
}

/// [`Word::write_bytes`] by single stores, likewise.
#[inline]
pub fn write<W: Word>(target: &[W], source: &[u8]) {
    let target = &target[..words_for(source.len())];
    let (chunks, rest) = source.as_chunks::<8>();
    let (words, last) = target.split_at(chunks.len());
    for (chunk, word) in chunks.iter().zip(words) {
        word.store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
    }
    let Some(word) = last.first() else { return };
    let end = match source.last_chunk() {
        // As in `read`.
        Some(end) => u64::from_le_bytes(*end) >> (64 - 8 * rest.len()),
        None => {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(bytes)
        }
    };
    word.store(end, Ordering::Relaxed);
}

/// [`Word::copy_words`] by single loads and stores, likewise.
#[inline]
pub fn copy<W: Word>(target: &[W], source: &[W]) {
    for (target, word) in target.iter().zip(source) {
        target.store(word.load(Ordering::Relaxed), Ordering::Relaxed);
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
