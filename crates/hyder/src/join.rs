//! Balanced trees by joining: all that changes a tree's shape is here.
//!
//! An AVL tree that is made of two others and a row between them ([`join`]) costs as many new nodes as the two differ
//! in height. Insertion, removal, union and melding are all recursions that end in it (Blelloch et al.,
//! 2016).

use crate::maker::Maker;
use crate::node::{Content, Key, KeySource, NodeRef, Tree};
use chiliad_machine::Machine;
use chiliad_storage::OutOfMemory;
use core::cmp::Ordering;

/// The tree of all rows of `left`, the row of `key`, and all rows of `right`, in this order of their keys.
///
/// # Errors
/// When the memory limit is reached.
pub fn join<M: Machine>(
    maker: &mut Maker<M>,
    left: Tree<M>,
    key: KeySource<'_, M>,
    content: Content<M>,
    right: Tree<M>,
) -> Result<Tree<M>, OutOfMemory> {
    if left.height > right.height + 1
        && let Some(node) = left.root
    {
        let joined = join(maker, node.right(), key, content, right)?;
        maker.replace(node);
        balance(maker, node.left(), node, joined)
    } else if right.height > left.height + 1
        && let Some(node) = right.root
    {
        let joined = join(maker, left, key, content, node.left())?;
        maker.replace(node);
        balance(maker, joined, node, node.right())
    } else {
        maker.node(key, content, left, right)
    }
}

/// The tree of all rows of `left` and all rows of `right`, in this order of their keys.
///
/// # Errors
/// When the memory limit is reached.
pub fn join_two<M: Machine>(
    maker: &mut Maker<M>,
    left: Tree<M>,
    right: Tree<M>,
) -> Result<Tree<M>, OutOfMemory> {
    match (left.root, right.root) {
        (None, _) => Ok(right),
        (_, None) => Ok(left),
        (Some(node), Some(_)) => {
            let (rest, last) = split_last(maker, node)?;
            join(maker, rest, KeySource::Node(last), last.content(), right)
        }
    }
}

/// The last row of the tree of `node`, and the tree of the rows before it.
fn split_last<M: Machine>(
    maker: &mut Maker<M>,
    node: NodeRef<M>,
) -> Result<(Tree<M>, NodeRef<M>), OutOfMemory> {
    maker.replace(node);
    let Some(next) = node.child(true) else { return Ok((node.left(), node)) };
    let (rest, last) = split_last(maker, next)?;
    let before = join(maker, node.left(), KeySource::Node(node), node.content(), rest)?;
    Ok((before, last))
}

/// The tree without the row of `key`; itself, if there is none.
///
/// # Errors
/// When the memory limit is reached.
pub fn remove<M: Machine>(
    maker: &mut Maker<M>,
    tree: Tree<M>,
    key: Key<'_>,
) -> Result<Tree<M>, OutOfMemory> {
    let Some(node) = tree.root else { return Ok(tree) };
    maker.visit();
    let (left, right) = match node.compare(key) {
        Ordering::Equal => {
            maker.replace(node);
            maker.replace_value(node.content().value);
            return join_two(maker, node.left(), node.right());
        }
        Ordering::Less => (remove(maker, node.left(), key)?, node.right()),
        Ordering::Greater => (node.left(), remove(maker, node.right(), key)?),
    };
    if left.is(node.left()) && right.is(node.right()) {
        return Ok(tree);
    }
    maker.replace(node);
    join(maker, left, KeySource::Node(node), node.content(), right)
}

/// The tree of `left`, the row of `middle` and `right`, which differ in height by two at most.
fn balance<M: Machine>(
    maker: &mut Maker<M>,
    left: Tree<M>,
    middle: NodeRef<M>,
    right: Tree<M>,
) -> Result<Tree<M>, OutOfMemory> {
    if right.height > left.height + 1
        && let Some(node) = right.root
    {
        maker.replace(node);
        let (inner, outer) = (node.left(), node.right());
        if let Some(between) = inner.root.filter(|_| inner.height > outer.height) {
            maker.replace(between);
            let left = copy(maker, left, middle, between.left())?;
            let right = copy(maker, between.right(), node, outer)?;
            return copy(maker, left, between, right);
        }
        let left = copy(maker, left, middle, inner)?;
        copy(maker, left, node, outer)
    } else if left.height > right.height + 1
        && let Some(node) = left.root
    {
        maker.replace(node);
        let (outer, inner) = (node.left(), node.right());
        if let Some(between) = inner.root.filter(|_| inner.height > outer.height) {
            maker.replace(between);
            let left = copy(maker, outer, node, between.left())?;
            let right = copy(maker, between.right(), middle, right)?;
            return copy(maker, left, between, right);
        }
        let right = copy(maker, inner, middle, right)?;
        copy(maker, outer, node, right)
    } else {
        copy(maker, left, middle, right)
    }
}

/// The row of `middle` between these subtrees.
fn copy<M: Machine>(
    maker: &mut Maker<M>,
    left: Tree<M>,
    middle: NodeRef<M>,
    right: Tree<M>,
) -> Result<Tree<M>, OutOfMemory> {
    maker.node(KeySource::Node(middle), middle.content(), left, right)
}
