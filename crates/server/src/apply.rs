//! Makes changes of the catalog that a statement asks for.

use crate::catalog::Catalog;
use crate::jobs::Notice;
use chiliad::migration::TableChanges;
use chiliad::raw::{TableId, TableSpec};
use chiliad::{Database, Error};
use chiliad_sql::{Rewrite, SchemaChange, SqlError, TableDetails};

/// What SQL says of tables, as it is after the changes: by name, `None` for nothing.
type Said = Vec<(String, Option<TableDetails>)>;

/// Makes the changes of one statement: those of tables all at once, or none of them.
///
/// # Errors
/// Those of the database.
pub(crate) fn apply(
    catalog: &Catalog,
    changes: Vec<SchemaChange>,
) -> Result<Vec<Notice>, SqlError> {
    let mut notices = Vec::new();
    let mut tables = Vec::new();
    for change in changes {
        match change {
            SchemaChange::Notice { sqlstate, message } => {
                notices.push(Notice { sqlstate, message });
            }
            SchemaChange::CreateSequence { name } => {
                if catalog.database().table_raw(&name).is_ok() {
                    let message = format!("relation \"{name}\" already exists");
                    return Err(SqlError::duplicate_table(message));
                }
                catalog.database().sequence(&name)?;
            }
            SchemaChange::DropSequence { name } => {
                catalog.database().drop_table(&name)?;
                catalog.forget_sequence(&name);
            }
            change => tables.push(change),
        }
    }
    if tables.is_empty() {
        return Ok(notices);
    }
    let mut said = Said::new();
    change_tables(catalog, tables, &mut said)?;
    for (name, details) in said {
        catalog.set_details(&name, details.as_ref())?;
    }
    Ok(notices)
}

fn change_tables(
    catalog: &Catalog,
    changes: Vec<SchemaChange>,
    said: &mut Said,
) -> Result<(), SqlError> {
    let database = catalog.database();
    // One new table needs nobody to wait.
    if let [SchemaChange::CreateTable { spec, details }] = &changes[..] {
        database.create_table_raw(spec.clone())?;
        said.push((spec.name.clone(), Some(details.clone())));
        return Ok(());
    }
    let mut failed = None;
    let made = database.change_tables(|tables| {
        let mut changes = changes.into_iter();
        changes.try_for_each(|change| one(catalog, tables, change, said)).map_err(|error| {
            failed = Some(error);
            Error::RolledBack
        })
    });
    match (made, failed) {
        (Err(_), Some(error)) => Err(error),
        (made, _) => Ok(made?),
    }
}

fn one(
    catalog: &Catalog,
    tables: &mut TableChanges<'_>,
    change: SchemaChange,
    said: &mut Said,
) -> Result<(), SqlError> {
    let database = catalog.database();
    match change {
        SchemaChange::CreateTable { spec, details } => {
            said.push((spec.name.clone(), Some(details)));
            tables.create_table_raw(spec)?;
        }
        SchemaChange::DropTable { name, .. } => {
            tables.drop_table(&name)?;
            said.push((name, None));
        }
        SchemaChange::RenameTable { table, name } => {
            let before = name_of(database, table)?;
            tables.rename_table(&before, &name)?;
            said.push((before, None));
        }
        SchemaChange::Truncate { table, spec, details } => {
            let name = name_of(database, table)?;
            tables.drop_table(&name)?;
            said.push((spec.name.clone(), details));
            tables.create_table_raw(spec)?;
        }
        SchemaChange::AddIndex { table, index } => {
            tables.add_index_raw(&name_of(database, table)?, index)?;
        }
        SchemaChange::DropIndex { table, name } => {
            tables.drop_index(&name_of(database, table)?, &name)?;
        }
        SchemaChange::Columns { table, changes, details } => {
            let name = name_of(database, table)?;
            tables.change_schema(&name, &changes)?;
            said.push((name, Some(details)));
        }
        SchemaChange::Details { table, details } => {
            said.push((name_of(database, table)?, Some(details)));
        }
        SchemaChange::Rewrite { table, spec, details } => {
            let before = catalog.view();
            let before = before.tables().find(|it| it.id == table);
            let before = before.ok_or_else(|| SqlError::internal("a table that is gone"))?;
            let rewrite = Rewrite::new(before, spec.clone(), details.clone());
            let name = before.name.clone();
            tables.rewrite_raw(&name, spec, |key, row| rewrite.row(key, row))?;
            said.push((name, Some(details)));
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
