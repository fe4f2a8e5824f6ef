//! Errors of bytes, values and schemas.

use core::fmt;

/// Bytes that are no value of a type, or a value that a type does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadValue {
    what: String,
}

impl BadValue {
    /// An error that says `what`.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }

    /// The bytes end before the value does.
    #[must_use]
    pub(crate) fn cut_short() -> Self {
        Self::new("the bytes end before the value does")
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for BadValue {}

/// Bytes that are no row of a schema.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadRow {
    /// The row is shorter than its columns of fixed size.
    TooShort {
        /// Bytes that it has.
        bytes: usize,
        /// Bytes that it needs.
        needed: usize,
    },
    /// The row was written under a version of the schema that the table does not have.
    UnknownVersion(u16),
    /// The ends of the columns of variable size contradict each other or the length of the row.
    Ends,
    /// A column's bytes are no value of its type.
    Column {
        /// The column.
        column: String,
        /// The error in its bytes or value.
        bad: BadValue,
    },
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { bytes, needed } => {
                write!(f, "a row of {bytes} bytes where its columns take at least {needed}")
            }
            Self::UnknownVersion(version) => {
                write!(f, "a row of schema version {version}, which the table does not have")
            }
            Self::Ends => {
                write!(f, "the ends of a row's columns contradict each other or its length")
            }
            Self::Column { column, bad } => write!(f, "column {column}: {bad}"),
        }
    }
}

impl std::error::Error for BadRow {}

/// A schema, or a change of one, that cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SchemaError {
    /// A name that no column can have.
    Name(String),
    /// Two columns of one name.
    Twice(String),
    /// Two columns of one number.
    Number(u32),
    /// A type that no column of a row can have.
    Type {
        /// The column.
        column: String,
        /// Its type, in text form.
        column_type: String,
    },
    /// A default that is no value of the column's type.
    Default {
        /// The column.
        column: String,
        /// The error in the default.
        bad: BadValue,
    },
    /// There is no such column.
    NoColumn(String),
    /// A column that old rows lack has neither a default nor an option as its type.
    NoDefault(String),
    /// A type that does not hold all values of the one before.
    Narrower {
        /// The column.
        column: String,
        /// The type before, in text form.
        from: String,
        /// The type after, in text form.
        to: String,
    },
    /// The columns' fixed parts take more bytes than a row has.
    TooWide(usize),
    /// The table has had as many versions of its schema as there can be.
    TooManyVersions,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "column {name:?}: a name is not empty and has no blanks, commas, parentheses or control characters"
            ),
            Self::Twice(name) => write!(f, "column {name:?}: there are two of this name"),
            Self::Number(number) => write!(f, "there are two columns of number {number}"),
            Self::Type { column, column_type } => {
                write!(f, "column {column:?}: no column of a row has the type {column_type}")
            }
            Self::Default { column, bad } => write!(f, "the default of column {column:?}: {bad}"),
            Self::NoColumn(name) => write!(f, "there is no column {name:?}"),
            Self::NoDefault(name) => write!(
                f,
                "column {name:?} is new: it needs a default, or an option as its type, for the rows that lack it"
            ),
            Self::Narrower { column, from, to } => write!(
                f,
                "column {column:?}: {to} does not hold all values of {from}; a function of the old row can change it"
            ),
            Self::TooWide(bytes) => {
                write!(f, "the columns take {bytes} bytes of a row by themselves")
            }
            Self::TooManyVersions => {
                write!(f, "the schema has had {} versions, as many as there can be", u16::MAX)
            }
        }
    }
}

impl std::error::Error for SchemaError {}
