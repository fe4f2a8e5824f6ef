//! Blocks of memory that trees consist of, and what a change of a tree has done to them.

use crate::node::{NodeRef, Tree, ValueRef};
use chiliad_machine::Machine;
use core::ops::Range;

/// A node or a value, to be freed.
pub enum Block<M: Machine> {
    /// A node without its value.
    Node(NodeRef<M>),
    /// A value.
    Value(ValueRef<M>),
}

impl<M: Machine> Clone for Block<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Block<M> {}

impl<M: Machine> Block<M> {
    /// Starts loading its head.
    pub fn prefetch(self) {
        match self {
            Self::Node(node) => node.prefetch(),
            Self::Value(value) => M::prefetch(value.place().as_ptr(), 1),
        }
    }
}

/// The blocks that a change has made, and those that it has replaced.
pub struct Blocks<M: Machine> {
    made: Vec<Block<M>>,
    replaced: Vec<Block<M>>,
}

/// How far a change had come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mark {
    made: u32,
    replaced: u32,
}

impl Mark {
    /// It had not begun.
    pub const START: Self = Self { made: 0, replaced: 0 };
}

impl<M: Machine> Blocks<M> {
    pub fn new() -> Self {
        Self { made: Vec::new(), replaced: Vec::new() }
    }

    /// How far the change has come.
    pub fn mark(&self) -> Mark {
        Mark { made: self.made.len() as u32, replaced: self.replaced.len() as u32 }
    }

    /// The blocks that it has replaced in the course of `of`.
    pub fn replaced(&self, of: Range<Mark>) -> &[Block<M>] {
        &self.replaced[of.start.replaced as usize..of.end.replaced as usize]
    }

    /// The blocks that it has made in the course of `of`.
    pub fn made(&self, of: Range<Mark>) -> &[Block<M>] {
        &self.made[of.start.made as usize..of.end.made as usize]
    }

    /// It has made a block.
    pub fn make(&mut self, block: Block<M>) {
        self.made.push(block);
    }

    /// It replaces a block.
    pub fn replace(&mut self, block: Block<M>) {
        self.replaced.push(block);
    }

    /// Goes back to `mark`: what was made since is for the caller to free.
    pub fn take_back(&mut self, mark: Mark) -> Vec<Block<M>> {
        self.replaced.truncate(mark.replaced as usize);
        self.made.split_off(mark.made as usize)
    }

    /// The change stands: appends what it has replaced to `into`.
    pub fn settle(&mut self, into: &mut Vec<Block<M>>) {
        self.made.clear();
        into.append(&mut self.replaced);
    }

    /// Forgets the change.
    pub fn clear(&mut self) {
        self.made.clear();
        self.replaced.clear();
    }
}

/// Appends all blocks of a tree to `into`.
pub fn all_blocks<M: Machine>(tree: Tree<M>, into: &mut Vec<Block<M>>) {
    let mut left: Vec<_> = tree.root.into_iter().collect();
    while let Some(node) = left.pop() {
        left.extend([node.child(false), node.child(true)].into_iter().flatten());
        into.extend(node.content().value.map(Block::Value));
        into.push(Block::Node(node));
    }
}
