//! Metrics: gauges and counters that are read off the database's statistics, and two histograms of times.

use crate::engine::Engine;
use crate::snapshot_ages::SnapshotAges;
use crate::{Stats, TableMemory};
use metrics::{Histogram, counter, gauge, histogram};
use std::time::Instant;

/// The times of one database, by the recorder that was installed when it was opened.
#[derive(Clone)]
pub(crate) struct Times {
    committed: Histogram,
    durable: Histogram,
}

/// Measures what a transaction takes.
pub(crate) struct LatencyOf(Instant);

/// Tells the recorder of the process about one database.
#[derive(Clone)]
pub(crate) struct Publisher {
    /// The number of the database among those that the process has opened, from 0.
    database: String,
    pub times: Times,
}

impl LatencyOf {
    /// The transaction begins.
    pub fn begin() -> Self {
        Self(Instant::now())
    }

    /// It has committed.
    pub fn committed(&self, publisher: &Publisher) {
        publisher.times.committed.record(self.0.elapsed());
    }

    /// It is durable, and was waited for.
    pub fn durable(&self, publisher: &Publisher) {
        publisher.times.durable.record(self.0.elapsed());
    }
}

impl Publisher {
    pub fn new(database: u64) -> Self {
        let database = database.to_string();
        let times = Times {
            committed: histogram!("chiliad_commit_seconds", "database" => database.clone()),
            durable: histogram!("chiliad_durable_wait_seconds", "database" => database.clone()),
        };
        Self { database, times }
    }

    /// Tells how the database is, but for the memory of tables.
    pub fn publish(&self, engine: &Engine, ages: &SnapshotAges) {
        let stats = engine.stats();
        self.counts(&stats);
        let gauge = |name: &'static str, value: u64| {
            gauge!(name, "database" => self.database.clone()).set(value as f64);
        };
        gauge("chiliad_memory_reserved_bytes", stats.memory.reserved_bytes);
        gauge("chiliad_memory_spare_bytes", stats.memory.spare_bytes);
        gauge("chiliad_tables_dropped", stats.tables_dropped);
        gauge("chiliad_epoch", stats.epoch);
        gauge("chiliad_snapshot_lag_epochs", oldest_snapshot(&stats));
        let age = ages.oldest_snapshot(&stats).map_or(0.0, |age| age.as_secs_f64());
        gauge!("chiliad_snapshot_age_seconds", "database" => self.database.clone()).set(age);
        gauge("chiliad_reclaim_lag_epochs", stats.reclaim_lag);
        gauge("chiliad_shared_log_lag", stats.log_lag);
        let durable = engine.durable_epoch();
        // In memory nothing is durable, and nothing lags.
        let lag = if durable == u64::MAX { 0 } else { stats.epoch.saturating_sub(durable) };
        gauge("chiliad_durable_lag_epochs", lag);
        gauge("chiliad_log_failed", u64::from(engine.log_failure().is_some()));
        gauge("chiliad_checkpoint_due", u64::from(engine.checkpoint_is_due()));
        let bytes = counter!("chiliad_log_bytes", "database" => self.database.clone());
        bytes.absolute(engine.log_bytes());
    }

    /// Tells what tables take.
    pub fn publish_tables(&self, memory: &[TableMemory]) {
        for table in memory {
            let labels = [("database", self.database.clone()), ("table", table.table.clone())];
            let gauge = |name: &'static str, value: u64| gauge!(name, &labels).set(value as f64);
            let rows = &table.rows;
            gauge("chiliad_table_records", rows.records);
            gauge("chiliad_table_record_bytes", rows.record_bytes);
            gauge("chiliad_table_versions", rows.versions);
            gauge("chiliad_table_version_bytes", rows.version_bytes);
            gauge("chiliad_table_key_bytes", rows.key_bytes);
            gauge("chiliad_table_node_bytes", rows.node_bytes);
            gauge("chiliad_table_bytes", table.bytes());
            for (index, footprint) in &table.indexes {
                let [database, table] = labels.clone();
                let labels = [database, table, ("index", index.clone())];
                gauge!("chiliad_index_bytes", &labels).set(footprint.bytes() as f64);
            }
        }
    }

    fn counts(&self, stats: &Stats) {
        let database = || self.database.clone();
        counter!("chiliad_committed", "database" => database()).absolute(stats.committed);
        counter!("chiliad_rolled_back", "database" => database()).absolute(stats.rolled_back);
        for (&reason, &count) in &stats.refused {
            counter!("chiliad_aborts", "database" => database(), "reason" => reason)
                .absolute(count);
        }
        for ((table, reason), &count) in &stats.refused_by_table {
            let labels = [
                ("database", database()),
                ("table", table.clone()),
                ("reason", (*reason).to_owned()),
            ];
            counter!("chiliad_table_aborts", &labels).absolute(count);
        }
    }
}

/// Epochs between now and the oldest snapshot that is read; 0: none is.
fn oldest_snapshot(stats: &Stats) -> u64 {
    let read = stats.holds.iter().map(|hold| hold.snapshot).filter(|&snapshot| snapshot > 0);
    read.min().map_or(0, |oldest| stats.epoch.saturating_sub(oldest))
}
