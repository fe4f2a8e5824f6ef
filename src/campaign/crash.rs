//! One case of the crash rig: a database that lives, crashes and recovers as its seed says.

use super::case::Shown;
use crate::bench;
use crate::failure::Stop;
use crate::plants;
use crate::settings::{self, promised_isolation, promises_serializability};
use chiliad_workload::driver::{CrashCase, Failure, WorkloadOptions, run_crash, schemes};
use chiliad_workload::micro::{BankOptions, ChurnOptions};
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::tatp::TatpOptions;
use chiliad_workload::tpcc::TpccOptions;
use chiliad_workload::txbench::TxbenchOptions;
use chiliad_workload::ycsb::YcsbOptions;

/// A database on a failing disk.
#[derive(Clone)]
pub struct Crash {
    /// The workload's name.
    pub workload: &'static str,
    /// The scheme of the first life; later ones may have another.
    pub scheme: &'static str,
    /// The seed.
    pub seed: u64,
    /// A planted bug.
    pub plant: Option<&'static str>,
}

impl Crash {
    /// What to type to run the case.
    pub fn line(&self) -> String {
        let Self { workload, scheme, seed, .. } = self;
        let end = seed + 1;
        let rest = match self.plant {
            Some(plant) => format!("--plant {plant}"),
            None => format!("--workload {workload}"),
        };
        format!("chiliad campaign --disk --seeds {seed}..{end} --scheme {scheme} {rest}")
    }

    /// Runs it.
    pub fn run(&self) -> Result<Shown, Stop> {
        let (workload, partitions) = self.workload();
        let others = schemes().iter().filter(|info| promises_serializability(info));
        let others = others.map(|info| info.name).filter(|name| *name != self.scheme);
        let isolation = promised_isolation(settings::scheme(self.scheme)?)?;
        let report = run_crash(&CrashCase {
            workload,
            partitions,
            schemes: std::iter::once(self.scheme).chain(others).collect(),
            isolation,
            seed: self.seed,
            fault: self.plant.map(plants::find).transpose()?,
        });
        if let Some(refused) = report.refused {
            return Err(bench::stop(Failure::Host(refused)));
        }
        let mut shown = Shown {
            marks: report.marks.iter().copied().collect::<Vec<_>>(),
            transactions: report.survivors + report.lost,
            events: report.events,
            ..Shown::default()
        };
        for (verdict, text) in report.verdicts.iter() {
            shown.add(verdict, text);
        }
        Ok(shown)
    }

    /// The workload in a size for simulation, with the partitions that it is divided into.
    fn workload(&self) -> (WorkloadOptions, u32) {
        match self.workload {
            "tpcc" => {
                let options = TpccOptions::micro();
                let partitions = options.warehouses;
                (WorkloadOptions::Tpcc(options), partitions)
            }
            "ycsb" => (WorkloadOptions::Ycsb(YcsbOptions::micro()), 1),
            "smallbank" => {
                let options = SmallbankOptions { partitions: 2, ..SmallbankOptions::micro() };
                let partitions = options.partitions;
                (WorkloadOptions::Smallbank(options), partitions)
            }
            "tatp" => {
                let options = TatpOptions { partitions: 2, ..TatpOptions::micro() };
                let partitions = options.partitions;
                (WorkloadOptions::Tatp(options), partitions)
            }
            "txbench" => {
                let options = TxbenchOptions { partitions: 2, ..TxbenchOptions::micro() };
                let partitions = options.partitions;
                (WorkloadOptions::Txbench(options), partitions)
            }
            "scan" => (WorkloadOptions::Churn(ChurnOptions::default()), 1),
            "hash" => {
                let options = ChurnOptions { hash: true, ..ChurnOptions::default() };
                (WorkloadOptions::Churn(options), 1)
            }
            _ => (WorkloadOptions::Bank(BankOptions::default()), 1),
        }
    }
}
