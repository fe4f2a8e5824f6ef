//! A world from its loading to its judgement.

use super::common::{Common, Place};
use super::plan::WorldPlan;
use super::{WorldCase, WorldReport, accounts, chaos, copies, history, incarnation};
use crate::clients::ledger::Ledger;
use chiliad_api::{Error, Result, Store, TableId};
use chiliad_hyder::{Hyder, Oracle};
use chiliad_simulator::{
    Config, DiskFaults, FaultyDisk, FaultyLog, Host, LogFaults, Outcome, Run, Sim, Verdict,
};
use chiliad_workload::{AnyWorkload, WholeRows};
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;

/// The host of the core that makes things go wrong.
const CHAOS: Host = Host(0);

/// How often each server looks at the log before it must have read all of it.
const LOOKS_MAX: usize = 1000;

/// A world on its way.
pub(super) struct Story<'a> {
    case: &'a WorldCase,
    workload: Arc<dyn AnyWorkload>,
    report: &'a mut WorldReport,
}

impl<'a> Story<'a> {
    pub fn new(
        case: &'a WorldCase,
        workload: Arc<dyn AnyWorkload>,
        report: &'a mut WorldReport,
    ) -> Self {
        Self { case, workload, report }
    }

    /// Tells it. What is wrong is in the report.
    pub fn tell(mut self) {
        let WorldCase { seed, fault, ref servers, .. } = *self.case;
        let plan = WorldPlan::new(seed, servers.clone(), fault);
        let trace_free = match self.live(plan) {
            Some(serial) => serial,
            None => return,
        };
        // Once more, to learn which stack freed the memory that was used.
        let mut plan = WorldPlan::new(seed, servers.clone(), fault);
        plan.config = Config { trace_free: Some(trace_free), ..plan.config };
        *self.report = WorldReport::default();
        self.live(plan);
    }

    /// Has a world live and judges it; the free after which memory was used, if it ended so.
    fn live(&mut self, plan: WorldPlan) -> Option<u64> {
        let mut run = match Run::try_new(plan.config.clone()) {
            Ok(run) => run,
            Err(refused) => {
                self.report.refused = Some(refused.to_string());
                return None;
            }
        };
        let common = match self.begin(&run, plan) {
            Ok(common) => Rc::new(common),
            Err(error) => {
                self.report.verdicts.add("not begun", || error.to_string());
                return None;
            }
        };
        common.log.set_faults(common.plan.log_faults);
        for place in &common.places {
            place.disk.borrow().set_faults(common.plan.disk_faults);
        }
        for server in 0..common.plan.servers {
            for (name, body) in incarnation::cores(&common, server) {
                run.spawn_on(Common::host(server), name, body);
            }
            for (name, body) in incarnation::daemons(&common, server) {
                run.spawn_daemon_on(Common::host(server), name, body);
            }
        }
        let chaotic = Rc::clone(&common);
        run.spawn_on(CHAOS, "chaos", move || chaos::run(&chaotic));
        if let Err(refused) = run.obtain_stacks() {
            self.report.refused = Some(refused.to_string());
            return None;
        }
        let outcome = run.go();
        self.report.events += outcome.events;
        self.report.marks.extend(&outcome.marks);
        self.report.verdicts = common.verdicts.take();
        self.ended(&outcome, &common);
        // What was told after the log broke its promises counts for nothing.
        if self.report.verdicts.is_empty() && !common.is_given_up.get() {
            common.log.set_faults(LogFaults::default());
            self.judge(&run, &common);
        }
        match outcome.verdict {
            Verdict::UseOfFreedMemory(report) if common.plan.config.trace_free.is_none() => {
                report.freed.map(|freed| freed.serial)
            }
            _ => None,
        }
    }

