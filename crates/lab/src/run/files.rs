//! Files that a single run writes besides its result.

use chiliad_host::OutputFile;

/// Files that a single run writes besides its result.
#[derive(Default)]
pub struct Files {
    /// The recorded history.
    pub history: Option<OutputFile>,
    /// The results of TPC-C's deliveries.
    pub deliveries: Option<OutputFile>,
    /// Throughput and memory over time.
    pub series: Option<OutputFile>,
}
