//! The flags of transactions that are ordered tasks.

use chiliad_driver::{Form, OrderedOptions, is_ordered};
use chiliad_engine::Info;
use chiliad_host::Stop;
use chiliad_lab::spec::Units;
use chiliad_simulator::{Aborts, Canary, CommitEntry, Place, SetKind, TaskOptions};
use chiliad_words::value::Words;
use chiliad_words::{Typed, flags, take};
use chiliad_workload::tasks::{GraphOptions, SCAN_PARTITIONS_MAX, TaskLogOptions};

flags! {
    /// What ordered tasks have; of other schemes nobody may say it.
    TaskFlags {
        /// What is a task under swarm: a transaction, or a step of one, for which the workload must have a graph
        /// [default: fine where it has].
        tasks: one_of(FORMS, Form),
        /// Steps that several others lead to are begun by the last of them under swarm, as a counter tells, instead of by one
        /// of them, ahead of its turn [default: no].
        joins: yes_no(),
        /// Tasks that a scan of tpce is divided into under swarm, 1 to 64 [default: 16].
        scan_partitions: small(1, SCAN_PARTITIONS_MAX),
        /// What tasks write is logged under swarm, by tasks of their own [default: no].
        task_log: yes_no(),
        /// How the lines are kept under swarm that a task has accessed [default: bloom].
        sets: one_of(SETS, SetKind),
        /// Which tasks an abort takes along under swarm [default: selective].
        aborts: one_of(ABORTS, Aborts),
        /// The tile that a task goes to under swarm [default: random].
        place: one_of(PLACES, Place),
        /// What a canary stands for under swarm: the lines of a set of the second cache, or one line [default: set].
        canary: one_of(CANARIES, Canary),
        /// When a task takes its entry of the commit queue under swarm [default: finish].
        commit_entry: one_of(ENTRIES, CommitEntry),
        /// Entries of a tile's task queue under swarm for each core, 1 to 1024 [default: as the machine's description says].
        task_queue: small(1, 1024),
        /// Entries of a tile's commit queue under swarm for each core, 1 to 128 [default: as the description says].
        commit_queue: small(1, 128),
        /// Cycles between two updates of the global virtual time under swarm, 1 to 1000000 [default: as the description says].
        gvt_period: small(1, 1_000_000),
    }
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
    pub fn options(flags: &Typed<Self>, scheme: &Info) -> Result<OrderedOptions, Stop> {
        if let Some(flag) = flags.first().filter(|_| !is_ordered(scheme)) {
            let problem =
                format!("the scheme {} has no tasks; accepted: with --scheme swarm", scheme.name);
            return Err(Stop::bad(flag, problem));
        }
        let mut units = TaskOptions::default();
        take!(units, flags: sets, aborts, place, canary, commit_entry);
        let graph = GraphOptions {
            joins: flags.joins == Some(true),
            scan_partitions: flags.scan_partitions,
            task_log: (flags.task_log == Some(true)).then_some(TaskLogOptions { slots: None }),
        };
        Ok(OrderedOptions { form: flags.tasks, graph, units })
    }
}
