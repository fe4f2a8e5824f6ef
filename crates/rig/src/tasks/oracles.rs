//! The oracles of a case: the same tasks on the serial runtime, the same requests as statements one after another, and those
//! by one client of silo, each on a database of its own.

use super::machine::Drawn;
use super::way::Way;
use super::{Requests, TaskCase};
use chiliad_api::{
    Error, IndexKind, Intent, Range, Result, Running, Session, Store, TableId, TableSpec,
    Transaction, Writes,
};
use chiliad_driver::{Failure, open_on_simulator};
use chiliad_engine::{Options, SchemeName};
use chiliad_machine::tasks::{Serial, Ties};
use chiliad_simulator::{Config, Run, Sim};
use chiliad_swarm::Swarm;
use chiliad_workload::AnyWorkload;
use chiliad_workload::tasks::{GraphOptions, TaskLogOptions, first_of};

/// The seed that rows are made up from.
const LOADED_SEED: u64 = 1;

/// A database that was loaded, and its tables.
pub(super) struct Base<S> {
    pub(super) store: S,
    pub(super) tables: Vec<TableId>,
}

impl Base<Swarm<Sim>> {
    /// SwarmDB with a workload's rows.
    pub(super) fn swarm(workload: &dyn AnyWorkload) -> core::result::Result<Self, Failure> {
        let swarm = Swarm::new();
        let tables = load(&swarm, workload, |spec| spec);
        let tables = tables.map_err(Failure::doing("loading"))?;
        Ok(Self { store: swarm, tables })
    }
}

/// Creates and loads a workload's tables, as `change` has them.
fn load(
    store: &dyn Store<Sim>,
    workload: &dyn AnyWorkload,
    change: impl Fn(TableSpec) -> TableSpec,
) -> Result<Vec<TableId>> {
    let specs = workload.tables();
    let create = specs.iter().map(|spec| store.create_table(change(spec.clone())));
    let tables = create.collect::<Result<Vec<_>>>()?;
    let mut session = store.session()?;
    for part in 0..workload.load_parts() {
        let insert = &mut |table, key: &[u8], value: &[u8]| session.load(table, key, value);
        workload.load(&tables, part, LOADED_SEED, insert)?;
    }
    drop(session);
    for spec in specs.iter().filter(|spec| spec.writes == Writes::Loads) {
        store.seal(&spec.name)?;
    }
    Ok(tables)
}

/// The rows of a table, by key.
pub(super) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The state after a run of requests.
pub(super) struct After {
    /// By table, in the order of the workload's.
    rows: Vec<(String, Rows)>,
    answers: Vec<Option<u64>>,
    /// Conditions of the workload that do not hold.
    pub(super) failed: Option<String>,
}

impl After {
    /// Reads the rows of a SwarmDB database and checks the conditions.
    pub(super) fn of_swarm(
        workload: &dyn AnyWorkload,
        swarm: &Swarm<Sim>,
        tables: &[TableId],
        answers: Vec<Option<u64>>,
    ) -> core::result::Result<Self, Failure> {
        let rows = all_rows(workload, swarm, tables);
        let rows = rows.map_err(Failure::doing("reading the rows"))?;
        let failed = conditions(workload, swarm, tables);
        let failed = failed.map_err(Failure::doing("checking conditions"))?;
        Ok(Self { rows, answers, failed })
    }

    /// The first difference, in words.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let differs = |request: &usize| self.answers[*request] != other.answers[*request];
        if let Some(request) = (0..self.answers.len()).find(differs) {
            let (one, two) = (self.answers[request], other.answers[request]);
            return Some(format!("request {request} is answered {one:x?}, not {two:x?}"));
        }
        self.rows.iter().zip(&other.rows).find_map(|((name, one), (_, two))| {
            let differs = |at: &usize| one.get(*at) != two.get(*at);
            let at = (0..one.len().max(two.len())).find(differs)?;
            let (found, meant) = (one.get(at), two.get(at));
            Some(format!("row {at} of {name} is {found:x?}, not {meant:x?}"))
        })
    }
}

/// The rows of a workload's tables in SwarmDB.
pub(super) fn all_rows(
    workload: &dyn AnyWorkload,
    swarm: &Swarm<Sim>,
    tables: &[TableId],
) -> Result<Vec<(String, Rows)>> {
    let specs = workload.tables();
    let rows = |(spec, table): (&TableSpec, &TableId)| Ok((spec.name.clone(), swarm.rows(*table)?));
    specs.iter().zip(tables).map(rows).collect()
}

/// The conditions of a workload that do not hold, in words.
fn conditions(
    workload: &dyn AnyWorkload,
    swarm: &Swarm<Sim>,
    tables: &[TableId],
) -> Result<Option<String>> {
    let mut session = swarm.session()?;
    let run = &mut |body: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>| {
        let mut running = Running::begin(&mut *session, &Intent::read_only())?;
        body(&mut running)?;
        running.commit().map(|_| ())
    };
    let looked = workload.conditions_kept(true, tables, run)?.into_iter();
    let failed: Vec<String> = looked
        .filter_map(|it| it.failure.map(|failure| format!("{}: {failure}", it.name)))
        .collect();
    Ok((!failed.is_empty()).then(|| failed.join("\n")))
}

