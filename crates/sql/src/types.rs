//! The types of SQL, with the numbers by which PostgreSQL's clients know them.

use core::fmt;

/// A type of columns, parameters and results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Type {
    /// `boolean`.
    Bool,
    /// `smallint`.
    Int2,
    /// `integer`.
    Int4,
    /// `bigint`.
    Int8,
    /// `real`.
    Float4,
    /// `double precision`.
    Float8,
    /// `numeric`.
    Numeric,
    /// `text`.
    Text,
    /// `character varying`.
    Varchar,
    /// `character`: blanks at the end do not count.
    Bpchar,
    /// `name`.
    Name,
    /// `bytea`.
    Bytea,
    /// `date`.
    Date,
    /// `time without time zone`.
    Time,
    /// `timestamp without time zone`.
    Timestamp,
    /// `timestamp with time zone`.
    Timestamptz,
    /// `uuid`.
    Uuid,
    /// `json`.
    Json,
    /// `jsonb`.
    Jsonb,
    /// `oid`.
    Oid,
    /// `record`: a row as one value.
    Record,
    /// `void`: a function without a result.
    Void,
    /// A literal or parameter whose type its place has not said yet.
    Unknown,
}

impl Type {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::Bool,
        Self::Int2,
        Self::Int4,
        Self::Int8,
        Self::Float4,
        Self::Float8,
        Self::Numeric,
        Self::Text,
        Self::Varchar,
        Self::Bpchar,
        Self::Name,
        Self::Bytea,
        Self::Date,
        Self::Time,
        Self::Timestamp,
        Self::Timestamptz,
        Self::Uuid,
        Self::Json,
        Self::Jsonb,
        Self::Oid,
        Self::Record,
        Self::Void,
        Self::Unknown,
    ];

    /// PostgreSQL's number for it.
    #[must_use]
    pub fn oid(self) -> u32 {
        match self {
            Self::Bool => 16,
            Self::Bytea => 17,
            Self::Name => 19,
            Self::Int8 => 20,
            Self::Int2 => 21,
            Self::Int4 => 23,
            Self::Text => 25,
            Self::Oid => 26,
            Self::Json => 114,
            Self::Float4 => 700,
            Self::Float8 => 701,
            Self::Unknown => 705,
            Self::Bpchar => 1042,
            Self::Varchar => 1043,
            Self::Date => 1082,
            Self::Time => 1083,
            Self::Timestamp => 1114,
            Self::Timestamptz => 1184,
            Self::Numeric => 1700,
            Self::Record => 2249,
            Self::Void => 2278,
            Self::Uuid => 2950,
            Self::Jsonb => 3802,
        }
    }

    /// The type of this number; `None` for one that this crate does not know.
    #[must_use]
    pub fn of_oid(oid: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.oid() == oid)
    }

    /// Bytes of a value, or -1 where they vary, as a row's description has it.
    #[must_use]
    pub fn length(self) -> i16 {
        match self {
            Self::Bool => 1,
            Self::Int2 => 2,
            Self::Int4 | Self::Float4 | Self::Date | Self::Oid | Self::Void => 4,
            Self::Int8 | Self::Float8 | Self::Time | Self::Timestamp | Self::Timestamptz => 8,
            Self::Uuid => 16,
            Self::Name => 64,
            Self::Unknown => -2,
            _ => -1,
        }
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_number(self) -> bool {
        self.is_integer() || matches!(self, Self::Float4 | Self::Float8 | Self::Numeric)
    }

    /// Whether it is a whole number.
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Int2 | Self::Int4 | Self::Int8 | Self::Oid)
    }

    /// Whether its values are text.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Varchar | Self::Bpchar | Self::Name | Self::Unknown)
    }
}

impl fmt::Display for Type {
    /// Its name, as PostgreSQL writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "boolean",
            Self::Int2 => "smallint",
            Self::Int4 => "integer",
            Self::Int8 => "bigint",
            Self::Float4 => "real",
            Self::Float8 => "double precision",
            Self::Numeric => "numeric",
            Self::Text => "text",
            Self::Varchar => "character varying",
            Self::Bpchar => "character",
            Self::Name => "name",
            Self::Bytea => "bytea",
            Self::Date => "date",
            Self::Time => "time without time zone",
            Self::Timestamp => "timestamp without time zone",
            Self::Timestamptz => "timestamp with time zone",
            Self::Uuid => "uuid",
            Self::Json => "json",
            Self::Jsonb => "jsonb",
            Self::Oid => "oid",
            Self::Record => "record",
            Self::Void => "void",
            Self::Unknown => "unknown",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Type;

    #[test]
    fn types_are_found_by_their_numbers() {
        for of in Type::ALL {
            assert_eq!(Type::of_oid(of.oid()), Some(of), "{of}");
        }
        assert_eq!(Type::of_oid(1), None);
    }
}
