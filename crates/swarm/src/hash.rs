//! The hash index: an array of buckets of a line each, with further lines where one is full.
//!
//! There is no count of rows, which every insertion would write. Where an insertion finds a chain too long, it
//! doubles the array, all in one task: tables that are declared with the rows they will have never do.

use crate::memory::NoMemory;
use crate::record::{KeySource, Place, Row, free_lines, line_of};
use crate::{Link, Word};
use chiliad_machine::tasks::Lines;
use chiliad_machine::{
    Array, Cost, Line, Link as _, Machine, Ordering, Tagged, Word as _, words_for,
};
use core::array::from_fn;
use core::cmp;
use core::ptr::NonNull;

/// Entries of a line.
const SLOTS: usize = 3;

/// Rows for each bucket that is made, where it is known how many rows there will be.
const LOAD: usize = 2;

/// Lines of a chain from which on the array is too small.
const CHAIN_MAX: usize = 4;

/// The most buckets, as a power of two.
const BITS_MAX: u32 = 32;

/// A bucket, or a further line of one.
#[repr(C, align(64))]
struct Bucket<M: Machine> {
    hashes: [Word<M>; SLOTS],
    rows: [Link<M, Row<M>>; SLOTS],
    next: Link<M, Self>,
    unused: Word<M>,
}

/// Where an index begins.
struct Start<M: Machine> {
    first: Link<M, Bucket<M>>,
    /// How many buckets: a power of two.
    buckets: Word<M>,
}

/// A hash index, on a line of its own.
pub(crate) struct Directory<M: Machine>(Array<M, Line<Start<M>>>);

impl<M: Machine> Bucket<M> {
    fn new() -> Self {
        Self {
            hashes: from_fn(|_| Word::<M>::new(0)),
            rows: from_fn(|_| Link::<M, _>::new(Tagged::null())),
            next: Link::<M, _>::new(Tagged::null()),
            unused: Word::<M>::new(0),
        }
    }

    fn row(&self, slot: usize) -> Option<Place<M>> {
        Place::from_pointer(self.rows[slot].load(Ordering::Relaxed).pointer())
    }
}

impl<M: Machine> Directory<M> {
    /// An index for about so many rows.
    pub(crate) fn new<T: Lines<Machine = M>>(memory: &T, rows: usize) -> Result<Self, NoMemory> {
        let buckets = rows.div_ceil(LOAD).next_power_of_two().min(1 << BITS_MAX);
        let first = make_buckets(memory, buckets)?;
        let start = || Start {
            first: Link::<M, _>::new(Tagged::null()),
            buckets: Word::<M>::new(buckets as u64),
        };
        let directory = Self(Array::new(1, || Line(start())));
        directory.start().first.store(Tagged::new(first.as_ptr(), 0), Ordering::Relaxed);
        Ok(directory)
    }

    fn start(&self) -> &Start<M> {
        &self.0.get(0).0
    }
}

/// Empty buckets, side by side.
fn make_buckets<T: Lines>(
    memory: &T,
    buckets: usize,
) -> Result<NonNull<Bucket<T::Machine>>, NoMemory> {
    let first: NonNull<Bucket<T::Machine>> = memory.alloc(buckets).ok_or(NoMemory)?.cast();
    for at in 0..buckets {
        // SAFETY: the block has room for as many buckets, of a line each, and nobody else has it.
        unsafe { first.add(at).write(Bucket::new()) };
    }
    Ok(first)
}

/// The hash of a key.
pub(crate) fn hash<M: Machine>(key: KeySource<'_, M>) -> u64 {
    let (mut hash, mut from) = (key.length() as u64, 0);
    while from < key.length() {
        let mut bytes = [0; 8];
        let count = (key.length() - from).min(8);
        key.read(from, &mut bytes[..count]);
        hash = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
        from += 8;
    }
    M::work(Cost::Hash, 1);
    M::work(Cost::Compare, words_for(key.length()) as u32);
    // Its upper half, which all bits of the key have a part in, goes to the lower one, by which buckets are chosen.
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ hash >> 32
}

/// An index in use, with the memory that it takes lines from.
pub(crate) struct Hash<'t, T: Lines> {
    directory: &'t Directory<T::Machine>,
    memory: &'t T,
}

/// An entry: its line and its slot.
type Entry<'t, M> = (&'t Bucket<M>, usize);

