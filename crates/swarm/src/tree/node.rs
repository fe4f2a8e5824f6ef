//! The nodes of the tree, and the way to them.

use crate::memory::NoMemory;
use crate::record::{KeySource, Place, Prefix, Row};
use crate::{Link, Word};
use chiliad_machine::tasks::Lines;
use chiliad_machine::{Array, Line, Link as _, Machine, Ordering, Tagged, Word as _};
use core::array::from_fn;
use core::cmp;
use core::ptr::NonNull;

/// Lines of a leaf.
pub(crate) const LEAF_LINES: usize = 16;

/// Entries of a line.
pub(crate) const SLOTS: usize = 2;

/// Entries of a leaf.
pub(super) const LEAF_SLOTS: usize = LEAF_LINES * SLOTS;

/// Children of an inner node.
pub(super) const CHILDREN: usize = 16;

/// The most inner nodes on a way down. Of two nodes into which one was divided one has at least half of its children:
/// there are more leaves below as many levels than there is memory for.
pub(super) const HEIGHT_MAX: usize = 14;

/// The tag of a link to an inner node.
pub(super) const INNER: usize = 1;

/// Lines, from a key's own on, where an entry has its place: where they are full, the leaf is divided.
pub(super) const NEAR: usize = 2;

/// The tag of a line's links, where entries that belong there were passed on.
pub(super) const MARK: usize = 1;

/// The link of a line that tells of entries half a leaf away, and the one that tells of others.
pub(super) const AWAY: usize = 0;
pub(super) const FAR: usize = 1;

/// A node: [`Leaf`] or [`Inner`], as the tag of the link says.
#[repr(C, align(64))]
pub(crate) struct Node<M: Machine>([M::Word; 8]);

/// A line of a leaf.
#[repr(C, align(64))]
pub(super) struct Slots<M: Machine> {
    /// The first sixteen bytes of the keys.
    pub(super) prefixes: [[Word<M>; 2]; SLOTS],
    pub(super) rows: [Link<M, Row<M>>; SLOTS],
}

/// A leaf.
#[repr(C, align(64))]
pub(super) struct Leaf<M: Machine> {
    pub(super) lines: [Slots<M>; LEAF_LINES],
}

/// An inner node. Child `i` has the keys from bound `i - 1` on, and below bound `i`.
#[repr(C, align(64))]
pub(super) struct Inner<M: Machine> {
    /// How many children.
    pub(super) count: Word<M>,
    /// The first eight bytes of the bounds.
    pub(super) prefixes: [Word<M>; CHILDREN - 1],
    pub(super) children: [Link<M, Node<M>>; CHILDREN],
    pub(super) bounds: [Link<M, Row<M>>; CHILDREN],
}

/// A node as its link has it.
pub(super) enum Kind<'t, M: Machine> {
    Leaf(&'t Leaf<M>),
    Inner(&'t Inner<M>),
}

/// Where a tree begins, on a line of its own.
pub(crate) struct Root<M: Machine>(Array<M, Line<Link<M, Node<M>>>>);

impl<M: Machine> Root<M> {
    /// An empty tree.
    pub(crate) fn new<T: Lines<Machine = M>>(memory: &T) -> Result<Self, NoMemory> {
        let leaf: NonNull<Leaf<M>> = crate::record::line_of(memory, Leaf::new)?;
        let root = Self(Array::new(1, || Line(Link::<M, _>::new(Tagged::null()))));
        root.link().store(Tagged::new(leaf.as_ptr().cast(), 0), Ordering::Relaxed);
        Ok(root)
    }

    pub(super) fn link(&self) -> &Link<M, Node<M>> {
        &self.0.get(0).0
    }
}

/// A tree in use, with the memory that it takes nodes from.
pub(crate) struct Tree<'t, T: Lines> {
    pub(super) root: &'t Root<T::Machine>,
    pub(super) memory: &'t T,
}

/// The inner nodes on the way to a leaf, and which child was taken of each.
pub(super) struct Way<'t, M: Machine> {
    pub(super) steps: [Option<(&'t Inner<M>, usize)>; HEIGHT_MAX],
    pub(super) depth: usize,
}

/// A key that a leaf is searched for, or gets an entry of.
pub(super) struct Sought<'k, M: Machine> {
    pub(super) key: KeySource<'k, M>,
    pub(super) prefix: Prefix,
    /// The line where it belongs.
    pub(super) home: usize,
}

/// An entry: the first bytes of the key, and the row.
pub(super) type Found<M> = (Prefix, Place<M>);

/// The entries of a leaf.
pub(super) struct Entries<M: Machine> {
    pub(super) found: [Option<Found<M>>; LEAF_SLOTS],
    pub(super) count: usize,
}

impl<'t, M: Machine> Way<'t, M> {
    /// The node above the leaf, and which child of it that is.
    pub(super) fn parent(&self) -> Option<(&'t Inner<M>, usize)> {
        self.steps[..self.depth].last().copied().flatten()
    }
}

impl<'t, T: Lines> Tree<'t, T> {
    /// The tree that begins at `root`.
    pub(crate) fn new(root: &'t Root<T::Machine>, memory: &'t T) -> Self {
        Self { root, memory }
    }

    /// The node that a link leads to.
    pub(super) fn node(&self, link: Tagged<Node<T::Machine>>) -> Kind<'t, T::Machine> {
        let Some(node) = NonNull::new(link.pointer()) else {
            self.memory.trap("an inner node has no child where it counts one");
        };
        // SAFETY: links lead to nodes of the kind that their tag says, constructed when they were made. They are there
        // as long as nothing is removed, and what removes takes the tree for itself (`View`).
        unsafe {
            match link.tag() {
                INNER => Kind::Inner(node.cast().as_ref()),
                _ => Kind::Leaf(node.cast().as_ref()),
            }
        }
    }
}

impl<M: Machine> Leaf<M> {
    pub(super) fn new() -> Self {
        Self {
            lines: from_fn(|_| Slots {
                prefixes: from_fn(|_| from_fn(|_| Word::<M>::new(0))),
                rows: from_fn(|_| Link::<M, _>::new(Tagged::null())),
            }),
        }
    }
}

impl<M: Machine> Inner<M> {
    pub(super) fn new() -> Self {
        Self {
            count: Word::<M>::new(0),
            prefixes: from_fn(|_| Word::<M>::new(0)),
            children: from_fn(|_| Link::<M, _>::new(Tagged::null())),
            bounds: from_fn(|_| Link::<M, _>::new(Tagged::null())),
        }
    }

    /// How many children, at most as many as there can be.
    pub(super) fn count(&self) -> usize {
        (self.count.load(Ordering::Relaxed) as usize).min(CHILDREN)
    }
}

/// The line of a leaf where a key belongs: by its last bytes, so that those which follow each other lie apart.
pub(super) fn home<M: Machine>(key: KeySource<'_, M>) -> usize {
    key.tail() as usize % LEAF_LINES
}

/// The lines of a leaf in the order in which the entries of one look for room: that line, the one half a leaf away, then
/// the next such pair. Lines side by side are those of keys that follow each other, which may be inserted just now.
pub(super) fn lines_from(home: usize) -> impl Iterator<Item = usize> {
    let away = |step: usize| step / 2 + step % 2 * (LEAF_LINES / 2);
    (0..LEAF_LINES).map(move |step| (home + away(step)) % LEAF_LINES)
}

/// The order of two entries.
pub(super) fn compare<M: Machine>(one: &Found<M>, two: &Found<M>) -> cmp::Ordering {
    one.0.cmp(&two.0).then_with(|| one.1.compare_key(KeySource::Of(two.1)))
}
