//! The pieces of work that the changes of a statement take, one after the other.

use super::hidden::Build;
use super::names::is_reserved;
use chiliad::raw::{TableId, TableSpec};
use chiliad_sql::{CatalogView, SchemaChange, SqlError, Table, TableDetails};
use std::sync::Arc;

/// A piece of work of a statement that changes tables.
pub(crate) enum Work {
    /// A new sequence.
    Sequence(String),
    /// An empty table takes a name, of another one perhaps.
    Table { spec: TableSpec, details: Option<TableDetails> },
    /// A table with the rows of another one takes its name; `rewrites`: they are of another form.
    Copy { from: Arc<Table>, spec: TableSpec, details: Option<TableDetails>, rewrites: bool },
    /// A table goes.
    DropTable(String),
    /// A sequence goes.
    DropSequence(String),
    /// An index goes.
    DropIndex { table: String, index: String },
}

impl Work {
    /// The table or sequence that has to be made for it first.
    pub fn build(&self) -> Option<Build> {
        match self {
            Self::Sequence(_) => Some(Build::Sequence),
            Self::Table { spec, .. } | Self::Copy { spec, .. } => Some(Build::Table(spec.clone())),
            Self::DropTable(_) | Self::DropSequence(_) | Self::DropIndex { .. } => None,
        }
    }
}

/// The work that changes need, on tables as a transaction sees them.
///
/// # Errors
/// 0A000; 42939 for a name that is the server's.
pub(crate) fn works(changes: Vec<SchemaChange>, view: &CatalogView) -> Result<Vec<Work>, SqlError> {
    let mut works = Vec::new();
    for change in changes {
        match change {
            SchemaChange::CreateSequence { name } => works.push(Work::Sequence(name)),
            SchemaChange::CreateTable { spec, details } => {
                if is_reserved(&spec.name) {
                    let message = format!("unacceptable table name \"{}\"", spec.name);
                    return Err(SqlError::new("42939", message));
                }
                works.push(Work::Table { spec, details: Some(details) });
            }
            SchemaChange::Truncate { spec, details, .. } => {
                works.push(Work::Table { spec, details });
            }
            SchemaChange::DropTable { name, .. } => works.push(Work::DropTable(name)),
            SchemaChange::DropSequence { name } => works.push(Work::DropSequence(name)),
            SchemaChange::DropIndex { table, name } => {
                let table = of_number(view, table)?.name.clone();
                works.push(Work::DropIndex { table, index: name });
            }
            SchemaChange::AddIndex { table, index } => {
                let copied = works.iter_mut().find_map(|work| match work {
                    Work::Copy { from, spec, .. } if from.id == table => Some(spec),
                    _ => None,
                });
                if let Some(spec) = copied {
                    spec.secondary.push(index);
                    continue;
                }
                let from = Arc::clone(of_number(view, table)?);
                let mut spec = from.spec.clone();
                spec.secondary.push(index);
                let details = from.details.clone();
                works.push(Work::Copy { from, spec, details, rewrites: false });
            }
            SchemaChange::Rewrite { table, spec, details } => {
                let from = Arc::clone(of_number(view, table)?);
                works.push(Work::Copy { from, spec, details: Some(details), rewrites: true });
            }
            other => {
                let message = format!("changes of this kind ({other:?})");
                return Err(SqlError::feature_not_supported(message));
            }
        }
    }
    Ok(works)
}

fn of_number(view: &CatalogView, id: TableId) -> Result<&Arc<Table>, SqlError> {
    view.tables().find(|it| it.id == id).ok_or_else(|| SqlError::internal("a table that is gone"))
}