/// The result of a walk along a chain.
struct Chain<'t, M: Machine> {
    entry: Option<Entry<'t, M>>,
    /// A free slot.
    free: Option<Entry<'t, M>>,
    last: &'t Bucket<M>,
    lines: usize,
}

impl<'t, T: Lines> Hash<'t, T> {
    /// The index that begins at `directory`.
    pub(crate) fn new(directory: &'t Directory<T::Machine>, memory: &'t T) -> Self {
        Self { directory, memory }
    }

    /// The line that a link leads to.
    fn follow(
        &self,
        link: &Link<T::Machine, Bucket<T::Machine>>,
    ) -> Option<&'t Bucket<T::Machine>> {
        let line = NonNull::new(link.load(Ordering::Relaxed).pointer())?;
        // SAFETY: links lead to lines that were constructed when they were made; they are there as long as nothing is
        // removed, and what removes takes the index for itself (`View`).
        Some(unsafe { line.as_ref() })
    }

    /// The buckets.
    fn buckets(&self) -> &'t [Bucket<T::Machine>] {
        let start = self.directory.start();
        let count = start.buckets.load(Ordering::Relaxed) as usize;
        match NonNull::new(start.first.load(Ordering::Relaxed).pointer()) {
            // SAFETY: there are as many side by side, made together with the count; as for `follow`.
            Some(first) => unsafe { core::slice::from_raw_parts(first.as_ptr(), count) },
            None => self.memory.trap("a hash index has no buckets"),
        }
    }

    /// Walks along the chain of a hash, to the entry of `key` or its end.
    fn walk(&self, key: KeySource<'_, T::Machine>, hash: u64) -> Chain<'t, T::Machine> {
        let buckets = self.buckets();
        let first = &buckets[hash as usize & (buckets.len() - 1)];
        let mut chain = Chain { entry: None, free: None, last: first, lines: 1 };
        loop {
            T::Machine::work(Cost::BucketSearch, 1);
            let line = chain.last;
            for slot in 0..SLOTS {
                match line.row(slot) {
                    None if chain.free.is_none() => chain.free = Some((line, slot)),
                    Some(row)
                        if line.hashes[slot].load(Ordering::Relaxed) == hash
                            && row.compare_key(key) == cmp::Ordering::Equal =>
                    {
                        chain.entry = Some((line, slot));
                        return chain;
                    }
                    _ => {}
                }
            }
            match self.follow(&line.next) {
                Some(next) => (chain.last, chain.lines) = (next, chain.lines + 1),
                None => return chain,
            }
        }
    }

    /// The row of a key.
    pub(crate) fn find(&self, key: KeySource<'_, T::Machine>) -> Option<Place<T::Machine>> {
        let (line, slot) = self.walk(key, hash(key)).entry?;
        line.row(slot)
    }

    /// Inserts a row under its key; says whether that was free.
    ///
    /// # Errors
    /// No memory; nothing has changed.
    pub(crate) fn insert(&self, row: Place<T::Machine>) -> Result<bool, NoMemory> {
        let key = KeySource::Of(row);
        let hash = hash(key);
        let mut chain = self.walk(key, hash);
        if chain.entry.is_some() {
            return Ok(false);
        }
        if chain.lines >= CHAIN_MAX && chain.free.is_none() && self.grow() {
            chain = self.walk(key, hash);
        }
        let (line, slot) = match chain.free {
            Some(free) => free,
            None => {
                let line = line_of::<T, Bucket<T::Machine>>(self.memory, Bucket::new)?;
                chain.last.next.store(Tagged::new(line.as_ptr(), 0), Ordering::Relaxed);
                // SAFETY: just made, of this type.
                (unsafe { line.as_ref() }, 0)
            }
        };
        line.hashes[slot].store(hash, Ordering::Relaxed);
        line.rows[slot].store(Tagged::new(row.pointer(), 0), Ordering::Relaxed);
        T::Machine::work(Cost::IndexChange, 1);
        Ok(true)
    }

    /// Puts `row` in the place of the one that has its key. There is one.
    pub(crate) fn exchange(&self, row: Place<T::Machine>) {
        let key = KeySource::Of(row);
        let Some((line, slot)) = self.walk(key, hash(key)).entry else {
            self.memory.trap("a row that is exchanged and is not there");
        };
        line.rows[slot].store(Tagged::new(row.pointer(), 0), Ordering::Relaxed);
    }

    /// Takes the row of a key out; it is the caller's then. Lines stay.
    pub(crate) fn remove(&self, key: KeySource<'_, T::Machine>) -> Option<Place<T::Machine>> {
        let (line, slot) = self.walk(key, hash(key)).entry?;
        let row = line.row(slot);
        line.rows[slot].store(Tagged::null(), Ordering::Relaxed);
        T::Machine::work(Cost::IndexChange, 1);
        row
    }

    /// Gives all rows to `visit`, in no order.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(Place<T::Machine>)) {
        for bucket in self.buckets() {
            let mut line = Some(bucket);
            while let Some(it) = line {
                (0..SLOTS).filter_map(|slot| it.row(slot)).for_each(&mut *visit);
                line = self.follow(&it.next);
            }
        }
    }

    /// Moves all rows to twice as many buckets. Says whether there was memory for that; if not, nothing has changed.
    fn grow(&self) -> bool {
        let old = self.buckets();
        let (start, count) = (self.directory.start(), old.len() * 2);
        if count > 1 << BITS_MAX {
            return false;
        }
        let Ok(first) = make_buckets(self.memory, count) else { return false };
        let first_old = start.first.load(Ordering::Relaxed);
        start.first.store(Tagged::new(first.as_ptr(), 0), Ordering::Relaxed);
        start.buckets.store(count as u64, Ordering::Relaxed);
        for bucket in old {
            self.hand_out(bucket);
        }
        if let Some(block) = NonNull::new(first_old.pointer()) {
            // SAFETY: taken with as many lines, and nothing leads to it any more; whoever inserts has the index alone.
            unsafe { self.memory.free(block.cast(), old.len()) };
        }
        true
    }

    /// Moves the rows of a chain to where they belong now. Its further lines become those of the two chains that it is
    /// divided into: together these need one line more than it had at most, and two of theirs are new.
    fn hand_out(&self, bucket: &'t Bucket<T::Machine>) {
        let (mut line, mut spare) = (Some(bucket), None);
        while let Some(it) = line {
            line = self.follow(&it.next);
            let entries: [_; SLOTS] = from_fn(|slot| {
                it.row(slot).map(|row| (it.hashes[slot].load(Ordering::Relaxed), row))
            });
            if !core::ptr::eq(it, bucket) {
                it.rows.iter().for_each(|row| row.store(Tagged::null(), Ordering::Relaxed));
                it.next.store(to(spare), Ordering::Relaxed);
                spare = Some(it);
            }
            for (hash, row) in entries.into_iter().flatten() {
                let chain = self.walk(KeySource::Of(row), hash);
                let (line, slot) = chain.free.unwrap_or_else(|| {
                    let Some(line) = spare else {
                        self.memory.trap("a chain has grown while it was divided");
                    };
                    spare = self.follow(&line.next);
                    line.next.store(Tagged::null(), Ordering::Relaxed);
                    chain.last.next.store(to(Some(line)), Ordering::Relaxed);
                    (line, 0)
                });
                line.hashes[slot].store(hash, Ordering::Relaxed);
                line.rows[slot].store(Tagged::new(row.pointer(), 0), Ordering::Relaxed);
            }
        }
        while let Some(line) = spare {
            spare = self.follow(&line.next);
            // SAFETY: it is linked nowhere, and is a line of its own.
            unsafe { free_lines(self.memory, NonNull::from(line)) };
        }
    }
}

/// A link to a line.
fn to<M: Machine>(line: Option<&Bucket<M>>) -> Tagged<Bucket<M>> {
    line.map_or(Tagged::null(), |line| Tagged::new(core::ptr::from_ref(line).cast_mut(), 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_machine::Plain;

    #[test]
    fn two_numbers_side_by_side_make_a_key_that_spreads() {
        let mut rows = [0_u8; 1 << 12];
        for (first, second) in (0..256_u32).flat_map(|it| (0..32_u32).map(move |day| (it, day))) {
            let key = (u64::from(first) << 32 | u64::from(second)).to_be_bytes();
            let hash = hash::<Plain>(KeySource::Bytes(&key));
            rows[hash as usize % (1 << 12)] += 1;
        }
        let most = rows.iter().max().copied().unwrap_or(0);
        assert!(most as usize <= CHAIN_MAX * SLOTS, "{most} of 8192 in one of 4096 buckets");
    }
}
