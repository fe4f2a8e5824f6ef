//! From a workload's flags to the workload, with what its defaults depend on.

use crate::args::{MixFlag, ScaleFlag, TpccFlags, YesNo, typed};
use crate::failure::Stop;
use crate::settings::{Scope, Shown};
use chiliad_workload::driver::AnyWorkload;
use chiliad_workload::tpcc::{Mix, Scale, TpccOptions};

/// A workload, resolved.
pub struct Resolved {
    /// The workload.
    pub workload: AnyWorkload,
    /// Partitions of the database.
    pub partitions: u32,
    /// Some of its transactions read snapshots of the past.
    pub reads_snapshots: bool,
}

/// The flags of a workload.
pub trait WorkloadFlags {
    /// Fills in the defaults and says in `shown` what was resolved.
    fn resolve(&self, scope: &Scope, shown: &mut Shown) -> Result<Resolved, Stop>;
}

/// A validation of the workload crate's own, as bad input.
fn valid(result: Result<(), String>) -> Result<(), Stop> {
    result.map_err(Stop::BadInput)
}

impl WorkloadFlags for TpccFlags {
    fn resolve(&self, scope: &Scope, shown: &mut Shown) -> Result<Resolved, Stop> {
        let scale = match self.scale {
            Some(ScaleFlag::Micro) => Scale::Micro,
            Some(ScaleFlag::Spec) => Scale::Spec,
            None if scope.simulated => Scale::Micro,
            None => Scale::Spec,
        };
        let micro = scale == Scale::Micro;
        let warehouses = self.warehouses.unwrap_or(if scope.simulated { 2 } else { scope.clients });
        let snapshot_reads = match self.snapshot_reads {
            None => scope.scheme.snapshots,
            Some(YesNo::No) => false,
            Some(YesNo::Yes) if scope.scheme.snapshots => true,
            Some(YesNo::Yes) => {
                let scheme = scope.scheme.name;
                let problem = format!("the scheme {scheme} has no snapshots; accepted: no");
                return Err(Stop::bad("--snapshot-reads", problem));
            }
        };
        let options = TpccOptions {
            warehouses: u32::try_from(warehouses).unwrap_or(u32::MAX),
            mix: match self.mix {
                MixFlag::Standard => Mix::Standard,
                MixFlag::Np => Mix::Np,
                MixFlag::NewOrder => Mix::NewOrder,
                MixFlag::Payment => Mix::Payment,
                MixFlag::NewOrderStockLevel => Mix::NewOrderStockLevel,
            },
            remote_item: self.remote_item.unwrap_or(if micro { 20.0 } else { 1.0 }),
            snapshot_reads,
            scale,
        };
        valid(options.validate())?;
        shown.insert("scale".into(), if micro { "micro" } else { "spec" }.into());
        shown.insert("warehouses".into(), warehouses.into());
        shown.insert("mix".into(), typed(&self.mix).into());
        shown.insert("remote_item".into(), options.remote_item.into());
        shown.insert("snapshot_reads".into(), if snapshot_reads { "yes" } else { "no" }.into());
        Ok(Resolved {
            partitions: options.warehouses,
            workload: AnyWorkload::Tpcc(options),
            reads_snapshots: snapshot_reads,
        })
    }
}
