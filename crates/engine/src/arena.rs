//! The private memory of one transaction in flight: row copies, keys, new values.
//!
//! Offsets rather than references, so that it may grow while rows are held. It is emptied, not
//! freed, between transactions: steady state allocates nothing. Where an allocator is to be measured
//! (`Options::supply`) each transaction obtains its memory anew instead.

use chiliad_machine::{Allocator, Buffer};
use core::ops::Range;

/// Bytes that a fresh arena has room for.
const INITIAL_BYTES: usize = 16 << 10;
/// The same for an arena that is obtained for each transaction.
const INITIAL_BYTES_ALONE: usize = 4 << 10;
/// The bytes that an arena keeps after a transaction that was larger than usual.
const KEEP_BYTES_MAX: usize = 4 << 20;

/// A bump allocator of bytes. The buffer is initialised to its full length, so that handing out a
/// piece costs a comparison and an addition.
pub struct Arena {
    buffer: Buffer,
    used: usize,
    /// What lies below is kept until the transaction ends.
    kept: usize,
    allocator: Option<&'static Allocator>,
    /// A transaction that uses more is refused by the next operation.
    bytes_max: usize,
}

/// A piece of the arena: its start, and its length in the upper half. One word, since a processor that copies two halves as
/// one waits until both are in its cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Piece(u64);

impl Piece {
    #[inline]
    pub const fn new(start: u32, length: u32) -> Self {
        Self(start as u64 | (length as u64) << 32)
    }

    #[inline]
    pub const fn start(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub const fn length(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The piece with the same start that is so long.
    #[inline]
    pub const fn with_length(self, length: u32) -> Self {
        Self::new(self.start(), length)
    }

    #[inline]
    pub fn range(self) -> Range<usize> {
        self.start() as usize..self.start() as usize + self.length() as usize
    }

    /// The word.
    #[inline]
    pub const fn to_word(self) -> u64 {
        self.0
    }

    /// The piece of a word from [`Piece::to_word`].
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        Self(word)
    }
}

/// Copies bytes. Of 4 to 64, as most keys and many values have, it copies both halves, which may overlap: a call of `memcpy`
/// would take longer.
#[inline(always)]
fn copy(target: &mut [u8], source: &[u8]) {
    assert_eq!(target.len(), source.len(), "room for all");
    match source.len() {
        4..=8 => copy_halves::<4>(target, source),
        9..=16 => copy_halves::<8>(target, source),
        17..=32 => copy_halves::<16>(target, source),
        33..=64 => copy_halves::<32>(target, source),
        _ => target.copy_from_slice(source),
    }
}

/// Copies the first and the last `HALF` bytes.
#[inline(always)]
fn copy_halves<const HALF: usize>(target: &mut [u8], source: &[u8]) {
    let last = source.len() - HALF;
    target[..HALF].copy_from_slice(&source[..HALF]);
    target[last..].copy_from_slice(&source[last..]);
}

impl Arena {
    /// An empty one for transactions of up to `bytes_max`, whose memory comes from `allocator` for each transaction, if
    /// there is one.
    pub fn new(allocator: Option<&'static Allocator>, bytes_max: u64) -> Self {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Self { buffer: Self::initial(allocator), used: 0, kept: 0, allocator, bytes_max }
    }

    /// Whether the transaction uses more than it may.
    #[inline]
    pub fn is_over_full(&self) -> bool {
        self.used > self.bytes_max
    }

    /// The bytes that a transaction may use.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn initial(allocator: Option<&'static Allocator>) -> Buffer {
        let bytes = if allocator.is_some() { INITIAL_BYTES_ALONE } else { INITIAL_BYTES };
        Buffer::zeroed(bytes, allocator)
    }

    /// Forgets everything.
    #[inline]
    pub fn clear(&mut self) {
        self.used = 0;
        self.kept = 0;
        if self.buffer.len() > KEEP_BYTES_MAX || self.allocator.is_some() {
            self.buffer = Self::initial(self.allocator);
        }
    }

    /// A piece of `length` bytes with whatever content.
    ///
    /// # Panics
    /// When one transaction holds more than 4 GiB, which none does: see [`Arena::is_over_full`].
    #[inline]
    pub fn reserve(&mut self, length: usize) -> Piece {
        let end = self.used + length;
        if end > self.buffer.len() {
            self.grow(end);
        }
        let piece = Piece::new(self.used as u32, length as u32);
        self.used = end;
        debug_assert!(self.used <= self.buffer.len(), "pieces lie in the buffer");
        piece
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        assert!(u32::try_from(end).is_ok(), "a transaction holds at most 4 GiB");
        self.buffer = self.buffer.grown(end.next_power_of_two());
        debug_assert!(end <= self.buffer.len(), "it has grown enough");
    }

    /// Gives back what was reserved since `mark`, an earlier [`Arena::used`], but for what is kept.
    #[inline]
    pub fn truncate(&mut self, mark: usize) {
        debug_assert!(mark <= self.used, "only what was reserved is given back");
        self.used = mark.max(self.kept);
    }

    /// Keeps all that there is until the transaction ends: a [`Arena::truncate`] does not give it back.
    pub fn keep(&mut self) {
        self.kept = self.used;
    }

    /// Bytes in use.
    #[inline]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Copies `bytes` in. In line always, since most are keys.
    #[inline(always)]
    pub fn push(&mut self, bytes: &[u8]) -> Piece {
        self.fill(bytes.len(), |target| copy(target, bytes))
    }

    /// A piece of `length` bytes, which `write` writes. In line always, so that one comparison says that there is room.
    ///
    /// # Panics
    /// As [`Arena::reserve`].
    #[inline(always)]
    pub fn fill(&mut self, length: usize, write: impl FnOnce(&mut [u8])) -> Piece {
        let (start, end) = (self.used, self.used + length);
        if self.buffer.get(start..end).is_none() {
            self.grow(end);
        }
        write(&mut self.buffer[start..end]);
        self.used = end;
        Piece::new(start as u32, length as u32)
    }

    /// Copies a piece to the end.
    #[inline]
    pub fn duplicate(&mut self, piece: Piece) -> Piece {
        debug_assert!(piece.range().end <= self.used, "a piece in use");
        let copy = self.reserve(piece.length() as usize);
        self.buffer.copy_within(piece.range(), copy.start() as usize);
        copy
    }

    #[inline]
    pub fn get(&self, piece: Piece) -> &[u8] {
        debug_assert!(piece.range().end <= self.used, "a piece in use");
        &self.buffer[piece.range()]
    }

    #[inline]
    pub fn get_mut(&mut self, piece: Piece) -> &mut [u8] {
        debug_assert!(piece.range().end <= self.used, "a piece in use");
        &mut self.buffer[piece.range()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_length_are_copied_whole() {
        let mut arena = Arena::new(None, u64::MAX);
        for length in 0..80 {
            let bytes: Vec<u8> = (1..=length).collect();
            let before = arena.push(&[0xee]);
            let pushed = arena.push(&bytes);
            let after = arena.push(&[0xee]);
            assert_eq!(arena.get(pushed), bytes);
            assert_eq!(
                [arena.get(before), arena.get(after)],
                [&[0xee]; 2],
                "nothing else is touched"
            );
        }
    }
}
