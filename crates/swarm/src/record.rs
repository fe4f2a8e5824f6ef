//! Rows in memory: whole lines of their own, so that tasks which touch different rows never touch one line.
//!
//! ```text
//!   word 0: bytes of the key (13 bits) | bytes of the value (21) | lines of the block (15) | first byte apart, or 0 (15)
//!   words of the key, words of the value
//! ```
//!
//! Columns at the end that are declared to lie apart ([`Placement`]) have a line for each eight bytes, so that what is only read, the
//! first word among it, shares none with what changes. A separator of the ordered index is such a block with an empty value.

use crate::Word;
use crate::memory::NoMemory;
use chiliad_api::{KEY_BYTES_MAX, Placement, VALUE_BYTES_MAX};
use chiliad_machine::tasks::{LINE_WORDS, Lines};
use chiliad_machine::{Cost, Machine, Ordering, Word as _, copy_in, copy_out, words_for};
use core::cmp;
use core::ops::Range;
use core::ptr::NonNull;

/// Bytes of keys that are compared at a time.
const CHUNK: usize = 64;

/// The first line of a row: what links point to. The words after it are reached from its address.
#[repr(C, align(64))]
pub(crate) struct Row<M: Machine>([M::Word; LINE_WORDS]);

/// Where a row is. It is there as long as whoever holds this lets nothing be removed: see [`crate::View`].
pub(crate) struct Place<M: Machine>(NonNull<Row<M>>);

impl<M: Machine> Clone for Place<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Place<M> {}

/// What the first word says.
#[derive(Clone, Copy)]
struct Head {
    key_bytes: usize,
    value_bytes: usize,
    lines: usize,
    /// The first byte of the value that begins a line; 0: none.
    apart: usize,
}

/// Bytes of a word: of those that lie apart, a line has as many.
const WORD: usize = size_of::<u64>();

/// Where the parts of the first word begin, and end.
const VALUE_AT: u32 = 13;
const LINES_AT: u32 = 34;
const APART_AT: u32 = 49;

const _: () = {
    assert!(KEY_BYTES_MAX < 1 << VALUE_AT && VALUE_BYTES_MAX < 1 << (LINES_AT - VALUE_AT));
    let words = 2 + KEY_BYTES_MAX / 8 + 2 + VALUE_BYTES_MAX / 8;
    assert!(words / LINE_WORDS + 2 < 1 << (APART_AT - LINES_AT), "the longest row has its lines");
    assert!((Placement::APART_MAX as u64) < 1 << (64 - APART_AT));
};

impl Head {
    /// The head of a row, whose block is as small as can be.
    fn new(key_bytes: usize, value_bytes: usize, apart: usize) -> Self {
        let head = Self { key_bytes, value_bytes, lines: 0, apart };
        Self { lines: head.words().div_ceil(LINE_WORDS), ..head }
    }

    fn decode(word: u64) -> Self {
        let part = |from: u32, end: u32| (word >> from & ((1 << (end - from)) - 1)) as usize;
        Self {
            key_bytes: part(0, VALUE_AT),
            value_bytes: part(VALUE_AT, LINES_AT),
            lines: part(LINES_AT, APART_AT),
            apart: part(APART_AT, 64),
        }
    }

    fn encode(self) -> u64 {
        self.key_bytes as u64
            | (self.value_bytes as u64) << VALUE_AT
            | (self.lines as u64) << LINES_AT
            | (self.apart as u64) << APART_AT
    }

    /// The first word of the value.
    fn value_at(self) -> usize {
        1 + words_for(self.key_bytes)
    }

    /// Bytes of the value in front of those that lie apart; all, where none do.
    fn together(self) -> usize {
        if self.apart == 0 { self.value_bytes } else { self.apart.min(self.value_bytes) }
    }

    /// The first word of the bytes that lie apart.
    fn apart_at(self) -> usize {
        (self.value_at() + words_for(self.together())).next_multiple_of(LINE_WORDS)
    }

    fn words(self) -> usize {
        let together = self.together();
        if together == self.value_bytes {
            return self.value_at() + words_for(together);
        }
        self.apart_at() + (self.value_bytes - together).div_ceil(WORD) * LINE_WORDS
    }

