//! The oracles of a run of tasks: each runs the same requests in their order, on a database of its own.
//!
//! - the serial runtime, which runs the same tasks one after another: what differs is the hardware's fault;
//! - SwarmDB's own statements: what differs may be the graph's;
//! - one client of silo: what differs may be SwarmDB's.
//!
//! They run natively, in the host's memory. Silo's tables are ordered, so that all its rows can be listed: rows that
//! the tasks have lost are found like those that they have made up.

use super::load::fill;
use crate::Failure;
use chiliad_api::{
    Error, IndexKind, Intent, Range, Result, Running, Session, Store, TableId, TableSpec,
    Transaction,
};
use chiliad_engine::{Options, SchemeName, any};
use chiliad_machine::tasks::{Serial, Ties};
use chiliad_machine::{Machine, Native};
use chiliad_swarm::Swarm;
use chiliad_workload::AnyWorkload;
use chiliad_workload::tasks::{
    Answer, FirstRequests, Formed, GraphOptions, TaskLogOptions, first_of,
};
use core::ops::Bound;

/// Rows that are looked at in one transaction.
const ROWS_AT_A_TIME: usize = 1 << 12;

/// Requests between two steps of the epoch, where nobody else turns it.
const EPOCH_REQUESTS: usize = 1 << 10;

/// The rows of a table, by key.
type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The state that a run of requests leaves.
pub struct After {
    /// By table, in the order of the workload's: its name and its rows.
    tables: Vec<(String, Rows)>,
    /// By request; `None` where it was rolled back.
    answers: Vec<Option<Answer>>,
}

impl After {
    /// The rows of SwarmDB with a workload's tables, of these numbers, and the answers that a run gave.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn of_swarm<M: Machine>(
        workload: &dyn AnyWorkload,
        (swarm, tables): (&Swarm<M>, &[TableId]),
        answers: Vec<Option<Answer>>,
    ) -> core::result::Result<Self, Failure> {
        let rows: Result<_> = with_groups(workload, tables)
            .map(|(table, spec)| Ok((spec.name, swarm.rows(table)?)))
            .collect();
        let tables = rows.map_err(Failure::doing("reading the rows"))?;
        Ok(Self { tables, answers })
    }

    /// By request, its answer; `None` where it was rolled back.
    #[must_use]
    pub fn answers(&self) -> &[Option<Answer>] {
        &self.answers
    }

    /// What differs from what another run has left, in words: the first answer, and the first row of each table.
    #[must_use]
    pub fn differences(&self, other: &Self, by: &str) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(at) = first_difference(&self.answers, &other.answers) {
            let (one, two) = (self.answers.get(at), other.answers.get(at));
            found.push(format!("request {at} is answered {one:x?}, not {two:x?}, by {by}"));
        }
        for ((name, one), (_, two)) in self.tables.iter().zip(&other.tables) {
            if let Some(at) = first_difference(one, two) {
                let (one, two) = (one.get(at), two.get(at));
                found.push(format!("row {at} of {name} is {one:x?}, not {two:x?}, by {by}"));
            }
        }
        found
    }
}

/// The first place at which lists differ.
fn first_difference<A: PartialEq>(one: &[A], two: &[A]) -> Option<usize> {
    (0..one.len().max(two.len())).find(|&at| one.get(at) != two.get(at))
}

/// Requests, whose transactions are tasks.
#[derive(Clone, Copy)]
pub struct Oracles<'f> {
    /// The workload, and the form of its transactions.
    pub formed: &'f Formed,
    /// The requests.
    pub requests: FirstRequests,
    /// The graph's options. Its log has room for all of it, since nobody drains it.
    pub graph: GraphOptions,
    /// Tasks that make transactions by turns.
    pub generators: u64,
    /// The order of tasks with equal timestamps.
    pub ties: Ties,
}

