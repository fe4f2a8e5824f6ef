//! Groups of columns: parts of a row that are read, validated, locked and written apart, under one key.
//!
//! A table with groups keeps each row in as many parts as it has groups and one more: the table's own part, and one of each
//! group. A part is found under the table's key by [`TableId::group`], as if the group were a table of its own; an engine
//! that can do so descends to all parts at once, and one that cannot keeps the groups as tables. What belongs to a row is
//! there together: [`crate::Transaction::insert_parts`] inserts all parts, and the row's removal removes them.
//!
//! Transactions that use different groups of a row are not in each other's way. So columns that many transactions
//! change belong apart from those that they read, and columns that one transaction uses together into one group (Mo,
//! Kohler et al., 2020, "column splitting", is the same for two groups).

use crate::error::{Error, Result};
use crate::layout::TableLayout;
use crate::table::{GroupSpec, TableId, TableSpec};

/// The most groups of a table.
pub const GROUPS_MAX: usize = 8;

impl TableId {
    /// The group at position `group` of the declaration, from 0, of the table of this number: a table with groups has as
    /// many numbers in a row.
    #[must_use]
    pub fn group(self, group: usize) -> Self {
        Self(self.0 + 1 + group as u32)
    }
}

impl<L> TableSpec<L> {
    /// How many numbers the table, its groups and its indexes take.
    #[must_use]
    pub fn numbers(&self) -> usize {
        1 + self.groups.len() + self.secondary.len()
    }

    /// The groups' declarations as tables.
    pub fn group_tables(&self) -> impl Iterator<Item = TableSpec> {
        self.groups.iter().map(|group| TableSpec {
            name: format!("{}.{}", self.name, group.name),
            index: self.index,
            rows_expected: self.rows_expected,
            present_only: group.present_only || self.present_only,
            writes: self.writes,
            layout: group.layout.clone(),
            ..TableSpec::ordered("")
        })
    }
}

impl TableSpec {
    /// This table with one more group of columns.
    #[must_use]
    pub fn with_group(mut self, group: GroupSpec) -> Self {
        self.groups.push(group);
        self
    }

    /// The table, under its number, and its groups under theirs, each as a table.
    #[must_use]
    pub fn with_groups(self, id: TableId) -> Vec<(TableId, Self)> {
        let groups: Vec<_> = self.group_tables().collect();
        let ids = (0..).map(|at| id.group(at));
        core::iter::once((id, self)).chain(ids.zip(groups)).collect()
    }

    /// Refuses to insert a row in `given` parts where the table's rows have another number of them, or the table `is_group`:
    /// rows come as a whole.
    ///
    /// # Errors
    /// [`Error::PartOfRow`], [`Error::WrongParts`].
    pub fn check_parts(&self, is_group: bool, given: usize) -> Result<()> {
        if is_group {
            return Err(Error::PartOfRow(self.name.clone()));
        }
        let accepted = 1 + self.groups.len();
        if given != accepted {
            return Err(Error::WrongParts { table: self.name.clone(), given, accepted });
        }
        Ok(())
    }

    /// Refuses groups that no table can have.
    pub(crate) fn validate_groups(&self) -> Result<()> {
        let refuse = |what: &str| Err(Error::InvalidOption(format!("table {}: {what}", self.name)));
        if self.groups.len() > GROUPS_MAX {
            return refuse(&format!(
                "{} groups; up to {GROUPS_MAX} are accepted",
                self.groups.len()
            ));
        }
        for (at, group) in self.groups.iter().enumerate() {
            let name = &group.name;
            if !chiliad_row::is_name(name) || name.contains(['/', '.']) {
                return refuse(&format!("group {name:?}: a name without blanks, '/' and '.'"));
            }
            if self.groups[..at].iter().any(|other| other.name == *name) {
                return refuse(&format!("two groups named {name}"));
            }
        }
        self.validate_columns_of_groups()
    }

    /// Refuses a column that is in two groups, and a group that has none although the table's columns are known.
    fn validate_columns_of_groups(&self) -> Result<()> {
        let own = [(&self.name, &self.layout)];
        let groups = self.groups.iter().map(|group| (&group.name, &group.layout));
        let known = |layout: &TableLayout| {
            matches!(layout, TableLayout::Columns(_) | TableLayout::Schema(_))
        };
        let mut names: Vec<String> = Vec::new();
        for (name, layout) in own.into_iter().chain(groups).filter(|(_, layout)| known(layout)) {
            let layout = layout.columns();
            layout.validate(&self.name)?;
            let refuse =
                |what: String| Err(Error::InvalidOption(format!("table {}: {what}", self.name)));
            if layout.row.is_empty() && !self.groups.is_empty() {
                return refuse(format!("{name} has no column"));
            }
            for column in layout.row {
                if names.contains(&column.name) {
                    return refuse(format!("column {} is in two groups", column.name));
                }
                names.push(column.name);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Layout};
    use chiliad_row::ColumnType;

    fn of_columns(names: &[&str]) -> TableLayout {
        let column = |name: &&str| Column::new(name, ColumnType::Unsigned(64));
        TableLayout::Columns(Layout { key: vec![], row: names.iter().map(column).collect() })
    }

    #[test]
    fn groups_that_no_table_can_have_are_refused() {
        let refused = |groups: &[(&str, &[&str])]| {
            let mut spec = TableSpec::hash("t", 1);
            spec.layout = of_columns(&["a"]);
            for (name, columns) in groups {
                let group = GroupSpec { layout: of_columns(columns), ..GroupSpec::new(name) };
                spec = spec.with_group(group);
            }
            spec.validate().err().map(|error| error.to_string())
        };
        assert_eq!(refused(&[("b", &["b"]), ("c", &["c"])]), None);
        assert!(
            refused(&[("b", &["b", "a"])])
                .is_some_and(|it| it.contains("column a is in two groups"))
        );
        assert!(refused(&[("b", &[])]).is_some_and(|it| it.contains("b has no column")));
        assert!(
            refused(&[("b", &["b"]), ("b", &["c"])])
                .is_some_and(|it| it.contains("two groups named b"))
        );
        for name in ["", "a b", "a/b", "a.b"] {
            assert!(refused(&[(name, &["b"])]).is_some(), "{name:?}");
        }
        let many = (0..=GROUPS_MAX).map(|at| GroupSpec::new(&format!("g{at}")));
        let spec = many.fold(TableSpec::hash("t", 1), TableSpec::with_group);
        assert!(spec.validate().is_err());
    }

    #[test]
    fn groups_have_the_numbers_after_their_table() {
        assert_eq!([TableId(7).group(0), TableId(7).group(2)], [TableId(8), TableId(10)]);
    }
}
