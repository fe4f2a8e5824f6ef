//! Metrics on demand.

use crate::Database;

impl Database {
    /// Tells the recorder of the crate [`metrics`](https://docs.rs/metrics) how the database is; with the feature
    /// `metrics`. A thread of the database does the same once a second.
    pub fn publish_metrics(&self) {
        self.shared.rules.publisher.publish(&self.shared.engine);
    }
}