    /// `bytes` bytes of the value from byte `from` on, in parts of which each is together: for each the first of the words it
    /// lies in, its first byte there, and which of the bytes it has.
    fn parts(
        self,
        from: usize,
        bytes: usize,
    ) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
        let (together, end) = (self.together(), from + bytes);
        let mut at = from;
        core::iter::from_fn(move || {
            let (first, skip, next) = match at.checked_sub(together) {
                _ if at == end => return None,
                None => (self.value_at(), at, together.min(end)),
                Some(apart) => {
                    let line = apart / WORD;
                    let next = together + (line + 1) * WORD;
                    (self.apart_at() + line * LINE_WORDS, apart % WORD, next.min(end))
                }
            };
            let part = at - from..next - from;
            at = next;
            Some((first, skip, part))
        })
    }
}

impl<M: Machine> Place<M> {
    /// A new row, which nobody else knows yet.
    pub(crate) fn make<T: Lines<Machine = M>>(
        memory: &T,
        key: &[u8],
        value: &[u8],
        apart: u16,
    ) -> Result<Self, NoMemory> {
        let head = Head::new(key.len(), value.len(), apart.into());
        let place = Self(memory.alloc(head.lines).ok_or(NoMemory)?.cast());
        place.word(0).store(head.encode(), Ordering::Relaxed);
        copy_in(place.words(1, words_for(key.len())), key);
        place.fill(head, value);
        M::work(Cost::Install, 1);
        M::work(Cost::Copy, head.words() as u32);
        Ok(place)
    }

    /// A block with the key of this row, and another value.
    pub(crate) fn copy_with<T: Lines<Machine = M>>(
        self,
        memory: &T,
        value: &[u8],
    ) -> Result<Self, NoMemory> {
        let head = self.head();
        self.copy(memory, head.key_bytes, value, head.apart)
    }

    /// A block with the first bytes of this row's key, and a value.
    fn copy<T: Lines<Machine = M>>(
        self,
        memory: &T,
        key_bytes: usize,
        value: &[u8],
        apart: usize,
    ) -> Result<Self, NoMemory> {
        let head = Head::new(key_bytes, value.len(), apart);
        let copy = Self(memory.alloc(head.lines).ok_or(NoMemory)?.cast());
        copy.word(0).store(head.encode(), Ordering::Relaxed);
        let words = words_for(head.key_bytes);
        Word::<M>::copy_words(copy.words(1, words), self.words(1, words));
        copy.fill(head, value);
        M::work(Cost::Install, 1);
        M::work(Cost::Copy, head.words() as u32);
        Ok(copy)
    }

    pub(crate) fn from_pointer(pointer: *mut Row<M>) -> Option<Self> {
        NonNull::new(pointer).map(Self)
    }

    pub(crate) fn pointer(self) -> *mut Row<M> {
        self.0.as_ptr()
    }

    /// Gives the row's block back.
    ///
    /// # Safety
    /// Nothing leads to it any more.
    pub(crate) unsafe fn free<T: Lines<Machine = M>>(self, memory: &T) {
        let lines = self.head().lines;
        // SAFETY: the block was taken with as many lines, which its head says, and the caller vouches for the rest.
        unsafe { memory.free(self.0.cast(), lines) };
    }

    fn words<'w>(self, first: usize, count: usize) -> &'w [Word<M>] {
        // SAFETY: callers ask for words that the head says the block has; the block is there (see the type), and the
        // pointer may be used for all of it, since it is the one that the memory gave out.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast::<Word<M>>().add(first), count) }
    }

    fn word<'w>(self, at: usize) -> &'w Word<M> {
        &self.words(at, 1)[0]
    }

    fn head(self) -> Head {
        Head::decode(self.word(0).load(Ordering::Relaxed))
    }

    /// Bytes of its key.
    pub(crate) fn key_bytes(self) -> usize {
        self.head().key_bytes
    }

    /// Copies `target.len()` bytes of its key from byte `from` on, a multiple of eight.
    pub(crate) fn read_key(self, from: usize, target: &mut [u8]) {
        copy_out(self.words(1 + from / 8, words_for(target.len())), target);
    }

