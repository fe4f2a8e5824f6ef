//! Whether two rows have the same in some columns.

use crate::{Columns, TableId, TableLayout};
use chiliad_row::{BadRow, RowFormat};

impl TableLayout {
    /// Whether two rows of the table `id` have the same in all of these columns. Bytes that are no rows, and rows of a table
    /// of bytes, do if they are the same bytes.
    #[must_use]
    pub fn agree(&self, id: TableId, columns: Columns, one: &[u8], other: &[u8]) -> bool {
        one == other || self.cells_agree(id, columns, one, other).unwrap_or(false)
    }

    fn cells_agree(
        &self,
        id: TableId,
        columns: Columns,
        one: &[u8],
        other: &[u8],
    ) -> Result<bool, BadRow> {
        let is_meant = |number: usize| Columns::of(id, number).meets(columns);
        match self {
            Self::Bytes | Self::Unknown => Ok(false),
            Self::Columns(layout) => {
                let format = RowFormat::of(layout.row.iter().map(|it| &it.column_type));
                let meant = (0..layout.row.len()).filter(|at| is_meant(*at));
                format.same_cells(one, other, meant)
            }
            Self::Schema(schema) => {
                let (one, other) = (schema.rows.read(one)?, schema.rows.read(other)?);
                let current = schema.rows.current();
                let numbers = current.columns().iter().map(|it| it.number as usize);
                let meant = numbers.enumerate().filter(|it| is_meant(it.1)).map(|it| it.0);
                current.format().same_cells(&one, &other, meant)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Layout, TableSchema};
    use chiliad_row::{
        ColumnType, History, Schema, SchemaChange, SchemaColumn, Value, with_version,
    };
    use std::sync::Arc;

    const ID: TableId = TableId(3);

    fn column(number: usize) -> Columns {
        Columns::of(ID, number)
    }

    #[test]
    fn rows_without_versions_agree_column_by_column() {
        let row = ["a", "b"].map(|name| Column::new(name, ColumnType::Unsigned(8)));
        let layout = TableLayout::Columns(Layout { key: vec![], row: row.into() });
        let agree = |columns, one: &[u8], other: &[u8]| layout.agree(ID, columns, one, other);
        assert!(agree(column(0), &[1, 2], &[1, 3]) && !agree(column(1), &[1, 2], &[1, 3]));
        assert!(agree(Columns::NONE, &[1, 2], &[3, 4]) && !agree(Columns::ALL, &[1, 2], &[1, 3]));
        assert!(!agree(column(0).with(column(1)), &[1, 2], &[1, 3]));
        assert!(!agree(column(0), &[], &[1, 3]) && !agree(column(1), &[1, 2], &[1]), "no rows");
        assert!(!TableLayout::Bytes.agree(ID, Columns::NONE, &[1], &[2]));
        assert!(TableLayout::Unknown.agree(ID, Columns::ALL, &[1], &[1]));
    }

    #[test]
    fn rows_of_several_versions_agree_by_the_numbers_of_columns() {
        let column_type = ColumnType::Unsigned(8);
        let columns = [(0, "a"), (1, "b"), (2, "c")];
        let columns =
            columns.map(|(number, name)| SchemaColumn::new(number, name, column_type.clone()));
        let mut rows = History::new(Schema::new(columns.into()).expect("a schema"));
        let row = |rows: &History, values: &[u64]| {
            let mut bytes = Vec::new();
            with_version(rows.version(), &mut bytes);
            let values: Vec<_> = values.iter().map(|it| Value::Unsigned(u128::from(*it))).collect();
            rows.current().encode(&values, &mut bytes).expect("encodes");
            bytes
        };
        let old = row(&rows, &[1, 2, 3]);
        rows.change(&[SchemaChange::Drop { name: "b".into() }]).expect("changes");
        let (same, new) = (row(&rows, &[1, 3]), row(&rows, &[1, 4]));
        let layout = TableSchema { key: vec![], rows, expires: None };
        let layout = TableLayout::Schema(Arc::new(layout));
        assert!(layout.agree(ID, Columns::ALL, &old, &same), "as the newest version has them");
        assert!(
            layout.agree(ID, column(0), &old, &new) && !layout.agree(ID, column(2), &old, &new)
        );
        assert!(layout.agree(ID, column(1), &old, &new), "it is gone");
        assert!(!layout.agree(ID, column(0), &old, b"x"));
    }
}
