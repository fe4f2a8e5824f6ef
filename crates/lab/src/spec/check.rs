//! Refuses combinations that make no sense, and runs that do not fit this computer.

use super::rolled::{certifier_name, group_name, premeld_name};
use super::run::{Place, RunSpec, Trials};
use chiliad_driver::{
    Certifier, Deferral, Group, Length, Plan, Premeld, RollOptions, is_ordered, shares_log,
};
use chiliad_engine::{LogOptions, Options};
use chiliad_host::values::show_time;
use chiliad_host::{Stop, limit};
use chiliad_machine::MEMBERS_MAX;
use chiliad_workload::WorkloadOptions;

impl RunSpec {
    /// Refuses what makes no sense together, or does not fit this computer.
    ///
    /// # Errors
    /// Bad input: the flag that is wrong, and what is accepted.
    pub fn check(&self) -> Result<(), Stop> {
        self.check_ordered()?;
        self.check_sharing()?;
        self.check_home()?;
        self.check_cluster()?;
        self.check_shared_log()?;
        self.check_stalled()?;
        self.check_deferral()?;
        self.check_fit()?;
        self.check_trials()
    }

    /// Refuses what a shared log in a directory does not have.
    fn check_home(&self) -> Result<(), Stop> {
        let Some(storage) = self.storage().filter(|_| shares_log(self.scheme)) else {
            return Ok(());
        };
        let (flag, accepted) = match storage.options.log {
            LogOptions { compress: true, .. } => ("--log-compress", "without it"),
            LogOptions { writers: 1, .. } => return Ok(()),
            _ => ("--log-writers", "1"),
        };
        let scheme = self.scheme.name;
        let problem =
            format!("not under {scheme}, whose log is a shared one; accepted: {accepted}");
        Err(Stop::bad(flag, problem))
    }

