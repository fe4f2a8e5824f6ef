//! An interleaving with every default filled in.
//!
//! The command resolves the flags of `chiliad simulate` to the same; a test of the command compares the two,
//! so that the line that is printed for a case repeats it.

use super::case::Case;
use chiliad_driver::{
    Deferral, Length, On, Opening, Plan, Recording, SimulatedPlan, explored, scheme,
};
use chiliad_engine::{Error, Info, Options, Result, Snapshots, Timestamps};
use chiliad_simulator::{Config, MemoryModel, Schedule};
use chiliad_workload::WorkloadOptions;
use chiliad_workload::bidding::BiddingOptions;
use chiliad_workload::micro::{BankOptions, ByColumnOptions, CountersOptions, InsertDeleteOptions};
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::sql::tpcb::TpcbOptions;
use chiliad_workload::tatp::TatpOptions;
use chiliad_workload::tpcc::TpccOptions;
use chiliad_workload::tpce::TpceOptions;
use chiliad_workload::txbench::TxbenchOptions;
use chiliad_workload::ycsb::YcsbOptions;
use std::time::Duration;

/// Memory for a history.
const HISTORY_BYTES: u64 = 4 << 30;

/// An epoch a tenth as long as others.
const EPOCH_SHORT: Duration = Duration::from_micros(50);

/// A run, with every default filled in.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scheme.
    pub scheme: &'static Info,
    /// The workload.
    pub workload: WorkloadOptions,
    /// How the database is opened.
    pub opening: Opening,
    /// The plan of the clients, and the machine.
    pub plan: SimulatedPlan,
}

impl Case {
    /// Fills in every default.
    ///
    /// # Errors
    /// [`Error::InvalidOption`]: there is no scheme or no workload of this name.
    pub fn setup(&self) -> Result<Setup> {
        let scheme = scheme(self.scheme)?;
        let workload = self.workload(scheme)?;
        let plan = self.plan(scheme, &workload);
        let engine = self.engine(scheme, &workload, &plan);
        let opening = Opening { engine, cluster: self.cluster.clone() };
        let config = self.config(&plan);
        let plan = SimulatedPlan { plan, config };
        Ok(Setup { scheme, workload, opening, plan })
    }

    /// The workload in its size for simulation.
    fn workload(&self, scheme: &Info) -> Result<WorkloadOptions> {
        // As many as are wanted where the scheme needs them, but no more than there may be.
        let partitions = |wanted: u64, most: u64| match scheme.needs_partitions {
            true => wanted.min(most).max(1) as u32,
            false => 1,
        };
        let clients = self.cores as u64;
        let snapshot_reads = scheme.snapshots;
        Ok(match self.workload {
            "scan" | "hash" => {
                let (hash, keys) = (self.workload == "hash", self.insert_delete().0);
                let options =
                    InsertDeleteOptions { hash, keys, snapshot_reads, ..Default::default() };
                WorkloadOptions::InsertDelete(options)
            }
            "bank" => {
                let options = BankOptions { snapshot_reads, ..Default::default() };
                WorkloadOptions::Bank(options)
            }
            "counters" => WorkloadOptions::Counters(counters(snapshot_reads)),
            "columns" => WorkloadOptions::ByColumn(by_column(snapshot_reads)),
            "tpcc" | "tpcc-sql" => {
                let read_only_tables = !self.no_read_only;
                let micro = TpccOptions::micro();
                let options = TpccOptions { snapshot_reads, read_only_tables, ..micro };
                match self.workload {
                    "tpcc" => WorkloadOptions::Tpcc(options),
                    _ => WorkloadOptions::TpccSql(options),
                }
            }
            "ycsb" => {
                let micro = YcsbOptions::micro();
                let scan_ratio = if self.in_order { 0.0 } else { micro.scan_ratio };
                // A transaction finds all its records in one.
                let partitions = partitions(clients, micro.records / micro.ops as u64);
                let key_order = self.in_order;
                let options = YcsbOptions { scan_ratio, partitions, key_order, ..micro };
                WorkloadOptions::Ycsb(options)
            }
            "smallbank" => {
                let micro = SmallbankOptions::micro();
                let partitions = partitions(clients, u64::from(micro.accounts / 2));
                let options = SmallbankOptions { partitions, snapshot_reads, ..micro };
                WorkloadOptions::Smallbank(options)
            }
            // Clients of one partition do not meet those of another: two are enough for few clients.
            "tatp" => {
                let micro = TatpOptions::micro();
                let partitions = partitions(2, u64::from(micro.subscribers));
                let options = TatpOptions { partitions, snapshot_reads, ..micro };
                WorkloadOptions::Tatp(options)
            }
            "txbench" => {
                let micro = TxbenchOptions::micro();
                let partitions = partitions(2, u64::from(micro.rows));
                let options = TxbenchOptions { partitions, snapshot_reads, ..micro };
                WorkloadOptions::Txbench(options)
            }
            "bidding" => {
                let micro = BiddingOptions::micro();
                let partitions = partitions(clients, u64::from(micro.products));
                WorkloadOptions::Bidding(BiddingOptions { partitions, ..micro })
            }
            "tpce" => {
                let micro = TpceOptions::micro();
                let partitions = partitions(clients, u64::from(micro.partitions_max()));
                WorkloadOptions::Tpce(TpceOptions { partitions, snapshot_reads, ..micro })
            }
            "tpcb-sql" => {
                let micro = TpcbOptions::micro();
                WorkloadOptions::TpcbSql(TpcbOptions { snapshot_reads, ..micro })
            }
            other => return Err(Error::InvalidOption(format!("workload {other}: unknown"))),
        })
    }

