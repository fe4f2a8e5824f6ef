//! A schema: the columns of a table's rows, and where they lie.

use crate::column_type::is_name;
use crate::{BadRow, BadValue, ColumnType, RowFormat, SchemaError, Value, ValueSource};

/// The columns of fixed size of a row take so many bytes at most, with the ends of the others.
const HEAD_BYTES_MAX: usize = 1 << 20;

/// A column of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaColumn {
    /// Its number, which it keeps for the life of the table, whatever its name and place; no other column has had it.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Its type. A column that may have no value has an option.
    pub column_type: ColumnType,
    /// Its value in rows that lack it, as [`Value::encode`] writes it. An option without one has no value there.
    pub default: Option<Vec<u8>>,
}

impl SchemaColumn {
    /// A column without a default.
    #[must_use]
    pub fn new(number: u32, name: &str, column_type: ColumnType) -> Self {
        Self { number, name: name.into(), column_type, default: None }
    }

    /// This column with a default.
    ///
    /// # Errors
    /// [`SchemaError::Default`] for a value that is none of its type.
    pub fn with_default(mut self, value: &Value) -> Result<Self, SchemaError> {
        let mut bytes = Vec::new();
        let encoded = value.encode(&self.column_type, &mut bytes);
        encoded.map_err(|bad| SchemaError::Default { column: self.name.clone(), bad })?;
        self.default = Some(bytes);
        Ok(self)
    }

    /// The value of rows that lack the column: `None` where they cannot be read.
    ///
    /// # Errors
    /// When the default's bytes are no value of the type.
    pub fn value_of_default(&self) -> Result<Option<Value>, BadValue> {
        let Some(bytes) = &self.default else {
            return Ok(self.column_type.is_nullable().then_some(Value::Null));
        };
        let mut source = ValueSource::new(bytes);
        let value = Value::decode(&self.column_type, &mut source)?;
        if source.is_empty() { Ok(Some(value)) } else { Err(BadValue::new("bytes after a value")) }
    }
}

/// The columns of a table's rows, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schema {
    columns: Vec<SchemaColumn>,
    format: RowFormat,
}

impl Schema {
    /// A schema of these columns.
    ///
    /// # Errors
    /// [`SchemaError`], where there can be none.
    pub fn new(columns: Vec<SchemaColumn>) -> Result<Self, SchemaError> {
        for (at, column) in columns.iter().enumerate() {
            let SchemaColumn { number, name, column_type, .. } = column;
            if !is_name(name) {
                return Err(SchemaError::Name(name.clone()));
            }
            if columns[..at].iter().any(|other| other.name == *name) {
                return Err(SchemaError::Twice(name.clone()));
            }
            if columns[..at].iter().any(|other| other.number == *number) {
                return Err(SchemaError::Number(*number));
            }
            let text = column_type.to_string();
            // What cannot be read back is refused before it is written; an order belongs to keys.
            if text.parse().as_ref() != Ok(column_type) || text.contains("desc(") {
                return Err(SchemaError::Type { column: name.clone(), column_type: text });
            }
            column
                .value_of_default()
                .map_err(|bad| SchemaError::Default { column: name.clone(), bad })?;
        }
        let format = RowFormat::of(columns.iter().map(|column| &column.column_type));
        if format.head().bytes() > HEAD_BYTES_MAX {
            return Err(SchemaError::TooWide(format.head().bytes()));
        }
        Ok(Self { columns, format })
    }

    /// Its columns.
    #[must_use]
    pub fn columns(&self) -> &[SchemaColumn] {
        &self.columns
    }

    /// Where they lie.
    #[must_use]
    pub fn format(&self) -> &RowFormat {
        &self.format
    }

    /// The place of the column of this name.
    #[must_use]
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The place of the column of this number.
    #[must_use]
    pub fn place_of_number(&self, number: u32) -> Option<usize> {
        self.columns.iter().position(|column| column.number == number)
    }