    /// Refuses what a log that stays does not allow, or servers that are processes.
    fn check_shared_log(&self) -> Result<(), Stop> {
        if self.shared_log().is_none() {
            return Ok(());
        }
        let bad = |flag, problem: &str| Err(Stop::bad(flag, problem));
        if self.storage().is_some() {
            return bad(
                "--durability",
                "with --shared-log, which is durable as it is; accepted: none",
            );
        }
        if self.repeat > 1 {
            return bad(
                "--repeat",
                "with --shared-log, which has the rows of the first run; accepted: 1",
            );
        }
        if self.trials() == Trials::Ahead {
            let problem = format!(
                "auto with --shared-log: trials before the run write to it; accepted: 1 to {MEMBERS_MAX}"
            );
            return bad("--interleave", &problem);
        }
        let (processes, clients) = (self.processes(), self.plan.clients);
        if processes == 1 {
            return Ok(());
        }
        if clients < processes {
            let problem =
                format!("{clients} for {processes} servers; accepted: {processes} or more");
            return bad("--clients", &problem);
        }
        let of_one = [
            ("--series", self.plan.series),
            ("--versions", self.plan.versions),
            ("--breakdown-cost", self.plan.following_cost),
            ("--stalled-at", self.plan.stalled_at.is_some()),
        ];
        match of_one.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => bad(flag, "with servers that are processes; accepted: without it"),
            None => Ok(()),
        }
    }

    /// Refuses ways to roll a log forward that are there for another certifier.
    fn check_cluster(&self) -> Result<(), Stop> {
        let RollOptions { certifier, premeld, group, .. } = self.cluster.roll;
        let (flag, word) = match (premeld, group) {
            _ if certifier == Certifier::Meld => return Ok(()),
            (Premeld::Off, Group::Off) => return Ok(()),
            (Premeld::Off, group) => ("--group", group_name(group).to_owned()),
            (premeld, _) => ("--premeld", premeld_name(premeld)),
        };
        let certifier = certifier_name(certifier);
        let problem =
            format!("{word} with --certifier {certifier}; accepted: off, or --certifier meld");
        Err(Stop::bad(flag, problem))
    }

    /// Refuses clients that would share simulated cores where nothing could take turns, or too much would.
    fn check_sharing(&self) -> Result<(), Stop> {
        let (cores, clients) = (self.plan.cores, self.plan.clients);
        let Some(machine) = self.machine().filter(|_| clients > cores) else { return Ok(()) };
        let problem = if self.cluster.servers > 1 {
            format!("{clients} on {cores} cores with --servers; accepted: 1 to {cores}")
        } else if machine.timed().is_none() {
            format!(
                "{clients} on {cores} cores without time; accepted: 1 to {cores}, or --schedule timed"
            )
        } else if self.plan.interleave > 1 {
            format!(
                "{clients} on {cores} cores with --interleave; accepted: 1 to {cores}, or --interleave 1"
            )
        } else {
            return Ok(());
        };
        Err(Stop::bad("--clients", problem))
    }

    /// Refuses a transaction that stalls where nothing ends the run before it, or nothing comes after its begin.
    fn check_stalled(&self) -> Result<(), Stop> {
        let Some(stalled_at) = self.plan.stalled_at else { return Ok(()) };
        let shown = show_time(stalled_at);
        let problem = match self.plan.length {
            Length::Time(time) if stalled_at < time => return Ok(()),
            Length::Time(time) => {
                let time = show_time(time);
                format!("{shown} of a window of {time}; accepted: less than --duration")
            }
            Length::Transactions(_) => {
                format!(
                    "{shown} with a number of transactions, of which some may wait for it; accepted: with --duration"
                )
            }
        };
        Err(Stop::bad("--stalled-at", problem))
    }

    /// Refuses queues where clients have no memory in common, or where there are no clients; and records of requests that
    /// are not queued.
    fn check_deferral(&self) -> Result<(), Stop> {
        let apart = self.machine().is_some() && self.cluster.servers > 1 || self.processes() > 1;
        let bad = |flag, problem: String| Err(Stop::bad(flag, problem));
        match self.plan.deferral {
            Deferral::Inline if self.plan.deferral_records => bad(
                "--deliveries",
                "a file with --deferred inline, where none is queued; accepted: with --deferred owner".into(),
            ),
            Deferral::Owner if is_ordered(self.scheme) => bad(
                "--deferred",
                format!("owner with --scheme {}, which has no clients; accepted: inline", self.scheme.name),
            ),
            Deferral::Owner if apart => bad(
                "--deferred",
                "owner with servers that have no memory in common; accepted: inline".into(),
            ),
            Deferral::Inline | Deferral::Owner => Ok(()),
        }
    }

    /// Refuses trials to runs that they would spoil: no recorder has what they write, and the log's writers
    /// would end with the first.
    fn check_trials(&self) -> Result<(), Stop> {
        let why = if self.trials() != Trials::Ahead {
            return Ok(());
        } else if self.verify {
            "--verify: trials before the run write rows that its history does not have"
        } else if self.plan.recording.is_some() {
            "--history: trials before the run write rows that its history does not have"
        } else if self.storage().is_some() {
            "--durability: trials before the run have no log"
        } else {
            return Ok(());
        };
        Err(Stop::bad("--interleave", format!("auto with {why}; accepted: 1 to {MEMBERS_MAX}")))
    }

    /// Refuses what does not fit this computer.
    fn check_fit(&self) -> Result<(), Stop> {
        match &self.on {
            Place::Host(_) => Self::check_native_fit(&self.workload, &self.engine, &self.plan),
            Place::Simulated(machine) => {
                let rows = self.workload.memory(self.engine.kept_payload);
                // The record of accessible words takes half as much again.
                let watched = if machine.timed().is_some() { 0 } else { rows.bytes / 2 };
                limit::check_memory(rows.flag, rows.bytes.saturating_add(watched))
            }
        }
    }

    /// Refuses the parts of a native run that do not fit this computer.
    ///
    /// # Errors
    /// Bad input: the flag that asks for too much, and what fits.
    pub fn check_native_fit(
        workload: &WorkloadOptions,
        engine: &Options,
        plan: &Plan,
    ) -> Result<(), Stop> {
        limit::check_memory("--memory-ready", engine.memory_bytes_ready)?;
        let rows = workload.memory(None);
        limit::check_memory(rows.flag, rows.bytes)?;
        let stacks = if plan.interleave > 1 { plan.interleave } else { 0 };
        limit::check_threads("--clients", plan.clients, stacks)
    }
}
