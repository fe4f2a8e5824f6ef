//! What there is to run: every workload under every scheme, on both machines.
//!
//! Natively procedures are compiled once per scheme; in simulation once, over a virtual
//! transaction.

use super::Failure;
use super::target::{Bound, Natively, Target, Virtual};
use crate::Workload;
use crate::memory::Estimate;
use crate::micro::{Bank, BankOptions, Churn, ChurnOptions};
use crate::smallbank::{Smallbank, SmallbankOptions};
use crate::tatp::{Tatp, TatpOptions};
use crate::tpcc::{Tpcc, TpccOptions};
use crate::txbench::{Txbench, TxbenchOptions};
use crate::ycsb::{Ycsb, YcsbOptions};
use chiliad_engine::names::{self, NativeScheme, UnderNativeScheme, UnderScheme};
use chiliad_engine::{DurableOptions, Error, Info, Options, Scheme};
use chiliad_machine::disk::Disk;
use chiliad_machine::{Fault, Interleaved};
use chiliad_simulator::Sim;
use std::any::Any;
use std::sync::{Arc, LazyLock};

/// A workload with its options.
#[derive(Clone, Debug)]
pub enum AnyWorkload {
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

impl AnyWorkload {
    /// The workload itself, for a database that has its rows.
    pub(crate) fn make(&self) -> Result<Arc<dyn Any + Send + Sync>, Failure> {
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
        let specs = match self {
            Self::Tpcc(tpcc) => valid(Tpcc::new(tpcc.clone()))?.tables(),
            Self::Ycsb(ycsb) => valid(Ycsb::new(ycsb.clone()))?.tables(),
            Self::Smallbank(bank) => valid(Smallbank::new(bank.clone()))?.tables(),
            Self::Tatp(tatp) => valid(Tatp::new(tatp.clone()))?.tables(),
            Self::Txbench(txbench) => valid(Txbench::new(txbench.clone()))?.tables(),
            Self::Churn(churn) => valid(Churn::new(churn.clone()))?.tables(),
            Self::Bank(bank) => valid(Bank::new(bank.clone()))?.tables(),
        };
        Ok(specs.into_iter().map(|spec| spec.name).collect())
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
    workload: &AnyWorkload,
    options: Options,
    home: Option<Home>,
) -> Result<NativeTarget, Failure> {
    match workload {
        AnyWorkload::Tpcc(tpcc) => native(info, valid(Tpcc::new(tpcc.clone()))?, options, home),
        AnyWorkload::Ycsb(ycsb) => native(info, valid(Ycsb::new(ycsb.clone()))?, options, home),
        AnyWorkload::Smallbank(bank) => {
            native(info, valid(Smallbank::new(bank.clone()))?, options, home)
        }
        AnyWorkload::Tatp(tatp) => native(info, valid(Tatp::new(tatp.clone()))?, options, home),
        AnyWorkload::Txbench(txbench) => {
            native(info, valid(Txbench::new(txbench.clone()))?, options, home)
        }
        AnyWorkload::Churn(churn) => native(info, valid(Churn::new(churn.clone()))?, options, home),
        AnyWorkload::Bank(bank) => native(info, valid(Bank::new(bank.clone()))?, options, home),
    }
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
    workload: &AnyWorkload,
    options: Options,
) -> Result<Box<dyn Target>, Failure> {
    match workload {
        AnyWorkload::Tpcc(tpcc) => simulated(info, valid(Tpcc::new(tpcc.clone()))?, options),
        AnyWorkload::Ycsb(ycsb) => simulated(info, valid(Ycsb::new(ycsb.clone()))?, options),
        AnyWorkload::Smallbank(bank) => {
            simulated(info, valid(Smallbank::new(bank.clone()))?, options)
        }
        AnyWorkload::Tatp(tatp) => simulated(info, valid(Tatp::new(tatp.clone()))?, options),
        AnyWorkload::Txbench(txbench) => {
            simulated(info, valid(Txbench::new(txbench.clone()))?, options)
        }
        AnyWorkload::Churn(churn) => simulated(info, valid(Churn::new(churn.clone()))?, options),
        AnyWorkload::Bank(bank) => simulated(info, valid(Bank::new(bank.clone()))?, options),
    }
}

pub(super) fn valid<W>(workload: Result<W, String>) -> Result<W, Failure> {
    workload.map_err(|problem| Failure::Engine {
        doing: "making up the workload",
        error: Error::InvalidOption(problem),
    })
}

fn unknown(info: &Info) -> Failure {
    let error = Error::InvalidOption(format!("scheme {}: unknown", info.name));
    Failure::Engine { doing: "opening the database", error }
}

fn native<W: Workload>(
    info: &Info,
    workload: W,
    options: Options,
    home: Option<Home>,
) -> Result<NativeTarget, Failure> {
    let open = OpenNative { workload, options, home };
    names::under_native(info.name, open).unwrap_or_else(|| Err(unknown(info)))
}

struct OpenNative<W> {
    workload: W,
    options: Options,
    home: Option<Home>,
}

impl<W: Workload> UnderNativeScheme for OpenNative<W> {
    type Output = Result<NativeTarget, Failure>;

    fn run<S: NativeScheme>(self) -> Self::Output {
        let workload = Arc::new(self.workload);
        let target = match self.home {
            None => Bound::<Interleaved, S, W, Natively>::open(workload, self.options)?,
            Some(home) => Bound::open_on(workload, self.options, home.options, home.disk)?,
        };
        Ok(Box::new(target))
    }
}

fn simulated<W: Workload>(
    info: &Info,
    workload: W,
    options: Options,
) -> Result<Box<dyn Target>, Failure> {
    let open = OpenSimulated { workload, options };
    names::under::<Sim, _>(info.name, open).unwrap_or_else(|| Err(unknown(info)))
}

struct OpenSimulated<W> {
    workload: W,
    options: Options,
}

impl<W: Workload> UnderScheme<Sim> for OpenSimulated<W> {
    type Output = Result<Box<dyn Target>, Failure>;

    fn run<S: Scheme<Sim>>(self) -> Self::Output {
        let target = Bound::<Sim, S, W, Virtual>::open(Arc::new(self.workload), self.options)?;
        Ok(Box::new(target))
    }
}
