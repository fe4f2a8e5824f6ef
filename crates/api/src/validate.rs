//! Refuses declarations that no table can have.

use crate::error::{Error, Result};
use crate::layout::{Column, Layout, TableLayout};
use crate::table::{PartType, TableSpec};

impl TableSpec {
    /// Refuses declarations that no row could satisfy.
    pub fn validate(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::InvalidOption(what));
        if self.name.is_empty() || self.name.contains('/') {
            return refuse(format!("table name {:?}: not empty and without '/'", self.name));
        }
        if let TableLayout::Columns(layout) = &self.layout {
            layout.validate(&self.name)?;
        }
        for (at, index) in self.secondary.iter().enumerate() {
            if self.secondary[..at].iter().any(|other| other.name == index.name) {
                return refuse(format!("table {}: two indexes named {}", self.name, index.name));
            }
            let named = |what: &str| format!("index {} of table {}: {what}", index.name, self.name);
            if index.parts.is_empty() {
                return refuse(named("at least one key part is needed"));
            }
            for part in &index.parts {
                let integer = matches!(part.part_type, PartType::Unsigned | PartType::Signed);
                if part.length == 0 || integer && !matches!(part.length, 1 | 2 | 4 | 8) {
                    return refuse(named(
                        "integers have 1, 2, 4 or 8 bytes, other parts at least 1",
                    ));
                }
                if part.part_type == PartType::Text && part.length > 256 {
                    return refuse(named("a text part has at most 255 bytes of text"));
                }
            }
        }
        Ok(())
    }
}

impl Layout {
    /// Refuses names that no column can have, and two of one name.
    pub fn validate(&self, table: &str) -> Result<()> {
        for columns in [&self.key, &self.row] {
            for (at, column) in columns.iter().enumerate() {
                let Column { name, column_type } = column;
                let refuse = |what: &str| {
                    Err(Error::InvalidOption(format!("column {name:?} of table {table}: {what}")))
                };
                if !chiliad_row::is_name(name) {
                    return refuse(
                        "a name has no blanks, commas, parentheses or control characters",
                    );
                }
                if columns[..at].iter().any(|other| other.name == *name) {
                    return refuse("there are two of this name");
                }
                // Whatever cannot be read back is refused before it is written.
                if column_type.to_string().parse().as_ref() != Ok(column_type) {
                    return refuse(&format!("no column has the type {column_type}"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_row::{ColumnType, DEPTH_MAX};

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