impl Oracles<'_> {
    /// What differs between what tasks have left and what the oracles have, of which the serial runtime has answered
    /// already.
    ///
    /// # Errors
    /// Those of loading and of the requests.
    pub fn differences(
        &self,
        tasks: &After,
        serial: After,
    ) -> core::result::Result<Vec<String>, Failure> {
        let mut found = tasks.differences(&serial, "the serial runtime");
        drop(serial);
        let statements = self.by_statements(self.requests.count)?;
        found.extend(tasks.differences(&statements, "statements one after another"));
        drop(statements);
        found.extend(tasks.differences(&self.by_silo()?, "one client of silo"));
        Ok(found)
    }

    /// The same tasks, one after another: what they leave, and how many they are.
    ///
    /// # Errors
    /// Those of loading; a task that breaks a rule.
    pub fn serially(&self) -> core::result::Result<(After, u64), Failure> {
        let (mut swarm, tables) = self.swarm()?;
        let (ran, answers) = self.run_serially(&mut swarm, &tables, false)?;
        Ok((After::of_swarm(self.formed.workload(), (&swarm, &tables), answers)?, ran))
    }

    /// Runs the tasks one after another on SwarmDB with the workload's rows: how many they are, and the answers. Tasks that
    /// are only `drawn` do not run.
    pub(super) fn run_serially(
        &self,
        swarm: &mut Swarm<Native>,
        tables: &[TableId],
        drawn: bool,
    ) -> core::result::Result<(u64, Vec<Option<Answer>>), Failure> {
        let task_log = self.graph.task_log.map(|_| TaskLogOptions { slots: None });
        let options = GraphOptions { task_log, ..self.graph };
        let count = self.requests.count;
        let in_hand = self.formed.draw(self.requests, tables);
        let bodies = swarm.bodies(in_hand.graph(&options));
        let bodies = bodies.map_err(Failure::doing("making the program of tasks"))?;
        if drawn {
            return Ok((0, Vec::new()));
        }
        let serial = Serial::new(bodies.pool(), self.ties);
        let ran = serial.run(&bodies, first_of(count as u64, self.generators));
        let ran = ran.map_err(|violation| Failure::Host(violation.to_string()))?;
        Ok((ran, (0..count).map(|request| bodies.graph().answered(request)).collect()))
    }

    /// The first so many of the requests as statements.
    ///
    /// # Errors
    /// Those of loading and of the requests.
    pub fn by_statements(&self, first: usize) -> core::result::Result<After, Failure> {
        let (swarm, tables) = self.swarm()?;
        let answers = self.execute(&swarm, &tables, first)?;
        After::of_swarm(self.formed.workload(), (&swarm, &tables), answers)
    }

    /// SwarmDB with the workload's rows, and the numbers of its tables.
    ///
    /// # Errors
    /// Those of loading.
    pub fn swarm(&self) -> core::result::Result<(Swarm<Native>, Vec<TableId>), Failure> {
        let swarm = Swarm::new();
        let tables = fill(self.formed.workload(), &swarm, |spec| spec)?;
        Ok((swarm, tables))
    }

    /// The same requests by one client of silo.
    fn by_silo(&self) -> core::result::Result<After, Failure> {
        let opened = any::open_native(SchemeName::default().name(), Options::default(), None);
        let store = opened.map_err(Failure::doing("opening silo"))?.store;
        let ordered = |spec| TableSpec { index: IndexKind::Ordered, ..spec };
        let tables = fill(self.formed.workload(), &*store, ordered)?;
        let answers = self.execute(&*store, &tables, self.requests.count)?;
        let reading = || Failure::doing("reading the rows of silo");
        let mut session = store.session().map_err(reading())?;
        let rows: Result<_> = with_groups(self.formed.workload(), &tables)
            .map(|(table, spec)| Ok((spec.name, scanned(&mut *session, table)?)))
            .collect();
        Ok(After { tables: rows.map_err(reading())?, answers })
    }

    /// The answers to the first so many requests one after another.
    fn execute<M: Machine>(
        &self,
        store: &(impl Store<M> + ?Sized),
        tables: &[TableId],
        first: usize,
    ) -> core::result::Result<Vec<Option<Answer>>, Failure> {
        let executing = || Failure::doing("executing the requests one after another");
        let mut session = store.session().map_err(executing())?;
        let mut run = |request: usize| {
            if request.is_multiple_of(EPOCH_REQUESTS) {
                store.tick();
            }
            let mut running = Running::begin(&mut *session, &Intent::update())?;
            match self.formed.execute(self.requests, tables, request, &mut running) {
                Ok(answer) => running.commit().map(|_| Some(answer)),
                Err(error) => match running.fail(error) {
                    Error::RolledBack => Ok(None),
                    error => Err(error),
                },
            }
        };
        (0..first).map(&mut run).collect::<Result<_>>().map_err(executing())
    }
}

/// The tables of a workload, which have these numbers, and their groups of columns.
fn with_groups(
    workload: &dyn AnyWorkload,
    tables: &[TableId],
) -> impl Iterator<Item = (TableId, TableSpec)> {
    let both = tables.iter().copied().zip(workload.tables());
    both.flat_map(|(id, spec)| spec.with_groups(id))
}

/// The rows of a table that has an order.
fn scanned<M: Machine>(session: &mut dyn Session<M>, table: TableId) -> Result<Rows> {
    let mut rows = Rows::new();
    loop {
        let mut running = Running::begin(session, &Intent::read_only())?;
        let low = rows.last().map_or(Bound::Unbounded, |(key, _)| Bound::Excluded(&key[..]));
        let range = Range { low, ..Range::all().limit(ROWS_AT_A_TIME) };
        let scanned = running.scan(table, range)?;
        let entries = running.entries(scanned)?.iter();
        let read = entries
            .map(|&entry| Ok((running.key(entry)?.to_vec(), running.bytes(entry.row)?.to_vec())));
        let read = read.collect::<Result<Rows>>()?;
        running.commit()?;
        let is_last = read.len() < ROWS_AT_A_TIME;
        rows.extend(read);
        if is_last {
            return Ok(rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One table with rows of these keys, and answers.
    fn after(keys: &[u8], answers: &[Option<u64>]) -> After {
        let answer = |shown: u64| Answer { shown, is_unsuccessful: false };
        let rows = keys.iter().map(|&key| (vec![key], vec![7])).collect();
        let answers = answers.iter().map(|shown| shown.map(answer)).collect();
        After { tables: vec![("t".into(), rows)], answers }
    }

    #[test]
    fn rows_lost_and_rows_made_up_are_differences() {
        let base = || after(&[1, 2, 3], &[Some(5), None]);
        assert_eq!(base().differences(&base(), "x"), Vec::<String>::new());
        for (keys, place) in [(&[1, 2][..], 2), (&[1, 2, 3, 4], 3), (&[2, 3], 0)] {
            let found = base().differences(&after(keys, &[Some(5), None]), "x");
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(&format!("row {place} of t is ")), "{found:?}");
        }
    }

    #[test]
    fn other_answers_are_differences() {
        let base = after(&[1], &[Some(5), None]);
        for (answers, place) in
            [(&[Some(6), None][..], 0), (&[Some(5), Some(0)], 1), (&[Some(5)], 1)]
        {
            let found = base.differences(&after(&[1], answers), "x");
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(&format!("request {place} is answered ")), "{found:?}");
        }
    }
}
