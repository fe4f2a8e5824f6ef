//! Nodes and values of the immutable trees, and references to them.
//!
//! ```text
//! node: left, right (links) | value (link) | version of the content | newest version in the left and in the right
//!       subtree | shape: heights of both, tombstone, bytes of the key | first eight bytes of the key | its rest
//! value: bytes | the bytes, in words
//! ```
//!
//! A node knows the height and the newest version of both its subtrees, so copying a path touches no sibling of it.
//! Nothing of a node or a value changes between its making and its freeing. They are made by `maker.rs`, which also
//! knows when they are freed: after the last state that leads to them has no readers (`collector.rs`).

use chiliad_machine::{Link, Machine, Ordering, Tagged, Word, words_for};
use core::cmp;
use core::ptr::NonNull;

/// Bytes of a key that a node holds as a number.
pub const PREFIX_BYTES: usize = 8;

/// Lines of a value that are loaded ahead.
const VALUE_LINES: u32 = 2;

const TOMBSTONE: u64 = 1 << 16;
const KEY_SHIFT: u32 = 32;

/// A key, with its first bytes as a number that orders as they do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key<'a> {
    prefix: u64,
    bytes: &'a [u8],
}

impl<'a> Key<'a> {
    /// The key of these bytes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        let prefix = match bytes.first_chunk::<PREFIX_BYTES>() {
            Some(first) => u64::from_be_bytes(*first),
            None => {
                let mut first = [0; PREFIX_BYTES];
                first[..bytes.len()].copy_from_slice(bytes);
                u64::from_be_bytes(first)
            }
        };
        Self { prefix, bytes }
    }

    /// Its bytes.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| self.bytes.cmp(other.bytes))
    }
}

/// A node; further words hold the rest of a key that is longer than [`PREFIX_BYTES`].
#[repr(C)]
pub struct Node<M: Machine> {
    left: M::Link<Self>,
    right: M::Link<Self>,
    value: M::Link<Value<M>>,
    version: M::Word,
    newest_left: M::Word,
    newest_right: M::Word,
    shape: M::Word,
    prefix: M::Word,
}

/// The bytes of a version, in words after their number.
#[repr(C)]
pub struct Value<M: Machine> {
    bytes: M::Word,
}

/// A node that is there as long as the state in which it was found, or the stage that made it, keeps it.
pub struct NodeRef<M: Machine>(NonNull<Node<M>>);

/// A value, likewise.
pub struct ValueRef<M: Machine>(NonNull<Value<M>>);

impl<M: Machine> Clone for NodeRef<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for NodeRef<M> {}

impl<M: Machine> PartialEq for NodeRef<M> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<M: Machine> Eq for NodeRef<M> {}

impl<M: Machine> Clone for ValueRef<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for ValueRef<M> {}

// SAFETY: what they refer to is immutable while it is there, and of words that threads may share.
unsafe impl<M: Machine> Send for NodeRef<M> {}
// SAFETY: two threads that read the same words of a node do no harm.
unsafe impl<M: Machine> Sync for NodeRef<M> {}
// SAFETY: what they refer to is immutable while it is there, and of words that threads may share.
unsafe impl<M: Machine> Send for ValueRef<M> {}
// SAFETY: two threads that read the same words do no harm.
unsafe impl<M: Machine> Sync for ValueRef<M> {}

/// The row of a node: its version, and where its value is.
pub struct Content<M: Machine> {
    /// The sequence number of the intention that wrote it.
    pub version: u64,
    /// The row is absent.
    pub tombstone: bool,
    /// Its bytes; of a tombstone, the stamp that a verified run gives it.
    pub value: Option<ValueRef<M>>,
}

impl<M: Machine> Clone for Content<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Content<M> {}

/// A subtree, with what its parent knows of it.
pub struct Tree<M: Machine> {
    /// Its root; nothing where it is empty.
    pub root: Option<NodeRef<M>>,
    /// The nodes on its longest path.
    pub height: u8,
    /// The newest version in it; zero where it is empty.
    pub newest: u64,
}

impl<M: Machine> Clone for Tree<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Tree<M> {}

impl<M: Machine> Tree<M> {
    /// The empty one.
    pub const EMPTY: Self = Self { root: None, height: 0, newest: 0 };

    /// The tree of this root.
    pub fn of(root: Option<NodeRef<M>>) -> Self {
        let Some(node) = root else { return Self::EMPTY };
        let (left, right) = (node.left(), node.right());
        let newest = node.content().version.max(left.newest).max(right.newest);
        Self { root, height: 1 + left.height.max(right.height), newest }
    }

    /// Whether both are the same tree.
    #[inline]
    pub fn is(self, other: Self) -> bool {
        self.root == other.root
    }

    /// The node of `key`, a tombstone too.
    pub fn find(self, key: Key<'_>) -> Option<NodeRef<M>> {
        let mut next = self.root;
        while let Some(node) = next {
            M::await_line(node.as_ptr().cast(), 1);
            next = match node.compare(key) {
                cmp::Ordering::Equal => return Some(node),
                cmp::Ordering::Less => node.child(false),
                cmp::Ordering::Greater => node.child(true),
            };
        }
        None
    }
}

