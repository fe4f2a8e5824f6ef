//! YCSB's options.

use crate::memory::{Estimate, Tables};
use crate::ranges::{percent, within};

/// YCSB as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct YcsbOptions {
    /// `--records`.
    pub records: u64,
    /// `--record-bytes`: the size of a record's value.
    pub record_bytes: usize,
    /// `--ops`: accesses of a transaction, to distinct keys.
    pub ops: usize,
    /// `--read-ratio`: the chance in percent that an access (which is no scan) only reads.
    pub read_ratio: f64,
    /// `--rmw`: a write reads the record first.
    pub rmw: bool,
    /// `--theta`: the skew of the choice of keys; 0 is none.
    pub theta: f64,
    /// `--scramble`: likely records lie anywhere rather than side by side.
    pub scramble: bool,
    /// `--scan-ratio`: the chance in percent that an access is a scan.
    pub scan_ratio: f64,
    /// `--scan-length`: the records of a scan.
    pub scan_length: usize,
    /// `--partitions`: a key belongs to partition number modulo this.
    pub partitions: u32,
    /// `--multi-partition`: percent of the transactions that touch more than one partition.
    pub multi_partition: f64,
    /// `--parts-per-txn`: how many partitions those touch.
    pub parts_per_txn: u32,
    /// `--index hash`: a hash table instead of an ordered one.
    pub hash: bool,
    /// `--snapshot-reads`: transactions that only read do so in a snapshot of the past.
    pub snapshot_reads: bool,
    /// `--lock-order key`: a transaction makes its accesses in the order of their keys, so that no two
    /// wait for each other (Yu, 2015, 4.2.2).
    pub key_order: bool,
}

impl Default for YcsbOptions {
    fn default() -> Self {
        Self {
            records: 1_000_000,
            record_bytes: 100,
            ops: 16,
            read_ratio: 50.0,
            rmw: false,
            theta: 0.0,
            scramble: true,
            scan_ratio: 0.0,
            scan_length: 100,
            partitions: 1,
            multi_partition: 0.0,
            parts_per_txn: 2,
            hash: false,
            snapshot_reads: false,
            key_order: false,
        }
    }
}

impl YcsbOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        Tables::new(kept).rows(self.records, self.record_bytes as u64).estimate("--records")
    }

    /// A few records that many transactions want, for simulated runs.
    #[must_use]
    pub fn micro() -> Self {
        Self {
            records: 40,
            record_bytes: 24,
            ops: 4,
            rmw: true,
            theta: 0.6,
            scan_ratio: 10.0,
            scan_length: 5,
            ..Self::default()
        }
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> Result<(), String> {
        within("--records", self.records, 1, 1 << 40)?;
        within("--record-bytes", self.record_bytes as u64, 16, 65_536)?;
        within("--ops", self.ops as u64, 1, 1000)?;
        percent("--read-ratio", self.read_ratio)?;
        if !(0.0..=2.0).contains(&self.theta) {
            return Err(format!("--theta {}: accepted is 0 to 2", self.theta));
        }
        percent("--scan-ratio", self.scan_ratio)?;
        within("--scan-length", self.scan_length as u64, 1, 100_000)?;
        within("--partitions", u64::from(self.partitions), 1, self.records.min(65_536))?;
        percent("--multi-partition", self.multi_partition)?;
        if self.multi_partition > 0.0 {
            let most = u64::from(self.partitions);
            within("--parts-per-txn", u64::from(self.parts_per_txn), 1, most)?;
        }
        let of_partition = self.records / u64::from(self.partitions);
        if self.ops as u64 > of_partition {
            return Err(format!(
                "--ops {}: accepted is at most {of_partition}, the records of a partition",
                self.ops
            ));
        }
        if self.hash && self.scan_ratio > 0.0 {
            let given = self.scan_ratio;
            return Err(format!("--scan-ratio {given}: accepted with --index hash is 0"));
        }
        // A scan goes beyond the next key.
        if self.key_order && self.scan_ratio > 0.0 {
            let given = self.scan_ratio;
            return Err(format!("--scan-ratio {given}: accepted with --lock-order key is 0"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named_with_what_is_accepted() {
        let fine = YcsbOptions::default();
        assert_eq!(fine.validate(), Ok(()));
        assert_eq!(YcsbOptions::micro().validate(), Ok(()));
        for (options, message) in [
            (YcsbOptions { records: 0, ..fine.clone() }, "--records 0: accepted is 1 to"),
            (
                YcsbOptions { record_bytes: 15, ..fine.clone() },
                "--record-bytes 15: accepted is 16 to 65536",
            ),
            (YcsbOptions { ops: 0, ..fine.clone() }, "--ops 0: accepted is 1 to 1000"),
            (YcsbOptions { records: 10, ..fine.clone() }, "--ops 16: accepted is at most 10"),
            (YcsbOptions { theta: 2.5, ..fine.clone() }, "--theta 2.5: accepted is 0 to 2"),
            (YcsbOptions { theta: f64::NAN, ..fine.clone() }, "--theta NaN"),
            (YcsbOptions { read_ratio: -1.0, ..fine.clone() }, "--read-ratio -1: accepted is 0 to"),
            (YcsbOptions { partitions: 0, ..fine.clone() }, "--partitions 0: accepted is 1 to"),
            (
                YcsbOptions { multi_partition: 5.0, ..fine.clone() },
                "--parts-per-txn 2: accepted is 1 to 1",
            ),
            (
                YcsbOptions { hash: true, scan_ratio: 1.0, ..fine.clone() },
                "--scan-ratio 1: accepted with --index hash is 0",
            ),
            (
                YcsbOptions { key_order: true, scan_ratio: 1.0, ..fine.clone() },
                "--scan-ratio 1: accepted with --lock-order key is 0",
            ),
        ] {
            let error = options.validate().unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
