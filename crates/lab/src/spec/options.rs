//! The options of a run as results show them: every one that changes it, in a fixed order.

use super::database::supply_name;
use super::draw::DrawSpec;
use super::machine::{MachineSpec, Order};
use super::rolled::{certifier_name, group_name, level_name, premeld_name};
use super::run::{HostSpec, Place, RunSpec, Trials};
use super::units::{form_name, unit_names};
use chiliad_driver::{ClusterOptions, Durability, Length, Retry, is_ordered, shares_log};
use chiliad_host::values::show_time;
use chiliad_simulator::MemoryModel;
use chiliad_simulator::description::Coherence;
use chiliad_workload::WorkloadOptions;
use chiliad_workload::micro::{ByColumnOptions, CountersOptions};
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::tatp::{self, TatpOptions};
use chiliad_workload::tpcc::{Scale, TpccOptions};
use chiliad_workload::tpce::TpceOptions;
use chiliad_workload::txbench::TxbenchOptions;
use chiliad_workload::ycsb::YcsbOptions;
use serde_json::{Map, Value};

/// The options shown in results, in order.
pub type Shown = Map<String, Value>;

/// Yes or no, as results have it.
pub(crate) fn yes_no(is: bool) -> Value {
    if is { "yes" } else { "no" }.into()
}

fn put<const N: usize>(shown: &mut Shown, fields: [(&str, Value); N]) {
    for (name, value) in fields {
        shown.insert(name.into(), value);
    }
}

impl RunSpec {
    /// Every resolved option that changes the run.
    #[must_use]
    pub fn options(&self) -> Shown {
        let mut shown = Shown::new();
        shown.insert("scheme".into(), self.scheme.name.into());
        self.show_workload(&mut shown);
        self.show_run(&mut shown);
        if shares_log(self.scheme) {
            self.show_cluster(&mut shown);
        }
        if is_ordered(self.scheme) {
            shown.insert("tasks".into(), form_name(self.ordered.form(&self.workload)).into());
            put(&mut shown, unit_names(&self.ordered.units).map(|(name, is)| (name, is.into())));
            let graph = &self.ordered.graph;
            put(
                &mut shown,
                [
                    ("joins", yes_no(graph.joins)),
                    ("scan_partitions", graph.scan_partitions.into()),
                    ("task_log", yes_no(graph.task_log.is_some())),
                ],
            );
            let timed = self.machine().and_then(MachineSpec::timed);
            if let Some(units) = timed.and_then(|timed| timed.description.tasks) {
                put(
                    &mut shown,
                    [
                        ("task_queue", units.queue.into()),
                        ("commit_queue", units.commit_queue.into()),
                        ("gvt_period", units.gvt_period.into()),
                    ],
                );
            }
        }
        match &self.on {
            Place::Host(host) => self.show_host(host, &mut shown),
            Place::Simulated(machine) => {
                if self.plan.clients != self.plan.cores {
                    shown.insert("clients".into(), self.plan.clients.into());
                }
                show_machine(machine, self.plan.cores, &mut shown);
            }
        }
        shown
    }

    fn show_workload(&self, shown: &mut Shown) {
        let scale = if self.micro { "micro" } else { "spec" };
        match &self.workload {
            WorkloadOptions::Ycsb(options) => {
                shown.insert("scale".into(), scale.into());
                show_ycsb(options, shown);
                let access = if self.engine.field_access { "field" } else { "row" };
                put(
                    shown,
                    [("kept_bytes", self.engine.kept_payload.into()), ("access", access.into())],
                );
            }
            WorkloadOptions::Tpcc(options) | WorkloadOptions::TpccSql(options) => {
                show_tpcc(options, shown);
                shown.insert("deferred".into(), self.plan.deferral.name().into());
            }
            WorkloadOptions::Smallbank(options) => {
                shown.insert("scale".into(), scale.into());
                show_smallbank(options, shown);
            }
            WorkloadOptions::Tatp(options) => {
                shown.insert("scale".into(), scale.into());
                show_tatp(options, shown);
            }
            WorkloadOptions::Txbench(options) => {
                shown.insert("scale".into(), scale.into());
                self.show_txbench(options, shown);
            }
            WorkloadOptions::Bidding(options) => put(
                shown,
                [
                    ("scale", scale.into()),
                    ("users", options.users.into()),
                    ("products", options.products.into()),
                    ("partitions", options.partitions.into()),
                ],
            ),
            WorkloadOptions::Tpce(options) => {
                shown.insert("scale".into(), scale.into());
                show_tpce(options, shown);
            }
            WorkloadOptions::TpcbSql(options) => put(
                shown,
                [
                    ("scale", scale.into()),
                    ("branches", options.branches.into()),
                    ("snapshot_reads", yes_no(options.snapshot_reads)),
                ],
            ),
            WorkloadOptions::InsertDelete(options) => put(
                shown,
                [
                    ("keys", options.keys.into()),
                    ("slots", options.slots.into()),
                    ("pairs", options.pairs.into()),
                    ("record_bytes", options.record_bytes.into()),
                    ("snapshot_reads", yes_no(options.snapshot_reads)),
                ],
            ),
            WorkloadOptions::Bank(options) => put(
                shown,
                [
                    ("accounts", options.accounts.into()),
                    ("cards", options.cards.into()),
                    ("owners", options.owners.into()),
                    ("snapshot_reads", yes_no(options.snapshot_reads)),
                ],
            ),
            WorkloadOptions::Counters(options) => show_counters(options, shown),
            WorkloadOptions::ByColumn(options) => show_by_column(options, shown),
        }
    }

