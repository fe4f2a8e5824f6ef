//! Secondary indexes: tables of their own (Tu, 2013, 4.4), from parts of a row to its primary key.
//!
//! An index is declared as data ([`KeyPart`]) and evaluated here, without a callback. Its rows are
//! ordinary records under the scheme: their key is the encoded parts, followed by the primary key
//! unless the index is unique; their value is the primary key.

use crate::error::{Error, Result};
use crate::table::{KeyPart, PartType, SecondarySpec, Source, TableId};

/// The bytes that a key or a value must have for all parts of an index to lie within.
pub fn reach(spec: &SecondarySpec, source: Source) -> usize {
    let parts = spec.parts.iter().filter(|part| part.source == source);
    parts.map(|part| part.offset + part.length).max().unwrap_or(0)
}

/// A secondary index in use.
pub struct Secondary {
    /// Its declaration.
    pub spec: SecondarySpec,
    /// The table that holds its rows.
    pub table: TableId,
    /// Bytes that a value must have for all parts to lie within.
    pub value_bytes_min: usize,
    key_bytes_min: usize,
}

impl Secondary {
    /// An index declared as `spec`, whose entries are rows of `table`.
    #[must_use]
    pub fn new(spec: SecondarySpec, table: TableId) -> Self {
        let value_bytes_min = reach(&spec, Source::Value);
        let key_bytes_min = reach(&spec, Source::Key);
        Self { spec, table, value_bytes_min, key_bytes_min }
    }

    /// Whether all parts of a row lie within it.
    pub fn check(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let accepted = (self.value_bytes_min, crate::VALUE_BYTES_MAX);
        if value.len() < self.value_bytes_min {
            return Err(Error::ValueSize { bytes: value.len(), accepted });
        }
        if key.len() < self.key_bytes_min {
            let accepted = (self.key_bytes_min, crate::KEY_BYTES_MAX);
            return Err(Error::ValueSize { bytes: key.len(), accepted });
        }
        Ok(())
    }

    /// Whether two values of one row have the same index key.
    pub fn same_key(&self, before: &[u8], after: &[u8]) -> bool {
        self.spec.parts.iter().filter(|part| part.source == Source::Value).all(|part| {
            let range = part.offset..part.offset + part.length;
            before[range.clone()] == after[range]
        })
    }

    /// Appends the index key of a checked row to `out`.
    pub fn encode(&self, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
        for part in &self.spec.parts {
            let source = if part.source == Source::Value { value } else { key };
            let start = out.len();
            encode_part(part, &source[part.offset..part.offset + part.length], out);
            if part.descending {
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        if !self.spec.unique {
            out.extend_from_slice(key);
        }
    }
}

fn encode_part(part: &KeyPart, field: &[u8], out: &mut Vec<u8>) {
    match part.part_type {
        // Little-endian in the row, big-endian in a key: byte order is then key order.
        PartType::Unsigned => out.extend(field.iter().rev()),
        PartType::Signed => {
            let start = out.len();
            out.extend(field.iter().rev());
            out[start] ^= 0x80;
        }
        PartType::Bytes => out.extend_from_slice(field),
        PartType::Text => {
            let length = usize::from(field[0]).min(field.len() - 1);
            chiliad_row::key::KeyPart::write(&field[1..1 + length], out);
        }
    }
}
