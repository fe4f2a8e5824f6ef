//! Metrics on demand.

use crate::Database;

impl Database {
    /// Tells the recorder of the crate [`metrics`](https://docs.rs/metrics) how the database is; with the feature
    /// `metrics`. A thread of the database does the same once a second, and another one counts the memory of tables,
    /// which takes [a walk](Database::table_memory), so often that it is busy for a hundredth of the time, at most every
    /// ten seconds.
    pub fn publish_metrics(&self) {
        let rules = &self.shared.rules;
        rules.publisher.publish(&self.shared.engine, &rules.ages);
        // Without a worker to spare for the walk the numbers stay those of the last one.
        if let Ok(memory) = self.table_memory() {
            rules.publisher.publish_tables(&memory);
        }
    }
}
