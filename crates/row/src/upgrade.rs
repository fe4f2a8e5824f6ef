//! Rows of one version of a schema as rows of a later one.

use crate::{BadRow, ColumnType, RowFormat, Schema, SchemaError, Value};
use std::borrow::Cow;

/// The way from one version of a schema to a later one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upgrade {
    from: RowFormat,
    to: RowFormat,
    /// For each column of the later version.
    sources: Vec<Source>,
}

/// Where a column's bytes come from.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Source {
    /// The column of this place, as it is.
    Same(usize),
    /// The column of this place, of another type.
    Widened { place: usize, name: String, from: ColumnType, to: ColumnType },
    /// The default.
    Default(Option<Vec<u8>>),
}

impl Upgrade {
    /// The way from `from` to `to`: columns are the same that have the same number.
    ///
    /// # Errors
    /// [`SchemaError::Narrower`], where a column's type does not hold all values of the one before;
    /// [`SchemaError::NoDefault`], where a column of `to` is new and has none.
    pub fn new(from: &Schema, to: &Schema) -> Result<Self, SchemaError> {
        let source = |column: &crate::SchemaColumn| {
            let Some(place) = from.place_of_number(column.number) else {
                let name = column.name.clone();
                let value = column.value_of_default();
                let value =
                    value.map_err(|bad| SchemaError::Default { column: name.clone(), bad })?;
                let value = value.ok_or_else(|| SchemaError::NoDefault(name.clone()))?;
                let cell = value.encode_cell(&column.column_type);
                let bad = |bad| SchemaError::Default { column: name, bad };
                return cell.map_err(bad).map(Source::Default);
            };
            let before = &from.columns()[place].column_type;
            if before == &column.column_type {
                return Ok(Source::Same(place));
            }
            if !before.widens_to(&column.column_type) {
                return Err(SchemaError::Narrower {
                    column: column.name.clone(),
                    from: before.to_string(),
                    to: column.column_type.to_string(),
                });
            }
            let (from, to) = (before.clone(), column.column_type.clone());
            Ok(Source::Widened { place, name: column.name.clone(), from, to })
        };
        let sources = to.columns().iter().map(source).collect::<Result<_, _>>()?;
        Ok(Self { from: from.format().clone(), to: to.format().clone(), sources })
    }

    /// Appends the body of a row of the later version that `body`, one of the earlier, stands for.
    ///
    /// # Errors
    /// [`BadRow`] for a body that is none of the earlier version. Nothing is appended then.
    pub fn apply(&self, body: &[u8], out: &mut Vec<u8>) -> Result<(), BadRow> {
        self.from.check(body)?;
        let cells = self.sources.iter().map(|source| self.cell(source, body));
        let cells = cells.collect::<Result<Vec<_>, _>>()?;
        self.to.write(cells.iter().map(Option::as_deref), out);
        Ok(())
    }

    fn cell<'c>(
        &'c self,
        source: &'c Source,
        body: &'c [u8],
    ) -> Result<Option<Cow<'c, [u8]>>, BadRow> {
        match source {
            Source::Same(place) => Ok(self.from.cell(body, *place)?.map(Cow::Borrowed)),
            Source::Default(cell) => Ok(cell.as_deref().map(Cow::Borrowed)),
            Source::Widened { place, name, from, to } => {
                let cell = self.from.cell(body, *place)?;
                let value = Value::decode_cell(from, cell);
                let widened = value.and_then(|value| value.encode_cell(to));
                let bad = |bad| BadRow::Column { column: name.clone(), bad };
                Ok(widened.map_err(bad)?.map(Cow::Owned))
            }
        }
    }
}
