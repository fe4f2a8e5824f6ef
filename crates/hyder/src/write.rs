//! A write that waits for the commit.

/// A row as the transaction will leave it.
#[derive(Default)]
pub struct Write {
    /// Nothing where it is removed.
    pub value: Option<Vec<u8>>,
    /// The value that its entries in secondary indexes are those of.
    pub entries_of: Option<Vec<u8>>,
}