    /// The values of a body, in the order of the columns.
    ///
    /// # Errors
    /// [`BadRow`] for a body that is none of this schema.
    pub fn decode(&self, body: &[u8]) -> Result<Vec<Value>, BadRow> {
        self.format.check(body)?;
        let value = |(at, column): (usize, &SchemaColumn)| {
            let cell = self.format.cell(body, at)?;
            Value::decode_cell(&column.column_type, cell)
                .map_err(|bad| BadRow::Column { column: column.name.clone(), bad })
        };
        self.columns.iter().enumerate().map(value).collect()
    }

    /// Appends a body of these values, in the order of the columns.
    ///
    /// # Errors
    /// [`BadRow::Column`] for the first value that is none of its column's type, and where there are fewer values than
    /// columns, or more. Nothing is appended then.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), BadRow> {
        if values.len() != self.columns.len() {
            let column = self.columns.get(values.len()).map_or("", |column| &column.name).into();
            let what = format!("{} values for {} columns", values.len(), self.columns.len());
            return Err(BadRow::Column { column, bad: BadValue::new(what) });
        }
        let cell = |(column, value): (&SchemaColumn, &Value)| {
            let cell = value.encode_cell(&column.column_type);
            cell.map_err(|bad| BadRow::Column { column: column.name.clone(), bad })
        };
        let cells = self.columns.iter().zip(values).map(cell).collect::<Result<Vec<_>, _>>()?;
        self.format.write(cells.iter().map(Option::as_deref), out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(number: u32, name: &str, column_type: &str) -> SchemaColumn {
        SchemaColumn::new(number, name, column_type.parse().expect(column_type))
    }

    #[test]
    fn rows_come_back() {
        let schema = Schema::new(vec![
            column(0, "owner", "string"),
            column(1, "balance", "i64"),
            column(2, "note", "option(string)"),
        ])
        .expect("a schema");
        let values = [Value::Text("ann".into()), Value::Signed(-7), Value::Null];
        let mut body = Vec::new();
        schema.encode(&values, &mut body).expect("a row");
        assert_eq!(schema.decode(&body).expect("a row"), values);
        assert_eq!(schema.place_of("balance"), Some(1));
    }

    #[test]
    fn values_that_fit_no_column_are_refused() {
        let schema = Schema::new(vec![column(0, "age", "u8")]).expect("a schema");
        let mut body = Vec::new();
        let refused = |values: &[Value], body: &mut Vec<u8>| {
            schema.encode(values, body).expect_err("refused").to_string()
        };
        assert_eq!(
            refused(&[Value::Unsigned(256)], &mut body),
            "column age: Unsigned(256) is no value of u8"
        );
        assert_eq!(refused(&[], &mut body), "column age: 0 values for 1 columns");
        refused(&[Value::Null], &mut body);
        assert!(body.is_empty());
    }

    #[test]
    fn schemas_that_cannot_be_are_refused() {
        let refused = |columns| Schema::new(columns).expect_err("refused").to_string();
        let twice = refused(vec![column(0, "a", "u8"), column(1, "a", "u8")]);
        assert!(twice.contains("two of this name"), "{twice}");
        let number = refused(vec![column(0, "a", "u8"), column(0, "b", "u8")]);
        assert!(number.contains("number 0"), "{number}");
        assert!(refused(vec![column(0, "a b", "u8")]).contains("no blanks"));
        assert!(refused(vec![column(0, "", "u8")]).contains("not empty"));
        assert!(refused(vec![column(0, "a", "desc(u8)")]).contains("desc(u8)"));
        let odd = SchemaColumn::new(0, "a", ColumnType::Unsigned(24));
        assert!(refused(vec![odd]).contains("u24"));
        let wide = refused(vec![column(0, "a", "bytes(4294967295)")]);
        assert!(wide.contains("4294967295 bytes"), "{wide}");
        let default = column(0, "a", "u8").with_default(&Value::Bool(true));
        assert!(default.expect_err("refused").to_string().contains("default of column \"a\""));
        let mut cut = column(0, "a", "u16");
        cut.default = Some(vec![1]);
        assert!(refused(vec![cut]).contains("end before"));
    }
}