    /// Bytes of its value.
    pub(crate) fn value_bytes(self) -> usize {
        self.head().value_bytes
    }

    /// Copies bytes of its value from byte `from` on; `None` if it has not as many.
    pub(crate) fn read(self, from: usize, target: &mut [u8]) -> Option<()> {
        let head = self.head();
        if from.checked_add(target.len())? > head.value_bytes {
            return None;
        }
        for (first, from, part) in head.parts(from, target.len()) {
            self.copy_from(first, from, &mut target[part]);
        }
        M::work(Cost::Copy, words_for(target.len()) as u32);
        Some(())
    }

    /// Copies bytes of the words from number `first` on, from byte `from` of them on.
    fn copy_from(self, first: usize, from: usize, target: &mut [u8]) {
        // Whole words are copied, and of the first one a part.
        let mut at = 0;
        while at < target.len() {
            let (word, skip) = (first + (from + at) / 8, (from + at) % 8);
            if skip == 0 {
                let rest = &mut target[at..];
                copy_out(self.words(word, words_for(rest.len())), rest);
                break;
            }
            let bytes = self.word(word).load(Ordering::Relaxed).to_le_bytes();
            let count = (8 - skip).min(target.len() - at);
            target[at..at + count].copy_from_slice(&bytes[skip..skip + count]);
            at += count;
        }
    }

    /// Replaces bytes of its value from byte `from` on; `None` if it has not as many.
    pub(crate) fn write(self, from: usize, source: &[u8]) -> Option<()> {
        let head = self.head();
        if from.checked_add(source.len())? > head.value_bytes {
            return None;
        }
        for (first, from, part) in head.parts(from, source.len()) {
            self.copy_to(first, from, &source[part]);
        }
        M::work(Cost::Copy, words_for(source.len()) as u32);
        Some(())
    }

    /// Replaces bytes of the words from number `first` on, from byte `from` of them on.
    fn copy_to(self, first: usize, from: usize, source: &[u8]) {
        let mut at = 0;
        while at < source.len() {
            let (word, skip) = (first + (from + at) / 8, (from + at) % 8);
            let count = (8 - skip).min(source.len() - at);
            let word = self.word(word);
            let mut bytes = [0; 8];
            if count < 8 {
                bytes = word.load(Ordering::Relaxed).to_le_bytes();
            }
            bytes[skip..skip + count].copy_from_slice(&source[at..at + count]);
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
            at += count;
        }
    }

    /// Gives it a whole value, as its head has it.
    fn fill(self, head: Head, value: &[u8]) {
        for (first, _, part) in head.parts(0, value.len()) {
            copy_in(self.words(first, words_for(part.len())), &value[part]);
        }
    }

    /// Gives it another value, of another length, if the block has room: says whether.
    pub(crate) fn replace(self, value: &[u8]) -> bool {
        let head = Head { value_bytes: value.len(), ..self.head() };
        if head.words() > head.lines * LINE_WORDS {
            return false;
        }
        if self.value_bytes() != value.len() {
            self.word(0).store(head.encode(), Ordering::Relaxed);
        }
        self.fill(head, value);
        M::work(Cost::Copy, words_for(value.len()) as u32);
        true
    }

    /// Bytes at the beginning of its key that are those of another one, too.
    pub(crate) fn shared_with(self, other: KeySource<'_, M>) -> usize {
        let both = self.key_bytes().min(other.length());
        let mut from = 0;
        while from < both {
            let bytes = CHUNK.min(both - from);
            let (mut one, mut two) = ([0; CHUNK], [0; CHUNK]);
            self.read_key(from, &mut one[..bytes]);
            other.read(from, &mut two[..bytes]);
            M::work(Cost::Compare, words_for(bytes) as u32);
            let equal =
                one.iter().zip(&two).take(bytes).take_while(|(one, two)| one == two).count();
            from += equal;
            if equal < bytes {
                break;
            }
        }
        from
    }

