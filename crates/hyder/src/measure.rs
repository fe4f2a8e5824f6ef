//! The memory of each table in the newest state, counted by a walk over its tree.

use crate::audit::Pinned;
use crate::cursor::Cursor;
use crate::node::{NodeRef, ValueRef};
use crate::server::SharedServer;
use chiliad_api::{Error, Footprint, Result, TableMemory};
use chiliad_machine::Machine;
use chiliad_storage::slot_bytes_for;
use core::ops::Bound;

/// Nodes between two looks at whether the walk is to end.
const NODES: usize = 1024;

/// Counts the memory of all tables, as they are in one state, which is kept for as long. Older states, and blocks that they
/// have for themselves, belong to no table.
///
/// # Errors
/// [`Error::TooManyWorkers`]; [`Error::Canceled`] when `over` says so.
pub fn measure<M: Machine>(
    server: &SharedServer<M>,
    over: &dyn Fn() -> bool,
) -> Result<Vec<TableMemory>> {
    let pinned = Pinned::new(server)?;
    let footprint = |table| weigh(&pinned, table, over);
    let mut measured = Vec::new();
    for (id, table) in server.catalog().declared() {
        let mut memory = TableMemory::default();
        memory.table.clone_from(&table.spec.name);
        memory.rows = footprint(id.0)?;
        for index in &table.indexes {
            memory.indexes.push((index.spec.name.clone(), footprint(index.table.0)?));
        }
        measured.push(memory);
    }
    Ok(measured)
}

fn weigh<M: Machine>(
    pinned: &Pinned<'_, M>,
    table: u32,
    over: &dyn Fn() -> bool,
) -> Result<Footprint> {
    let mut footprint = Footprint::default();
    let tree = pinned.state.tree(table);
    for (count, node) in Cursor::new(tree, Bound::Unbounded, Bound::Unbounded, false).enumerate() {
        if count % NODES == 0 && over() {
            return Err(Error::Canceled);
        }
        let bare = slot_bytes_for(NodeRef::<M>::bytes_for(0));
        footprint.records += 1;
        footprint.node_bytes += bare;
        footprint.key_bytes += slot_bytes_for(NodeRef::<M>::bytes_for(node.key_bytes())) - bare;
        if let Some(value) = node.content().value {
            footprint.record_bytes += slot_bytes_for(ValueRef::<M>::bytes_for(value.len()));
        }
    }
    Ok(footprint)
}
