//! Rows on their way to [`crate::Transaction::insert_many`].

/// Keys and bytes of rows, one after the other in one piece of memory.
#[derive(Debug, Default)]
pub struct EncodedRows {
    bytes: Vec<u8>,
    /// Where the key and the bytes of each row end.
    ends: Vec<(usize, usize)>,
}

impl EncodedRows {
    /// None yet, with room for so many of so many bytes each, with their keys.
    #[must_use]
    pub fn with_capacity(rows: usize, row_bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(rows * row_bytes), ends: Vec::with_capacity(rows) }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a row.
    pub fn push(&mut self, key: &[u8], bytes: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.ends.push((key_end, self.bytes.len()));
    }

    /// The rows, as [`crate::Transaction::insert_many`] takes them.
    #[must_use]
    pub fn rows(&self) -> Vec<(&[u8], &[u8])> {
        let mut start = 0;
        let row = |&(key_end, end): &(usize, usize)| {
            let row = (&self.bytes[start..key_end], &self.bytes[key_end..end]);
            start = end;
            row
        };
        self.ends.iter().map(row).collect()
    }
}
