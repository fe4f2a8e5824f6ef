//! Changes of tables that are made while transactions go on, by a statement on its own: an index is added, or rows are
//! written anew under a key.

use crate::catalog::Catalog;
use chiliad::migration::TableChanges;
use chiliad::raw::{TableId, TableSpec};
use chiliad::{Database, Error};
use chiliad_sql::{Rewrite, SchemaChange, SqlError, TableDetails};

/// What SQL says of tables, as it is after the changes, by their names.
type Said = Vec<(String, TableDetails)>;

/// Makes the changes of one statement, all at once or none of them. They wait for all transactions that have begun before.
///
/// # Errors
/// Those of the database.
pub(crate) fn change_online(catalog: &Catalog, changes: Vec<SchemaChange>) -> Result<(), SqlError> {
    let mut said = Said::new();
    let replaces = changes.iter().any(|it| matches!(it, SchemaChange::Rewrite { .. }));
    let mut failed = None;
    let made = catalog.database().change_tables(|tables| {
        let mut changes = changes.into_iter();
        changes.try_for_each(|change| one(catalog, tables, change, &mut said)).map_err(|error| {
            failed = Some(error);
            Error::RolledBack
        })
    });
    match (made, failed) {
        (Err(_), Some(error)) => return Err(error),
        (made, _) => made?,
    }
    for (name, details) in said {
        catalog.set_details(&name, &details)?;
    }
    catalog.renew()?;
    if replaces {
        catalog.have_replaced();
    }
    Ok(())
}

fn one(
    catalog: &Catalog,
    tables: &mut TableChanges<'_>,
    change: SchemaChange,
    said: &mut Said,
) -> Result<(), SqlError> {
    match change {
        SchemaChange::AddIndex { table, index } => {
            tables.add_index_raw(&name_of(catalog.database(), table)?, index)?;
        }
        SchemaChange::Rewrite { table, spec, details } => {
            let before = catalog.view();
            let before = before.tables().find(|it| it.id == table);
            let before = before.ok_or_else(|| SqlError::internal("a table that is gone"))?;
            let rewrite = Rewrite::new(before, spec.clone(), details.clone());
            let name = before.name.clone();
            tables.rewrite_raw(&name, spec, |key, row| rewrite.row(key, row))?;
            said.push((name, details));
        }
        SchemaChange::DropSequence { name } => {
            tables.drop_table(&name)?;
            catalog.forget_sequence(&name);
        }
        other => {
            let message = format!("changes of this kind ({other:?})");
            return Err(SqlError::feature_not_supported(message));
        }
    }
    Ok(())
}

/// The name of a table, by its number.
fn name_of(database: &Database, table: TableId) -> Result<String, SqlError> {
    let is_it = |spec: &TableSpec| database.table_raw(&spec.name).is_ok_and(|(id, _)| id == table);
    let found = database.tables().into_iter().find(is_it);
    let message =
        || SqlError::undefined_table(format!("relation with OID {} does not exist", table.0));
    found.map(|spec| spec.name).ok_or_else(message)
}
