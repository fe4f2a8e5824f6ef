//! Makes nodes and values, and knows which of them a change has made needless.
//!
//! A stage that changes a tree makes new nodes and takes note of those that they replace. If the change stands,
//! what was replaced is freed after the last state that leads to it has no readers; if it does not, what was made is
//! freed at once, since no state leads to it.

use crate::node::{Content, KeySource, NodeRef, Tree, ValueRef};
use chiliad_machine::{Cost, Machine};
use chiliad_storage::{Kind, LocalHeap, OutOfMemory};

/// A node or a value, to be freed.
pub enum Block<M: Machine> {
    /// A node without its value.
    Node(NodeRef<M>),
    /// A value.
    Value(ValueRef<M>),
}

/// Makes nodes out of a heap of its own.
pub struct Maker<M: Machine> {
    pub heap: LocalHeap<M>,
    /// What the change in hand has made.
    made: Vec<Block<M>>,
    /// What it has replaced.
    replaced: Vec<Block<M>>,
    /// Nodes looked at, and made, in all.
    pub nodes_visited: u64,
    pub nodes_made: u64,
}

/// How far a change had come.
#[derive(Clone, Copy)]
pub struct Mark {
    made: usize,
    replaced: usize,
}

impl<M: Machine> Maker<M> {
    pub fn new(heap: LocalHeap<M>) -> Self {
        Self { heap, made: Vec::new(), replaced: Vec::new(), nodes_visited: 0, nodes_made: 0 }
    }

    /// A node with these subtrees, which differ in height by one at most.
    ///
    /// # Errors
    /// When the memory limit is reached.
    pub fn node(
        &mut self,
        key: KeySource<'_, M>,
        content: Content<M>,
        left: Tree<M>,
        right: Tree<M>,
    ) -> Result<Tree<M>, OutOfMemory> {
        debug_assert!(left.height.abs_diff(right.height) <= 1, "the tree stays balanced");
        let bytes = NodeRef::<M>::bytes_for(key.key_bytes());
        let place = self.heap.alloc(Kind::Version, bytes)?;
        // SAFETY: the slot is ours alone and this large; its life begins here.
        let node = unsafe { NodeRef::construct(place, key, content, left, right) };
        self.made.push(Block::Node(node));
        self.nodes_made += 1;
        let newest = content.version.max(left.newest).max(right.newest);
        Ok(Tree { root: Some(node), height: 1 + left.height.max(right.height), newest })
    }

    /// A value of these bytes.
    ///
    /// # Errors
    /// When the memory limit is reached.
    pub fn value(&mut self, bytes: &[u8]) -> Result<ValueRef<M>, OutOfMemory> {
        let place = self.heap.alloc(Kind::Version, ValueRef::<M>::bytes_for(bytes.len()))?;
        // SAFETY: the slot is ours alone and this large; its life begins here.
        let value = unsafe { ValueRef::construct(place, bytes) };
        self.made.push(Block::Value(value));
        Ok(value)
    }

    /// A stage looks at a node.
    #[inline]
    pub fn visit(&mut self) {
        M::work(Cost::InnerSearch, 1);
        self.nodes_visited += 1;
    }

    /// The change in hand replaces `node` by another of the same key.
    pub fn replace(&mut self, node: NodeRef<M>) {
        self.replaced.push(Block::Node(node));
    }

    /// It replaces the value of a row.
    pub fn replace_value(&mut self, value: Option<ValueRef<M>>) {
        self.replaced.extend(value.map(Block::Value));
    }

    /// How far the change in hand has come.
    pub fn mark(&self) -> Mark {
        Mark { made: self.made.len(), replaced: self.replaced.len() }
    }

    /// Takes back what the change has done since `mark`: frees what it has made.
    pub fn take_back(&mut self, mark: Mark) {
        self.replaced.truncate(mark.replaced);
        for block in self.made.split_off(mark.made) {
            // SAFETY: made by this change, and no state leads to it.
            unsafe { self.free(block) };
        }
    }

    /// The change stands: returns what it has replaced.
    pub fn settle(&mut self, into: &mut Vec<Block<M>>) {
        self.made.clear();
        into.append(&mut self.replaced);
    }

    /// Frees a block.
    ///
    /// # Safety
    /// No state leads to it that has readers or may get some, and nobody frees it again.
    pub unsafe fn free(&mut self, block: Block<M>) {
        // SAFETY: the caller's promise; kind and bytes are those of its making.
        unsafe {
            match block {
                Block::Node(node) => {
                    let bytes = NodeRef::<M>::bytes_for(node.key_bytes());
                    self.heap.free(Kind::Version, bytes, node.place());
                }
                Block::Value(value) => {
                    let bytes = ValueRef::<M>::bytes_for(value.len());
                    self.heap.free(Kind::Version, bytes, value.place());
                }
            }
        }
    }
}
