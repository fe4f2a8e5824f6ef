//! Bodies on a database become a program of tasks, each with a view of its own.

use crate::table::Tables;
use crate::view::View;
use chiliad_machine::tasks::{FunctionId, LinePool, Program, Task, Tasks};
use chiliad_machine::{Cost, Machine};

/// The transactions of a workload as tasks.
pub trait Graph<T: Tasks> {
    /// The name of a function, for reports.
    fn name(&self, function: FunctionId) -> &'static str;

    /// Runs the body of `task`.
    fn run(&self, view: &mut View<'_, T>, task: &Task);
}

/// A graph on a database: the program that a runtime runs. No session is open meanwhile.
pub struct Bodies<'s, M: Machine, G> {
    pool: &'s LinePool<M>,
    tables: &'s Tables<M>,
    graph: G,
}

impl<'s, M: Machine, G> Bodies<'s, M, G> {
    pub(crate) fn new(pool: &'s LinePool<M>, tables: &'s Tables<M>, graph: G) -> Self {
        Self { pool, tables, graph }
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &G {
        &self.graph
    }

    /// The memory that the database's rows lie in: what a runtime takes lines from.
    #[must_use]
    pub fn pool(&self) -> &'s LinePool<M> {
        self.pool
    }
}

impl<T: Tasks, G: Graph<T>> Program<T> for Bodies<'_, T::Machine, G> {
    fn name(&self, function: FunctionId) -> &'static str {
        self.graph.name(function)
    }

    fn run(&self, tasks: &T, task: &Task) {
        T::Machine::work(Cost::Begin, 1);
        self.graph.run(&mut View::new(tasks, self.tables), task);
    }
}
