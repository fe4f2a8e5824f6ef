//! Where a recovery puts rows.

use crate::tables::table::Entry;
use chiliad_machine::{Machine, Shared};
use chiliad_storage::Heap;
use std::sync::Arc;

/// Tables by number; those that were dropped leave a gap.
pub type Tables<M> = Vec<Entry<M>>;

/// Keys with their tables.
pub type Removed = Vec<(u32, Box<[u8]>)>;

/// Where rows go.
pub struct Target<'a, M: Machine> {
    /// By number.
    pub tables: &'a Tables<M>,
    /// Their memory.
    pub heap: &'a Arc<Shared<M, Heap<M>>>,
}

impl<M: Machine> Clone for Target<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Target<'_, M> {}
