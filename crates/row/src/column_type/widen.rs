//! Which types hold all values of another.

use super::{ColumnType, Fields, Member, Variant};

impl ColumnType {
    /// Whether each value of this type is one of `wider`, too: an integer in one of more bits, a text in a longer one, a
    /// value in an option of it, an enum in one with more variants, and so on within composite types. What widens is
    /// converted as it is read; everything else takes a function of the old row.
    #[must_use]
    pub fn widens_to(&self, wider: &Self) -> bool {
        match (self, wider) {
            (one, other) if one == other => true,
            (Self::Unsigned(from), Self::Unsigned(to))
            | (Self::Signed(from), Self::Signed(to))
            | (Self::Float(from), Self::Float(to)) => from <= to,
            // A bit is the sign's.
            (Self::Unsigned(from), Self::Signed(to)) => from < to,
            (Self::Text(from), Self::Text(to)) => from <= to,
            (Self::Text(_) | Self::Json, Self::String) | (Self::Bytes(_), Self::Blob) => true,
            (Self::Optional(from), Self::Optional(to))
            | (Self::Descending(from), Self::Descending(to))
            | (Self::Array(from, _) | Self::List(from), Self::List(to)) => from.widens_to(to),
            (Self::Array(from, few), Self::Array(to, many)) => few == many && from.widens_to(to),
            (Self::Tuple(from), Self::Tuple(to)) => all_widen(from, to),
            (Self::Struct(from), Self::Struct(to)) => members_widen(from, to),
            (Self::Enum(from), Self::Enum(to)) => from.iter().all(|variant| {
                to.iter().any(|other| other.number == variant.number && variant.widens_to(other))
            }),
            (from, Self::Optional(to)) => from.widens_to(to),
            _ => false,
        }
    }
}

impl Variant {
    /// By number: a variant may have another name.
    fn widens_to(&self, wider: &Self) -> bool {
        match (&self.fields, &wider.fields) {
            (Fields::None, Fields::None) => true,
            (Fields::Tuple(from), Fields::Tuple(to)) => all_widen(from, to),
            (Fields::Struct(from), Fields::Struct(to)) => members_widen(from, to),
            _ => false,
        }
    }
}

fn all_widen(from: &[ColumnType], to: &[ColumnType]) -> bool {
    from.len() == to.len() && from.iter().zip(to).all(|(from, to)| from.widens_to(to))
}

/// By place: a member may have another name.
fn members_widen(from: &[Member], to: &[Member]) -> bool {
    let pairs = from.iter().zip(to);
    from.len() == to.len()
        && pairs.into_iter().all(|(from, to)| from.column_type.widens_to(&to.column_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_holds_all_values_is_wider() {
        let widens = |from: &str, to: &str| {
            let parsed = |text: &str| text.parse::<ColumnType>().expect(text);
            parsed(from).widens_to(&parsed(to))
        };
        for (from, to) in [
            ("u8", "u8"),
            ("u8", "u128"),
            ("i16", "i32"),
            ("u32", "i64"),
            ("f32", "f64"),
            ("text(3)", "text(4)"),
            ("text(3)", "string"),
            ("bytes(3)", "blob"),
            ("u8", "option(u16)"),
            ("option(u8)", "option(u16)"),
            ("array(u8, 3)", "list(u16)"),
            ("tuple(u8, string)", "tuple(u16, option(string))"),
            ("struct(a u8)", "struct(b u16)"),
            ("enum(0 A, 1 B(u8))", "enum(0 A, 1 C(u16), 2 D)"),
        ] {
            assert!(widens(from, to), "{from} to {to}");
        }
        for (from, to) in [
            ("u16", "u8"),
            ("i8", "u64"),
            ("u64", "i64"),
            ("f64", "f32"),
            ("u32", "f64"),
            ("string", "text(255)"),
            ("option(u8)", "u8"),
            ("array(u8, 3)", "array(u8, 4)"),
            ("tuple(u8)", "tuple(u8, u8)"),
            ("enum(0 A, 1 B)", "enum(0 A)"),
            ("enum(0 A)", "enum(1 A)"),
            ("custom(a, 8)", "custom(b, 8)"),
            ("string", "json"),
        ] {
            assert!(!widens(from, to), "{from} to {to}");
        }
    }
}
