//! Reads of certain columns ([`chiliad_api::Transaction::look_at`]), which are reported when their transaction ends: until
//! then its scheme may take a newer version for the one that was read.
//!
//! What the history says does not rest on what the scheme knows of columns: the version that was read is exchanged
//! only if the bytes of those columns are the same in both.

use chiliad_api::{Columns, Range, Recorder, Stamp, TableId, TableLayout};
use core::ops::Bound;

/// Reads that were not reported yet.
pub(super) enum Held {
    Read(HeldRead),
    Scan(HeldScan),
}

/// The version that was read of a row.
pub(super) struct HeldRead {
    /// The address of its record.
    pub record: u64,
    pub key: Vec<u8>,
    pub version: Stamp,
    pub absent: bool,
    /// The row, without its stamp.
    pub row: Vec<u8>,
}

/// A scan, with what it has met.
pub(super) struct HeldScan {
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
    reverse: bool,
    last: Option<Vec<u8>>,
    met: Vec<HeldRead>,
}

/// Reads of a table, and the columns that they look at.
pub(super) struct HeldOf {
    pub table: TableId,
    pub columns: Columns,
    pub held: Held,
}

impl HeldScan {
    pub fn new(range: &Range<'_>, last: Option<&[u8]>, met: Vec<HeldRead>) -> Self {
        let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        let (low, high) = (owned(range.low), owned(range.high));
        Self { low, high, reverse: range.reverse, last: last.map(<[u8]>::to_vec), met }
    }
}

impl HeldOf {
    /// The reads of a record.
    fn reads_of(&mut self, record: u64) -> impl Iterator<Item = &mut HeldRead> {
        let reads = match &mut self.held {
            Held::Read(read) => core::slice::from_mut(read),
            Held::Scan(scan) => &mut scan.met[..],
        };
        reads.iter_mut().filter(move |read| read.record == record)
    }

    /// The scheme has taken another version for the one that was read of a record. `layout_of` knows the tables.
    pub fn renew(
        &mut self,
        record: u64,
        layout_of: impl Fn(TableId) -> Option<TableLayout>,
        (stamp, row): (Stamp, &[u8]),
    ) {
        let (table, columns) = (self.table, self.columns);
        for read in self.reads_of(record).filter(|read| !read.absent) {
            let layout = layout_of(table).unwrap_or_default();
            if layout.agree(table, columns, &read.row, row) {
                read.version = stamp;
                read.row = row.to_vec();
            }
        }
    }

    pub fn report(&self, recorder: &mut dyn Recorder) {
        match &self.held {
            Held::Read(read) => recorder.read(self.table, &read.key, read.version, read.absent),
            Held::Scan(scan) => {
                let range = Range {
                    low: scan.low.as_ref().map(Vec::as_slice),
                    high: scan.high.as_ref().map(Vec::as_slice),
                    reverse: scan.reverse,
                    ..Range::all()
                };
                recorder.scan(self.table, &range, scan.last.as_deref());
                for met in &scan.met {
                    recorder.scan_entry(&met.key, met.version, met.absent);
                }
            }
        }
    }
}
