//! Buckets and the nodes that they overflow into.
//!
//! ```text
//!   Bucket, 128 bytes (two adjacent lines)      Node, 56 bytes in a slot of 64
//!   +0    guard: header, count = version        +0   chain
//!   +24   chain                                 +8   3 entries
//!   +32   6 entries of (word, link)
//! ```
//!
//! Invariants: entries are packed, that is, no empty one comes before a full one along the chain,
//! and no node is empty. An entry is empty when its link is null, whatever its word. Only the
//! holder of the bucket's latch writes any of it, its nodes included.

use crate::Record;
use crate::guard::{Guard, Seen};
use chiliad_machine::{Link, Machine, Ordering, Tagged, Word};
use core::ptr::NonNull;

pub(super) const BUCKET_ENTRIES: usize = 6;
pub(super) const NODE_ENTRIES: usize = 3;

/// The entry of one key: see [`super::digest`].
#[repr(C)]
pub(super) struct Entry<M: Machine> {
    pub word: M::Word,
    pub link: M::Link<Record<M>>,
}

impl<M: Machine> Entry<M> {
    fn empty() -> Self {
        Self { word: M::Word::new(0), link: M::Link::new(Tagged::null()) }
    }

    pub(super) fn link(&self) -> Tagged<Record<M>> {
        // Acquire pairs with the release in `set`: what the link leads to is constructed.
        self.link.load(Ordering::Acquire)
    }

    /// Fills the entry.
    pub(super) fn set(&self, word: u64, link: Tagged<Record<M>>) {
        debug_assert!(!link.is_null(), "an entry leads to something");
        self.word.store(word, Ordering::Relaxed);
        // Release pairs with the acquire in `link`.
        self.link.store(link, Ordering::Release);
    }

    /// Empties the entry.
    pub(super) fn clear(&self) {
        self.link.store(Tagged::null(), Ordering::Relaxed);
    }
}

/// Where more entries follow.
pub(super) type Chain<M> = <M as Machine>::Link<Node<M>>;

/// A place of the table.
#[repr(C, align(128))]
pub(super) struct Bucket<M: Machine> {
    pub guard: Guard<M>,
    pub chain: Chain<M>,
    pub entries: [Entry<M>; BUCKET_ENTRIES],
}

/// More entries of a bucket.
#[repr(C)]
pub(super) struct Node<M: Machine> {
    pub chain: Chain<M>,
    pub entries: [Entry<M>; NODE_ENTRIES],
}

impl<M: Machine> Bucket<M> {
    /// An empty bucket at `version`.
    pub(super) fn new(version: u64) -> Self {
        Self {
            guard: Guard::new(version),
            chain: M::Link::new(Tagged::null()),
            entries: core::array::from_fn(|_| Entry::empty()),
        }
    }

    /// The word that is version, latch and membership count at once.
    #[inline]
    pub(super) fn version(&self) -> &M::Word {
        self.guard.members_word()
    }

    /// The guard as it was at `version`.
    #[inline]
    pub(super) fn seen(&self, version: u64) -> Seen<M> {
        // SAFETY: buckets are never freed before their table, which outlives what looks at it.
        unsafe { Seen::new(NonNull::from(&self.guard), version) }
    }

    /// The bucket's entries in order.
    #[inline]
    pub(super) fn walk(&self) -> Walk<'_, M> {
        Walk { entries: &self.entries, chain: &self.chain, at: 0 }
    }
}

impl<M: Machine> Node<M> {
    /// An empty node.
    pub(super) fn new() -> Self {
        Self {
            chain: M::Link::new(Tagged::null()),
            entries: core::array::from_fn(|_| Entry::empty()),
        }
    }
}

/// The node that `chain` leads to.
#[inline]
pub(super) fn follow<M: Machine>(chain: &Chain<M>) -> Option<&Node<M>> {
    // Acquire pairs with the release in `Walk::extend`: the node is constructed.
    let node = NonNull::new(chain.load(Ordering::Acquire).pointer())?;
    // SAFETY: the caller is pinned or holds the latch, so a node that a chain led to is not freed.
    Some(unsafe { node.as_ref() })
}

/// Goes along the entries of a bucket, full and empty.
pub(super) struct Walk<'a, M: Machine> {
    pub entries: &'a [Entry<M>],
    pub chain: &'a Chain<M>,
    /// The next entry in `entries`.
    pub at: usize,
}

impl<M: Machine> Clone for Walk<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Walk<'_, M> {}

impl<'a, M: Machine> Iterator for Walk<'a, M> {
    type Item = &'a Entry<M>;

    #[inline]
    fn next(&mut self) -> Option<&'a Entry<M>> {
        debug_assert!(self.at <= self.entries.len(), "a walk stays within");
        if self.at == self.entries.len() {
            let node = follow::<M>(self.chain)?;
            (self.entries, self.chain, self.at) = (&node.entries, &node.chain, 0);
        }
        self.at += 1;
        Some(&self.entries[self.at - 1])
    }
}

impl<'a, M: Machine> Walk<'a, M> {
    /// The next entry, in `node` if there is no other. The bucket is latched, and everything up to
    /// here is full.
    pub(super) fn next_or_extend(
        &mut self,
        node: impl FnOnce() -> NonNull<Node<M>>,
    ) -> &'a Entry<M> {
        if let Some(entry) = self.next() {
            return entry;
        }
        // Release pairs with the acquire in `follow`.
        self.chain.store(Tagged::new(node().as_ptr(), 0), Ordering::Release);
        self.next().expect("a node has entries")
    }

    /// Empties everything from here on and cuts the chain; returns where it went on. The bucket is
    /// latched.
    pub(super) fn cut(self) -> Option<NonNull<Node<M>>> {
        for entry in &self.entries[self.at..] {
            entry.clear();
        }
        self.cut_nodes()
    }

    /// Cuts the chain; returns where it went on. The bucket is latched.
    pub(super) fn cut_nodes(self) -> Option<NonNull<Node<M>>> {
        let rest = NonNull::new(self.chain.load(Ordering::Relaxed).pointer())?;
        self.chain.store(Tagged::null(), Ordering::Relaxed);
        Some(rest)
    }
}

/// The result of a search for a key in one part of a bucket.
pub(super) enum Scan<M: Machine> {
    /// The link of an entry with the key's word and tag.
    Hit(Tagged<Record<M>>),
    Miss,
}

/// Looks for `word` with `tag` in part of a bucket; the caller compares versions afterwards.
///
/// All words are compared before any branch: which entry it is cannot be predicted, and a core that
/// need not guess goes on to the next look-up meanwhile.
#[inline]
pub(super) fn scan<M: Machine, const N: usize>(
    entries: &[Entry<M>; N],
    word: u64,
    tag: usize,
) -> Scan<M> {
    let mut equal = 0_u32;
    for (at, entry) in entries.iter().enumerate() {
        equal |= u32::from(entry.word.load(Ordering::Relaxed) == word) << at;
    }
    while equal != 0 {
        let link = entries[equal.trailing_zeros() as usize].link();
        if link.tag() == tag && !link.is_null() {
            return Scan::Hit(link);
        }
        equal &= equal - 1;
    }
    Scan::Miss
}
