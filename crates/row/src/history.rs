//! The versions of a table's schema.

use crate::{BadRow, Schema, SchemaChange, SchemaError, Upgrade, split};
use std::borrow::Cow;

/// All versions of a table's schema under which a row may still be written, ascending; the last one is the current one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    versions: Vec<(u16, Schema)>,
    /// From each version but the last to the last.
    upgrades: Vec<Upgrade>,
    /// The number of the next column.
    next_column: u32,
}

impl History {
    /// The history of a new table.
    ///
    /// # Panics
    /// When a column has the greatest number that there is.
    #[must_use]
    pub fn new(schema: Schema) -> Self {
        let highest = schema.columns().iter().map(|column| column.number).max();
        let next_column = highest.map_or(0, |highest| highest.checked_add(1).expect("a number"));
        Self { versions: vec![(0, schema)], upgrades: Vec::new(), next_column }
    }

    /// The history of these versions, as it was stored.
    ///
    /// # Errors
    /// [`SchemaError`] when there is no version, versions do not ascend, a column's number is not below `next_column`,
    /// or rows of one version cannot be read as rows of the last.
    pub fn from_parts(versions: Vec<(u16, Schema)>, next_column: u32) -> Result<Self, SchemaError> {
        let ascend = versions.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if versions.is_empty() || !ascend {
            return Err(SchemaError::TooManyVersions);
        }
        let columns = versions.iter().flat_map(|(_, schema)| schema.columns());
        if let Some(column) = columns.into_iter().find(|column| column.number >= next_column) {
            return Err(SchemaError::Number(column.number));
        }
        let mut history = Self { versions, upgrades: Vec::new(), next_column };
        history.upgrades = history.to_current()?;
        Ok(history)
    }

    fn to_current(&self) -> Result<Vec<Upgrade>, SchemaError> {
        let (last, before) = self.versions.split_last().expect("one at least");
        before.iter().map(|(_, schema)| Upgrade::new(schema, &last.1)).collect()
    }

    /// The versions with their numbers.
    #[must_use]
    pub fn versions(&self) -> &[(u16, Schema)] {
        &self.versions
    }

    /// The number that the next new column gets.
    #[must_use]
    pub fn next_column(&self) -> u32 {
        self.next_column
    }

    /// The version under which rows are written now.
    #[must_use]
    pub fn version(&self) -> u16 {
        self.versions[self.versions.len() - 1].0
    }

    /// The schema under which rows are written now.
    #[must_use]
    pub fn current(&self) -> &Schema {
        &self.versions[self.versions.len() - 1].1
    }

    /// The schema of a version.
    ///
    /// # Errors
    /// [`BadRow::UnknownVersion`].
    pub fn schema(&self, version: u16) -> Result<&Schema, BadRow> {
        self.at(version).map(|at| &self.versions[at].1)
    }

    fn at(&self, version: u16) -> Result<usize, BadRow> {
        let found = self.versions.binary_search_by_key(&version, |(version, _)| *version);
        found.map_err(|_| BadRow::UnknownVersion(version))
    }

    /// Makes these changes, one after the other, one version.
    ///
    /// # Errors
    /// [`SchemaError`] of the first that cannot be made; the history is as before then.
    pub fn change(&mut self, changes: &[SchemaChange]) -> Result<(), SchemaError> {
        let mut next = self.next_column;
        let mut schema = self.current().clone();
        for change in changes {
            schema = schema.changed(change, next)?;
            if matches!(change, SchemaChange::Add { .. }) {
                next = next.checked_add(1).ok_or(SchemaError::Number(next))?;
            }
        }
        let version = self.version().checked_add(1).ok_or(SchemaError::TooManyVersions)?;
        let mut changed = self.clone();
        changed.versions.push((version, schema));
        changed.next_column = next;
        changed.upgrades = changed.to_current()?;
        *self = changed;
        Ok(())
    }

    /// A row of any version as a body of the current one.
    ///
    /// # Errors
    /// [`BadRow`] for a row of an unknown version, or one that is none of its version.
    pub fn read<'r>(&self, row: &'r [u8]) -> Result<Cow<'r, [u8]>, BadRow> {
        let (version, body) = split(row)?;
        if version == self.version() {
            return Ok(Cow::Borrowed(body));
        }
        let at = self.at(version)?;
        let mut upgraded = Vec::new();
        self.upgrades[at].apply(body, &mut upgraded)?;
        Ok(Cow::Owned(upgraded))
    }
}
