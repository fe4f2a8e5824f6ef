//! The records of one append, in one piece of memory.

use chiliad_machine::shared_log::SharedLogError;

/// Records, end to end.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each record ends in `bytes`.
    ends: Vec<usize>,
}

impl Batch {
    /// Refuses records of more than `accepted` bytes.
    ///
    /// # Errors
    /// [`SharedLogError::TooLarge`].
    pub fn check(records: &[&[u8]], accepted: usize) -> Result<(), SharedLogError> {
        match records.iter().map(|it| it.len()).find(|&it| it > accepted) {
            Some(bytes) => Err(SharedLogError::TooLarge { bytes, accepted }),
            None => Ok(()),
        }
    }

    /// A copy of `records`.
    pub fn of(records: &[&[u8]]) -> Self {
        let bytes = Vec::with_capacity(records.iter().map(|it| it.len()).sum());
        let mut batch = Self { bytes, ends: Vec::with_capacity(records.len()) };
        for record in records {
            batch.push(record);
        }
        batch
    }

    fn push(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len());
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of all records together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The record of this number, from 0 on.
    pub fn record(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }
}