    /// The order of its key and another one.
    pub(crate) fn compare_key<'k>(self, other: KeySource<'k, M>) -> cmp::Ordering {
        let (ours, theirs) = (self.key_bytes(), other.length());
        let mut from = 0;
        while from < ours.min(theirs) {
            let (mut one, mut two) = ([0; CHUNK], [0; CHUNK]);
            let (one_bytes, two_bytes) = (CHUNK.min(ours - from), CHUNK.min(theirs - from));
            self.read_key(from, &mut one[..one_bytes]);
            other.read(from, &mut two[..two_bytes]);
            M::work(Cost::Compare, words_for(one_bytes.min(two_bytes)) as u32);
            let both = one_bytes.min(two_bytes);
            match one[..both].cmp(&two[..both]) {
                cmp::Ordering::Equal => from += CHUNK,
                unequal => return unequal,
            }
        }
        ours.cmp(&theirs)
    }
}

/// A key that is looked for: somebody's bytes, or those of a row.
pub(crate) enum KeySource<'k, M: Machine> {
    Bytes(&'k [u8]),
    Of(Place<M>),
}

impl<M: Machine> Clone for KeySource<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for KeySource<'_, M> {}

impl<M: Machine> KeySource<'_, M> {
    pub(crate) fn length(self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Of(place) => place.key_bytes(),
        }
    }

    pub(crate) fn read(self, from: usize, target: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => target.copy_from_slice(&bytes[from..from + target.len()]),
            Self::Of(place) => place.read_key(from, target),
        }
    }

    /// A number in which its last eight bytes show, so that keys which follow each other, whichever of these bytes
    /// counts, have different ones modulo small powers of two.
    pub(crate) fn tail(self) -> u32 {
        let length = self.length();
        let from = length.saturating_sub(8) / 8 * 8;
        let mut bytes = [0; 24];
        self.read(from, &mut bytes[8..8 + length - from]);
        let last = &bytes[length - from..length - from + 8];
        // The weights are odd: modulo a power of two, each byte goes round. Keys of a few that end with a small number, such as
        // the lines of orders that follow each other, lie side by side.
        last.iter()
            .rev()
            .zip((1..).step_by(10))
            .map(|(&byte, weight)| u32::from(byte) * weight)
            .sum()
    }

    /// A block with its first bytes as a key, and no value.
    pub(crate) fn separator<T: Lines<Machine = M>>(
        self,
        memory: &T,
        bytes: usize,
    ) -> Result<Place<M>, NoMemory> {
        match self {
            Self::Bytes(key) => Place::make(memory, &key[..bytes], &[], 0),
            Self::Of(place) => place.copy(memory, bytes, &[], 0),
        }
    }

    /// Its first bytes; zeroes where it is shorter.
    pub(crate) fn prefix(self) -> Prefix {
        let mut bytes = [0; 16];
        let count = self.length().min(16);
        self.read(0, &mut bytes[..count]);
        Prefix(u128::from_be_bytes(bytes))
    }
}

/// The first sixteen bytes of a key, as a number that orders as they do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Prefix(u128);

impl Prefix {
    /// The one that two words hold.
    pub(crate) fn of([first, second]: [u64; 2]) -> Self {
        Self(u128::from(first) << 64 | u128::from(second))
    }

    /// The words that hold it.
    pub(crate) fn words(self) -> [u64; 2] {
        [self.first(), self.0 as u64]
    }

    /// The first of them.
    pub(crate) fn first(self) -> u64 {
        (self.0 >> 64) as u64
    }
}

/// A node or a bucket, in lines of its own.
pub(crate) fn line_of<T: Lines, B>(
    memory: &T,
    make: impl FnOnce() -> B,
) -> Result<NonNull<B>, NoMemory> {
    const { assert!(size_of::<B>().is_multiple_of(64) && align_of::<B>() == 64, "whole lines") };
    let block: NonNull<B> = memory.alloc(size_of::<B>() / 64).ok_or(NoMemory)?.cast();
    // SAFETY: the block is as large and as aligned as a `B`, and nobody else has it.
    unsafe { block.write(make()) };
    Ok(block)
}

