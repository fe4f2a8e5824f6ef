//! Refuses what transactions as ordered tasks do not have.

use super::run::RunSpec;
use chiliad_driver::{Form, has_graph, is_ordered};
use chiliad_host::Stop;
use chiliad_workload::WorkloadOptions;

impl RunSpec {
    /// The first option of graphs that this run's tasks do not have, and what has it.
    fn lacks(&self) -> Option<(&'static str, &'static str)> {
        let (graph, is_fine) =
            (&self.ordered.graph, self.ordered.form(&self.workload) == Form::Fine);
        let of_tpce = matches!(self.workload, WorkloadOptions::Tpce(_));
        if graph.task_log.is_some() && !is_fine {
            Some(("--task-log", "with --tasks fine"))
        } else if graph.joins && !is_fine {
            Some(("--joins", "with --tasks fine"))
        } else if graph.scan_partitions.is_some() && !(is_fine && of_tpce) {
            Some(("--scan-partitions", "with tpce, with --tasks fine"))
        } else {
            None
        }
    }

    /// Refuses ordered tasks on a machine without task units, graphs of workloads that have none, and clients.
    pub(super) fn check_ordered(&self) -> Result<(), Stop> {
        if !is_ordered(self.scheme) {
            return Ok(());
        }
        let (name, plan) = (self.scheme.name, &self.plan);
        let Some(machine) = self.machine().and_then(|it| it.timed()) else {
            let problem = format!("cores without time with --scheme {name}; accepted: timed");
            return Err(Stop::bad("--schedule", problem));
        };
        let machine = &machine.description;
        let (flag, problem) = if machine.tasks.is_none() || machine.tiles.is_none() {
            let machine = &machine.name;
            ("--machine", format!("{machine} has no task units; accepted: swarm-64, swarm-256"))
        } else if self.ordered.form == Some(Form::Fine) && !has_graph(&self.workload) {
            (
                "--tasks",
                "fine with a workload that has no graph; accepted: one, or with tpcc, tpce, bidding"
                    .into(),
            )
        } else if let Some((flag, accepted)) = self.lacks() {
            (flag, format!("not with these tasks; accepted: {accepted}"))
        } else if plan.clients != plan.cores {
            let (clients, cores) = (plan.clients, plan.cores);
            (
                "--clients",
                format!("{clients} with --scheme {name}; accepted: {cores}, as many as --cores"),
            )
        } else if plan.interleave > 1 {
            ("--interleave", format!("{} with --scheme {name}; accepted: 1", plan.interleave))
        } else {
            return Ok(());
        };
        Err(Stop::bad(flag, problem))
    }
}
