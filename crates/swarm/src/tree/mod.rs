//! The ordered index: a B+-tree over words, whose leaves are small hash tables.
//!
//! Tasks that insert side by side, such as those of an order's lines, must not abort each other. A leaf of sorted entries
//! makes them: each insertion reads and writes the count and moves neighbours. So a leaf here has
//! `LEAF_LINES` lines of `SLOTS` entries each, and nothing else: no count, no version, no link to a neighbour. The end of
//! a key chooses the line, so that keys that follow each other lie on different ones. An insertion reads the inner
//! nodes on its way and *one* line of the leaf, and writes that line; so does a removal, and a look-up reads it. Scans
//! read all lines of a leaf and sort what they want.
//!
//! - A line that is full passes entries on to the line half a leaf away and is *marked* as having done so; look-ups go on
//!   from a marked line and stop at another one. The next line would be that of a sibling.
//! - Which entries are in order lies with the inner nodes: sorted, with a count, written only when a child is
//!   divided or goes. That is once in some 40 insertions.
//! - A leaf that keys in their order have filled is divided at its end: it is only read, and nothing moves.
//! - Siblings that insert side by side have room made before they begin (`make_room`): each of them would read the whole
//!   leaf for that, and take back those that were quicker.
//! - Separators are as short as they may be (Bayer and Unterauer, 1977): the lines of an order go to one leaf whichever of
//!   them comes first.
//! - A leaf that is empty leaves the tree: queues leave none behind.
//!
//! Keys are compared by their first eight bytes (leaves: sixteen), which nodes hold, and where these are equal by the whole
//! key in the row (or in the separator's block).

mod change;
mod find;
mod node;
mod remove;
mod scan;

pub(crate) use node::{Root, Tree};
pub(crate) use scan::Span;
