//! Changes of a schema that rewrite no row.

use crate::{ColumnType, Schema, SchemaColumn, SchemaError, Value};

/// A change of a schema under which old rows stay as they are: they are read as new ones. What else there is takes a
/// function of the old row.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SchemaChange {
    /// A new column, the last one; old rows have its default there.
    Add {
        /// Its name.
        name: String,
        /// Its type.
        column_type: ColumnType,
        /// Its value in old rows; an option needs none.
        default: Option<Value>,
    },
    /// A column goes.
    Drop {
        /// Its name.
        name: String,
    },
    /// A column gets another name.
    Rename {
        /// The name before.
        from: String,
        /// The name after.
        to: String,
    },
    /// A column gets another place.
    Move {
        /// Its name.
        name: String,
        /// Its place, from 0.
        place: usize,
    },
    /// A column gets a type that holds all values of the one before ([`ColumnType::widens_to`]).
    Widen {
        /// Its name.
        name: String,
        /// The type after.
        column_type: ColumnType,
    },
}

impl Schema {
    /// This schema after `change`. A new column gets the number `next`.
    ///
    /// # Errors
    /// [`SchemaError`], where the change cannot be made.
    pub fn changed(&self, change: &SchemaChange, next: u32) -> Result<Self, SchemaError> {
        let mut columns = self.columns().to_vec();
        let place =
            |name: &str| self.place_of(name).ok_or_else(|| SchemaError::NoColumn(name.to_owned()));
        match change {
            SchemaChange::Add { name, column_type, default } => {
                let column = SchemaColumn::new(next, name, column_type.clone());
                columns.push(match default {
                    Some(value) => column.with_default(value)?,
                    None if column_type.is_nullable() => column,
                    None => return Err(SchemaError::NoDefault(name.clone())),
                });
            }
            SchemaChange::Drop { name } => drop(columns.remove(place(name)?)),
            SchemaChange::Rename { from, to } => columns[place(from)?].name.clone_from(to),
            SchemaChange::Move { name, place: to } => {
                let column = columns.remove(place(name)?);
                columns.insert((*to).min(columns.len()), column);
            }
            SchemaChange::Widen { name, column_type } => {
                let column = &mut columns[place(name)?];
                if !column.column_type.widens_to(column_type) {
                    return Err(SchemaError::Narrower {
                        column: name.clone(),
                        from: column.column_type.to_string(),
                        to: column_type.to_string(),
                    });
                }
                let default = column.value_of_default();
                let bad = |bad| SchemaError::Default { column: name.clone(), bad };
                let had = column.default.is_some();
                column.column_type = column_type.clone();
                if let Some(value) = default.map_err(bad)?.filter(|_| had) {
                    *column = column.clone().with_default(&value)?;
                }
            }
        }
        Self::new(columns)
    }
}
