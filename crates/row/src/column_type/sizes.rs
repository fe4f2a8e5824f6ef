//! How many bytes the values of a type take.

use super::ColumnType;

/// A day has so many nanoseconds.
pub(crate) const DAY: u64 = 86_400_000_000_000;

impl ColumnType {
    /// Bytes of a value, wherever it stands within another one; `None` where that depends on the value.
    #[must_use]
    pub fn value_bytes(&self) -> Option<usize> {
        match self {
            Self::Unit => Some(0),
            Self::Bool => Some(1),
            Self::Unsigned(bits) | Self::Signed(bits) | Self::Float(bits) => {
                Some(*bits as usize / 8)
            }
            Self::Decimal => Some(17),
            Self::Char | Self::Date => Some(4),
            Self::Bytes(length) => Some(*length as usize),
            // And one for its length.
            Self::Text(most) => Some(*most as usize + 1),
            Self::Duration | Self::Instant => Some(12),
            Self::Time => Some(8),
            Self::Ip => Some(17),
            Self::Uuid => Some(16),
            // And one that tells whether it is there.
            Self::Optional(of) => of.value_bytes()?.checked_add(1),
            Self::Descending(of) => of.value_bytes(),
            Self::Array(_, 0) => Some(0),
            Self::Array(of, length) => of.value_bytes()?.checked_mul(*length as usize),
            Self::Tuple(types) => sum(types.iter()),
            Self::Struct(members) => sum(members.iter().map(|member| &member.column_type)),
            Self::Enum(variants) => {
                let plain = variants.iter().all(|variant| variant.fields.types().next().is_none());
                plain.then_some(2)
            }
            Self::Custom { bytes, .. } => bytes.map(|bytes| bytes as usize),
            Self::Blob | Self::String | Self::Json | Self::List(_) => None,
        }
    }

    /// Bytes that a column of this type takes among those of fixed size; `None` where its values vary in size. That a
    /// column has no value is told by a bit elsewhere.
    #[must_use]
    pub fn row_bytes(&self) -> Option<usize> {
        self.of_cell().value_bytes()
    }

    /// Whether a column of this type may have no value.
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        matches!(self, Self::Optional(_))
    }

    /// The type of the value in a column that has one.
    #[must_use]
    pub fn of_cell(&self) -> &Self {
        if let Self::Optional(of) = self { of } else { self }
    }

    /// Whether the bytes of a column are those of the text or the bytes alone, without their length.
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Blob | Self::String | Self::Json | Self::Custom { bytes: None, .. })
    }
}

fn sum<'a>(types: impl Iterator<Item = &'a ColumnType>) -> Option<usize> {
    types.map(ColumnType::value_bytes).try_fold(0_usize, |sum, bytes| sum.checked_add(bytes?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_add_up() {
        for (text, value, row) in [
            ("u128", Some(16), Some(16)),
            ("text(5)", Some(6), Some(6)),
            ("option(u32)", Some(5), Some(4)),
            ("option(option(u32))", Some(6), Some(5)),
            ("array(option(u8), 3)", Some(6), Some(6)),
            ("array(string, 3)", None, None),
            ("tuple(u8, text(2), unit)", Some(4), Some(4)),
            ("struct(a u8, b list(u8))", None, None),
            ("enum(0 A, 3 B)", Some(2), Some(2)),
            ("enum(0 A, 3 B(u8))", None, None),
            ("option(string)", None, None),
            ("array(array(bytes(4294967295), 4294967295), 4294967295)", None, None),
        ] {
            let parsed: ColumnType = text.parse().expect(text);
            assert_eq!((parsed.value_bytes(), parsed.row_bytes()), (value, row), "{text}");
        }
    }
}
