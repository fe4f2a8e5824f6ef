//! What workloads as graphs of tasks have in common: ranges of timestamps, the task that makes transactions, columns of
//! rows in tracked words, and lines for what the tasks of a transaction tell each other.
//!
//! A request is made up before the run, and tasks only read it: words say which. Its answer is put together from the
//! transaction's lines when the run is over.

mod form;
mod graphs;
mod joins;
mod log;
mod one;
mod options;

pub use form::{Answering, FirstRequests, Form, Formed, InHand, has_graph};
pub use joins::FAULTS;
pub(crate) use joins::Joins;
pub(crate) use log::Log;
pub use one::Answer;
use one::OneTask;
pub use options::{GraphOptions, SCAN_PARTITIONS_MAX, TaskLogOptions};

use crate::row::{Column, Kind};
use chiliad_api::TableId;
use chiliad_machine::tasks::{FunctionId, LINE_WORDS, Lines, Task, Tasks};
use chiliad_machine::{Array, Cost, Line, Machine, Ordering, Word};
use chiliad_swarm::{Entry, Record, View};
use core::array::from_fn;

/// Timestamps of a transaction: more than any has steps.
pub const RANGE: u64 = 64;

/// The function that makes transactions: it begins those of the next requests, then itself.
pub(crate) const GENERATE: FunctionId = FunctionId(0);

/// The function that a transaction begins with. Its word is the number of the request.
pub const ROOT: FunctionId = FunctionId(1);

/// Transactions that are begun at a time.
const AT_A_TIME: u64 = 7;

/// The task that a run of so many requests begins with, where one task makes all transactions.
///
/// # Panics
/// Never: it has three words.
#[must_use]
pub fn first(requests: u64) -> Task {
    generator(0, requests, 1)
}

/// The tasks that a run of so many requests begins with, where `generators` tasks make transactions by turns. So none
/// waits for one that is late.
#[must_use]
pub fn first_of(requests: u64, generators: u64) -> Vec<Task> {
    let starts = (0..generators).map(|it| it * AT_A_TIME).filter(|&next| next < requests);
    starts.map(|next| generator(next, requests, generators)).collect()
}

fn generator(next: u64, requests: u64, generators: u64) -> Task {
    let words = [next, requests, generators * AT_A_TIME];
    Task::new(GENERATE, next * RANGE, &words, None).expect("three words")
}

/// The body of [`GENERATE`]. Its words: the next request, the number of requests, and how far it is to the request after
/// which it goes on.
pub(crate) fn generate<T: Tasks>(view: &View<'_, T>, task: &Task) {
    let (next, end, step) = (task.word(0), task.word(1), task.word(2));
    for request in next..end.min(next + AT_A_TIME) {
        view.enqueue(ROOT, request * RANGE, &[request], None);
    }
    let after = next + step;
    if after < end {
        view.enqueue(GENERATE, after * RANGE, &[after, end, step], None);
    }
}

/// Charges for a request that was made up with so many random choices.
pub(crate) fn charge_request<M: Machine>(draws: u32) {
    M::work(Cost::Request, 1);
    M::work(Cost::Draw, draws);
}

/// Enqueues a step of the transaction that `task` belongs to, at so many timestamps from its beginning.
pub(crate) fn step<T: Tasks>(
    view: &View<'_, T>,
    task: &Task,
    function: FunctionId,
    offset: u64,
    words: &[u64],
    hint: u64,
) {
    let base = task.timestamp / RANGE * RANGE;
    view.enqueue(function, base + offset, words, Some(hint));
}

/// The hint of a row: its table and its key, as far as that fits.
pub(crate) fn hint(table: TableId, key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let from = key.len().saturating_sub(7);
    bytes[1..=key.len() - from].copy_from_slice(&key[from..]);
    bytes[0] = table.0 as u8;
    u64::from_le_bytes(bytes)
}

/// The greatest column that is read by itself, in bytes.
const COLUMN_MAX: usize = 8;

/// Reads a column of a row, and nothing else of it.
#[inline]
pub(crate) fn get<T: Lines, K, V>(row: Record<'_, T>, column: Column<K>) -> V
where
    K: for<'a> Kind<Value<'a> = V>,
{
    let mut bytes = [0; COLUMN_MAX];
    let bytes = &mut bytes[..column.bytes()];
    row.read(column.offset(), bytes);
    K::read(bytes)
}

/// Writes a column of a row, and nothing else of it.
#[inline]
pub(crate) fn set<T: Lines, K, V>(row: Record<'_, T>, column: Column<K>, value: V)
where
    K: for<'a> Kind<Value<'a> = V>,
{
    let (bytes, length) = encoded(column, value);
    row.write(column.offset(), &bytes[..length]);
}

/// Logs the value of a column.
#[inline]
pub(crate) fn log_column<K, V>(
    entry: &mut Entry,
    (table, key): (TableId, &[u8]),
    column: Column<K>,
    value: V,
) where
    K: for<'a> Kind<Value<'a> = V>,
{
    let (bytes, length) = encoded(column, value);
    entry.part(table, key, column.offset(), &bytes[..length]);
}

/// The bytes of a column's value, and how many they are.
fn encoded<K, V>(column: Column<K>, value: V) -> ([u8; COLUMN_MAX], usize)
where
    K: for<'a> Kind<Value<'a> = V>,
{
    let mut bytes = [0; COLUMN_MAX];
    K::write(&mut bytes[..column.bytes()], value);
    (bytes, column.bytes())
}

/// Lines of tracked words: so many for each transaction, all zero at first. Tasks that may run side by side write
/// different ones.
pub(crate) struct Scratch<M: Machine> {
    lines: Array<M, Line<[M::Word; LINE_WORDS]>>,
    of_each: usize,
}

impl<M: Machine> Scratch<M> {
    pub(crate) fn new(transactions: usize, of_each: usize) -> Self {
        let lines =
            Array::new((transactions * of_each).max(1), || Line(from_fn(|_| M::Word::new(0))));
        Self { lines, of_each }
    }

    fn word(&self, request: u64, line: usize, word: usize) -> &M::Word {
        &self.lines.get(request as usize * self.of_each + line).0[word]
    }

    /// Reads a word of a transaction's line.
    pub(crate) fn get(&self, request: u64, line: usize, word: usize) -> u64 {
        self.word(request, line, word).load(Ordering::Relaxed)
    }

    /// Writes one.
    pub(crate) fn set(&self, request: u64, line: usize, word: usize, value: u64) {
        self.word(request, line, word).store(value, Ordering::Relaxed);
    }
}
