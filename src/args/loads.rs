//! From a workload's flags to the workload, with what its defaults depend on.

use super::scope::{Scope, WorkloadFlags};
use super::workloads::{
    BankFlags, BiddingFlags, ByColumnFlags, CountersFlags, HashFlags, InsertDeleteFlags, ScanFlags,
    SmallbankFlags, TatpFlags, TpcbSqlFlags, TpccFlags, TpccSqlFlags, TpceFlags, TxbenchFlags,
    YcsbFlags,
};
use chiliad_engine::IndexKind;
use chiliad_host::Stop;
use chiliad_lab::spec::Load;
use chiliad_words::take;
use chiliad_workload::WorkloadOptions;
use chiliad_workload::bidding::BiddingOptions;
use chiliad_workload::micro::{BankOptions, ByColumnOptions, CountersOptions, InsertDeleteOptions};
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::sql::tpcb::TpcbOptions;
use chiliad_workload::tatp::TatpOptions;
use chiliad_workload::tpcc::{Scale, TpccOptions};
use chiliad_workload::tpce::TpceOptions;
use chiliad_workload::txbench::TxbenchOptions;
use chiliad_workload::ycsb::YcsbOptions;
use std::path::Path;

/// A validation of the workload crate's own, as bad input.
fn valid(result: Result<(), String>) -> Result<(), Stop> {
    result.map_err(Stop::BadInput)
}

/// `--snapshot-reads`, which only a scheme with snapshots can do; `default` is for those.
fn snapshot_reads(flag: Option<bool>, default: bool, scope: &Scope) -> Result<bool, Stop> {
    match flag {
        None => Ok(default && scope.scheme.snapshots),
        Some(true) if !scope.scheme.snapshots => {
            let scheme = scope.scheme.name;
            let problem = format!("the scheme {scheme} has no snapshots; accepted: no");
            Err(Stop::bad("--snapshot-reads", problem))
        }
        Some(choice) => Ok(choice),
    }
}

/// `--scale`, micro in simulation unless told otherwise.
fn is_micro(scale: Option<bool>, scope: &Scope) -> bool {
    scale.unwrap_or(scope.explored())
}

/// `--partitions`: `wanted` where the scheme needs them, but no more than there may be.
fn partitions(flag: Option<u32>, wanted: usize, most: u32, scope: &Scope) -> u32 {
    match flag {
        Some(partitions) => partitions,
        None if scope.scheme.needs_partitions => {
            u32::try_from(wanted).unwrap_or(u32::MAX).min(most.max(1))
        }
        None => 1,
    }
}

impl WorkloadFlags for YcsbFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let mut options = if micro { YcsbOptions::micro() } else { YcsbOptions::default() };
        if self.lock_order {
            options.scan_ratio = 0.0;
        }
        take!(options, self: records, record_bytes, ops, read_ratio, theta, scramble, scan_ratio,
            scan_length, multi_partition, parts_per_txn);
        options.rmw |= self.rmw;
        options.key_order = self.lock_order;
        options.hash = self.index == Some(IndexKind::Hash);
        // A transaction finds all its records in one.
        let most = options.records / u64::try_from(options.ops).unwrap_or(1).max(1);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        options.partitions = partitions(self.partitions, scope.clients, most, scope);
        options.snapshot_reads =
            snapshot_reads(self.snapshot_reads, options.snapshot_reads, scope)?;
        valid(options.validate())?;
        if self.access && !scope.simulated() {
            let problem = "field on this machine, which reads whole rows; accepted: row";
            return Err(Stop::bad("--access", problem));
        }
        let kept = self.kept_bytes.or(self.access.then_some(FIELD_BYTES));
        Ok(Load {
            kept_payload: kept_bytes(kept, scope)?,
            field_access: self.access,
            ..Load::new(WorkloadOptions::Ycsb(options), micro)
        })
    }
}

/// What is kept of a row of which one field is accessed.
const FIELD_BYTES: usize = 104;

/// `--kept-bytes`, for simulated machines.
fn kept_bytes(flag: Option<usize>, scope: &Scope) -> Result<Option<usize>, Stop> {
    let Some(kept) = flag else { return Ok(None) };
    if !scope.simulated() {
        let problem = format!("{kept} on this machine, which keeps everything; accepted: simulate");
        return Err(Stop::bad("--kept-bytes", problem));
    }
    if kept % 8 != 0 {
        let problem = format!("{kept}; accepted: multiples of 8 from 16 to 4096");
        return Err(Stop::bad("--kept-bytes", problem));
    }
    Ok(flag)
}

impl WorkloadFlags for TpccFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let (options, micro) = self.options(scope)?;
        Ok(self.deferring(Load::new(WorkloadOptions::Tpcc(options), micro)))
    }

    fn deliveries(&self) -> Option<&Path> {
        self.deliveries.as_deref()
    }
}

impl WorkloadFlags for TpccSqlFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let (options, micro) = self.tpcc.options(scope)?;
        if self.tpcc.totals_apart == Some(true) {
            let problem = "yes: the statements have W_YTD and D_YTD in WAREHOUSE and DISTRICT";
            return Err(Stop::bad("--totals-apart", problem));
        }
        let options = TpccOptions { totals_apart: false, ..options };
        Ok(self.tpcc.deferring(Load::new(WorkloadOptions::TpccSql(options), micro)))
    }

    fn deliveries(&self) -> Option<&Path> {
        self.tpcc.deliveries()
    }
}

impl TpccFlags {
    /// This load, its deliveries run by whom the flags say.
    fn deferring(&self, load: Load) -> Load {
        let deferral_records = self.deliveries.is_some();
        Load { deferral: self.deferred, deferral_records, ..load }
    }

