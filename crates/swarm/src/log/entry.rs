//! What one task has written, as bytes.
//!
//! ```text
//!   kind (1 byte) | table (4) | bytes of the key (2) | from (4) | bytes of the value (4) | key | value
//! ```

use chiliad_api::TableId;

/// Bytes of an entry at most.
const ENTRY_BYTES_MAX: usize = 1536;

/// Bytes before a key.
const HEAD_BYTES: usize = 15;

// Kinds of changes.
const ROW: u8 = 1;
const PART: u8 = 2;
const NONE: u8 = 3;

/// The changes that one task makes, in order. It owns no memory, as bodies of tasks may not.
pub struct Entry {
    bytes: [u8; ENTRY_BYTES_MAX],
    length: usize,
    /// It has had no room for a change.
    overflows: bool,
}

impl Default for Entry {
    fn default() -> Self {
        Self { bytes: [0; ENTRY_BYTES_MAX], length: 0, overflows: false }
    }
}

impl Entry {
    /// A row has this value from now on, whether it was there or not.
    pub fn row(&mut self, table: TableId, key: &[u8], value: &[u8]) {
        self.add(ROW, table, key, 0, value);
    }

    /// A row has these bytes from byte `from` of its value on.
    pub fn part(&mut self, table: TableId, key: &[u8], from: usize, bytes: &[u8]) {
        self.add(PART, table, key, from, bytes);
    }

    /// A row is gone.
    pub fn none(&mut self, table: TableId, key: &[u8]) {
        self.add(NONE, table, key, 0, &[]);
    }

    /// The changes as bytes; `None` where there were too many.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        (!self.overflows).then(|| &self.bytes[..self.length])
    }

    fn add(&mut self, kind: u8, table: TableId, key: &[u8], from: usize, value: &[u8]) {
        let end = self.length + HEAD_BYTES + key.len() + value.len();
        let Some(target) = self.bytes.get_mut(self.length..end) else {
            self.overflows = true;
            return;
        };
        let (head, rest) = target.split_at_mut(HEAD_BYTES);
        head[0] = kind;
        head[1..5].copy_from_slice(&table.0.to_le_bytes());
        head[5..7].copy_from_slice(&(key.len() as u16).to_le_bytes());
        head[7..11].copy_from_slice(&(from as u32).to_le_bytes());
        head[11..15].copy_from_slice(&(value.len() as u32).to_le_bytes());
        rest[..key.len()].copy_from_slice(key);
        rest[key.len()..].copy_from_slice(value);
        self.length = end;
    }
}

/// A change of a row, as it was logged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The row's table.
    pub table: TableId,
    /// Its key.
    pub key: Vec<u8>,
    /// What it is from then on.
    pub to: To,
}

/// The state of a row after a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum To {
    /// It has this value.
    Row(Vec<u8>),
    /// It has these bytes from this byte of its value on.
    Part(usize, Vec<u8>),
    /// It is gone.
    None,
}

/// The changes of an entry; `None` for bytes that are none.
pub(super) fn changes(mut bytes: &[u8]) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let key_bytes = u16::from_le_bytes([head[5], head[6]]);
        let (key, rest) = rest.split_at_checked(key_bytes.into())?;
        let (value, rest) = rest.split_at_checked(word(11) as usize)?;
        let to = match head[0] {
            ROW => To::Row(value.to_vec()),
            PART => To::Part(word(7) as usize, value.to_vec()),
            NONE => To::None,
            _ => return None,
        };
        changes.push(Change { table: TableId(word(1)), key: key.to_vec(), to });
        bytes = rest;
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_back_as_they_were_logged() {
        let mut entry = Entry::default();
        entry.row(TableId(3), b"key", b"a value");
        entry.part(TableId(4), b"", 9, b"part");
        entry.none(TableId(5), b"gone");
        let bytes = entry.bytes().expect("room for three");
        let change =
            |table, key: &[u8], to| Change { table: TableId(table), key: key.to_vec(), to };
        let meant = [
            change(3, b"key", To::Row(b"a value".to_vec())),
            change(4, b"", To::Part(9, b"part".to_vec())),
            change(5, b"gone", To::None),
        ];
        assert_eq!(changes(bytes).as_deref(), Some(&meant[..]));
        assert!((1..bytes.len()).any(|end| changes(&bytes[..end]).is_none()));
    }

    #[test]
    fn too_many_changes_are_no_entry() {
        let mut entry = Entry::default();
        for _ in 0..ENTRY_BYTES_MAX / 100 + 1 {
            entry.row(TableId(0), b"", &[0; 100]);
        }
        assert_eq!(entry.bytes(), None);
    }
}
