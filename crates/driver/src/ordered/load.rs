//! Databases with a workload's rows, for runs of tasks and for what they are compared with.

use crate::simulated::LOADED_SEED;
use crate::target::seal_loaded;
use crate::{Failure, SimulatedPlan};
use chiliad_api::{Store, TableId, TableSpec};
use chiliad_machine::Machine;
use chiliad_simulator::{Config, Run, Sim};
use chiliad_swarm::Swarm;
use chiliad_workload::{AnyWorkload, WholeRows, WorkloadOptions};
use std::time::Instant;

/// Rows loaded between two steps of the epoch, where nobody else turns it.
const EPOCH_ROWS: u64 = 1 << 18;

/// SwarmDB with a workload's rows, on a simulated machine whose tasks have not begun. Where the process forks, each
/// copy can be run.
pub struct LoadedTasks {
    pub(super) run: Run,
    /// `None` where a run has left it in pieces.
    pub(super) swarm: Option<Swarm<Sim>>,
    pub(super) tables: Vec<TableId>,
    pub(super) seconds: f64,
}

impl Drop for LoadedTasks {
    fn drop(&mut self) {
        let swarm = self.swarm.take();
        self.run.outside(|| drop(swarm));
    }
}

/// Loads SwarmDB with a workload's rows, for [`super::run_tasks`] as the plan has it, or others of the same rows.
///
/// # Errors
/// Those of the workload's options, of the simulated memory and of loading.
pub fn load_tasks(
    workload: &WorkloadOptions,
    plan: &SimulatedPlan,
) -> Result<LoadedTasks, Failure> {
    let started = Instant::now();
    let made = crate::catalog::make(workload)?;
    let config = Config { seed: LOADED_SEED, ..plan.config.clone() };
    let run = Run::try_new(config).map_err(|refused| Failure::Host(refused.to_string()))?;
    let (swarm, tables) = run.outside(|| {
        let swarm = Swarm::new();
        let tables = fill(&*made, &swarm, |spec| spec)?;
        Ok::<_, Failure>((swarm, tables))
    })?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(LoadedTasks { run, swarm: Some(swarm), tables, seconds })
}

/// Creates a workload's tables, as `change` has them, in a database that is empty, and loads their rows. Returns the
/// numbers of the tables.
///
/// # Errors
/// Those of the database.
pub fn fill<M: Machine>(
    workload: &dyn AnyWorkload,
    store: &(impl Store<M> + ?Sized),
    change: impl Fn(TableSpec) -> TableSpec,
) -> Result<Vec<TableId>, Failure> {
    let create = workload.tables().into_iter().map(|spec| store.create_table(change(spec)));
    let tables = create.collect::<Result<Vec<_>, _>>();
    let tables = tables.map_err(Failure::doing("creating the tables"))?;
    let loading = || Failure::doing("loading");
    let mut session = store.session().map_err(loading())?;
    let mut rows = 0_u64;
    let mut whole = WholeRows::new(&workload.tables(), &tables, |table, key, parts| {
        let epoch = rows / EPOCH_ROWS;
        rows += parts.len() as u64;
        if rows / EPOCH_ROWS > epoch {
            store.tick();
        }
        session.load_parts(table, key, parts)
    });
    for part in 0..workload.load_parts() {
        let insert = &mut |table, key: &[u8], row: &[u8]| whole.part(table, key, row);
        workload.load(&tables, part, LOADED_SEED, insert).map_err(loading())?;
    }
    session.end_load().map_err(loading())?;
    drop(session);
    seal_loaded(store)?;
    store.reach_snapshot();
    Ok(tables)
}