    /// The servers, each on its host, with the tables and rows of the workload.
    fn begin(&self, run: &Run, plan: WorldPlan) -> Result<Common> {
        let seed = plan.config.seed;
        let place = |_| Place {
            disk: RefCell::new(FaultyDisk::new(seed, DiskFaults::default())),
            hyder: RefCell::default(),
            incarnation: Cell::new(0),
            is_up: Cell::new(true),
            head: Cell::new((0, 0)),
            next: Cell::new(0),
            has_failed: Cell::new(false),
            busy: Cell::new(0),
            left: RefCell::new(vec![plan.transactions; plan.clients]),
            is_left_behind: Cell::new(false),
        };
        let places = (0..plan.servers).map(place).collect();
        let mut common = Common {
            plan,
            workload: Arc::clone(&self.workload),
            tables: Vec::new(),
            log: FaultyLog::new(seed, LogFaults::default()),
            places,
            ledger: Ledger::default(),
            accounts: RefCell::default(),
            verdicts: RefCell::default(),
            at_work: RefCell::default(),
            is_broken: Cell::new(false),
            is_noticed: Cell::new(false),
            witnessed: Cell::new(None),
            is_given_up: Cell::new(false),
            is_over: Cell::new(false),
            is_closing: Cell::new(false),
        };
        for (server, place) in common.places.iter().enumerate() {
            let disk = place.disk.borrow().clone();
            let joined =
                run.outside_on(Common::host(server), || incarnation::join(&common, server, &disk));
            place.hyder.replace(Some(ManuallyDrop::new(joined?)));
        }
        let first = common.places[0].server();
        common.tables = run.outside_on(Common::host(0), || self.load(&first, seed))?;
        catch_up(run, &common);
        Ok(common)
    }

    fn load(&self, server: &Hyder<Sim>, seed: u64) -> Result<Vec<TableId>> {
        let specs = self.workload.tables().into_iter();
        let tables = specs.map(|spec| server.create_table(spec)).collect::<Result<Vec<_>>>()?;
        let mut session = server.session()?;
        let specs = self.workload.tables();
        let mut whole = WholeRows::new(&specs, &tables, |table, key, parts| {
            session.load_parts(table, key, parts)
        });
        let mut insert = |table: TableId, key: &[u8], row: &[u8]| whole.part(table, key, row);
        for part in 0..self.workload.load_parts() {
            self.workload.load(&tables, part, seed, &mut insert)?;
        }
        session.end_load()?;
        drop(session);
        for spec in self.workload.tables() {
            match server.seal(&spec.name) {
                Ok(()) | Err(Error::InvalidOption(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(tables)
    }

    /// How the run ended.
    fn ended(&mut self, outcome: &Outcome, common: &Common) {
        let verdicts = &mut self.report.verdicts;
        match &outcome.verdict {
            Verdict::Completed if outcome.discarded > 0 => {
                let at_work = common.at_work.borrow();
                verdicts.add("stuck", || format!("what did not return: {at_work:?}"));
            }
            Verdict::Completed => {}
            Verdict::EventLimit { .. } | Verdict::Deadlock { .. } => {
                verdicts.add("stuck", || outcome.verdict.to_string());
            }
            verdict => verdicts.add(verdict.name(), || verdict.to_string()),
        }
    }

    fn judge(&mut self, run: &Run, common: &Common) {
        catch_up(run, common);
        let records = common.log.untrimmed().contents();
        let records = records.iter().map(|(_, record)| record.as_slice());
        let oracle = Oracle::of(records, common.plan.window);
        let attempts = common.ledger.take();
        let told = common.accounts.take();
        self.report.transactions = told.len() as u64;
        let verdicts = &mut self.report.verdicts;
        copies::judge_servers(run, common, &oracle, verdicts);
        accounts::judge(&told, &attempts, &oracle, verdicts);
        if verdicts.is_empty() && common.plan.verify {
            history::judge(&attempts, common, &oracle, verdicts);
        }
        copies::judge_fresh(run, common, verdicts);
        if verdicts.is_empty() {
            copies::judge_conditions(run, common, verdicts);
        }
        for (server, place) in common.places.iter().enumerate() {
            let last = place.hyder.take();
            run.outside_on(Common::host(server), || drop(last.map(ManuallyDrop::into_inner)));
        }
    }
}

/// Has each server read what is in the log, until nothing comes any more: each look may bring what was late.
fn catch_up(run: &Run, common: &Common) {
    for _ in 0..LOOKS_MAX {
        let before = common.log.extent();
        for (server, place) in common.places.iter().enumerate() {
            run.outside_on(Common::host(server), || place.server().tick());
        }
        if common.log.extent() == before {
            return;
        }
    }
}
