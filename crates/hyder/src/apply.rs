//! Applies what an intention depends on and writes to a tree, key by key.
//!
//! This is the plain certifier: one pass over the newest state that checks the versions of keys and makes the new
//! tree. Meld and premeld (`meld.rs`) do the same on fewer nodes, and come back to it where an overlay and a tree have
//! different shapes.

use crate::join::join;
use crate::maker::Maker;
use crate::node::{Content, Key, KeySource, NodeRef, Tree};
use chiliad_machine::Machine;
use chiliad_storage::OutOfMemory;
use core::cmp::Ordering;

/// The part of an intention about one key.
pub struct Entry<'a, M: Machine> {
    /// The key.
    pub key: Key<'a>,
    /// It depends on the key: no version of it is newer than this one.
    pub base: Option<u64>,
    /// The write to it.
    pub write: Option<Content<M>>,
}

impl<M: Machine> Clone for Entry<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Entry<'_, M> {}

/// Why a tree was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// A key that the intention depends on has a newer version.
    Conflict,
    /// The memory limit is reached.
    OutOfMemory,
}

impl From<OutOfMemory> for Stop {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// The tree after `entries`, which are in the order of their keys.
///
/// # Errors
/// [`Stop`]: what was made is for the caller to take back.
pub fn apply<M: Machine>(
    maker: &mut Maker<M>,
    entries: &[Entry<'_, M>],
    tree: Tree<M>,
) -> Result<Tree<M>, Stop> {
    if entries.is_empty() {
        return Ok(tree);
    }
    let Some(node) = tree.root else { return grow(maker, entries) };
    maker.visit();
    let (lesser, own, greater) = split(entries, node);
    check(own, node)?;
    let left = apply(maker, lesser, node.left())?;
    let right = apply(maker, greater, node.right())?;
    rebuild(maker, tree, node, own.and_then(|entry| entry.write), left, right)
}

/// Entries beside a node: of lesser keys, of its own key, of greater keys.
type Split<'e, 'a, M> = (&'e [Entry<'a, M>], Option<&'e Entry<'a, M>>, &'e [Entry<'a, M>]);

/// Those of lesser keys than the node's, the one of its key, and those of greater keys.
pub fn split<'e, 'a, M: Machine>(
    entries: &'e [Entry<'a, M>],
    node: NodeRef<M>,
) -> Split<'e, 'a, M> {
    let at = entries.partition_point(|entry| node.compare(entry.key) == Ordering::Less);
    let (lesser, rest) = entries.split_at(at);
    match rest.split_first() {
        Some((own, greater)) if node.compare(own.key) == Ordering::Equal => {
            (lesser, Some(own), greater)
        }
        _ => (lesser, None, rest),
    }
}

/// Refuses an entry that depends on an older version of its key than the node's.
pub fn check<M: Machine>(entry: Option<&Entry<'_, M>>, node: NodeRef<M>) -> Result<(), Stop> {
    match entry.and_then(|entry| entry.base) {
        Some(base) if node.version() > base => Err(Stop::Conflict),
        _ => Ok(()),
    }
}

/// The tree of `node`, whose subtrees are these from now on, and which `write` writes.
pub fn rebuild<M: Machine>(
    maker: &mut Maker<M>,
    tree: Tree<M>,
    node: NodeRef<M>,
    write: Option<Content<M>>,
    left: Tree<M>,
    right: Tree<M>,
) -> Result<Tree<M>, Stop> {
    let content = match write {
        Some(content) => {
            maker.replace_value(node.content().value);
            content
        }
        None if left.is(node.left()) && right.is(node.right()) => return Ok(tree),
        None => node.content(),
    };
    maker.replace(node);
    Ok(join(maker, left, KeySource::Node(node), content, right)?)
}

/// A balanced tree of what `entries` write. The keys are absent: nobody has written them.
pub fn grow<M: Machine>(maker: &mut Maker<M>, entries: &[Entry<'_, M>]) -> Result<Tree<M>, Stop> {
    if let [entry] = entries {
        return match entry.write {
            Some(content) => build(maker, &[(entry.key, content)]),
            None => Ok(Tree::EMPTY),
        };
    }
    let written = entries.iter().filter_map(|entry| Some((entry.key, entry.write?)));
    build(maker, &written.collect::<Vec<_>>())
}

type Row<'a, M> = (Key<'a>, Content<M>);

fn build<M: Machine>(maker: &mut Maker<M>, rows: &[Row<'_, M>]) -> Result<Tree<M>, Stop> {
    let Some(&(key, content)) = rows.get(rows.len() / 2) else { return Ok(Tree::EMPTY) };
    let (lesser, rest) = rows.split_at(rows.len() / 2);
    let left = build(maker, lesser)?;
    let right = build(maker, &rest[1..])?;
    Ok(maker.node(KeySource::Bytes(key), content, left, right)?)
}
