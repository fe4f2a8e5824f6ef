//! Any workload as tasks: each transaction is one, whose statements are those of the workload's own procedures.
//!
//! Each request has a client of its own, with the one request that it draws first; executions of its task use the client
//! one after another ([`Whole`]). Procedures own vectors on the host: of an execution that hardware gives up, those are lost
//! that it held at that moment, such as the copy of a key. Graphs of fine tasks own nothing.

use super::{Answering, GENERATE, ROOT, charge_request, generate};
use crate::any_workload::AnyClient;
use chiliad_api::{Entry, Range, Result, Row, Scanned, TableId, Transaction};
use chiliad_machine::tasks::{FunctionId, Task, Tasks};
use chiliad_swarm::{Graph, TaskLog, View, Whole};
use core::cell::Cell;

/// The answer to a request that was not rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// A digest of what was read, or the number that a terminal would show.
    pub shown: u64,
    /// It found nothing to act on: [`crate::Workload::unsuccessful`].
    pub is_unsuccessful: bool,
}

/// Executes the request that a client has in hand.
///
/// # Errors
/// Those of the transaction.
pub(super) fn execute(client: &mut dyn AnyClient, tx: &mut dyn Transaction) -> Result<Answer> {
    let mut told = Told { tx, digest: Cell::new(DIGEST) };
    client.execute(&mut told)?;
    Ok(Answer { shown: told.digest.get(), is_unsuccessful: client.unsuccessful() })
}

/// A client whose transaction is one task.
pub(super) type OneClient<'w> = Box<dyn AnyClient + 'w>;

/// The transactions of so many requests, each a task.
pub(super) struct OneTask<'w>(Whole<OneClient<'w>, Answer>);

impl<'w> OneTask<'w> {
    /// The transactions of the requests that these clients have in hand.
    pub(super) fn new(clients: impl IntoIterator<Item = OneClient<'w>>) -> Self {
        Self(Whole::new(clients))
    }

    fn transaction<T: Tasks>(&self, view: &mut View<'_, T>, task: &Task) {
        self.0.run(view, task.word(0) as usize, |client, tx| {
            charge_request::<T::Machine>(client.draws());
            execute(&mut **client, tx)
        });
    }
}

impl<T: Tasks> Graph<T> for OneTask<'_> {
    fn name(&self, function: FunctionId) -> &'static str {
        match function {
            GENERATE => "generate",
            ROOT => "transaction",
            _ => "unknown",
        }
    }

    fn run(&self, view: &mut View<'_, T>, task: &Task) {
        match task.function {
            GENERATE => generate(view, task),
            ROOT => self.transaction(view, task),
            _ => view.trap("a function that does not exist"),
        }
    }
}

impl<T: Tasks> Answering<T> for OneTask<'_> {
    fn answered(&self, request: usize) -> Option<Answer> {
        self.0.answer(request)
    }

    fn log(&self) -> Option<&TaskLog<T::Machine>> {
        None
    }
}

/// The digest of nothing (FNV-1a: Fowler, Noll, Vo, 1991), and by what each byte multiplies it.
const DIGEST: u64 = 0xcbf2_9ce4_8422_2325;
const DIGEST_PRIME: u64 = 0x0100_0000_01b3;

/// A transaction whose answers are digested, as they come: what was found, and the bytes that were looked at.
struct Told<'t> {
    tx: &'t mut dyn Transaction,
    digest: Cell<u64>,
}

impl Told<'_> {
    fn tell(&self, length: u64, bytes: &[u8]) {
        let mix = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(DIGEST_PRIME);
        let length = length.to_le_bytes();
        self.digest.set(length.iter().chain(bytes).fold(self.digest.get(), mix));
    }

    fn tell_bytes(&self, bytes: &[u8]) {
        self.tell(bytes.len() as u64, bytes);
    }

    fn found(&self, row: Option<Row>) -> Result<Option<Row>> {
        match row {
            Some(row) => self.tell_bytes(self.tx.bytes(row)?),
            // No row is as long.
            None => self.tell(u64::MAX, &[]),
        }
        Ok(row)
    }

    fn scanned(&self, scanned: Scanned) -> Result<Scanned> {
        for &entry in self.tx.entries(scanned)? {
            self.tell_bytes(self.tx.key(entry)?);
            self.tell_bytes(self.tx.bytes(entry.row)?);
        }
        Ok(scanned)
    }
}

impl Transaction for Told<'_> {
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let row = self.tx.get(table, key)?;
        self.found(row)
    }

    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let row = self.tx.get_for_update(table, key)?;
        self.found(row)
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        let scanned = self.tx.scan(table, range)?;
        self.scanned(scanned)
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        let scanned = self.tx.scan_index(table, index, range)?;
        self.scanned(scanned)
    }

    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        self.tx.entries(scanned)
    }

    fn key(&self, entry: Entry) -> Result<&[u8]> {
        self.tx.key(entry)
    }

    fn table_of(&self, row: Row) -> Result<TableId> {
        self.tx.table_of(row)
    }

    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.tx.bytes(row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.tx.insert(table, key, value)
    }

    fn insert_parts(&mut self, table: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        self.tx.insert_parts(table, key, parts)
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        self.tx.update(row, value)
    }

    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        self.tx.modify(row)
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.tx.put(table, key, value)
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        self.tx.remove_row(row)
    }
}
