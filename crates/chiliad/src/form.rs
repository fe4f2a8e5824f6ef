//! Rows as a table holds them: a body, and the version of the schema under which it was written.

use crate::positions::Positions;
use crate::raw::{TableId, TableLayout, TableSpec};
use crate::{Error, Result, Row};
use chiliad_api::TableSchema;
use chiliad_api::row::{Head, VERSION_BYTES, with_version};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The schemas of the tables of which there are handles, for rows of other versions than a handle's. Whoever declares
/// tables may wait for a disk meanwhile; this is held for a look alone.
#[derive(Clone, Default)]
pub(crate) struct Schemas {
    tables: Arc<RwLock<HashMap<TableId, Named>>>,
    positions: Positions,
}

/// A table's name and schema.
type Named = (String, Arc<TableSchema>);

impl Schemas {
    /// Which indexes of their tables those of row types are.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// Keeps the schema of a table that is declared so.
    pub fn keep(&self, table: TableId, spec: &TableSpec) {
        if let TableLayout::Schema(schema) = &spec.layout {
            let named = (spec.name.clone(), Arc::clone(schema));
            self.tables.write().unwrap_or_else(PoisonError::into_inner).insert(table, named);
        }
    }

    fn of(&self, table: TableId) -> Result<Named> {
        let schemas = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let unknown = || Error::UnknownTable(format!("number {}", table.0));
        schemas.get(&table).cloned().ok_or_else(unknown)
    }
}

/// The form of a table's rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// They name the version of the schema; this one is written.
    Versioned(u16),
    /// They name none, since the table was created by an earlier release. A row is its columns of fixed size, of so many
    /// bytes, and the one of variable size without its end, if there is one.
    Unversioned { fixed: usize, open: bool },
}

impl Form {
    /// The version that rows name.
    pub fn version(self) -> Option<u16> {
        match self {
            Self::Versioned(version) => Some(version),
            Self::Unversioned { .. } => None,
        }
    }

    /// Puts a row in place of what `out` holds.
    #[inline]
    pub fn write<V: Row>(self, row: &V, out: &mut Vec<u8>) {
        out.clear();
        match self {
            Self::Versioned(version) => {
                with_version(version, out);
                row.encode(out);
            }
            Self::Unversioned { fixed, open } => {
                row.encode(out);
                if open {
                    out.drain(fixed..fixed + Head::END_BYTES);
                }
            }
        }
    }

    /// The row that the bytes of `table` stand for.
    #[inline]
    pub fn read<V: Row>(self, table: TableId, schemas: &Schemas, bytes: &[u8]) -> Result<V> {
        if let (Self::Versioned(version), Some((first, body))) =
            (self, bytes.split_first_chunk::<VERSION_BYTES>())
            && *first == version.to_le_bytes()
        {
            return V::decode(body);
        }
        self.read_other(table, schemas, bytes)
    }

    /// A row of another version, or of none.
    #[cold]
    fn read_other<V: Row>(self, table: TableId, schemas: &Schemas, bytes: &[u8]) -> Result<V> {
        V::decode(&self.body(table, schemas, bytes)?)
    }

    /// The body of a row of the handle's version that the bytes of `table` stand for.
    pub fn body<'b>(
        self,
        table: TableId,
        schemas: &Schemas,
        bytes: &'b [u8],
    ) -> Result<Cow<'b, [u8]>> {
        if let (Self::Versioned(version), Some((first, body))) =
            (self, bytes.split_first_chunk::<VERSION_BYTES>())
            && *first == version.to_le_bytes()
        {
            return Ok(Cow::Borrowed(body));
        }
        let version = match self {
            Self::Versioned(version) => version,
            Self::Unversioned { open: false, .. } => return Ok(Cow::Borrowed(bytes)),
            Self::Unversioned { fixed, open: true } => {
                let body = bytes.split_at_checked(fixed).map(|(head, tail)| {
                    let end = u32::try_from(tail.len()).unwrap_or(u32::MAX);
                    [head, &end.to_le_bytes(), tail].concat()
                });
                // A row too short for its fixed columns has no body: decoding an empty one reports that.
                return Ok(Cow::Owned(body.unwrap_or_default()));
            }
        };
        let (name, schema) = schemas.of(table)?;
        let body = schema.rows.read(bytes)?;
        if schema.rows.version() != version {
            return Err(Error::SchemaChanged(name));
        }
        Ok(body)
    }
}
