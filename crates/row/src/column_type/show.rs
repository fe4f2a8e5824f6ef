//! The text form of a type.

use super::{ColumnType, Fields, Member, Variant};
use core::fmt::{Display, Formatter, Result};

impl Display for ColumnType {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Unit => f.write_str("unit"),
            Self::Bool => f.write_str("bool"),
            Self::Unsigned(bits) => write!(f, "u{bits}"),
            Self::Signed(bits) => write!(f, "i{bits}"),
            Self::Float(bits) => write!(f, "f{bits}"),
            Self::Decimal => f.write_str("decimal"),
            Self::Char => f.write_str("char"),
            Self::Bytes(length) => write!(f, "bytes({length})"),
            Self::Text(most) => write!(f, "text({most})"),
            Self::Blob => f.write_str("blob"),
            Self::String => f.write_str("string"),
            Self::Json => f.write_str("json"),
            Self::Duration => f.write_str("duration"),
            Self::Instant => f.write_str("instant"),
            Self::Date => f.write_str("date"),
            Self::Time => f.write_str("time"),
            Self::Ip => f.write_str("ip"),
            Self::Uuid => f.write_str("uuid"),
            Self::Optional(of) => write!(f, "option({of})"),
            Self::Descending(of) => write!(f, "desc({of})"),
            Self::Array(of, length) => write!(f, "array({of}, {length})"),
            Self::List(of) => write!(f, "list({of})"),
            Self::Tuple(types) => list(f, "tuple(", types),
            Self::Struct(members) => list(f, "struct(", members),
            Self::Enum(variants) => list(f, "enum(", variants),
            Self::Custom { name, bytes: None } => write!(f, "custom({name})"),
            Self::Custom { name, bytes: Some(bytes) } => write!(f, "custom({name}, {bytes})"),
        }
    }
}

impl Display for Member {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {}", self.name, self.column_type)
    }
}

impl Display for Variant {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {}", self.number, self.name)?;
        match &self.fields {
            Fields::None => Ok(()),
            Fields::Tuple(types) => list(f, "(", types),
            Fields::Struct(members) => list(f, "(", members),
        }
    }
}

/// `begin`, then the items with commas between, then a parenthesis.
fn list(f: &mut Formatter<'_>, begin: &str, items: &[impl Display]) -> Result {
    f.write_str(begin)?;
    for (at, item) in items.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { ", " })?;
        item.fmt(f)?;
    }
    f.write_str(")")
}
