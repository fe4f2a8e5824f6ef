//! Changes of tables that are made while transactions go on, by a statement on its own: an index is added, or rows are
//! written anew under a key.

use super::order::{Order, of_number, say};
use crate::catalog::Catalog;
use chiliad::Error;
use chiliad::migration::TableChanges;
use chiliad_sql::{Rewrite, SchemaChange, SqlError};

/// Makes the changes of one statement, all at once or none of them. They wait for all transactions that have begun before.
///
/// # Errors
/// Those of the database.
pub(crate) fn change_online(catalog: &Catalog, changes: Vec<SchemaChange>) -> Result<(), SqlError> {
    let mut said = Vec::new();
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
    say(catalog.database(), catalog.details_table(), &said)?;
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
    said: &mut Vec<Order>,
) -> Result<(), SqlError> {
    match change {
        SchemaChange::AddIndex { table, index } => {
            let missing = || {
                let message = format!("relation with OID {} does not exist", table.0);
                SqlError::undefined_table(message)
            };
            let spec = of_number(catalog.database(), table).ok_or_else(missing)?;
            tables.add_index_raw(&spec.name, index)?;
        }
        SchemaChange::Rewrite { table, spec, details } => {
            let before = catalog.view();
            let before = before.tables().find(|it| it.id == table);
            let before = before.ok_or_else(|| SqlError::internal("a table that is gone"))?;
            let rewrite = Rewrite::new(before, spec.clone(), details.clone());
            let name = before.name.clone();
            let mut refused = None;
            let rewritten = tables.rewrite_raw(&name, spec, |key, row| {
                rewrite.row(key, row).map_err(|error| refused.insert(error).message.clone())
            });
            rewritten.map_err(|error| match error {
                Error::Migration(failed) => match (refused, &failed.taken) {
                    (Some(error), _) => error,
                    (None, Some(key)) => rewrite.duplicated(key),
                    (None, None) => Error::Migration(failed).into(),
                },
                error => error.into(),
            })?;
            said.push(Order::Say(name, Some(details.to_text())));
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
