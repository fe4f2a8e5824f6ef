//! Several servers of one log as one database, for the drivers: sessions are handed out in turn.

use crate::options::{INFO, ServerOptions};
use crate::store::Hyder;
use chiliad_api::{
    Error, Info, Layout, NativeSession, NativeStore, Result, Session, Stats, Store, TableId,
    TableSpec,
};
use chiliad_machine::shared_log::SharedLog;
use chiliad_machine::{Interleaved, Machine, Ordering, Shared, Word};
use std::sync::Arc;

/// Servers that share a log.
pub struct Cluster<M: Machine> {
    servers: Vec<Hyder<M>>,
    /// Sessions handed out.
    sessions: Shared<M, M::Word>,
}

impl<M: Machine> Cluster<M> {
    /// A server for each of `logs`, which are ways to one log.
    ///
    /// # Errors
    /// As for [`Hyder::join`].
    pub fn join(logs: &[Arc<dyn SharedLog>], options: &ServerOptions) -> Result<Self> {
        let join = |log: &Arc<dyn SharedLog>| Hyder::join(Arc::clone(log), options.clone());
        let servers = logs.iter().map(join).collect::<Result<Vec<_>>>()?;
        if servers.is_empty() {
            return Err(Error::InvalidOption("0 servers: at least one is needed".into()));
        }
        Ok(Self { servers, sessions: Shared::new(M::Word::new(0)) })
    }

    /// All servers.
    #[must_use]
    pub fn servers(&self) -> &[Hyder<M>] {
        &self.servers
    }

    fn next(&self) -> &Hyder<M> {
        let session = self.sessions.fetch_add(1, Ordering::Relaxed) as usize;
        &self.servers[session % self.servers.len()]
    }

    /// Lets every server catch up with the log as it is now.
    fn catch_up(&self) {
        self.servers.iter().for_each(Store::tick);
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
        // A server that reads does not ask what the others have committed.
        Info { strict: self.servers.len() == 1, ..INFO }
    }

    fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        self.together(|server| server.create_table(spec))
    }

    fn adopt_layout(&self, table: TableId, layout: Layout) -> Result<()> {
        self.together(|server| server.adopt_layout(table, layout))
    }

    fn seal(&self, name: &str) -> Result<()> {
        self.together(|server| server.seal(name))
    }

    fn tables(&self) -> Vec<(TableId, TableSpec)> {
        self.servers[0].tables()
    }

    fn table(&self, name: &str) -> Result<TableId> {
        self.servers[0].table(name)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        self.together(|server| server.drop_table(name))
    }

    fn session(&self) -> Result<Box<dyn Session<M>>> {
        self.next().session()
    }

    fn tick(&self) {
        self.catch_up();
    }

    fn epoch(&self) -> u64 {
        self.servers[0].epoch()
    }

    fn settle(&self) {
        self.catch_up();
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

    fn log_failure(&self) -> Option<Error> {
        self.servers.iter().find_map(Store::log_failure)
    }
}
