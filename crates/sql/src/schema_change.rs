//! Changes of the catalog that a statement asks for, as data.

use crate::details::TableDetails;
use chiliad_api::row::SchemaChange as RowChange;
use chiliad_api::{SecondarySpec, TableId, TableSpec};

/// A change of the catalog. A statement's changes are made in their order.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SchemaChange {
    /// A new table.
    CreateTable {
        /// Its declaration.
        spec: TableSpec,
        /// What SQL says beyond it.
        details: TableDetails,
    },
    /// A table goes.
    DropTable {
        /// Its number.
        table: TableId,
        /// Its name.
        name: String,
    },
    /// A table gets another name.
    RenameTable {
        /// Its number.
        table: TableId,
        /// The name after.
        name: String,
    },
    /// A table loses all its rows.
    Truncate {
        /// Its number.
        table: TableId,
        /// Its declaration, for an empty one in its place.
        spec: TableSpec,
        /// What SQL says beyond it.
        details: Option<TableDetails>,
    },
    /// A table gets a secondary index.
    AddIndex {
        /// Its number.
        table: TableId,
        /// The index.
        index: SecondarySpec,
    },
    /// A secondary index goes.
    DropIndex {
        /// The table's number.
        table: TableId,
        /// The index's name.
        name: String,
    },
    /// Columns come, go or change, and no row is rewritten.
    Columns {
        /// The table's number.
        table: TableId,
        /// The changes of its rows' columns.
        changes: Vec<RowChange>,
        /// What SQL says beyond it afterwards.
        details: TableDetails,
    },
    /// What SQL says of a table beyond its layout changes alone.
    Details {
        /// The table's number.
        table: TableId,
        /// What it says afterwards.
        details: TableDetails,
    },
    /// Every row is written anew, into a table of another declaration that takes the name: [`crate::Rewrite`] makes the
    /// rows.
    Rewrite {
        /// The table's number.
        table: TableId,
        /// The declaration of the one in its place.
        spec: TableSpec,
        /// What SQL says beyond it.
        details: TableDetails,
    },
    /// A new sequence.
    CreateSequence {
        /// Its name.
        name: String,
    },
    /// A sequence goes.
    DropSequence {
        /// Its name.
        name: String,
    },
    /// Nothing is changed, and the client is told why.
    Notice {
        /// The condition.
        sqlstate: &'static str,
        /// The reason.
        message: String,
    },
}