    /// The plan of the clients.
    fn plan(&self, scheme: &Info, workload: &WorkloadOptions) -> Plan {
        let transactions = match self.workload {
            "scan" | "hash" => self.insert_delete().1,
            _ => explored::TRANSACTIONS_PER_WORKER * self.workers(),
        };
        let epoch = if self.short_epochs { EPOCH_SHORT } else { On::Explored.epoch() };
        let defers = workload.defers() && !self.inline;
        Plan {
            interleave: self.interleave,
            deferral: if defers { Deferral::Owner } else { Deferral::Inline },
            seed: self.seed,
            recording: Some(Recording { memory_bytes_max: HISTORY_BYTES }),
            // Without transactions there is no state between them that conditions could speak of.
            conditions: scheme.has_transactions(),
            ..Plan::new(self.cores, Length::Transactions(transactions), epoch)
        }
    }

    /// The engine's options.
    fn engine(&self, scheme: &Info, workload: &WorkloadOptions, plan: &Plan) -> Options {
        let base = On::Explored.engine(Options::default(), scheme, workload, plan);
        // Where all lock in one order there is no deadlock, and they may wait for ever.
        let endless = self.workload == "ycsb" && self.in_order;
        let latched = self.timestamps == Timestamps::Latched;
        Options {
            snapshots: if self.no_snapshots { Snapshots::Off } else { base.snapshots },
            wait_timeout: if endless { Some(Duration::MAX) } else { base.wait_timeout },
            deadlock_check: if endless { Duration::MAX } else { base.deadlock_check },
            timestamps: self.timestamps,
            mutex: if latched { self.latch } else { base.mutex },
            ..base
        }
    }

    /// The machine.
    fn config(&self, plan: &Plan) -> Config {
        let schedule = match self.few_preemptions {
            true => Schedule::few_preemptions(),
            false => Schedule::Random,
        };
        Config {
            memory_model: if self.tso { MemoryModel::Tso } else { MemoryModel::Sc },
            fault: self.plant,
            events_max: explored::events_max(plan),
            ..explored::config(schedule, self.seed)
        }
    }
}

fn counters(snapshot_reads: bool) -> CountersOptions {
    CountersOptions { snapshot_reads, ..CountersOptions::default() }
}

fn by_column(snapshot_reads: bool) -> ByColumnOptions {
    ByColumnOptions { snapshot_reads, ..ByColumnOptions::default() }
}
