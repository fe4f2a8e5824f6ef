//! Record bytes are copied word by word, so that an optimistic reader races with no one: both sides
//! use relaxed atomic words, and the caller's version check throws torn copies away. Natively on x86-64 `wide` does the same
//! in larger steps.

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
    if let Some(word) = last.first() {
        debug_assert!(!rest.is_empty(), "part of a word is left");
        word.store(last_word(source), Ordering::Relaxed);
    }
}

/// The last bytes of `source`, of which the number is no multiple of eight, padded with zeroes.
#[inline]
pub fn last_word(source: &[u8]) -> u64 {
    let rest = source.len() % 8;
    debug_assert!(rest > 0, "part of a word is left");
    match source.last_chunk() {
        // As in `read`.
        Some(end) => u64::from_le_bytes(*end) >> (64 - 8 * rest),
        None => {
            let mut bytes = [0; 8];
            bytes[..rest].copy_from_slice(source);
            u64::from_le_bytes(bytes)
        }
    }
}

/// [`Word::copy_words`] by single loads and stores, likewise.
#[inline]
pub fn copy<W: Word>(target: &[W], source: &[W]) {
    for (target, word) in target.iter().zip(&source[..target.len()]) {
        target.store(word.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, Native, Plain};

    /// So many words that have every bit set.
    fn words<W: Word>(count: usize) -> Vec<W> {
        (0..count).map(|_| W::new(!0)).collect()
    }

    fn bytes_of<W: Word>(words: &[W]) -> Vec<u8> {
        words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect()
    }

    fn check<W: Word>() {
        for length in 0..300 {
            let value: Vec<u8> = (0..length).map(|at| (at % 251) as u8 + 1).collect();
            let (target, count) = (words::<W>(45), words_for(length));
            copy_in(&target[2..], &value);
            let all = bytes_of(&target);
            let (before, rest) = all.split_at(16);
            let (padded, after) = rest.split_at(8 * count);
            assert_eq!(padded[..length], value);
            assert!(padded[length..].iter().all(|&it| it == 0), "padded with zeroes");
            assert!(before.iter().chain(after).all(|&it| it == 0xff), "no other words");
            for shift in [3, 8] {
                let mut back = vec![0xee; shift + length + 9];
                copy_out(&target[2..], &mut back[shift..shift + length]);
                assert_eq!(back[shift..shift + length], value);
                let others = back[..shift].iter().chain(&back[shift + length..]);
                assert!(others.copied().all(|it| it == 0xee), "no other bytes");
            }
            let copies = words::<W>(45);
            W::copy_words(&copies[1..1 + count], &target[2..]);
            assert_eq!(bytes_of(&copies[1..1 + count]), padded);
            assert!(bytes_of(&copies[1 + count..]).iter().all(|&it| it == 0xff), "no other words");
        }
    }

    #[test]
    fn every_length_goes_in_and_out_and_touches_nothing_else() {
        check::<<Plain as Machine>::Word>();
        check::<<Native as Machine>::Word>();
    }
}