impl<M: Machine> NodeRef<M> {
    /// The node that a link leads to.
    ///
    /// # Safety
    /// It is one that is there: see [`NodeRef`].
    pub unsafe fn from_link(link: Tagged<Node<M>>) -> Option<Self> {
        NonNull::new(link.pointer()).map(Self)
    }

    /// Constructs a node at `place`.
    ///
    /// # Safety
    /// The place is the caller's alone and has [`NodeRef::bytes_for`] a key of as many bytes.
    pub unsafe fn construct(
        place: NonNull<u8>,
        key: KeySource<'_, M>,
        content: Content<M>,
        left: Tree<M>,
        right: Tree<M>,
    ) -> Self {
        let node = place.cast::<Node<M>>();
        let (prefix, key_bytes) = match key {
            KeySource::Bytes(key) => (key.prefix, key.bytes.len()),
            KeySource::Node(node) => (node.prefix(), node.key_bytes()),
        };
        let tombstone = if content.tombstone { TOMBSTONE } else { 0 };
        let heights = u64::from(left.height) | u64::from(right.height) << 8;
        let shape = heights | tombstone | (key_bytes as u64) << KEY_SHIFT;
        let link = |tree: Tree<M>| M::Link::new(tagged(tree.root.map(|node| node.0)));
        // SAFETY: the place is the caller's alone and large enough.
        unsafe {
            node.write(Node {
                left: link(left),
                right: link(right),
                value: M::Link::new(tagged(content.value.map(|value| value.0))),
                version: M::Word::new(content.version),
                newest_left: M::Word::new(left.newest),
                newest_right: M::Word::new(right.newest),
                shape: M::Word::new(shape),
                prefix: M::Word::new(prefix),
            });
            let rest = node.add(1).cast::<M::Word>();
            let words = words_for(key_bytes.saturating_sub(PREFIX_BYTES));
            for word in 0..words {
                let value = match key {
                    KeySource::Bytes(key) => word_of(&key.bytes[PREFIX_BYTES..], word),
                    KeySource::Node(node) => node.rest()[word].load(Ordering::Relaxed),
                };
                rest.add(word).write(M::Word::new(value));
            }
        }
        Self(node)
    }

    /// Bytes of a node whose key has so many.
    pub fn bytes_for(key_bytes: usize) -> usize {
        size_of::<Node<M>>() + 8 * words_for(key_bytes.saturating_sub(PREFIX_BYTES))
    }

    /// The value of a link to it.
    pub fn link(self) -> Tagged<Node<M>> {
        tagged(Some(self.0))
    }

    /// Where it is.
    pub fn as_ptr(self) -> *const Node<M> {
        self.0.as_ptr()
    }

    /// Where it is, for freeing it.
    pub fn place(self) -> NonNull<u8> {
        self.0.cast()
    }

    // The lifetime is that of a local: nothing of a node is borrowed for longer than a call of its methods.
    fn node<'a>(self) -> &'a Node<M> {
        // SAFETY: it is there, and immutable.
        unsafe { self.0.as_ref() }
    }

    fn prefix(self) -> u64 {
        self.node().prefix.load(Ordering::Relaxed)
    }

    /// Bytes of its key.
    pub fn key_bytes(self) -> usize {
        (self.node().shape.load(Ordering::Relaxed) >> KEY_SHIFT) as usize
    }

    /// The words after those of every node.
    fn rest<'a>(self) -> &'a [M::Word] {
        let words = words_for(self.key_bytes().saturating_sub(PREFIX_BYTES));
        // SAFETY: constructed with the node, after it.
        unsafe { core::slice::from_raw_parts(self.0.add(1).cast().as_ptr(), words) }
    }

    /// Starts loading it.
    #[inline]
    pub fn prefetch(self) {
        M::prefetch(self.as_ptr().cast(), 1);
    }

    /// How `key` compares with the key of the node.
    #[inline]
    pub fn compare(self, key: Key<'_>) -> cmp::Ordering {
        key.prefix.cmp(&self.prefix()).then_with(|| self.compare_rest(key.bytes))
    }

    fn compare_rest(self, key: &[u8]) -> cmp::Ordering {
        let length = self.key_bytes();
        let both = key.len().min(length).saturating_sub(PREFIX_BYTES);
        if both > 0 {
            let key = &key[PREFIX_BYTES..PREFIX_BYTES + both];
            for (chunk, word) in key.chunks(8).zip(self.rest()) {
                let word = word.load(Ordering::Relaxed).to_le_bytes();
                let order = chunk.cmp(&word[..chunk.len()]);
                if order.is_ne() {
                    return order;
                }
            }
        }
        key.len().cmp(&length)
    }

    /// Whether both have the same key.
    pub fn has_key_of(self, other: Self) -> bool {
        let words = |node: Self| node.rest().iter().map(|word| word.load(Ordering::Relaxed));
        self.prefix() == other.prefix()
            && self.key_bytes() == other.key_bytes()
            && words(self).eq(words(other))
    }

