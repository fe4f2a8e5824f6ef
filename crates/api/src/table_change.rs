//! Changes of declared tables, as data: several make one change of the catalog.

use crate::layout::TableLayout;
use crate::table::TableId;

/// A change of a declared table, or of what the catalog keeps beside the tables.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum TableChange {
    /// Another layout, as [`crate::TableSpec::change_layout`] allows.
    Layout(TableId, TableLayout),
    /// Another name.
    Rename(TableId, String),
    /// The table goes, with its indexes.
    Drop(TableId),
    /// A table that was built by [`crate::Store::build_table`] is shown under the name with which it was declared.
    Show(TableId),
    /// An index that was filled by [`crate::Store::fill_index`] may be read.
    Ready(TableId, String),
    /// An index goes.
    DropIndex(TableId, String),
    /// A migration was made: its number, which is higher than those before, and its name.
    Applied(u32, String),
}
