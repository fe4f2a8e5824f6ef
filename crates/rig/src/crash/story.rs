//! A case from its making to its last recovery.

use super::client::Shared;
use super::cut::{Cut, Ended};
use super::damage::Damage;
use super::incarnation::run_one;
use super::open_database::{OpenDatabase, Opening};
use super::oracle::Oracle;
use super::plan::{Between, CrashPlan, End, IncarnationPlan};
use super::{CrashCase, CrashReport, serial};
use crate::clients::ledger::Ledger;
use chiliad_checker::Isolation;
use chiliad_engine::{Error, LogError, Mode, Recovered};
use chiliad_log::Manifest;
use chiliad_simulator::{Config, DiskFaults, FaultyDisk, Run};
use chiliad_workload::AnyWorkload;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;

/// A case on its way.
pub(super) struct Story<'a> {
    case: &'a CrashCase,
    plan: CrashPlan,
    workload: Arc<dyn AnyWorkload>,
    report: &'a mut CrashReport,
    disk: FaultyDisk,
}

/// The story ends here, with a verdict, or since the host refused what it needs.
struct Over;

/// An open database. It can be dropped only inside of its run; elsewhere it is given up together with
/// the memory of the run.
struct Held {
    open_database: ManuallyDrop<Rc<OpenDatabase>>,
    recovered: Recovered,
}

impl Held {
    fn drop_in(self, run: &Run) {
        run.outside(|| drop(ManuallyDrop::into_inner(self.open_database)));
    }
}

/// The remains of an incarnation.
struct Remains {
    number: u32,
    ledger: Ledger,
    /// The database was closed.
    closed: bool,
}

impl<'a> Story<'a> {
    pub fn new(
        case: &'a CrashCase,
        workload: Arc<dyn AnyWorkload>,
        report: &'a mut CrashReport,
    ) -> Self {
        let plan = CrashPlan::new(case.seed, case.fault);
        let disk = FaultyDisk::new(case.seed, DiskFaults::default());
        Self { case, plan, workload, report, disk }
    }

    /// Tells it. What is wrong is in the report.
    pub fn tell(mut self) {
        let cut = self.plan.making_cut_short;
        if cut.is_some_and(|operations| self.make_in_vain(operations).is_err()) {
            return;
        }
        let Ok(oracle) = self.run_all() else { return };
        self.report.survivors = oracle.survivors.len() as u64;
        if self.report.verdicts.is_empty() {
            serial::judge(&oracle, self.case.isolation, &mut self.report.verdicts);
        }
    }

    /// Makes a database, loses power meanwhile, and makes it again of what is left.
    fn make_in_vain(&mut self, operations: u64) -> Result<(), Over> {
        let plan = self.plan.incarnation(0);
        let run = self.run(self.plan.config())?;
        self.open_in_vain(&run, &plan, 0, operations)?;
        self.disk = self.disk.crash(self.case.seed);
        self.open(&run, &plan, 0)?.drop_in(&run);
        self.disk = FaultyDisk::new(self.case.seed, DiskFaults::default());
        Ok(())
    }

    /// All incarnations, and the recovery after each.
    fn run_all(&mut self) -> Result<Oracle, Over> {
        let plan = self.plan.incarnation(0);
        let mut run = self.run(plan.config.clone())?;
        let mut held = self.open(&run, &plan, 0)?;
        let mut oracle = self.begin(&run, &held.open_database)?;
        for incarnation in 0..self.plan.incarnations {
            let plan = self.plan.incarnation(incarnation);
            let remains = self.run_one(&mut run, held, &plan, incarnation)?;
            let plan = self.plan.incarnation(incarnation + 1);
            run = self.run(plan.config.clone())?;
            self.between(&run, &plan, incarnation, remains.closed)?;
            held = self.open(&run, &plan, incarnation + 1)?;
            self.examine(&run, &held, &mut oracle, &remains)?;
        }
        held.drop_in(&run);
        Ok(oracle)
    }

    /// A machine, unless the host refuses its memory.
    fn run(&mut self, config: Config) -> Result<Run, Over> {
        Run::try_new(config).map_err(|refused| self.refused(&refused))
    }

    /// The story cannot be told here.
    fn refused(&mut self, refused: &dyn std::fmt::Display) -> Over {
        self.report.refused = Some(refused.to_string());
        Over
    }

    /// Loads the database; what is there then is where the oracle begins.
    fn begin(&mut self, run: &Run, open_database: &OpenDatabase) -> Result<Oracle, Over> {
        let seed = self.case.seed;
        let loaded = run.outside(|| {
            open_database.load(seed)?;
            let tables = open_database.tables();
            let rows = tables.iter().filter(|(_, spec)| !spec.name.contains('/'));
            let names = rows.map(|(table, spec)| (table.0, spec.name.clone())).collect();
            let mut keys = BTreeSet::new();
            open_database.loaded_keys(seed, &mut keys)?;
            Ok((names, open_database.survey(&keys)?))
        });
        let (tables, survey) = loaded.map_err(|error: Error| self.stop("not begun", &error))?;
        Ok(Oracle::new(tables, survey.rows))
    }

