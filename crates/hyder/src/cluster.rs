//! Several servers of one log as one database, for the drivers: sessions are handed out in turn.

use crate::audit::compare;
use crate::options::{INFO, Level, ServerOptions};
use crate::store::Hyder;
use chiliad_api::{
    Error, Info, Isolation, NativeSession, NativeStore, Result, Session, Stats, Store, TableId,
    TableLayout, TableMemory, TableSpec,
};
use chiliad_machine::shared_log::SharedLog;
use chiliad_machine::{Interleaved, Machine, Ordering, Shared, Word};
use std::sync::Arc;

/// Servers that share a log.
pub struct Cluster<M: Machine> {
    servers: Vec<Hyder<M>>,
    /// Servers that share the log, with those of other processes.
    all: usize,
    /// What their transactions depend on.
    level: Level,
    /// Sessions handed out.
    sessions: Shared<M, M::Word>,
    /// Where servers are on hosts of their own.
    hosts: Option<Hosts>,
}

/// Servers on hosts of their own, which share no memory: a session is one of the server on the caller's host.
#[derive(Clone, Copy, Debug)]
pub struct Hosts {
    /// The number of the host that the caller is on.
    pub own: fn() -> usize,
    /// Does something on the host of this number, which the caller is not on: between runs, when no core is at work.
    pub on: fn(usize, &mut dyn FnMut()),
}

impl Hosts {
    fn on<R>(&self, host: usize, act: impl FnOnce() -> R) -> R {
        let (mut act, mut outcome) = (Some(act), None);
        (self.on)(host, &mut || outcome = act.take().map(|act| act()));
        outcome.expect("it was done")
    }
}

/// How often servers that are to have read the same are let catch up with a log that does not always answer.
const ROUNDS_MAX: usize = 1000;

impl<M: Machine> Cluster<M> {
    /// A server for each of `logs`, which are ways to one log.
    ///
    /// # Errors
    /// As for [`Hyder::join`].
    pub fn join(logs: &[Arc<dyn SharedLog>], options: &ServerOptions) -> Result<Self> {
        Self::join_on(logs, options, None)
    }

    /// As [`Cluster::join`], for servers on hosts of their own.
    ///
    /// # Errors
    /// As for [`Hyder::join`].
    pub fn join_on(
        logs: &[Arc<dyn SharedLog>],
        options: &ServerOptions,
        hosts: Option<Hosts>,
    ) -> Result<Self> {
        let join = |(host, log): (usize, &Arc<dyn SharedLog>)| {
            let join = || Hyder::join(Arc::clone(log), options.clone());
            hosts.map_or_else(join, |hosts| hosts.on(host, join))
        };
        let servers = logs.iter().enumerate().map(join).collect::<Result<Vec<_>>>()?;
        if servers.is_empty() {
            return Err(Error::InvalidOption("0 servers: at least one is needed".into()));
        }
        let (all, level) = (servers.len(), options.roll.level);
        Ok(Self { servers, all, level, sessions: Shared::new(M::Word::new(0)), hosts })
    }

    /// Says that the log has `all` servers, the others in other processes.
    #[must_use]
    pub fn among(self, all: usize) -> Self {
        Self { all, ..self }
    }

    /// All servers.
    #[must_use]
    pub fn servers(&self) -> &[Hyder<M>] {
        &self.servers
    }

    fn next(&self) -> &Hyder<M> {
        if self.hosts.is_some() {
            return self.here();
        }
        let session = self.sessions.fetch_add(1, Ordering::Relaxed) as usize;
        &self.servers[session % self.servers.len()]
    }

    /// The server on the caller's host, or the first.
    fn here(&self) -> &Hyder<M> {
        &self.servers[self.hosts.map_or(0, |hosts| (hosts.own)())]
    }

    /// Lets every server catch up with the log as it is now.
    fn catch_up(&self) {
        for (host, server) in self.servers.iter().enumerate() {
            match self.hosts {
                Some(hosts) => hosts.on(host, || server.read_to_end()),
                None => server.read_to_end(),
            }
        }
    }

    /// Lets every server catch up until all have read as far, and then no further; whether they have.
    fn meet(&self) -> bool {
        let labels = || self.servers.iter().map(|server| server.digest().0).collect::<Vec<_>>();
        let mut before = labels();
        (0..ROUNDS_MAX).any(|_| {
            self.catch_up();
            let now = labels();
            let met = now == before && now.iter().all(|&label| label == now[0]);
            before = now;
            met
        })
    }

    /// Has one server do something that all are to know.
    fn together<T>(&self, act: impl FnOnce(&Hyder<M>) -> Result<T>) -> Result<T> {
        let done = act(&self.servers[0]);
        self.catch_up();
        done
    }
}

impl NativeStore for Cluster<Interleaved> {
    fn native_session(&self) -> Result<Box<NativeSession>> {
        self.next().native_session()
    }
}

impl<M: Machine> Store<M> for Cluster<M> {
    fn info(&self) -> Info {
        let isolation = match self.level {
            Level::Serializable => INFO.isolation,
            Level::Snapshot => Isolation::Snapshot,
        };
        // A server that reads does not ask what the others have committed.
        Info { isolation, strict: self.all == 1, ..INFO }
    }

    fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        self.together(|server| server.create_table(spec))
    }

    fn change_layout(&self, table: TableId, layout: TableLayout) -> Result<()> {
        self.together(|server| server.change_layout(table, layout))
    }

    fn seal(&self, name: &str) -> Result<()> {
        self.together(|server| server.seal(name))
    }

    fn tables(&self) -> Vec<(TableId, TableSpec)> {
        self.here().tables()
    }

    fn table(&self, name: &str) -> Result<TableId> {
        self.here().table(name)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        self.together(|server| server.drop_table(name))
    }

    fn session(&self) -> Result<Box<dyn Session<M>>> {
        self.next().session()
    }

    fn tick(&self) {
        match self.hosts {
            Some(_) => self.next().tick(),
            None => self.servers.iter().for_each(Store::tick),
        }
    }

    fn epoch(&self) -> u64 {
        self.here().epoch()
    }

    fn reach_snapshot(&self) {
        self.catch_up();
    }

    fn audit(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        if !self.meet() {
            let why = self.log_failure().map_or(String::new(), |failure| format!(": {failure}"));
            found.push(format!("not all servers read the log to its end{why}"));
        }
        let first = &self.servers[0];
        for (other, number) in self.servers[1..].iter().zip(2..) {
            let differences = compare(&first.0, &other.0)?;
            found.extend(differences.iter().map(|what| format!("servers 1 and {number}: {what}")));
        }
        Ok(found)
    }

    fn fingerprint(&self) -> Result<Option<String>> {
        self.servers[0].fingerprint()
    }

    fn stats(&self) -> Stats {
        let mut all = self.servers[0].stats();
        for stats in self.servers[1..].iter().map(Store::stats) {
            all.committed += stats.committed;
            all.rolled_back += stats.rolled_back;
            for (reason, count) in stats.refused {
                *all.refused.entry(reason).or_default() += count;
            }
        }
        all
    }

    fn measure_tables(&self, over: &dyn Fn() -> bool) -> Result<Vec<TableMemory>> {
        self.servers[0].measure_tables(over)
    }

    fn log_failure(&self) -> Option<Error> {
        match self.hosts {
            Some(_) => self.here().log_failure(),
            None => self.servers.iter().find_map(Store::log_failure),
        }
    }
}