    /// The options, and whether they are those of a handful of rows.
    fn options(&self, scope: &Scope) -> Result<(TpccOptions, bool), Stop> {
        let small = if scope.explored() { Scale::Micro } else { Scale::Spec };
        let scale = self.scale.unwrap_or(small);
        let micro = scale == Scale::Micro;
        let apart = !scope.simulated() && !scope.scheme.needs_partitions;
        let warehouses = u32::try_from(scope.partners()).unwrap_or(u32::MAX);
        let options = TpccOptions {
            warehouses: self.warehouses.unwrap_or(warehouses),
            mix: self.mix,
            remote_item: self.remote_item.unwrap_or(if micro { 20.0 } else { 1.0 }),
            snapshot_reads: snapshot_reads(self.snapshot_reads, true, scope)?,
            scale,
            read_only_tables: self.read_only_tables,
            totals_apart: self.totals_apart.unwrap_or(apart),
            terminals: self.terminals,
        };
        valid(options.validate())?;
        Ok((options, micro))
    }
}

impl WorkloadFlags for SmallbankFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let mut options =
            if micro { SmallbankOptions::micro() } else { SmallbankOptions::default() };
        take!(options, self: accounts, hot_share, multi_partition);
        options.hot_accounts = options.hot_accounts.min(options.accounts);
        take!(options, self: hot_accounts);
        let most = options.accounts / 2;
        options.partitions = partitions(self.partitions, scope.clients, most, scope);
        options.snapshot_reads =
            snapshot_reads(self.snapshot_reads, options.snapshot_reads, scope)?;
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Smallbank(options), micro))
    }
}

impl WorkloadFlags for TatpFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let mut options = if micro { TatpOptions::micro() } else { TatpOptions::default() };
        take!(options, self: subscribers);
        options.mix = self.mix;
        let most = options.subscribers;
        options.partitions = partitions(self.partitions, scope.partners(), most, scope);
        options.snapshot_reads =
            snapshot_reads(self.snapshot_reads, options.snapshot_reads, scope)?;
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Tatp(options), micro))
    }
}

impl WorkloadFlags for TxbenchFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let mut options = if micro { TxbenchOptions::micro() } else { TxbenchOptions::default() };
        take!(options, self: rows, rows_read, updates, hotspot);
        let most = options.rows;
        options.partitions = partitions(self.partitions, scope.partners(), most, scope);
        options.snapshot_reads =
            snapshot_reads(self.snapshot_reads, options.snapshot_reads, scope)?;
        valid(options.validate())?;
        Ok(Load {
            kept_payload: kept_bytes(self.kept_bytes, scope)?,
            stalled_at: self.stalled_at,
            ..Load::new(WorkloadOptions::Txbench(options), micro)
        })
    }
}

impl WorkloadFlags for BiddingFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let mut options = if micro { BiddingOptions::micro() } else { BiddingOptions::default() };
        take!(options, self: users, products);
        let most = options.users.min(options.products);
        options.partitions = partitions(self.partitions, scope.clients, most, scope);
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Bidding(options), micro))
    }
}

impl WorkloadFlags for TpceFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let mut options = if micro { TpceOptions::micro() } else { TpceOptions::default() };
        take!(options, self: customers, trade_days);
        options.mix = self.mix;
        let most = options.partitions_max();
        options.partitions = partitions(self.partitions, scope.clients, most, scope);
        options.snapshot_reads =
            snapshot_reads(self.snapshot_reads, options.snapshot_reads, scope)?;
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Tpce(options), micro))
    }
}

impl WorkloadFlags for TpcbSqlFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let branches = u32::try_from(scope.partners()).unwrap_or(u32::MAX);
        let options = TpcbOptions {
            branches: self.branches.unwrap_or(branches),
            micro,
            snapshot_reads: snapshot_reads(self.snapshot_reads, true, scope)?,
        };
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::TpcbSql(options), micro))
    }
}

impl WorkloadFlags for ScanFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        insert_delete(&self.insert_delete, false, scope)
    }
}

impl WorkloadFlags for HashFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        insert_delete(&self.insert_delete, true, scope)
    }
}

fn insert_delete(flags: &InsertDeleteFlags, hash: bool, scope: &Scope) -> Result<Load, Stop> {
    let mut options = InsertDeleteOptions { hash, ..InsertDeleteOptions::default() };
    take!(options, flags: keys, slots, pairs, record_bytes);
    options.snapshot_reads = snapshot_reads(flags.snapshot_reads, true, scope)?;
    valid(options.validate())?;
    Ok(Load::new(WorkloadOptions::InsertDelete(options), false))
}

impl WorkloadFlags for BankFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let mut options = BankOptions::default();
        take!(options, self: accounts);
        options.cards = self.cards.unwrap_or(options.accounts.saturating_add(4));
        options.owners = self.owners.map_or(options.owners, |owners| owners as u16);
        options.snapshot_reads = snapshot_reads(self.snapshot_reads, true, scope)?;
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Bank(options), false))
    }
}

impl WorkloadFlags for CountersFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let mut options = CountersOptions::default();
        take!(options, self: counters);
        options.snapshot_reads = snapshot_reads(self.snapshot_reads, true, scope)?;
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Counters(options), false))
    }
}

impl WorkloadFlags for ByColumnFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let mut options = ByColumnOptions::default();
        take!(options, self: rows);
        options.snapshot_reads = snapshot_reads(self.snapshot_reads, true, scope)?;
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::ByColumn(options), false))
    }
}
