//! Rows of a table as rows of another declaration, which takes its place.

use crate::catalog::{Table, TableInput};
use crate::details::TableDetails;
use crate::error::{Result, SqlError};
#[cfg(doc)]
use crate::schema_change::SchemaChange;
use crate::storage::KEY_BYTES;
use chiliad_api::{TableId, TableSpec};
use std::sync::Arc;

/// Makes rows of a table rows of the one in its place ([`SchemaChange::Rewrite`]).
#[derive(Clone, Debug)]
pub struct Rewrite {
    before: Arc<Table>,
    after: Table,
    /// For each column of the new table its place in the old one; `None`: one of them is not there.
    places: Option<Vec<usize>>,
    /// For each cell of the new rows the one of the old rows that is the same, where all are.
    cells: Option<Vec<usize>>,
}

impl Rewrite {
    /// From this table to one of another declaration.
    #[must_use]
    pub fn new(before: &Arc<Table>, spec: TableSpec, details: TableDetails) -> Self {
        let details = Some(details);
        let after = Table::new(TableInput { details, ..TableInput::new(TableId(0), spec) });
        let columns = after.columns.iter();
        let places: Option<Vec<usize>> =
            columns.map(|column| before.place_of(&column.name)).collect();
        let cells = places.as_deref().and_then(|places| after.cells_of(before, places));
        Self { before: Arc::clone(before), after, places, cells }
    }

    /// The key and the row, as bytes, that a row becomes.
    ///
    /// # Errors
    /// 23502 for NULL in a column of the key.
    pub fn row(&self, key: &[u8], row: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
        let missing = || SqlError::internal("a table without its columns");
        let places = self.places.as_deref().ok_or_else(missing)?;
        let (after, body) = (&self.after, self.before.body(row)?);
        let mut bytes = Vec::with_capacity(row.len());
        match &self.cells {
            Some(cells) => after.take_cells(&self.before, &body, cells, &mut bytes)?,
            None => {
                let mut found = Vec::with_capacity(places.len());
                self.before.decode(key, &body, 0..self.before.columns.len(), &mut found)?;
                let values = places.iter().map(|at| found[*at].borrowed());
                after.encode(&values.collect::<Vec<_>>(), &mut bytes)?;
            }
        }
        let mut new_key = Vec::with_capacity(KEY_BYTES);
        after.encode_key(&mut new_key, |at| {
            let value = self.before.value(key, &body, places[at])?;
            if value.is_null() {
                let name = &after.columns[at].name;
                return Err(SqlError::not_null_violation(format!(
                    "column \"{name}\" of relation \"{}\" contains null values",
                    after.name
                )));
            }
            Ok(value)
        })?;
        Ok((new_key, bytes))
    }

    /// The error for a key, as bytes, that two rows would share.
    #[must_use]
    pub fn duplicated(&self, key: &[u8]) -> SqlError {
        let error = SqlError::unique_violation(format!(
            "could not create unique index \"{}_pkey\"",
            self.after.name
        ));
        match self.after.key_shown(key) {
            Some(shown) => error.with_detail(format!("Key {shown} is duplicated.")),
            None => error,
        }
    }
}