/// What the oracles say.
pub(super) struct Expected {
    /// Tasks that the serial runtime ran.
    pub(super) ran: u64,
    /// What each leaves, with its name.
    pub(super) afters: [(&'static str, After); 3],
}

/// Asks the oracles.
pub(super) fn expected<W: Way>(
    way: &W,
    case: &TaskCase,
    drawn: &Drawn,
    requests: Requests,
) -> core::result::Result<Expected, Failure> {
    let refused = |refused: chiliad_simulator::NoMemory| Failure::Host(refused.to_string());
    let config = Config { machine: None, ..drawn.config(case.seed, None) };
    let run = Run::try_new(config).map_err(refused)?;
    run.outside(|| {
        let (ran, serial) = by_serial(way, drawn, requests)?;
        let statements = by_statements(way, requests)?;
        let silo = by_silo(way, requests).map_err(Failure::doing("asking silo"))?;
        let afters = [
            ("the serial runtime", serial),
            ("statements", statements),
            (SchemeName::default().name(), silo),
        ];
        Ok(Expected { ran, afters })
    })
}

fn by_serial<W: Way>(
    way: &W,
    drawn: &Drawn,
    requests: Requests,
) -> core::result::Result<(u64, After), Failure> {
    let Base { store: mut swarm, tables } = Base::swarm(way.workload())?;
    let clients = way.clients(&tables, requests);
    // Nobody drains: the log has room for all of it.
    let task_log = drawn.graph.task_log.map(|_| TaskLogOptions { slots: None });
    let options = GraphOptions { task_log, ..drawn.graph };
    let bodies = swarm.bodies(way.graph(&clients, &options));
    let bodies = bodies.map_err(Failure::doing("making the program of tasks"))?;
    let serial = Serial::<Sim>::new(bodies.pool(), Ties::Drawn(requests.seed));
    let ran = serial.run(&bodies, first_of(requests.count as u64, drawn.generators));
    let ran = ran.map_err(|violation| Failure::Host(violation.to_string()))?;
    let answers = (0..requests.count).map(|request| W::answer(bodies.graph(), request)).collect();
    drop(bodies);
    Ok((ran, After::of_swarm(way.workload(), &swarm, &tables, answers)?))
}

fn by_statements<W: Way>(way: &W, requests: Requests) -> core::result::Result<After, Failure> {
    let Base { store: swarm, tables } = Base::swarm(way.workload())?;
    let mut session = swarm.session().map_err(Failure::doing("beginning a session"))?;
    let answers = execute(way, &mut *session, &tables, requests, requests.count);
    drop(session);
    let answers = answers.map_err(Failure::doing("executing the requests one after another"))?;
    After::of_swarm(way.workload(), &swarm, &tables, answers)
}

fn by_silo<W: Way>(way: &W, requests: Requests) -> Result<After> {
    let silo = open_on_simulator(SchemeName::default().name(), Options::default(), None)?.store;
    // So that all rows can be listed.
    let ordered = |spec| TableSpec { index: IndexKind::Ordered, ..spec };
    let tables = load(&*silo, way.workload(), ordered)?;
    let mut session = silo.session()?;
    let answers = execute(way, &mut *session, &tables, requests, requests.count)?;
    let specs = way.workload().tables();
    let mut rows = Vec::new();
    for (spec, &table) in specs.iter().zip(&tables) {
        let mut tx = Running::begin(&mut *session, &Intent::read_only())?;
        let scanned = tx.scan(table, Range::all())?;
        let entries = tx.entries(scanned)?.iter();
        let copy = entries.map(|it| Ok((tx.key(*it)?.to_vec(), tx.bytes(it.row)?.to_vec())));
        rows.push((spec.name.clone(), copy.collect::<Result<_>>()?));
        tx.commit()?;
    }
    Ok(After { rows, answers, failed: None })
}

/// Runs the first so many requests one after another, as statements: what they answer.
pub(super) fn execute<W: Way>(
    way: &W,
    session: &mut dyn Session<Sim>,
    tables: &[TableId],
    requests: Requests,
    first: usize,
) -> Result<Vec<Option<u64>>> {
    let mut clients = way.clients(tables, requests);
    let run = |request| {
        let mut running = Running::begin(&mut *session, &Intent::update())?;
        let outcome = match way.execute(&mut clients, request, &mut running) {
            Ok(answer) => running.commit().map(|_| answer),
            Err(error) => Err(running.fail(error)),
        };
        match outcome {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::RolledBack) => Ok(None),
            Err(error) => Err(error),
        }
    };
    (0..first).map(run).collect()
}
