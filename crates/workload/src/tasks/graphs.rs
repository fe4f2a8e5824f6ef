//! The workloads that have a graph of their own.

use super::form::{Answering, OwnGraph, told};
use super::{Answer, GraphOptions};
use crate::bidding::{self, Bidding, tasks::BiddingTasks};
use crate::tpcc::{self, Tpcc, tasks::TpccTasks};
use crate::tpce::{self, Tpce, tasks::TpceTasks};
use chiliad_machine::tasks::Tasks;
use chiliad_swarm::TaskLog;

impl<T: Tasks> Answering<T> for TpccTasks<'_, T::Machine> {
    fn answered(&self, request: usize) -> Option<Answer> {
        self.shown(request).map(told)
    }

    fn log(&self) -> Option<&TaskLog<T::Machine>> {
        self.log()
    }
}

impl OwnGraph for Tpcc {
    fn graph<'c, T: Tasks>(
        clients: &'c [tpcc::Client],
        options: &GraphOptions,
    ) -> Box<dyn Answering<T> + 'c> {
        Box::new(TpccTasks::with(clients, options))
    }

    fn shown(client: &tpcc::Client) -> u64 {
        client.shown()
    }
}

impl<T: Tasks> Answering<T> for TpceTasks<'_, T::Machine> {
    fn answered(&self, request: usize) -> Option<Answer> {
        self.shown(request).map(told)
    }

    fn log(&self) -> Option<&TaskLog<T::Machine>> {
        self.log()
    }
}

impl OwnGraph for Tpce {
    fn graph<'c, T: Tasks>(
        clients: &'c [tpce::Client],
        options: &GraphOptions,
    ) -> Box<dyn Answering<T> + 'c> {
        Box::new(TpceTasks::with(clients, options))
    }

    fn shown(client: &tpce::Client) -> u64 {
        if client.found() { client.shown() } else { 0 }
    }
}

impl<T: Tasks> Answering<T> for BiddingTasks<'_, T::Machine> {
    fn answered(&self, request: usize) -> Option<Answer> {
        Some(told(self.shown(request).number_of_both()))
    }

    fn log(&self) -> Option<&TaskLog<T::Machine>> {
        self.log()
    }
}

impl OwnGraph for Bidding {
    fn graph<'c, T: Tasks>(
        clients: &'c [bidding::Client],
        options: &GraphOptions,
    ) -> Box<dyn Answering<T> + 'c> {
        Box::new(BiddingTasks::with(clients, options))
    }

    fn shown(client: &bidding::Client) -> u64 {
        client.shown().number_of_both()
    }
}
