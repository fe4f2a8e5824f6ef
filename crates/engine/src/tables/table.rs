//! A table in use.

use crate::tables::seal::Seal;
use chiliad_api::stamp::TombstoneStamps;
use chiliad_api::{Secondary, TableLayout, TableSpec, Writes};
use chiliad_machine::{Machine, Shared};
use chiliad_storage::Index;
use std::sync::Arc;

/// A table in use.
pub struct Table<M: Machine> {
    /// Its declaration, but for the columns, which are nothing to those at work.
    pub spec: TableSpec<()>,
    pub index: Index<M>,
    /// Its secondary indexes, which are tables of their own.
    pub secondary: Vec<Secondary>,
    /// The stamps of tombstones that have left, in verified runs.
    pub tombstone_stamps: Option<TombstoneStamps<M>>,
    /// Of a table that only loads may change.
    pub seal: Option<Arc<Shared<M, Seal<M>>>>,
}

impl<M: Machine> Table<M> {
    /// Whether it is the table of a secondary index.
    pub fn is_index(&self) -> bool {
        self.spec.name.contains('/')
    }

    /// Whether nothing will ever change in it.
    #[inline]
    pub fn is_sealed(&self) -> bool {
        self.seal.as_ref().is_some_and(|seal| seal.is_closed())
    }

    /// The declaration as it is to be kept.
    pub fn spec_now(&self, layout: &TableLayout) -> TableSpec {
        let writes = if self.is_sealed() { Writes::Nobody } else { self.spec.writes };
        TableSpec { writes, ..self.spec.clone() }.exchange(layout.clone()).0
    }
}

/// A table's place: empty once it was dropped.
pub type Entry<M> = Option<Arc<Shared<M, Table<M>>>>;
