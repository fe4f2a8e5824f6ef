//! The memory of tables, as it is counted on demand.

/// The memory of one table.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct TableMemory {
    /// Its name.
    pub table: String,
    /// What its rows take, and finding them by primary key.
    pub rows: Footprint,
    /// What each of its secondary indexes takes, by name; one that is being filled is among them.
    pub indexes: Vec<(String, Footprint)>,
}

/// What records and the index that leads to them take. Bytes are of the slots that hold them, room that their sizes leave free
/// among it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Footprint {
    /// Records that the index leads to. One that was deleted is among them until it is collected.
    pub records: u64,
    /// Bytes of these records, with values that have outgrown them.
    pub record_bytes: u64,
    /// Older versions, which are kept for snapshots or wait to be collected.
    pub versions: u64,
    /// Bytes of these versions.
    pub version_bytes: u64,
    /// Bytes of the index's nodes or buckets. Keys of up to eight bytes lie in them.
    pub node_bytes: u64,
    /// Bytes of the rests of longer keys.
    pub key_bytes: u64,
}

impl TableMemory {
    /// All bytes of the table and its indexes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let indexes = self.indexes.iter().map(|(_, footprint)| footprint.bytes());
        self.rows.bytes() + indexes.sum::<u64>()
    }
}

impl Footprint {
    /// All its bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.record_bytes + self.version_bytes + self.node_bytes + self.key_bytes
    }
}