    fn show_txbench(&self, options: &TxbenchOptions, shown: &mut Shown) {
        put(
            shown,
            [
                ("rows", options.rows.into()),
                ("kept_bytes", self.engine.kept_payload.into()),
                ("rows_read", options.rows_read.into()),
                ("updates", options.updates.into()),
                ("hotspot", options.hotspot.into()),
                ("stalled_at", self.plan.stalled_at.map(show_time).into()),
                ("partitions", options.partitions.into()),
                ("snapshot_reads", yes_no(options.snapshot_reads)),
            ],
        );
    }

    fn show_run(&self, shown: &mut Shown) {
        let (plan, engine) = (&self.plan, &self.engine);
        let (duration, transactions) = match plan.length {
            Length::Time(time) => (Some(show_time(time)), None),
            Length::Transactions(number) => (None, Some(number)),
        };
        let ideal_memory = self.machine().is_some_and(|it| it.ideal_memory);
        let allocator = if ideal_memory { "ideal" } else { supply_name(engine.supply) };
        let retry = match plan.retry {
            Retry::Same => "same",
            Retry::New => "new",
        };
        put(
            shown,
            [
                ("interleave", plan.interleave.into()),
                ("duration", duration.into()),
                ("transactions", transactions.into()),
                ("warmup", show_time(plan.warmup).into()),
                ("seed", plan.seed.into()),
                ("repeat", self.repeat.into()),
                ("verify", self.verify.into()),
                ("verify_memory", self.verify_memory.into()),
                ("backoff", plan.backoff.name().into()),
                ("retry", retry.into()),
                ("snapshots", engine.snapshots.name().into()),
                ("timestamps", engine.timestamps.name().into()),
                ("timestamp_batch", engine.timestamp_batch.into()),
                ("latch", engine.mutex.name().into()),
                ("allocator", allocator.into()),
                ("epoch", show_time(plan.epoch).into()),
                ("wait_timeout", engine.wait_timeout.map(show_time).into()),
                ("locks_max", engine.locks_max.into()),
                ("deadlock_check", show_time(engine.deadlock_check).into()),
                ("snapshot_every", engine.snapshot_every.into()),
                ("opacity", engine.opacity.into()),
            ],
        );
        if let Some(transactions) = plan.epoch_transactions {
            put(shown, [("epoch_transactions", transactions.get().into())]);
        }
    }

    /// Of schemes under which servers share a log.
    fn show_cluster(&self, shown: &mut Shown) {
        let ClusterOptions { servers, roll, log_fails_one_in, append_latency } = &self.cluster;
        put(
            shown,
            [
                ("servers", (*servers).into()),
                ("certifier", certifier_name(roll.certifier).into()),
                ("premeld", premeld_name(roll.premeld).into()),
                ("group", group_name(roll.group).into()),
                ("isolation", level_name(roll.level).into()),
                ("pipeline", roll.pipeline.into()),
                ("append_latency", show_time(*append_latency).into()),
            ],
        );
        if let Some(shared) = self.shared_log() {
            put(
                shown,
                [
                    ("shared_log", shared.name.clone().into()),
                    ("processes", self.processes().into()),
                ],
            );
        }
        if self.machine().is_some() {
            shown.insert("log_faults".into(), (*log_fails_one_in).into());
        }
    }

    fn show_host(&self, host: &HostSpec, shown: &mut Shown) {
        let durability = match self.plan.durability {
            Durability::None => "none",
            Durability::Epoch => "epoch",
            Durability::Sync => "sync",
        };
        put(
            shown,
            [
                ("interleave_auto", (host.trials != Trials::None).into()),
                ("interleave_adaptive", self.plan.adaptive.into()),
                ("threads", self.plan.cores.into()),
                ("clients", self.plan.clients.into()),
                ("rate", self.plan.rate.into()),
                ("versions", self.plan.versions.into()),
                ("breakdown_cost", self.plan.following_cost.into()),
                ("durability", durability.into()),
            ],
        );
        if let Some(storage) = &host.storage {
            let every = match storage.options.checkpoint_log_bytes {
                u64::MAX => 0,
                bytes => bytes,
            };
            put(
                shown,
                [
                    ("log_writers", storage.options.log.writers.into()),
                    ("log_compress", storage.options.log.compress.into()),
                    ("checkpoint_every", every.into()),
                ],
            );
        }
        shown.insert("memory_ready".into(), self.engine.memory_bytes_ready.into());
    }
}

