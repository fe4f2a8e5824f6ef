//! The choices that the caller of a run makes; the defaults of the others depend on where it runs.

use super::run::{HostSpec, Place, RunSpec, Trials};
use chiliad_driver::{
    Backoff, ClusterOptions, Deferral, Length, MEMORY_READY, On, OrderedOptions, Plan, Recording,
    Retry, explored, is_ordered, shares_log,
};
use chiliad_engine::{Info, Options, Snapshots, WORKERS_MAX};
use chiliad_host::limit;
use chiliad_machine::{MEMBERS_MAX, stacks_max};
use chiliad_workload::WorkloadOptions;
use std::time::Duration;

/// Natively measured time, and what comes before it.
const DURATION: Duration = Duration::from_secs(10);
const WARMUP: Duration = Duration::from_secs(2);

/// Transactions in flight for each native client.
const IN_FLIGHT: usize = 8;

/// The memory that a client of TPC-C at work on a core of its own fills with new rows and old versions in a second, in bytes,
/// and half as much again.
const GROWTH: u64 = 160 << 20;
/// The part of all memory that is made ready at most.
const READY_PART: u64 = 4;

/// The length of a timed window, and what comes before it.
const DURATION_TIMED: Duration = Duration::from_millis(1);
const WARMUP_TIMED: Duration = Duration::from_micros(200);

/// Transactions that each client of a timed run rehearses. Where servers share a log, those that share a core do together:
/// each is work for all servers.
const REHEARSALS: u32 = 64;

/// A workload, and what database and clients must know of it.
#[derive(Clone, Debug)]
pub struct Load {
    /// The workload.
    pub options: WorkloadOptions,
    /// It is one of a handful of rows.
    pub micro: bool,
    /// How much of each value exists, if not all of it.
    pub kept_payload: Option<usize>,
    /// Of rows, what is kept is accessed and nothing else.
    pub field_access: bool,
    /// When a transaction begins that stays open.
    pub stalled_at: Option<Duration>,
    /// Which client runs a request that may wait; `None`: the default of the scheme and the workload.
    pub deferral: Option<Deferral>,
    /// Keep a record of each one's result.
    pub deferral_records: bool,
}

/// Transactions that each client has in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InFlight {
    /// So many.
    Number(usize),
    /// As many as trials before the run say.
    Auto,
    /// As many as the clients find that pay, while they run.
    Adaptive,
}

/// A run as it was asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The scheme.
    pub scheme: &'static Info,
    /// The workload.
    pub load: Load,
    /// The place that it runs on.
    pub on: Place,
    /// Concurrent clients.
    pub clients: usize,
    /// Cores that they may run on.
    pub cores: usize,
    /// The seed.
    pub seed: u64,
    /// The measured window.
    pub length: Option<Length>,
    /// Time before it.
    pub warmup: Option<Duration>,
    /// Transactions in flight for each client.
    pub in_flight: Option<InFlight>,
    /// How long a refused transaction waits.
    pub backoff: Option<Backoff>,
    /// Whether it then runs the same request again.
    pub retry: Retry,
    /// When versions are kept.
    pub snapshots: Option<Snapshots>,
    /// The commit epoch.
    pub epoch: Option<Duration>,
    /// How long a transaction waits for a lock.
    pub wait_timeout: Option<Duration>,
    /// The other options of the engine; the fields above, and those that follow from workload and place, are filled
    /// in.
    pub engine: Options,
    /// The servers, where the scheme has some that share a log.
    pub cluster: ClusterOptions,
    /// Check the history and the conditions.
    pub verify: bool,
    /// Record the history, whether or not it is checked.
    pub recorded: bool,
    /// Memory for the history.
    pub verify_memory: u64,
    /// How often it runs.
    pub repeat: usize,
}

/// Which client runs a request that may wait when nobody has said so: its owner; the client that makes it up, where servers
/// share only the log, where the scheme has no clients, and where the workload has no such requests.
fn default_deferral(scheme: &Info, workload: &WorkloadOptions) -> Deferral {
    match shares_log(scheme) || is_ordered(scheme) || !workload.defers() {
        true => Deferral::Inline,
        false => Deferral::Owner,
    }
}

impl Load {
    /// A workload all of whose rows exist, with nothing that stalls.
    #[must_use]
    pub fn new(options: WorkloadOptions, micro: bool) -> Self {
        Self {
            options,
            micro,
            kept_payload: None,
            field_access: false,
            stalled_at: None,
            deferral: None,
            deferral_records: false,
        }
    }
}