    /// Appends its key to `out`.
    pub fn append_key(self, out: &mut Vec<u8>) {
        let length = self.key_bytes();
        let prefix = self.prefix().to_be_bytes();
        out.extend_from_slice(&prefix[..length.min(PREFIX_BYTES)]);
        if length > PREFIX_BYTES {
            let start = out.len();
            out.resize(start + length - PREFIX_BYTES, 0);
            M::Word::read_bytes(self.rest(), &mut out[start..]);
        }
    }

    /// Its row.
    #[inline]
    pub fn content(self) -> Content<M> {
        let node = self.node();
        let value = node.value.load(Ordering::Relaxed);
        Content {
            version: node.version.load(Ordering::Relaxed),
            tombstone: node.shape.load(Ordering::Relaxed) & TOMBSTONE != 0,
            value: NonNull::new(value.pointer()).map(ValueRef),
        }
    }

    /// The version of its content.
    #[inline]
    pub fn version(self) -> u64 {
        self.node().version.load(Ordering::Relaxed)
    }

    /// The root of a subtree: of that of greater keys, or of lesser ones.
    #[inline]
    pub fn child(self, greater: bool) -> Option<Self> {
        let node = self.node();
        let link = if greater { &node.right } else { &node.left };
        NonNull::new(link.load(Ordering::Relaxed).pointer()).map(Self)
    }

    /// The subtree of lesser keys.
    #[inline]
    pub fn left(self) -> Tree<M> {
        let node = self.node();
        let height = (node.shape.load(Ordering::Relaxed) & 0xff) as u8;
        Tree { root: self.child(false), height, newest: node.newest_left.load(Ordering::Relaxed) }
    }

    /// The subtree of greater keys.
    #[inline]
    pub fn right(self) -> Tree<M> {
        let node = self.node();
        let height = (node.shape.load(Ordering::Relaxed) >> 8 & 0xff) as u8;
        Tree { root: self.child(true), height, newest: node.newest_right.load(Ordering::Relaxed) }
    }
}

/// Where the key of a new node comes from.
pub enum KeySource<'a, M: Machine> {
    /// From an intention.
    Bytes(Key<'a>),
    /// From the node that the new one replaces.
    Node(NodeRef<M>),
}

impl<M: Machine> Clone for KeySource<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for KeySource<'_, M> {}

impl<M: Machine> KeySource<'_, M> {
    /// Bytes of the key.
    pub fn key_bytes(&self) -> usize {
        match self {
            Self::Bytes(key) => key.bytes.len(),
            Self::Node(node) => node.key_bytes(),
        }
    }
}

impl<M: Machine> ValueRef<M> {
    /// Constructs a value at `place`.
    ///
    /// # Safety
    /// The place is the caller's alone and has [`ValueRef::bytes_for`] as many bytes.
    pub unsafe fn construct(place: NonNull<u8>, bytes: &[u8]) -> Self {
        let value = place.cast::<Value<M>>();
        // SAFETY: the place is the caller's alone and large enough.
        unsafe {
            value.write(Value { bytes: M::Word::new(bytes.len() as u64) });
            let words = value.add(1).cast::<M::Word>();
            for word in 0..words_for(bytes.len()) {
                words.add(word).write(M::Word::new(word_of(bytes, word)));
            }
        }
        Self(value)
    }

    /// Bytes of a value of so many.
    pub fn bytes_for(bytes: usize) -> usize {
        size_of::<Value<M>>() + 8 * words_for(bytes)
    }

    /// Where it is, for freeing it.
    pub fn place(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// Starts loading its first bytes.
    pub fn prefetch(self) {
        M::prefetch(self.0.as_ptr().cast_const().cast(), VALUE_LINES);
    }

    /// Waits for its first bytes, or lets others run until they are there.
    pub fn await_lines(self) {
        M::await_line(self.0.as_ptr().cast_const().cast(), VALUE_LINES);
    }

    /// How many bytes it has.
    pub fn len(self) -> usize {
        // SAFETY: it is there, and immutable.
        unsafe { self.0.as_ref() }.bytes.load(Ordering::Relaxed) as usize
    }

    /// Appends its bytes to `out`.
    pub fn append(self, out: &mut Vec<u8>) {
        let bytes = self.len();
        // SAFETY: constructed with the value, after it.
        let words = unsafe {
            core::slice::from_raw_parts(self.0.add(1).cast::<M::Word>().as_ptr(), words_for(bytes))
        };
        let start = out.len();
        out.resize(start + bytes, 0);
        M::Word::read_bytes(words, &mut out[start..]);
    }
}

/// Word `at` of `bytes`, padded with zeroes.
fn word_of(bytes: &[u8], at: usize) -> u64 {
    let rest = &bytes[8 * at..];
    let mut word = [0; 8];
    let length = rest.len().min(8);
    word[..length].copy_from_slice(&rest[..length]);
    u64::from_le_bytes(word)
}

fn tagged<T>(place: Option<NonNull<T>>) -> Tagged<T> {
    place.map_or(Tagged::null(), |place| Tagged::new(place.as_ptr(), 0))
}
