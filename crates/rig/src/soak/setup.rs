//! A cell with every default filled in.

use super::cell::{Cell, Load};
use chiliad_driver::{Length, MEMORY_READY, On, Plan, SimulatedPlan, explored, scheme, timed};
use chiliad_engine::{Error, Info, Options, Result};
use chiliad_machine::Fault;
use chiliad_simulator::{Config, Schedule};
use chiliad_workload::WorkloadOptions;
use chiliad_workload::micro::{BankOptions, InsertDeleteOptions};
use chiliad_workload::ycsb::YcsbOptions;
use std::time::Duration;

/// Cores, and clients, of a simulated cell.
const CORES: usize = 4;

/// The length of a simulated cell, and the time without a commit after which it fails. Simulated time: on a timed
/// machine a cycle is a nanosecond, and where events are drawn one event is a microsecond.
const TIMED: (Duration, Duration) = (Duration::from_millis(3), Duration::from_millis(3));
const EXPLORED: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(4));

/// The commit epoch of a timed cell.
const EPOCH_TIMED: Duration = Duration::from_micros(100);

/// A run, with every default filled in.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scheme.
    pub scheme: &'static Info,
    /// The workload.
    pub workload: WorkloadOptions,
    /// How the database is opened.
    pub engine: Options,
    /// The plan of the clients, and where they run.
    pub run: Run,
}

/// Where a cell's clients run.
#[derive(Clone, Debug)]
pub enum Run {
    /// On the host's cores.
    Native(Box<Plan>),
    /// On simulated ones.
    Simulated(Box<SimulatedPlan>),
}

impl Cell {
    /// Fills in every default.
    ///
    /// # Errors
    /// [`Error::InvalidOption`]: there is no scheme or no workload of this name.
    pub fn setup(
        &self,
        seed: u64,
        load: &Load<'_>,
        plant: Option<&'static Fault>,
    ) -> Result<Setup> {
        let scheme = scheme(self.scheme)?;
        let workload = self.workload(seed, scheme)?;
        let plan = self.plan(seed, load);
        let engine = Options {
            // As for a run of full scale, though there are few rows.
            memory_bytes_ready: match (self.on, self.workload) {
                (On::Native, "ycsb") => MEMORY_READY,
                _ => 0,
            },
            ..self.on.engine(Options::default(), scheme, &workload, &plan)
        };
        let config = match self.on {
            On::Native => {
                return Ok(Setup { scheme, workload, engine, run: Run::Native(Box::new(plan)) });
            }
            On::Explored => explored::config(Schedule::Random, seed),
            On::Timed => timed::config(load.machine.clone(), seed),
        };
        let config = Config { fault: plant, events_max: u64::MAX, ..config };
        let run = Run::Simulated(Box::new(SimulatedPlan { plan, config }));
        Ok(Setup { scheme, workload, engine, run })
    }

    /// The workload.
    fn workload(&self, seed: u64, scheme: &Info) -> Result<WorkloadOptions> {
        let snapshot_reads = scheme.snapshots;
        Ok(match self.workload {
            "scan" | "hash" => {
                let hash = self.workload == "hash";
                let options = InsertDeleteOptions { hash, snapshot_reads, ..Default::default() };
                WorkloadOptions::InsertDelete(options)
            }
            "bank" => {
                let options = BankOptions { snapshot_reads, ..Default::default() };
                WorkloadOptions::Bank(options)
            }
            "ycsb" => {
                let base = match self.on {
                    On::Explored => YcsbOptions::micro(),
                    On::Native | On::Timed => YcsbOptions::default(),
                };
                let (partitions, multi_partition) = match scheme.needs_partitions {
                    true => (4, 20.0),
                    false => (base.partitions, base.multi_partition),
                };
                let options = YcsbOptions {
                    records: 100,
                    record_bytes: 16,
                    ops: 8,
                    theta: 0.95,
                    rmw: true,
                    scan_ratio: 0.0,
                    hash: !(seed / 2).is_multiple_of(2),
                    partitions,
                    multi_partition,
                    ..base
                };
                WorkloadOptions::Ycsb(options)
            }
            other => return Err(Error::InvalidOption(format!("workload {other}: unknown"))),
        })
    }

    /// The plan of the clients.
    fn plan(&self, seed: u64, load: &Load<'_>) -> Plan {
        let (cores, clients) = match self.on {
            On::Native => (load.cores, load.cores * (1 + seed as usize % 2)),
            On::Timed | On::Explored => (CORES, CORES),
        };
        let (length, idle_max) = match self.on {
            On::Native => (load.length, load.idle_max),
            On::Timed => TIMED,
            On::Explored => EXPLORED,
        };
        let epoch = match self.on {
            On::Timed => EPOCH_TIMED,
            On::Native | On::Explored => self.on.epoch(),
        };
        Plan {
            interleave: self.interleave,
            cores,
            seed,
            idle_max: Some(idle_max),
            follow: self.on.follow(),
            ..Plan::new(clients, Length::Time(length), epoch)
        }
    }
}
