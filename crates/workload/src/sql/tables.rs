//! Tables that SQL declares, as the engine's declarations.

use chiliad_api::{TableId, TableSpec};
use chiliad_sql::{
    CatalogView, Result, SchemaChange, TableDetails, TableInput, parse, prepare, schema_changes,
};

/// Declarations of tables, in the order of their `CREATE TABLE`.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    declared: Vec<(TableSpec, TableDetails)>,
}

impl Tables {
    /// The tables that the statements of `text` declare, with their indexes.
    ///
    /// # Errors
    /// Those of the statements.
    pub fn new(text: &str) -> Result<Self> {
        let mut tables = Self::default();
        for statement in parse(text)? {
            let view = tables.view(&tables.first_numbers());
            let prepared = prepare(&statement, &view, &[])?;
            for change in schema_changes(&prepared, &view)? {
                match change {
                    SchemaChange::CreateTable { spec, details } => {
                        tables.declared.push((spec, details));
                    }
                    SchemaChange::AddIndex { table, index } => {
                        tables.declared[table.0 as usize].0.secondary.push(index);
                    }
                    // Sequences number rows without a primary key: of such there are none.
                    _ => {}
                }
            }
        }
        Ok(tables)
    }

    /// The numbers that an empty database gives them.
    pub fn first_numbers(&self) -> Vec<TableId> {
        (0..self.declared.len() as u32).map(TableId).collect()
    }

    /// The declarations.
    pub fn specs(&self) -> Vec<TableSpec> {
        self.declared.iter().map(|(spec, _)| spec.clone()).collect()
    }

    /// The tables under the numbers that a database has given them.
    pub fn view(&self, numbers: &[TableId]) -> CatalogView {
        let tables = self.declared.iter().zip(numbers).map(|((spec, details), id)| TableInput {
            details: Some(details.clone()),
            ..TableInput::new(*id, spec.clone())
        });
        CatalogView::new(1, tables)
    }
}