    /// One incarnation to its end.
    fn run_one(
        &mut self,
        run: &mut Run,
        held: Held,
        plan: &IncarnationPlan,
        incarnation: u32,
    ) -> Result<Remains, Over> {
        let done = self.disk.counters().operations;
        let off = plan.faults.off_after_operations.map(|operations| done + operations);
        self.disk.set_faults(DiskFaults { off_after_operations: off, ..plan.faults });
        let ledger = Ledger::default();
        let shared = Shared {
            ledger: ledger.clone(),
            disk: self.disk.clone(),
            transactions: plan.transactions,
            looks: plan.looks,
            pause: plan.epoch,
            stalls: plan.stalls,
        };
        let seed = self.case.seed.wrapping_add(u64::from(incarnation) << 32);
        let ran = run_one(run, &held.open_database, plan, shared, seed);
        let (outcome, failures) = ran.map_err(|refused| self.refused(&refused))?;
        self.report.incarnations += 1;
        self.report.events += outcome.events;
        self.report.marks.extend(&outcome.marks);
        if !outcome.verdict.is_completed() {
            let name = outcome.verdict.name();
            self.report
                .verdicts
                .add(name, || format!("incarnation {incarnation}: {}", outcome.verdict));
        }
        if let Some(failure) = failures.first() {
            self.report
                .verdicts
                .add("client failed", || format!("incarnation {incarnation}: {failure}"));
        }
        if !self.report.verdicts.is_empty() {
            return Err(Over);
        }
        let number = held.recovered.incarnation;
        let mut closed = false;
        if outcome.discarded == 0 {
            closed = plan.end == End::Closed && run.outside(|| held.open_database.close());
            if closed {
                self.report.marks.insert("closed");
                ledger.acknowledge_all();
            }
            self.check_log(run, &held, plan, incarnation)?;
            held.drop_in(run);
        }
        Ok(Remains { number, ledger, closed })
    }

    /// A log does not fail by itself.
    fn check_log(
        &mut self,
        run: &Run,
        held: &Held,
        plan: &IncarnationPlan,
        incarnation: u32,
    ) -> Result<(), Over> {
        let sound = DiskFaults {
            off_after_operations: None,
            sync_ticks_mean: plan.faults.sync_ticks_mean,
            ..DiskFaults::default()
        };
        let faultless = DiskFaults { off_after_operations: None, ..plan.faults } == sound;
        match run.outside(|| held.open_database.failure()) {
            Some(error) if faultless && !self.disk.is_off() => {
                self.report
                    .verdicts
                    .add("log failed", || format!("incarnation {incarnation}: {error}"));
                Err(Over)
            }
            _ => Ok(()),
        }
    }

    /// Power is lost or the process killed, the disk damaged and mended, recovery cut short.
    fn between(
        &mut self,
        run: &Run,
        plan: &IncarnationPlan,
        incarnation: u32,
        closed: bool,
    ) -> Result<(), Over> {
        let Between { killed, seed, damage, cut, cut_short } = self.plan.between(incarnation);
        let sync_failed = self.disk.counters().sync_errors > 0;
        self.disk = if killed { self.disk.kill() } else { self.disk.crash(seed) };
        self.disk.set_faults(DiskFaults::default());
        if let Some(draws) = damage {
            self.damage(run, plan, incarnation + 1, draws)?;
        }
        self.cut(run, plan, incarnation + 1, Ended { closed, killed, sync_failed }, cut)?;
        for (seed, operations) in (seed..).zip(cut_short) {
            self.report.marks.insert("recovery cut short");
            self.open_in_vain(run, plan, incarnation + 1, operations)?;
            self.disk = self.disk.crash(seed);
        }
        Ok(())
    }

    /// Turns a bit over that recovery must find, and back.
    fn damage(
        &mut self,
        run: &Run,
        plan: &IncarnationPlan,
        incarnation: u32,
        draws: u64,
    ) -> Result<(), Over> {
        let Some(damage) = run.outside(|| Damage::choose(&self.disk, draws)) else {
            return Ok(());
        };
        damage.flip(&self.disk);
        self.report.marks.insert(damage.kind());
        let mode = if draws.is_multiple_of(2) { Mode::Read } else { Mode::Write };
        match self.try_open(run, plan, incarnation, mode) {
            Err(Error::Data(error)) if damage.is_told_by(&error) => {}
            Err(error) => {
                self.stop("damage accepted", &format!("{damage:?} was told as: {error}"));
                return Err(Over);
            }
            Ok(held) => {
                held.drop_in(run);
                self.stop("damage accepted", &format!("{damage:?}"));
                return Err(Over);
            }
        }
        damage.flip(&self.disk);
        Ok(())
    }