impl Asked {
    /// Fills in every default.
    #[must_use]
    pub fn resolve(self) -> RunSpec {
        let plan = self.plan();
        let engine = self.engine(&plan);
        let mut on = self.on;
        if let (Place::Host(host), Some(InFlight::Auto)) = (&mut on, self.in_flight) {
            *host = HostSpec { trials: Trials::Ahead, ..host.clone() };
        }
        let mut spec = RunSpec {
            scheme: self.scheme,
            workload: self.load.options,
            micro: self.load.micro,
            engine,
            cluster: self.cluster,
            ordered: OrderedOptions::default(),
            plan,
            on,
            verify: self.verify,
            verify_memory: self.verify_memory,
            repeat: self.repeat,
        };
        if spec.machine().is_none() && spec.has_full_scale() {
            spec.engine.memory_bytes_ready = memory_ready(&spec.workload, &spec.plan);
        }
        spec
    }

    fn engine(&self, plan: &Plan) -> Options {
        let base =
            self.on.kind().engine(self.engine.clone(), self.scheme, &self.load.options, plan);
        Options {
            snapshots: self.snapshots.unwrap_or(base.snapshots),
            wait_timeout: self.wait_timeout.or(base.wait_timeout),
            kept_payload: self.load.kept_payload,
            field_access: self.load.field_access,
            ..base
        }
    }

    /// Transactions in flight for each client: the most, where that is left to the clients.
    fn interleave(&self) -> usize {
        match self.in_flight {
            Some(InFlight::Number(number)) => number,
            // The trials say.
            Some(InFlight::Auto) => 1,
            None if self.on.kind() != On::Native => 1,
            // Fewer where there are not enough workers, or no room for so many stacks.
            Some(InFlight::Adaptive) | None => {
                let most = IN_FLIGHT.min(MEMBERS_MAX);
                most.min(WORKERS_MAX / self.clients).min(stacks_max() / self.clients).max(1)
            }
        }
    }

    fn plan(&self) -> Plan {
        let on = self.on.kind();
        let interleave = self.interleave();
        let length = self.length.unwrap_or(match on {
            On::Native => Length::Time(DURATION),
            On::Timed => Length::Time(DURATION_TIMED),
            On::Explored => Length::Transactions(
                explored::TRANSACTIONS_PER_WORKER * (self.clients * interleave) as u64,
            ),
        });
        let warmup = match (on, length) {
            (On::Timed, _) => WARMUP_TIMED,
            (On::Native, Length::Time(_)) => WARMUP,
            _ => Duration::ZERO,
        };
        let recorded = self.verify || self.recorded;
        let left_to_clients = matches!(self.in_flight, None | Some(InFlight::Adaptive));
        Plan {
            interleave,
            adaptive: on == On::Native && left_to_clients,
            cores: self.cores,
            seed: self.seed,
            warmup: self.warmup.unwrap_or(warmup),
            backoff: self.backoff.unwrap_or(match on {
                On::Timed => Backoff::None,
                On::Native | On::Explored => Backoff::Exponential,
            }),
            retry: self.retry,
            recording: recorded.then_some(Recording { memory_bytes_max: self.verify_memory }),
            // Without transactions there is no state between them that conditions could speak of.
            conditions: self.verify && self.scheme.has_transactions(),
            rehearsals: match on {
                On::Timed if shares_log(self.scheme) => REHEARSALS.div_ceil(interleave as u32),
                On::Timed => REHEARSALS,
                On::Native | On::Explored => 0,
            },
            stalled_at: self.load.stalled_at,
            deferral: self
                .load
                .deferral
                .unwrap_or_else(|| default_deferral(self.scheme, &self.load.options)),
            deferral_records: self.load.deferral_records,
            follow: on.follow(),
            ..Plan::new(self.clients, length, self.epoch.unwrap_or(on.epoch()))
        }
    }
}

/// Memory that is made ready for a native run: enough for the rows that it inserts and the versions that it keeps, but not
/// all that there is.
fn memory_ready(workload: &WorkloadOptions, plan: &Plan) -> u64 {
    let grows = matches!(workload, WorkloadOptions::Tpcc(_) | WorkloadOptions::TpccSql(_));
    let grown = match plan.length {
        Length::Time(time) if grows => {
            let seconds = (plan.warmup + time).as_secs() + 1;
            GROWTH.saturating_mul(plan.clients.min(plan.cores) as u64).saturating_mul(seconds)
        }
        _ => 0,
    };
    grown.min(limit::memory_bytes() / READY_PART).max(MEMORY_READY)
}