fn show_ycsb(options: &YcsbOptions, shown: &mut Shown) {
    put(
        shown,
        [
            ("records", options.records.into()),
            ("record_bytes", options.record_bytes.into()),
            ("ops", options.ops.into()),
            ("read_ratio", options.read_ratio.into()),
            ("rmw", options.rmw.into()),
            ("theta", options.theta.into()),
            ("scramble", yes_no(options.scramble)),
            ("scan_ratio", options.scan_ratio.into()),
            ("scan_length", options.scan_length.into()),
            ("partitions", options.partitions.into()),
            ("multi_partition", options.multi_partition.into()),
            ("parts_per_txn", options.parts_per_txn.into()),
            ("index", if options.hash { "hash" } else { "ordered" }.into()),
            ("snapshot_reads", yes_no(options.snapshot_reads)),
            ("lock_order", if options.key_order { "key" } else { "request" }.into()),
        ],
    );
}

fn show_counters(options: &CountersOptions, shown: &mut Shown) {
    let snapshot_reads = yes_no(options.snapshot_reads);
    put(shown, [("counters", options.counters.into()), ("snapshot_reads", snapshot_reads)]);
}

fn show_by_column(options: &ByColumnOptions, shown: &mut Shown) {
    let snapshot_reads = yes_no(options.snapshot_reads);
    put(shown, [("rows", options.rows.into()), ("snapshot_reads", snapshot_reads)]);
}

fn show_tpcc(options: &TpccOptions, shown: &mut Shown) {
    let scale = match options.scale {
        Scale::Micro => "micro",
        Scale::Small => "small",
        Scale::Spec => "spec",
    };
    put(
        shown,
        [
            ("scale", scale.into()),
            ("warehouses", options.warehouses.into()),
            ("mix", options.mix.name().into()),
            ("remote_item", options.remote_item.into()),
            ("snapshot_reads", yes_no(options.snapshot_reads)),
            ("read_only_tables", yes_no(options.read_only_tables)),
        ],
    );
    if options.totals_apart {
        put(shown, [("totals_apart", yes_no(true))]);
    }
    put(shown, [("terminals", options.terminals.name().into())]);
}

fn show_smallbank(options: &SmallbankOptions, shown: &mut Shown) {
    put(
        shown,
        [
            ("accounts", options.accounts.into()),
            ("hot_accounts", options.hot_accounts.into()),
            ("hot_share", options.hot_share.into()),
            ("partitions", options.partitions.into()),
            ("multi_partition", options.multi_partition.into()),
            ("snapshot_reads", yes_no(options.snapshot_reads)),
        ],
    );
}

fn show_tatp(options: &TatpOptions, shown: &mut Shown) {
    let mix = match options.mix {
        tatp::Mix::Standard => "standard",
        tatp::Mix::ReadOnly => "read-only",
        tatp::Mix::ReadUpdate => "read-update",
    };
    put(
        shown,
        [
            ("subscribers", options.subscribers.into()),
            ("mix", mix.into()),
            ("partitions", options.partitions.into()),
            ("snapshot_reads", yes_no(options.snapshot_reads)),
        ],
    );
}

fn show_tpce(options: &TpceOptions, shown: &mut Shown) {
    put(
        shown,
        [
            ("customers", options.customers.into()),
            ("trade_days", options.trade_days.into()),
            ("mix", options.mix.name().into()),
            ("partitions", options.partitions.into()),
            ("snapshot_reads", yes_no(options.snapshot_reads)),
        ],
    );
}

fn show_machine(machine: &MachineSpec, cores: usize, shown: &mut Shown) {
    if let Some(timed) = machine.timed() {
        let coherence = match timed.description.coherence {
            Coherence::Msi => "msi",
            Coherence::Mesi => "mesi",
        };
        put(
            shown,
            [
                ("machine", timed.description.name.clone().into()),
                ("coherence", coherence.into()),
                ("cost_scale", timed.price.name().into()),
            ],
        );
    }
    let schedule = match machine.order {
        Order::Timed(_) => "timed",
        Order::Random => "random",
        Order::FewPreemptions => "few-preemptions",
    };
    let memory_model = match machine.memory_model {
        MemoryModel::Sc => "sc",
        MemoryModel::Tso => "tso",
    };
    put(
        shown,
        [
            ("cores", cores.into()),
            ("schedule", schedule.into()),
            ("memory_model", memory_model.into()),
            ("plant", machine.fault.map(|fault| fault.name).into()),
        ],
    );
}

impl DrawSpec {
    /// Every resolved option that changes the run.
    #[must_use]
    pub fn options(&self) -> Shown {
        let (drawing, mut shown) = (&self.drawing, Shown::new());
        put(
            &mut shown,
            [
                ("timestamps", drawing.options.timestamps.name().into()),
                ("timestamp_batch", drawing.options.timestamp_batch.into()),
                ("latch", drawing.options.mutex.name().into()),
                ("duration", show_time(drawing.duration).into()),
                ("warmup", show_time(drawing.warmup).into()),
            ],
        );
        match &self.machine {
            None => put(
                &mut shown,
                [("threads", drawing.threads.into()), ("repeat", self.repeat.into())],
            ),
            Some(machine) => {
                put(&mut shown, [("seed", self.seed.into()), ("repeat", self.repeat.into())]);
                show_machine(machine, drawing.threads, &mut shown);
            }
        }
        shown
    }
}
