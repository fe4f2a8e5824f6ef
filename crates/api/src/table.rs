//! The declaration of a table, as data, so that a recovered database needs no callback.

use crate::layout::{Layout, TableLayout};

/// A table, by number. Numbers are never used again after a drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// How a table finds its rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexKind {
    /// By order: scans and single keys.
    Ordered,
    /// By hash: single keys only, with fewer cache misses.
    Hash,
}

/// Where a part of a secondary key comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The row's value.
    Value,
    /// The row's primary key, as encoded.
    Key,
}

/// How the bytes of a key part are to be read, and thus ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartType {
    /// An unsigned little-endian integer of 1, 2, 4 or 8 bytes (`length`).
    Unsigned,
    /// A signed little-endian integer of 1, 2, 4 or 8 bytes (`length`).
    Signed,
    /// Bytes as they are, all `length` of them.
    Bytes,
    /// A length byte followed by room for `length - 1` bytes of text: only the text counts, in an
    /// order in which a prefix comes first.
    Text,
}

/// One part of a secondary key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyPart {
    /// Value or primary key.
    pub source: Source,
    /// Bytes before the field.
    pub offset: usize,
    /// Bytes of the field.
    pub length: usize,
    /// How to read it.
    pub part_type: PartType,
    /// Whether greater comes first.
    pub descending: bool,
}

/// A column as a part of a secondary key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnPart {
    /// The column's number ([`chiliad_row::SchemaColumn::number`]).
    pub number: u32,
    /// Whether greater comes first.
    pub descending: bool,
}

/// The parts of a secondary key, most significant first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexParts {
    /// Bytes of the value or the primary key, at fixed places.
    Bytes(Vec<KeyPart>),
    /// Columns of the rows, of a table with a schema ([`TableLayout::Schema`]). Rows of all versions are in the index
    /// as the current version has them.
    Columns(Vec<ColumnPart>),
}

impl From<Vec<KeyPart>> for IndexParts {
    fn from(parts: Vec<KeyPart>) -> Self {
        Self::Bytes(parts)
    }
}

impl IndexParts {
    /// The parts that are bytes at fixed places.
    #[must_use]
    pub fn bytes(&self) -> &[KeyPart] {
        if let Self::Bytes(parts) = self { parts } else { &[] }
    }

    /// The parts that are columns.
    #[must_use]
    pub fn columns(&self) -> &[ColumnPart] {
        if let Self::Columns(parts) = self { parts } else { &[] }
    }
}

/// A secondary index: rows found by parts of their value or primary key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecondarySpec {
    /// Its name, unique within the table.
    pub name: String,
    /// The parts of its key.
    pub parts: IndexParts,
    /// Whether two rows may not share a key.
    pub unique: bool,
}

/// The allowed changes of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Writes {
    /// Transactions, and loads.
    #[default]
    Transactions,
    /// Loads alone ([`crate::Session::load`]), until the table is sealed ([`crate::Store::seal`]).
    Loads,
    /// Nobody any more: it was sealed. Transactions of the present read its rows without the scheme:
    /// without locks, timestamps, read or node sets.
    Nobody,
}

/// Advice about where rows lie, for engines on hardware that watches lines. No answer depends on it, and catalogs do not
/// keep it: others take none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// Of an ordered table: many insert side by side at the end of the order, and ranges of rows are hardly ever read.
    pub spread: bool,
    /// The first byte of the columns that change at the end of a row, which share a line neither with what is before them nor with
    /// each other: eight bytes each. 0: there are none. At most [`Placement::APART_MAX`].
    pub apart: u16,
}

impl Placement {
    /// The greatest [`Placement::apart`].
    pub const APART_MAX: u16 = (1 << 15) - 1;
}

/// The declaration of a group of columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupSpec {
    /// Its name, unique in the table. The group of the table `stock` named `texts` is found as the table `stock.texts`.
    pub name: String,
    /// Snapshot transactions never read it: see [`TableSpec::present_only`]. In a table that is closed to them all groups are.
    pub present_only: bool,
    /// The meaning of its bytes.
    pub layout: TableLayout,
}

impl GroupSpec {
    /// A group of bytes that snapshots read.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), present_only: false, layout: TableLayout::Bytes }
    }

    /// This group, closed to snapshots.
    #[must_use]
    pub fn present_only(mut self) -> Self {
        self.present_only = true;
        self
    }
}

/// A table's declaration, with what it says of columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSpec<L = TableLayout> {
    /// Its name, unique in the database.
    pub name: String,
    /// How rows are found.
    pub index: IndexKind,
    /// A hint for sizing hash tables; they grow beyond it.
    pub rows_expected: usize,
    /// Its secondary indexes, maintained inside each transaction: of the table's own part of rows.
    pub secondary: Vec<SecondarySpec>,
    /// Groups of columns, apart from those of the table's own part.
    pub groups: Vec<GroupSpec>,
    /// Snapshot transactions never read it, so none of its versions are kept for them, and what is
    /// removed leaves at once: for queues, whose head would otherwise be a second's worth of
    /// tombstones.
    pub present_only: bool,
    /// The allowed changes.
    pub writes: Writes,
    /// Advice about where its rows lie.
    pub placement: Placement,
    /// The meaning of its bytes.
    pub layout: L,
}

impl<L> TableSpec<L> {
    /// This declaration with something else for its columns, and what it had for them.
    pub fn exchange<N>(self, layout: N) -> (TableSpec<N>, L) {
        let Self { name, index, rows_expected, secondary, groups, present_only, writes, .. } = self;
        let (placement, had) = (self.placement, self.layout);
        let spec = TableSpec {
            name,
            index,
            rows_expected,
            secondary,
            groups,
            present_only,
            writes,
            placement,
            layout,
        };
        (spec, had)
    }
}

impl TableSpec {
    /// An ordered table.
    #[must_use]
    pub fn ordered(name: &str) -> Self {
        Self {
            name: name.into(),
            index: IndexKind::Ordered,
            rows_expected: 0,
            secondary: vec![],
            groups: vec![],
            present_only: false,
            writes: Writes::Transactions,
            placement: Placement::default(),
            layout: TableLayout::Bytes,
        }
    }

    /// A hash table for about `rows_expected` rows.
    #[must_use]
    pub fn hash(name: &str, rows_expected: usize) -> Self {
        Self { index: IndexKind::Hash, rows_expected, ..Self::ordered(name) }
    }

    /// This table, closed to snapshots: see [`TableSpec::present_only`].
    #[must_use]
    pub fn present_only(mut self) -> Self {
        self.present_only = true;
        self
    }

    /// This table as one that is loaded, sealed and then only read: see [`Writes`].
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.writes = Writes::Loads;
        self
    }

    /// This ordered table, for many that insert side by side: see [`Placement::spread`].
    #[must_use]
    pub fn spread(mut self) -> Self {
        self.placement.spread = true;
        self
    }

    /// This table, whose rows from byte `first` on lie apart from what is before: see [`Placement::apart`].
    #[must_use]
    pub fn apart_from(mut self, first: u16) -> Self {
        self.placement.apart = first;
        self
    }

    /// This table with these columns.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = TableLayout::Columns(layout);
        self
    }

    /// This table with one more secondary index.
    #[must_use]
    pub fn with_index(mut self, index: SecondarySpec) -> Self {
        self.secondary.push(index);
        self
    }
}
