//! Rows that come part after part, put together: loaders make up one part at a time, and a database takes whole rows.

use chiliad_api::{Result, TableId, TableSpec};

/// Takes the parts of rows as [`crate::InsertRow`] does, and gives whole rows to `insert`.
pub struct WholeRows<F> {
    /// The tables with groups of columns, and how many parts their rows have.
    in_parts: Vec<(TableId, usize)>,
    /// The row whose parts are coming.
    table: TableId,
    key: Vec<u8>,
    parts: Vec<Vec<u8>>,
    /// The parts that have come.
    came: usize,
    insert: F,
}

impl<F: FnMut(TableId, &[u8], &[&[u8]]) -> Result<()>> WholeRows<F> {
    /// Of tables that were created in this order under these numbers.
    pub fn new(specs: &[TableSpec], tables: &[TableId], insert: F) -> Self {
        let both = tables.iter().zip(specs).filter(|(_, spec)| !spec.groups.is_empty());
        let in_parts = both.map(|(table, spec)| (*table, 1 + spec.groups.len())).collect();
        Self { in_parts, table: TableId(0), key: Vec::new(), parts: Vec::new(), came: 0, insert }
    }

    /// Takes a part of a row, which is all of it where the table has no groups.
    ///
    /// # Errors
    /// Those of `insert`.
    ///
    /// # Panics
    /// When the parts of a row do not follow one another, the table's own first.
    pub fn part(&mut self, table: TableId, key: &[u8], row: &[u8]) -> Result<()> {
        let parts_of = |(first, parts): &&(TableId, usize)| {
            table >= *first && table.0 < first.0 + *parts as u32
        };
        let Some(&(first, parts)) = self.in_parts.iter().find(parts_of) else {
            return (self.insert)(table, key, &[row]);
        };
        if self.came == 0 {
            self.table = first;
            self.key.clear();
            self.key.extend_from_slice(key);
            self.parts.resize_with(parts.max(self.parts.len()), Vec::new);
        }
        let is_next = self.table == first && table.0 as usize == first.0 as usize + self.came;
        assert!(is_next && self.key == key, "the parts of a row follow one another");
        let part = &mut self.parts[self.came];
        part.clear();
        part.extend_from_slice(row);
        self.came += 1;
        if self.came < parts {
            return Ok(());
        }
        self.came = 0;
        let parts: Vec<&[u8]> = self.parts[..parts].iter().map(|part| &part[..]).collect();
        (self.insert)(first, &self.key, &parts)
    }
}
