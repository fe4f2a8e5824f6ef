//! The ordered index: a Masstree (Mao et al., 2012; Tu, 2013, 4.6 and 5).
//!
//! A trie whose fan-out is eight key bytes, a *slice*, and each of whose nodes, a *layer*, is a
//! B+-tree over slices. Keys that end in their slice, and a key that goes on but shares its slice
//! with no other such key, are entries of a leaf; where two keys go on from one slice, the entry is
//! the root of a layer for what follows. So any byte string is a key, comparisons are of integers,
//! and long common prefixes cost one entry per eight bytes and layer.
//!
//! Readers write nothing: they note a node's version, read, and check it again (`version`, `get`).
//! Writers latch the few nodes they change, by compare-and-swap from the version that they read on
//! the way down, and begin again when that fails; nobody waits while holding a latch (`path`).
//!
//! | file | what |
//! | --- | --- |
//! | `slice`, `cell` | keys cut into slices; the rests of long keys |
//! | `version`, `node` | the version word; the two kinds of node |
//! | `path` | the way down, as writers remember it |
//! | `get`, `scan` | the readers |
//! | `insertion` | what an insertion carries down and reports |
//! | `finger`, `run` | insertions that go on where the last one was, one by one and several at once |
//! | `insert`, `split`, `layer`, `remove` | the writers |
//! | `shape` | walking the whole tree that nobody else uses: checking, measuring, dismantling |
//! | `measure` | measuring the memory of a tree in use |
//! | `faults` | planted bugs |
//!
//! **Phantoms.** Each leaf begins with a [`crate::Guard`], whose count of membership changes is
//! apart from the version (a layer made elsewhere or a latch given back unchanged must not disturb
//! a transaction). What holds, and what `scan` and the writers each contribute to:
//!
//! 1. a reader reads the count inside the section that validates the leaf's version;
//! 2. at that moment the leaf covers the whole interval of keys that the reader draws a conclusion
//!    about (an absent key; the part of a scan between two positions);
//! 3. an operation that makes a key appear in, or vanish from, that interval changes this guard's count: at
//!    once if the leaf still covers the key, and if it does not, then what took the key's interval
//!    away (a split, a new layer, the leaf's removal) has changed or killed the guard before.
//!
//! A leaf's interval shrinks only by these three; it may grow, by a neighbour's or a layer's removal,
//! after which the count changes more often than necessary, never too seldom.
//!
//! **Departures from Masstree**, with the reasons where they are made: sorted entries and no
//! permutation word, 13 entries in four lines, one change counter instead of two (`node`, `version`);
//! no sibling and no parent pointers: scans descend anew for each leaf (`scan`), writers latch what
//! they came by; key cells instead of suffix bags (`cell`); emptied nodes and layers, leftmost ones
//! too, are removed at once by the operation that emptied them (`remove`); uneven splits wherever keys ascend,
//! not only at the right end of the tree (`split`).

mod cell;
pub mod faults;
mod finger;
mod get;
mod insert;
mod insertion;
mod layer;
mod measure;
#[cfg(test)]
mod models;
mod node;
mod path;
mod remove;
mod run;
mod scan;
mod shape;
mod slice;
mod split;
mod version;

pub use finger::Finger;
pub use get::OrderedProbe;
pub use run::Run;
pub use shape::{Shape, Teardown};

use crate::{LocalHeap, OutOfMemory};
use chiliad_machine::{Machine, Shared};
use node::{Leaf, Target};
use version::NodeVersion;

/// Where the root of the tree hangs.
#[repr(C, align(64))]
struct Anchor<M: Machine> {
    version: NodeVersion<M>,
    root: M::Link<Target>,
}

/// An ordered map from keys of up to [`crate::KEY_BYTES_MAX`] bytes to records.
///
/// Its nodes live in the heap of the workers that call it: one heap per index, which outlives it.
/// Dropping an index leaves the nodes to the heap; [`crate::Index::dismantle`] gives them back.
pub struct OrderedIndex<M: Machine> {
    anchor: Shared<M, Anchor<M>>,
}

impl<M: Machine> OrderedIndex<M> {
    /// An empty index.
    ///
    /// # Errors
    /// When the memory limit is reached.
    pub fn new(heap: &mut LocalHeap<M>) -> Result<Self, OutOfMemory> {
        use chiliad_machine::Link;
        let root = Leaf::<M>::create(heap, &[])?;
        let anchor = Anchor { version: NodeVersion::new(0), root: M::Link::new(root.target()) };
        Ok(Self { anchor: Shared::new(anchor) })
    }
}