    /// Takes the end of a log away, in a copy of the disk: recovery must notice.
    fn cut(
        &mut self,
        run: &Run,
        plan: &IncarnationPlan,
        incarnation: u32,
        ended: Ended,
        draws: u64,
    ) -> Result<(), Over> {
        let Some(cut) = run.outside(|| Cut::choose(&self.disk, ended, draws)) else {
            return Ok(());
        };
        let copy = self.disk.fork();
        if let Err(error) = run.outside(|| cut.apply(&copy)) {
            return Err(self.stop("not begun", &error));
        }
        self.report.marks.insert("the end of a log cut off");
        let whole = std::mem::replace(&mut self.disk, copy);
        let opened = self.try_open(run, plan, incarnation, Mode::Read);
        self.disk = whole;
        match opened {
            Err(Error::Data(LogError::Damaged { .. })) => Ok(()),
            Err(error) => {
                Err(self.stop("damage accepted", &format!("{cut:?} was told as: {error}")))
            }
            Ok(held) => {
                held.drop_in(run);
                Err(self.stop("damage accepted", &format!("{cut:?} after {ended:?}")))
            }
        }
    }

    /// Looks at what was recovered.
    fn examine(
        &mut self,
        run: &Run,
        held: &Held,
        oracle: &mut Oracle,
        remains: &Remains,
    ) -> Result<(), Over> {
        let manifest = run.outside(|| Manifest::read(&self.disk)).ok().flatten();
        let incarnations = manifest.iter().flat_map(|manifest| &manifest.incarnations);
        let mut ended = incarnations.filter(|it| it.number == remains.number);
        let Some(durable) = ended.next().and_then(|it| it.ended) else {
            let what = format!("the manifest says nothing of incarnation {}", remains.number);
            return Err(self.stop("recovery refused", &what));
        };
        let attempts = remains.ledger.take();
        let acknowledged = attempts.iter().filter(|attempt| attempt.acknowledged).count();
        let placed = attempts.iter().filter(|attempt| attempt.place().is_some()).count();
        let before = oracle.survivors.len();
        oracle.incarnation_ended(attempts, durable, &mut self.report.verdicts);
        self.report.acknowledged += acknowledged as u64;
        self.report.lost += (placed - (oracle.survivors.len() - before)) as u64;
        match run.outside(|| held.open_database.survey(oracle.keys())) {
            Ok(survey) => oracle.compare(&survey, &held.recovered, &mut self.report.verdicts),
            Err(error) => self.report.verdicts.add("wrong state", || error.to_string()),
        }
        if self.report.verdicts.is_empty() { Ok(()) } else { Err(Over) }
    }

    /// Opens what there is, which must go well.
    fn open(&mut self, run: &Run, plan: &IncarnationPlan, incarnation: u32) -> Result<Held, Over> {
        let opened = self.try_open(run, plan, incarnation, Mode::Write);
        opened.map_err(|error| {
            self.stop("recovery refused", &format!("incarnation {incarnation}: {error}"))
        })
    }

    /// Opens what there is, and loses power after so many operations.
    fn open_in_vain(
        &mut self,
        run: &Run,
        plan: &IncarnationPlan,
        incarnation: u32,
        operations: u64,
    ) -> Result<(), Over> {
        let done = self.disk.counters().operations;
        let off_after_operations = Some(done + operations);
        self.disk.set_faults(DiskFaults { off_after_operations, ..DiskFaults::default() });
        match self.try_open(run, plan, incarnation, Mode::Write) {
            Ok(held) => held.drop_in(run),
            Err(Error::Data(LogError::Io { .. }) | Error::LogFailed(_)) => {}
            Err(error) => {
                return Err(
                    self.stop("recovery refused", &format!("incarnation {incarnation}: {error}"))
                );
            }
        }
        Ok(())
    }

    fn try_open(
        &self,
        run: &Run,
        plan: &IncarnationPlan,
        incarnation: u32,
        mode: Mode,
    ) -> chiliad_engine::Result<Held> {
        let schemes = &self.case.schemes;
        let opening = Opening {
            scheme: schemes[self.plan.scheme(incarnation, schemes.len())],
            disk: self.disk.clone(),
            mode,
            options: plan.options(self.case.partitions),
            durable: plan.durable,
            serializable: self.case.isolation == Isolation::Serializable,
        };
        let (open_database, recovered) =
            run.outside(|| OpenDatabase::open(&self.workload, &opening))?;
        Ok(Held { open_database: ManuallyDrop::new(Rc::new(open_database)), recovered })
    }

    fn stop(&mut self, verdict: &str, what: &dyn std::fmt::Display) -> Over {
        self.report.verdicts.add(verdict, || what.to_string());
        Over
    }
}
