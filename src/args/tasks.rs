//! The flags of transactions that are ordered tasks.

use chiliad_driver::{Form, OrderedOptions, is_ordered};
use chiliad_engine::Info;
use chiliad_host::Stop;
use chiliad_lab::spec::Units;
use chiliad_simulator::{Aborts, Canary, CommitEntry, Place, SetKind, TaskOptions};
use chiliad_words::value::{Words, choice, small, yes_no};
use chiliad_workload::tasks::{GraphOptions, SCAN_PARTITIONS_MAX, TaskLogOptions};
use clap::Args;

/// What ordered tasks have; of other schemes nobody may say it.
#[derive(Args)]
pub struct TaskFlags {
    /// What is a task under swarm: a transaction, or a step of one, for which the workload must have a graph
    /// [default: fine where it has].
    #[arg(long, value_name = "FORM", value_parser = choice(FORMS))]
    pub tasks: Option<Form>,
    /// Steps that several others lead to are begun by the last of them under swarm, as a counter tells, instead of by one
    /// of them, ahead of its turn [default: no].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub joins: Option<bool>,
    /// Tasks that a scan of tpce is divided into under swarm, 1 to 64 [default: 16].
    #[arg(long, value_name = "K", value_parser = small(1, SCAN_PARTITIONS_MAX))]
    pub scan_partitions: Option<u32>,
    /// What tasks write is logged under swarm, by tasks of their own [default: no].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub task_log: Option<bool>,
    /// How the lines are kept under swarm that a task has accessed [default: bloom].
    #[arg(long, value_name = "KIND", value_parser = choice(SETS))]
    pub sets: Option<SetKind>,
    /// Which tasks an abort takes along under swarm [default: selective].
    #[arg(long, value_name = "WHICH", value_parser = choice(ABORTS))]
    pub aborts: Option<Aborts>,
    /// The tile that a task goes to under swarm [default: random].
    #[arg(long, value_name = "WHERE", value_parser = choice(PLACES))]
    pub place: Option<Place>,
    /// What a canary stands for under swarm: the lines of a set of the second cache, or one line [default: set].
    #[arg(long, value_name = "OF", value_parser = choice(CANARIES))]
    pub canary: Option<Canary>,
    /// When a task takes its entry of the commit queue under swarm [default: finish].
    #[arg(long, value_name = "WHEN", value_parser = choice(ENTRIES))]
    pub commit_entry: Option<CommitEntry>,
    /// Entries of a tile's task queue under swarm for each core, 1 to 1024 [default: as the machine's description says].
    #[arg(long, value_name = "N", value_parser = small(1, 1024))]
    pub task_queue: Option<u32>,
    /// Entries of a tile's commit queue under swarm for each core, 1 to 128 [default: as the description says].
    #[arg(long, value_name = "N", value_parser = small(1, 128))]
    pub commit_queue: Option<u32>,
    /// Cycles between two updates of the global virtual time under swarm, 1 to 1000000 [default: as the description says].
    #[arg(long, value_name = "CYCLES", value_parser = small(1, 1_000_000))]
    pub gvt_period: Option<u32>,
}

/// `--tasks`.
const FORMS: &Words<Form> =
    &[("one", Form::One, "A transaction"), ("fine", Form::Fine, "A step of a transaction")];

/// `--sets`.
const SETS: &Words<SetKind> = &[
    ("bloom", SetKind::Bloom, "In Bloom filters"),
    ("precise", SetKind::Precise, "As they are, as if there were room"),
];

/// `--aborts`.
const ABORTS: &Words<Aborts> = &[
    ("selective", Aborts::Selective, "Those that depend on what is undone"),
    ("all", Aborts::All, "Every later one"),
];

/// `--place`.
const PLACES: &Words<Place> = &[
    ("random", Place::Random, "Any"),
    ("hint", Place::Hint, "That of its hint: of the row that it is about"),
];

/// `--canary`.
const CANARIES: &Words<Canary> =
    &[("set", Canary::Set, "The lines of a set"), ("line", Canary::Line, "One line")];

/// `--commit-entry`.
const ENTRIES: &Words<CommitEntry> = &[
    ("finish", CommitEntry::Finish, "When it finishes"),
    ("dequeue", CommitEntry::Dequeue, "When it begins"),
];

impl TaskFlags {
    /// Numbers in the place of those of the machine's description.
    pub fn units(&self) -> Units {
        let Self { task_queue: queue, commit_queue, gvt_period, .. } = *self;
        Units { queue, commit_queue, gvt_period }
    }

    /// How transactions are tasks.
    pub fn options(&self, scheme: &Info) -> Result<OrderedOptions, Stop> {
        let given = [
            ("--tasks", self.tasks.is_some()),
            ("--joins", self.joins.is_some()),
            ("--scan-partitions", self.scan_partitions.is_some()),
            ("--task-log", self.task_log.is_some()),
            ("--sets", self.sets.is_some()),
            ("--aborts", self.aborts.is_some()),
            ("--place", self.place.is_some()),
            ("--canary", self.canary.is_some()),
            ("--commit-entry", self.commit_entry.is_some()),
            ("--task-queue", self.task_queue.is_some()),
            ("--commit-queue", self.commit_queue.is_some()),
            ("--gvt-period", self.gvt_period.is_some()),
        ];
        let first = given.into_iter().find(|(_, given)| *given);
        if let Some((flag, _)) = first.filter(|_| !is_ordered(scheme)) {
            let problem =
                format!("the scheme {} has no tasks; accepted: with --scheme swarm", scheme.name);
            return Err(Stop::bad(flag, problem));
        }
        let base = TaskOptions::default();
        let units = TaskOptions {
            sets: self.sets.unwrap_or(base.sets),
            aborts: self.aborts.unwrap_or(base.aborts),
            place: self.place.unwrap_or(base.place),
            canary: self.canary.unwrap_or(base.canary),
            commit_entry: self.commit_entry.unwrap_or(base.commit_entry),
            ..base
        };
        let graph = GraphOptions {
            joins: self.joins == Some(true),
            scan_partitions: self.scan_partitions,
            task_log: (self.task_log == Some(true)).then_some(TaskLogOptions { slots: None }),
        };
        Ok(OrderedOptions { form: self.tasks, graph, units })
    }
}