/// Gives a block of [`line_of`] back.
///
/// # Safety
/// Nothing leads to it any more.
pub(crate) unsafe fn free_lines<T: Lines, B>(memory: &T, block: NonNull<B>) {
    // SAFETY: taken with as many lines; the caller vouches for the rest.
    unsafe { memory.free(block.cast(), size_of::<B>() / 64) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use chiliad_machine::Plain;
    use chiliad_machine::tasks::LinePool;

    #[test]
    fn any_part_of_a_value_can_be_read_and_written() {
        let pool = LinePool::<Plain>::default();
        let memory = Memory(&pool);
        let value: Vec<u8> = (0..100).collect();
        // Together, and with columns apart from each of some places on.
        for (key_bytes, apart) in
            [(0, 0), (1, 0), (7, 0), (8, 0), (9, 0), (60, 0), (0, 1), (3, 82), (9, 88), (60, 200)]
        {
            let row = Place::make(&memory, &vec![7; key_bytes], &value, apart).expect("memory");
            let mut expected = value.clone();
            for from in (0..100).step_by(if cfg!(miri) { 17 } else { 1 }) {
                for bytes in 0..=(100 - from).min(20) {
                    let mut seen = vec![0; bytes];
                    row.read(from, &mut seen).expect("within");
                    assert_eq!(seen, expected[from..from + bytes]);
                    seen.iter_mut().for_each(|byte| *byte ^= 0x5a);
                    row.write(from, &seen).expect("within");
                    expected[from..from + bytes].copy_from_slice(&seen);
                }
            }
            let mut seen = [0; 100];
            row.read(0, &mut seen).expect("within");
            assert_eq!(seen[..], expected);
            assert!(row.read(1, &mut seen).is_none() && row.write(98, &[0; 3]).is_none());
            assert_eq!(
                row.compare_key(KeySource::Bytes(&vec![7; key_bytes])),
                cmp::Ordering::Equal
            );
        }
    }

    #[test]
    fn keys_order_as_their_bytes() {
        let pool = LinePool::<Plain>::default();
        let memory = Memory(&pool);
        let long = [3; 130];
        let keys: [&[u8]; 8] =
            [b"", b"\0", b"a", b"a\0", b"a\0b", &long[..64], &long[..129], &long];
        for one in keys {
            let row = Place::make(&memory, one, b"", 0).expect("memory");
            for other in keys {
                let two = Place::make(&memory, other, b"", 0).expect("memory");
                assert_eq!(row.compare_key(KeySource::Bytes(other)), one.cmp(other));
                assert_eq!(row.compare_key(KeySource::Of(two)), one.cmp(other));
            }
            assert!(KeySource::<Plain>::Bytes(one).prefix() == KeySource::Of(row).prefix());
        }
    }

    #[test]
    fn a_value_is_replaced_where_the_block_has_room() {
        let pool = LinePool::<Plain>::default();
        let row = Place::make(&Memory(&pool), b"key", &[1; 40], 0).expect("memory");
        assert!(row.replace(&[2; 48]) && row.value_bytes() == 48);
        assert!(!row.replace(&[3; 49]) && row.value_bytes() == 48);
        assert!(row.replace(b"") && row.value_bytes() == 0);
    }

    #[test]
    fn bytes_that_lie_apart_have_a_line_for_each_eight() {
        let pool = LinePool::<Plain>::default();
        let row = Place::make(&Memory(&pool), b"key", &[1; 30], 10).expect("memory");
        let line = |word: &Word<Plain>| core::ptr::from_ref(word).addr() / 64;
        let head = row.head();
        let lines_of = |bytes: Range<usize>| -> Vec<usize> {
            head.parts(bytes.start, bytes.len()).map(|it| line(row.word(it.0))).collect()
        };
        let first = line(row.word(0));
        assert_eq!(lines_of(0..30), [first, first + 1, first + 2, first + 3]);
        assert_eq!(lines_of(10..18), [first + 1]);
        assert_eq!(lines_of(17..19), [first + 1, first + 2]);
        assert_eq!(lines_of(26..30), [first + 3]);
        assert!(
            row.replace(&[2; 34]) && !row.replace(&[2; 35]),
            "four lines for twenty-four bytes"
        );
        assert!(row.replace(&[3; 5]) && row.value_bytes() == 5, "too short to have any apart");
        assert_eq!(row.head().parts(0, 5).count(), 1);
    }
}
