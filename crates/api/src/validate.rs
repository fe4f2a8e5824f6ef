//! Refuses declarations that no table can have.

use crate::error::{Error, Result};
use crate::layout::{Column, Layout, TableLayout, TableSchema};
use crate::table::{ColumnPart, IndexKind, IndexParts, KeyPart, PartType, Placement, TableSpec};

impl TableSpec {
    /// Refuses declarations that no row could satisfy.
    pub fn validate(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::InvalidOption(what));
        if self.name.is_empty() || self.name.contains('/') {
            return refuse(format!("table name {:?}: not empty and without '/'", self.name));
        }
        if self.placement.apart > Placement::APART_MAX {
            let (name, apart) = (&self.name, self.placement.apart);
            return refuse(format!(
                "table {name}: columns apart from byte {apart} on; accepted is up to {}",
                Placement::APART_MAX
            ));
        }
        if self.placement.spread && self.index == IndexKind::Hash {
            return refuse(format!("table {}: only an ordered table is spread", self.name));
        }
        match &self.layout {
            TableLayout::Columns(layout) => layout.validate(&self.name)?,
            // The rows' columns were looked at when their schema was made.
            TableLayout::Schema(schema) => validate_columns(&schema.key, &self.name)?,
            TableLayout::Bytes | TableLayout::Unknown => {}
        }
        self.validate_groups()?;
        for (at, index) in self.secondary.iter().enumerate() {
            if self.secondary[..at].iter().any(|other| other.name == index.name) {
                return refuse(format!("table {}: two indexes named {}", self.name, index.name));
            }
            match &index.parts {
                IndexParts::Bytes(parts) => validate_bytes(parts),
                IndexParts::Columns(parts) => validate_parts(parts, &self.layout),
            }
            .map_err(|what| {
                let what = format!("index {} of table {}: {what}", index.name, self.name);
                Error::InvalidOption(what)
            })?;
        }
        Ok(())
    }
}

impl TableSpec {
    /// Gives the table another layout: columns, where none are known; a schema with the versions that it has and more.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for any other change; for a column of an index that goes or gets another type, which
    /// would give its rows other keys; and for columns that no table can have.
    pub fn change_layout(&mut self, layout: TableLayout) -> Result<()> {
        let refuse = |what: String| Err(Error::InvalidOption(what));
        match (&self.layout, &layout) {
            (TableLayout::Unknown, TableLayout::Columns(_)) => {}
            (TableLayout::Unknown | TableLayout::Columns(_), _) => {
                let what = "its columns are known, and are not declared again";
                return refuse(format!("table {}: {what}", self.name));
            }
            (TableLayout::Schema(had), TableLayout::Schema(has)) => {
                let goes_on = has.rows.versions().starts_with(had.rows.versions());
                if has.key != had.key || !goes_on {
                    let what = "a schema keeps its key and the versions that it had";
                    return refuse(format!("table {}: {what}", self.name));
                }
                let type_of = |schema: &TableSchema, number| {
                    let current = schema.rows.current();
                    let at = current.place_of_number(number)?;
                    Some(current.columns()[at].column_type.clone())
                };
                for index in &self.secondary {
                    for part in index.parts.columns() {
                        if type_of(had, part.number) != type_of(has, part.number) {
                            return refuse(format!(
                                "index {} of table {}: its column {} goes or gets another type; drop the index first",
                                index.name, self.name, part.number
                            ));
                        }
                    }
                }
            }
            _ => return refuse(format!("table {}: it was created for bytes", self.name)),
        }
        let changed = Self { layout, ..self.clone() };
        changed.validate()?;
        *self = changed;
        Ok(())
    }
}

/// Refuses byte parts that no key can have.
fn validate_bytes(parts: &[KeyPart]) -> core::result::Result<(), String> {
    if parts.is_empty() {
        return Err("at least one key part is needed".into());
    }
    for part in parts {
        let integer = matches!(part.part_type, PartType::Unsigned | PartType::Signed);
        if part.length == 0 || integer && !matches!(part.length, 1 | 2 | 4 | 8) {
            return Err("integers have 1, 2, 4 or 8 bytes, other parts at least 1".into());
        }
        if part.part_type == PartType::Text && part.length > 256 {
            return Err("a text part has at most 255 bytes of text".into());
        }
    }
    Ok(())
}

/// Refuses parts that are no columns of the current schema, or have no order.
fn validate_parts(parts: &[ColumnPart], layout: &TableLayout) -> core::result::Result<(), String> {
    let TableLayout::Schema(schema) = layout else {
        return Err("columns are parts of a key where the table has a schema".into());
    };
    if parts.is_empty() {
        return Err("at least one key part is needed".into());
    }
    let current = schema.rows.current();
    for part in parts {
        let number = part.number;
        let at = current.place_of_number(number).ok_or(format!("there is no column {number}"))?;
        let column = &current.columns()[at];
        if !column.column_type.has_order() {
            let (name, column_type) = (&column.name, &column.column_type);
            return Err(format!("column {name:?} has the type {column_type}, which has no order"));
        }
    }
    Ok(())
}

impl Layout {
    /// Refuses names that no column can have, and two of one name.
    pub fn validate(&self, table: &str) -> Result<()> {
        validate_columns(&self.key, table)?;
        validate_columns(&self.row, table)
    }
}

fn validate_columns(columns: &[Column], table: &str) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        let Column { name, column_type } = column;
        let refuse = |what: &str| {
            Err(Error::InvalidOption(format!("column {name:?} of table {table}: {what}")))
        };
        if !chiliad_row::is_name(name) {
            return refuse("a name has no blanks, commas, parentheses or control characters");
        }
        if columns[..at].iter().any(|other| other.name == *name) {
            return refuse("there are two of this name");
        }
        // Whatever cannot be read back is refused before it is written.
        if column_type.to_string().parse().as_ref() != Ok(column_type) {
            return refuse(&format!("no column has the type {column_type}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_row::{ColumnType, DEPTH_MAX};

    #[test]
    fn advice_that_no_table_can_take_is_refused() {
        assert!(
            TableSpec::ordered("t").spread().apart_from(Placement::APART_MAX).validate().is_ok()
        );
        let spread = TableSpec::hash("t", 1).spread().validate();
        assert_eq!(
            spread.unwrap_err().to_string(),
            Error::InvalidOption("table t: only an ordered table is spread".into()).to_string()
        );
        assert!(TableSpec::hash("t", 1).apart_from(Placement::APART_MAX + 1).validate().is_err());
    }

    #[test]
    fn what_could_not_be_read_back_is_refused() {
        let refused = |name: &str, column_type: ColumnType| {
            let row = vec![Column::new(name, column_type)];
            Layout { key: vec![], row }.validate("t").is_err()
        };
        let mut deep = ColumnType::Bool;
        for _ in 0..DEPTH_MAX {
            assert!(!refused("a", deep.clone()));
            deep = deep.optional();
        }
        assert!(!refused("a", deep.clone()) && refused("a", deep.descending()));
        assert!(refused("a", ColumnType::Unsigned(24)) && refused("a", ColumnType::Float(16)));
        assert!(refused("a", ColumnType::custom("", None)));
        assert!(refused("a", ColumnType::custom("a, 3", None)), "it would have three bytes");
        for name in ["", "a b", "a,", "(", "a\n"] {
            assert!(refused(name, ColumnType::Bool), "{name:?}");
        }
        let twice = vec![Column::new("a", ColumnType::Bool), Column::new("a", ColumnType::Blob)];
        assert!(Layout { key: twice, row: vec![] }.validate("t").is_err());
    }
}
