//! Sets of columns: those that a transaction changes of a row or looks at, and those that a client is shown of it.

use crate::TableId;

/// A set of columns of any tables: a filter of 64 bits after Bloom (1970), with one hash. Two sets that do not meet have no
/// column in common; two that meet may have none either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Columns(u64);

impl Columns {
    /// No column.
    pub const NONE: Self = Self(0);
    /// All columns of all tables; of a row also that it exists.
    pub const ALL: Self = Self(u64::MAX);

    /// A column of a table's rows: of a table with a schema the one of this number, which it keeps when others come and go
    /// ([`chiliad_row::SchemaColumn`]), of other tables the one at this place.
    #[must_use]
    pub fn of(table: TableId, number: usize) -> Self {
        // Fibonacci hashing (Knuth, 1973, 6.4): neighbours get different bits.
        let number = u64::from(table.0) << 16 ^ number as u64;
        Self(1 << (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58))
    }

    /// Those of both.
    #[must_use]
    pub fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether they may have a column in common.
    #[must_use]
    pub fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

impl FromIterator<Self> for Columns {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        sets.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::Columns;
    use crate::TableId;

    #[test]
    fn what_was_put_in_is_found() {
        let all = (0..40).map(|number| Columns::of(TableId(7), number));
        let set: Columns = all.clone().collect();
        assert!(all.clone().all(|one| set.meets(one) && one.meets(Columns::ALL)));
        assert!(!Columns::NONE.meets(set));
        // Of the columns of one table hardly two share a bit.
        let pairs = (0..16).flat_map(|a| (0..a).map(move |b| (a, b)));
        let of = |number| Columns::of(TableId(3), number);
        assert!(pairs.filter(|&(a, b)| of(a).meets(of(b))).count() <= 6);
    }
}
