//! A workload as drivers see it: tables, rows to load, requests to make
//! up, one procedure per request, and conditions that must hold at the end.
//!
//! A workload knows no scheme and no machine; its procedures are written once against
//! [`Transaction`]. A request is made up before its transaction begins and is kept across retries,
//! so that a refused transaction does the same again.

use crate::{DEFERRED_WORDS, Deferred, Outcome};
use chiliad_api::{Error, Reason, Result, TableId, TableSpec, Transaction};

/// The properties of a transaction that the driver tells the engine before it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Index into [`Workload::kinds`].
    pub kind: usize,
    /// It writes nothing.
    pub read_only: bool,
    /// It may read a snapshot of the past.
    pub snapshot: bool,
}

/// Which client of how many, for generators that divide the key space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientId {
    /// From zero.
    pub index: usize,
    /// How many there are.
    pub of: usize,
    /// The number that its home is chosen by, where clients have one: those that share it share a home.
    pub home: usize,
    /// The seed of the run.
    pub seed: u64,
}

/// A consistency condition that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// Its name in reports.
    pub name: String,
    /// The first violation, or `None`.
    pub failure: Option<String>,
}

/// A load that clients put on a database.
pub trait Workload: Send + Sync + 'static {
    /// One client: its random numbers, its home, the request in hand, its scratch memory. Made
    /// once, reused for every request, so that steady state allocates nothing.
    type Client: Send + 'static;

    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// The names of its kinds of transaction, for reports.
    fn kinds(&self) -> &'static [&'static str];

    /// The tables to create, in order; their numbers arrive in [`Workload::load`] and
    /// [`Workload::client`] in the same order.
    fn tables(&self) -> Vec<TableSpec>;

    /// The number of independent parts the load can be divided into.
    fn load_parts(&self) -> usize;

    /// Makes up part `part` of the initial rows, in ascending key order per table where it can.
    ///
    /// # Errors
    /// Those of `insert`.
    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()>;

    /// A client with this identity.
    fn client(&self, tables: &[TableId], client_id: ClientId) -> Self::Client;

    /// Makes up the client's next request and stores it in the client. The partitions that it will
    /// touch, ascending, go to `partitions` (which arrives empty).
    fn next(&self, client: &mut Self::Client, partitions: &mut Vec<u32>) -> Shape;

    /// Makes up the request of a transaction that begins, reads, and stays open until the run is over,
    /// and stores it in the client.
    fn next_stalled(&self, client: &mut Self::Client, partitions: &mut Vec<u32>) -> Shape {
        self.next(client, partitions)
    }

    /// Random choices that the request in hand took, for machines that price them: one, or one for each
    /// key that was drawn.
    #[inline]
    fn draws(&self, client: &Self::Client) -> u32 {
        let _ = client;
        1
    }

    /// Runs the request in hand inside `tx`. [`chiliad_api::Error::RolledBack`] means that the
    /// workload's own logic asked for it. Must be repeatable.
    ///
    /// # Errors
    /// Those of the transaction.
    fn execute<T: Transaction + ?Sized>(&self, client: &mut Self::Client, tx: &mut T)
    -> Result<()>;

    /// Whether the request in hand, which has committed, found nothing to act on and changed nothing,
    /// where the workload's rules expect that of some. It counts as committed all the same.
    #[inline]
    fn unsuccessful(&self, client: &Self::Client) -> bool {
        let _ = client;
        false
    }

    /// The number of partitions that requests which may wait fall into; none: no request may wait.
    fn deferring(&self) -> u32 {
        0
    }

    /// The request in hand, if it may wait: then the client goes on as if it were done, and some client of the
    /// same workload runs it later, once, by [`Self::resume`].
    fn deferred(&self, client: &Self::Client) -> Option<Deferred> {
        let _ = client;
        None
    }

    /// Takes a request that was deferred, by this client or another, into the client's hand, as [`Self::next`]
    /// does with one that it makes up.
    ///
    /// # Panics
    /// Where no request may wait.
    fn resume(
        &self,
        client: &mut Self::Client,
        words: [u64; DEFERRED_WORDS],
        partitions: &mut Vec<u32>,
    ) -> Shape {
        let _ = (client, words, partitions);
        unreachable!("{} defers no request", self.name())
    }

    /// The result of the request in hand, which was deferred and has committed.
    fn outcome(&self, client: &Self::Client) -> Outcome {
        let _ = client;
        Outcome::default()
    }

    /// Looks at the conditions that must hold between transactions, in a database at rest. Each
    /// call of `run` runs a body inside a read-only transaction of its own, so that the rows of a
    /// large database need not fit into one transaction's memory. Empty where the workload states
    /// no condition.
    ///
    /// # Errors
    /// Those of the transactions.
    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>>;

    /// The names of the conditions that write skew breaks.
    fn broken_by_skew(&self) -> &'static [&'static str] {
        &[]
    }

    /// The conditions that a scheme keeps: without those that write skew breaks unless it is
    /// `serializable`.
    ///
    /// # Errors
    /// As [`Self::conditions`].
    fn conditions_kept(
        &self,
        serializable: bool,
        tables: &[TableId],
        run: &mut RunReadOnly<'_>,
    ) -> Result<Vec<Condition>> {
        let mut conditions = self.conditions(tables, run)?;
        if !serializable {
            let broken = self.broken_by_skew();
            conditions.retain(|condition| !broken.contains(&condition.name.as_str()));
        }
        Ok(conditions)
    }
}

/// Inserts an initial row: table, key, value.
pub type InsertRow<'a> = dyn FnMut(TableId, &[u8], &[u8]) -> Result<()> + 'a;

/// Runs a body in a fresh read-only transaction. The body may be run again from its start when the
/// transaction is refused.
pub type RunReadOnly<'a> =
    dyn FnMut(&mut dyn FnMut(&mut dyn Transaction) -> Result<()>) -> Result<()> + 'a;

/// A row that the workload's rules say is there. Where it is not, the transaction has met a state
/// that never was, and must be run again.
#[inline]
pub(crate) fn present<R>(row: Option<R>) -> Result<R> {
    // Not `ok_or`, which would make the error and drop it again for each row that is there.
    match row {
        Some(row) => Ok(row),
        None => Err(Error::Conflict(Reason::Vanished)),
    }
}

/// The outcome of inserting under a key that is free by what the transaction has read. Where it is
/// taken, somebody else has changed what was read, and the transaction must be run again.
#[inline]
pub(crate) fn free(inserted: Result<()>) -> Result<()> {
    match inserted {
        Err(Error::DuplicateKey(_)) => Err(Error::Conflict(Reason::ReadChanged)),
        other => other,
    }
}
