//! The payload of a frame: records, each a u32 with its bytes, and the bytes. The frame's epoch is the position of the
//! first.

use crate::batch::Batch;
use chiliad_log::codec::Decoder;
use chiliad_machine::disk::Blocks;

/// Appends the records of a batch.
pub(super) fn push(out: &mut Blocks, batch: &Batch) {
    for number in 0..batch.len() {
        let record = batch.record(number);
        debug_assert!(u32::try_from(record.len()).is_ok(), "records are smaller than frames");
        out.push(&(record.len() as u32).to_le_bytes());
        out.push(record);
    }
}

/// The records of a payload; `None` if it holds something else.
pub(super) fn records(payload: &[u8]) -> Option<Vec<&[u8]>> {
    let mut from = Decoder::new(payload);
    let mut records = Vec::new();
    while !from.is_empty() {
        let bytes = from.u32()?;
        records.push(from.bytes(bytes as usize)?);
    }
    Some(records)
}
