//! What there is to run: every workload under every scheme, on both machines.
//!
//! Each pair of a scheme and a machine is compiled once, whatever the workload: see [`chiliad_engine::any`].

use super::Failure;
use super::target::{Bound, Target};
use crate::AnyWorkload;
use crate::memory::Estimate;
use crate::micro::{Bank, BankOptions, Churn, ChurnOptions};
use crate::smallbank::{Smallbank, SmallbankOptions};
use crate::tatp::{Tatp, TatpOptions};
use crate::tpcc::{Tpcc, TpccOptions};
use crate::txbench::{Txbench, TxbenchOptions};
use crate::ycsb::{Ycsb, YcsbOptions};
use chiliad_engine::any::{self, Place};
use chiliad_engine::{Alone, DurableOptions, Error, Info, Mode, Options, names};
use chiliad_machine::disk::Disk;
use chiliad_machine::{Fault, Interleaved};
use chiliad_simulator::Sim;
use std::sync::{Arc, LazyLock};

/// A workload with its options.
#[derive(Clone, Debug)]
pub enum WorkloadOptions {
    /// TPC-C.
    Tpcc(TpccOptions),
    /// YCSB.
    Ycsb(YcsbOptions),
    /// SmallBank.
    Smallbank(SmallbankOptions),
    /// TATP.
    Tatp(TatpOptions),
    /// TxBench.
    Txbench(TxbenchOptions),
    /// Rows that come and go.
    Churn(ChurnOptions),
    /// Accounts with secondary indexes.
    Bank(BankOptions),
}

impl WorkloadOptions {
    /// The workload itself.
    ///
    /// # Errors
    /// Those of its options.
    pub(crate) fn make(&self) -> Result<Arc<dyn AnyWorkload>, Failure> {
        Ok(match self {
            Self::Tpcc(tpcc) => Arc::new(valid(Tpcc::new(tpcc.clone()))?),
            Self::Ycsb(ycsb) => Arc::new(valid(Ycsb::new(ycsb.clone()))?),
            Self::Smallbank(bank) => Arc::new(valid(Smallbank::new(bank.clone()))?),
            Self::Tatp(tatp) => Arc::new(valid(Tatp::new(tatp.clone()))?),
            Self::Txbench(txbench) => Arc::new(valid(Txbench::new(txbench.clone()))?),
            Self::Churn(churn) => Arc::new(valid(Churn::new(churn.clone()))?),
            Self::Bank(bank) => Arc::new(valid(Bank::new(bank.clone()))?),
        })
    }

    /// The names of its tables.
    ///
    /// # Errors
    /// Those of the workload's options.
    pub fn tables(&self) -> Result<Vec<String>, Failure> {
        Ok(self.make()?.tables().into_iter().map(|spec| spec.name).collect())
    }

    /// About what its rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        match self {
            Self::Tpcc(tpcc) => tpcc.memory(kept),
            Self::Ycsb(ycsb) => ycsb.memory(kept),
            Self::Smallbank(bank) => bank.memory(kept),
            Self::Tatp(tatp) => tatp.memory(kept),
            Self::Txbench(txbench) => txbench.memory(kept),
            Self::Churn(churn) => churn.memory(kept),
            Self::Bank(bank) => bank.memory(kept),
        }
    }
}

/// All schemes, in the order of reports.
#[must_use]
pub fn schemes() -> &'static [Info] {
    static SCHEMES: LazyLock<Vec<Info>> = LazyLock::new(names::all::<Interleaved>);
    &SCHEMES
}

/// All planted bugs of this build.
#[must_use]
pub fn faults() -> Vec<&'static Fault> {
    use chiliad_storage::index::{hash, ordered};
    let indexes = ordered::faults::FAULTS.iter().chain(hash::faults::FAULTS);
    let below =
        chiliad_storage::FAULTS.iter().chain(chiliad_machine::FAULTS).chain(chiliad_lock::FAULTS);
    let own = super::backoff::FAULTS;
    chiliad_engine::faults().chain(indexes.chain(below).chain(own).copied()).collect()
}

/// A native database, to be shared by threads.
pub type NativeTarget = Box<dyn Target + Send + Sync>;

/// Opens a native database with the tables of `workload` under the scheme `info`, in memory or with
/// a log.
///
/// # Errors
/// Those of the engine and of the workload's options.
pub fn open_native(
    info: &Info,
    workload: &WorkloadOptions,
    options: Options,
    home: Option<Home>,
) -> Result<NativeTarget, Failure> {
    let workload = workload.make()?;
    let place = home.map(|home| Place {
        disk: home.disk,
        mode: Mode::Write,
        durable: home.options,
        host: &Alone,
    });
    let opened = any::open_native(info.name, options, place);
    let opened = opened.map_err(Failure::doing("opening the database"))?;
    Ok(Box::new(Bound::new(workload, opened)?))
}

/// Where a native run with a log keeps it.
pub struct Home {
    /// Empty.
    pub disk: Arc<dyn Disk>,
    /// How it is used.
    pub options: DurableOptions,
}

/// Opens a database on the current simulated run with the tables of `workload` under the scheme
/// `info`.
///
/// # Errors
/// Those of the engine and of the workload's options.
pub fn open_simulated(
    info: &Info,
    workload: &WorkloadOptions,
    options: Options,
) -> Result<Box<dyn Target>, Failure> {
    let workload = workload.make()?;
    let opened = any::open::<Sim>(info.name, options, None);
    let opened = opened.map_err(Failure::doing("opening the database"))?;
    Ok(Box::new(Bound::new(workload, opened)?))
}

fn valid<W>(workload: Result<W, String>) -> Result<W, Failure> {
    workload.map_err(|problem| Failure::Engine {
        doing: "making up the workload",
        error: Error::InvalidOption(problem),
    })
}
