//! Makes nodes and values, and knows which of them a change has made needless.
//!
//! A stage that changes a tree makes new nodes and takes note of those that they replace. If the change stands,
//! what was replaced is freed after the last state that leads to it has no readers; if it does not, what was made is
//! freed at once, since no state leads to it.

use crate::blocks::{Block, Blocks, Mark};
use crate::faults::NEWEST_NOT_RAISED;
use crate::node::{Content, KeySource, NodeRef, Tree, ValueRef};
use crate::over::Nodes;
use chiliad_machine::{Cost, Machine};
use chiliad_storage::{Kind, LocalHeap, OutOfMemory};
use core::ops::Range;

/// Makes nodes out of a heap of its own.
pub struct Maker<M: Machine> {
    pub heap: LocalHeap<M>,
    /// Of the change in hand.
    blocks: Blocks<M>,
    /// Nodes looked at, and made, in all.
    pub nodes_visited: u64,
    pub nodes_made: u64,
    /// Blocks made here less those freed here: of all makers together, those that are there.
    pub blocks_there: i64,
    /// Memory of overlays that were cleared away, for the next ones.
    spare: Vec<Nodes<M>>,
}

/// Overlays whose memory a maker keeps: as many as a batch has, or some more.
const SPARE: usize = 128;

impl<M: Machine> Maker<M> {
    pub fn new(heap: LocalHeap<M>) -> Self {
        let (blocks, spare) = (Blocks::new(), Vec::new());
        Self { heap, blocks, nodes_visited: 0, nodes_made: 0, blocks_there: 0, spare }
    }

    /// Memory for the nodes of an overlay, which has none yet.
    pub fn nodes(&mut self) -> Nodes<M> {
        self.spare.pop().unwrap_or_default()
    }

    /// Keeps the memory of an overlay that was cleared away.
    pub fn keep(&mut self, mut nodes: Nodes<M>) {
        if self.spare.len() < SPARE {
            nodes.clear();
            self.spare.push(nodes);
        }
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
        self.blocks.make(Block::Node(node));
        self.nodes_made += 1;
        self.blocks_there += 1;
        let own = if M::fault(&NEWEST_NOT_RAISED) { 0 } else { content.version };
        let newest = own.max(left.newest).max(right.newest);
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
        self.blocks.make(Block::Value(value));
        self.blocks_there += 1;
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
        self.blocks.replace(Block::Node(node));
    }

    /// It replaces the value of a row.
    pub fn replace_value(&mut self, value: Option<ValueRef<M>>) {
        value.into_iter().for_each(|value| self.blocks.replace(Block::Value(value)));
    }

    /// How far the change in hand has come.
    pub fn mark(&self) -> Mark {
        self.blocks.mark()
    }

    /// Goes on with another change, and leaves this one.
    pub fn exchange(&mut self, blocks: &mut Blocks<M>) {
        core::mem::swap(&mut self.blocks, blocks);
    }

    /// Takes back what the change in hand has done since `mark`: frees what it has made.
    pub fn take_back(&mut self, mark: Mark) {
        for block in self.blocks.take_back(mark) {
            // SAFETY: made by this change, and no state leads to it.
            unsafe { self.free(block) };
        }
    }

    /// The change in hand stands: appends what it has replaced to `into`.
    pub fn settle(&mut self, into: &mut Vec<Block<M>>) {
        self.blocks.settle(into);
    }

    /// Frees what another change had made in the course of `of`, which is part of no state.
    pub fn free_made(&mut self, blocks: &Blocks<M>, of: Range<Mark>) {
        for &block in blocks.made(of) {
            // SAFETY: made by that change, which takes no part in any state; each part of it is freed once.
            unsafe { self.free(block) };
        }
    }

    /// Frees a block.
    ///
    /// # Safety
    /// No state leads to it that has readers or may get some, and nobody frees it again.
    pub unsafe fn free(&mut self, block: Block<M>) {
        self.blocks_there -= 1;
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
