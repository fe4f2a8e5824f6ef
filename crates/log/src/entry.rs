//! The contents of a payload: transactions with their writes in the log, rows in a checkpoint.
//!
//! ```text
//! transaction   u32 bytes of all that follows | u64 epoch | u64 order | writes
//! write         u32 table, top bit: removed | u16 key bytes | u32 value bytes | key | value
//! row           u64 order | write
//! ```
//!
//! A removal has a value where versions carry stamps (verified runs): the tombstone's.

use crate::codec::Decoder;

/// Set in the table number of a removal.
const REMOVED: u32 = 1 << 31;

/// The greatest table number that an entry can name.
pub const TABLE_MAX: u32 = REMOVED - 1;

/// Bytes before a transaction's writes.
const TRANSACTION_HEAD: usize = 20;

/// One write of a transaction, or one row of a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write<'a> {
    /// The table's number.
    pub table: u32,
    /// The key is absent from then on.
    pub removed: bool,
    /// The key.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

impl Write<'_> {
    /// Appends it to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.table <= TABLE_MAX);
        debug_assert!(self.key.len() <= u16::MAX as usize, "a key has 16 bits of length");
        debug_assert!(u32::try_from(self.value.len()).is_ok(), "and a value 32");
        let start = out.len();
        let table = self.table | if self.removed { REMOVED } else { 0 };
        let mut head = [0; 10];
        head[..4].copy_from_slice(&table.to_le_bytes());
        head[4..6].copy_from_slice(&(self.key.len() as u16).to_le_bytes());
        head[6..].copy_from_slice(&(self.value.len() as u32).to_le_bytes());
        out.reserve(head.len() + self.key.len() + self.value.len());
        out.extend_from_slice(&head);
        out.extend_from_slice(self.key);
        out.extend_from_slice(self.value);
        debug_assert!(out.len() - start == self.encoded_bytes(), "as long as it is said to be");
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        10 + self.key.len() + self.value.len()
    }
}

/// The write whose head is at `start`, and where the next one begins; `None` where there is none, or not all of it.
#[inline]
pub(crate) fn write_at(bytes: &[u8], start: usize) -> Option<(Write<'_>, usize)> {
    let mut rest = Decoder::new(bytes.get(start..)?);
    let write = decode_write(&mut rest)?;
    Some((write, bytes.len() - rest.left()))
}

#[inline]
fn decode_write<'a>(from: &mut Decoder<'a>) -> Option<Write<'a>> {
    let table = from.u32()?;
    let key_bytes = from.u16()?;
    let value_bytes = from.u32()?;
    let key = from.bytes(key_bytes as usize)?;
    let value = from.bytes(value_bytes as usize)?;
    Some(Write { table: table & !REMOVED, removed: table & REMOVED != 0, key, value })
}

/// Begins a transaction in `out`; returns what [`end`] needs.
#[inline]
pub fn begin(out: &mut Vec<u8>, epoch: u64, order: u64) -> usize {
    let start = out.len();
    let mut head = [0; TRANSACTION_HEAD];
    head[4..12].copy_from_slice(&epoch.to_le_bytes());
    head[12..].copy_from_slice(&order.to_le_bytes());
    out.extend_from_slice(&head);
    start
}

/// Ends the transaction that began at `start`.
#[inline]
pub fn end(out: &mut [u8], start: usize) {
    debug_assert!(start + TRANSACTION_HEAD <= out.len(), "its head comes first");
    debug_assert!(u32::try_from(out.len() - start).is_ok(), "a transaction is below 4 GiB");
    let bytes = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&bytes.to_le_bytes());
}

/// A transaction as it stands in the log.
#[derive(Clone, Copy, Debug)]
pub struct Transaction<'a> {
    /// Its commit epoch.
    pub epoch: u64,
    /// The place of its versions among those of each key, within its incarnation.
    pub order: u64,
    writes: Decoder<'a>,
}

impl<'a> Transaction<'a> {
    /// Its writes as they stand in the log.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.writes.rest()
    }

    /// Its writes, each key at most once; an item of `None` ends a transaction that is malformed.
    pub fn writes(&self) -> impl Iterator<Item = Option<Write<'a>>> + use<'a> {
        let mut rest = self.writes;
        core::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let write = decode_write(&mut rest);
            if write.is_none() {
                rest = Decoder::new(&[]);
            }
            Some(write)
        })
    }
}

/// The transactions of a payload; an item of `None` ends one that is malformed.
pub fn transactions(payload: &[u8]) -> impl Iterator<Item = Option<Transaction<'_>>> {
    let mut rest = Decoder::new(payload);
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = rest.blob().and_then(|body| {
            let mut body = Decoder::new(body);
            Some(Transaction { epoch: body.u64()?, order: body.u64()?, writes: body })
        });
        if found.is_none() {
            rest = Decoder::new(&[]);
        }
        Some(found)
    })
}

/// Appends a row of a checkpoint.
#[inline]
pub fn put_row(out: &mut Vec<u8>, order: u64, row: &Write<'_>) {
    out.extend_from_slice(&order.to_le_bytes());
    row.encode(out);
}

/// The rows of a checkpoint's payload with their orders; an item of `None` ends a malformed one.
pub fn rows(payload: &[u8]) -> impl Iterator<Item = Option<(u64, Write<'_>)>> {
    let mut rest = Decoder::new(payload);
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut one = || Some((rest.u64()?, decode_write(&mut rest)?));
        let row = one();
        if row.is_none() {
            rest = Decoder::new(&[]);
        }
        Some(row)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Owned = (u32, bool, Vec<u8>, Vec<u8>);

    fn write() -> impl Strategy<Value = Owned> {
        let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
        (0..=TABLE_MAX, any::<bool>(), bytes(40), bytes(200))
    }

    proptest! {
        #[test]
        fn transactions_come_back(
            all in proptest::collection::vec(
                (any::<u64>(), any::<u64>(), proptest::collection::vec(write(), 0..5)),
                0..5,
            ),
        ) {
            let mut out = Vec::new();
            for (epoch, order, writes) in &all {
                let start = begin(&mut out, *epoch, *order);
                for (table, removed, key, value) in writes {
                    Write { table: *table, removed: *removed, key, value }.encode(&mut out);
                }
                end(&mut out, start);
            }
            let read: Vec<_> = transactions(&out)
                .map(|it| {
                    let it = it.expect("sound");
                    let writes = it.writes().map(|write| {
                        let write = write.expect("sound");
                        (write.table, write.removed, write.key.to_vec(), write.value.to_vec())
                    });
                    (it.epoch, it.order, writes.collect::<Vec<Owned>>())
                })
                .collect();
            prop_assert_eq!(read, all);
        }

        #[test]
        fn garbage_ends_and_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let all = transactions(&bytes).flatten().flat_map(|it| it.writes().collect::<Vec<_>>());
            prop_assert!(all.count() <= bytes.len());
            prop_assert!(rows(&bytes).count() <= bytes.len());
        }
    }
}
