//! Several transactions in flight on the calling thread.

use crate::held::Held;
use crate::run_options::check_in_flight;
use crate::session::{Plan, Session};
use crate::{Database, Error, Result, RunOptions, Transaction};
use chiliad_machine::{Interleaved, Machine};
use core::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// A transaction's end, or the panic of its closure.
type Outcome<T, E> = thread::Result<Held<T, E>>;

impl Database {
    /// Runs `body` once for each input, each time as a transaction of its own, with several of them in
    /// flight on the calling thread; the results are in the order of the inputs.
    ///
    /// Where one transaction would wait for main memory, another one runs. So this is faster than a loop
    /// over [`Database::run`] where transactions wait for memory. How many in flight pay, from one on, the
    /// threads of a database find out together by short trials while they work:
    ///
    /// | it helps | it does not |
    /// | --- | --- |
    /// | a database far larger than the core's own cache: of ten million rows about twice the transactions per second with one look-up each, 2.7 times with four | one that fits the cache: one is in flight then |
    /// | look-ups that depend on each other, one after the other | look-ups that are known together: [`Reader::get_many`](crate::Reader::get_many) lets their waits overlap within one transaction |
    /// | transactions that rarely touch the same rows | transactions that conflict: those in flight conflict with each other too, so there are fewer |
    ///
    /// `cargo bench -p chiliad --bench in_flight` measures it on the machine at hand.
    ///
    /// Each transaction is to itself: it commits, fails, and is run again as by `run`, and what becomes
    /// of it is nothing to the others. The inputs are not one transaction, and begin in their order
    /// but may commit in any. In a database with [`Durability::Sync`](crate::Durability::Sync) the call
    /// waits for the disk once, at the end, for all of them.
    ///
    /// The closure gets the input itself; closures may be inputs:
    /// `db.run_each(closures, |tx, closure| closure(tx))`.
    ///
    /// Closures that take turns on one thread:
    /// - A turn may end in each operation of the transaction. A lock that is held across one, of a
    ///   [`Mutex`](std::sync::Mutex) or a [`RefCell`], may be met by the next closure on the *same*
    ///   thread: a deadlock, or a panic.
    /// - One that blocks the thread, or computes for long, keeps the others waiting.
    /// - Each has a stack of 512 KiB. One that uses more ends the process with a line that says so.
    ///
    /// Each transaction in flight takes a worker of [`Options::workers_max`](crate::Options::workers_max);
    /// with fewer left there are fewer in flight. A call inside a transaction's closure is allowed; made
    /// by a closure that takes turns, it runs one transaction at a time, while its peers take
    /// their turns.
    ///
    /// ```
    /// use chiliad::{Database, Table};
    ///
    /// let db = Database::in_memory()?;
    /// let accounts: Table<u64, i64> = db.create_table("accounts")?;
    /// db.bulk_load(&accounts, (0..100).map(|number| (number, 50)))?;
    ///
    /// let transfers = [(1, 2, 30), (3, 4, 80), (5, 99, 50)];
    /// let moved = db.run_each(&transfers, |tx, (from, to, amount)| {
    ///     let amount = tx.get(&accounts, from)?.unwrap_or(0).min(*amount);
    ///     tx.update(&accounts, from, |balance| *balance -= amount)?;
    ///     tx.update(&accounts, to, |balance| *balance += amount)?;
    ///     Ok(amount)
    /// })?;
    /// assert_eq!(moved, [Ok(30), Ok(50), Ok(50)]);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`] when there is none left, [`Error::HostExhausted`] when there is no room for their
    /// stacks: then nothing was run. What a closure returns is its own result.
    ///
    /// # Panics
    /// When a closure has panicked. Its transaction is rolled back, all others are run, and then the
    /// panic goes on: the first one, in the order of the inputs. Their results are lost to the caller
    /// then, not their effects; to keep them, catch panics in the closure.
    pub fn run_each<I, T>(
        &self,
        inputs: impl IntoIterator<Item = I>,
        body: impl Fn(&mut Transaction<'_>, &mut I) -> Result<T>,
    ) -> Result<Vec<Result<T>>> {
        self.run_each_with(&RunOptions::default(), inputs, body)
    }

    /// As [`Database::run_each`], with options, and with errors of the application's own. A deadline is
    /// each transaction's, from the moment that its turn has come.
    ///
    /// # Errors
    /// As for [`Database::run_each`]; [`Error::InvalidOption`] for [`RunOptions::in_flight`].
    ///
    /// # Panics
    /// As for [`Database::run_each`].
    pub fn run_each_with<I, T, E: From<Error>>(
        &self,
        options: &RunOptions,
        inputs: impl IntoIterator<Item = I>,
        body: impl Fn(&mut Transaction<'_>, &mut I) -> core::result::Result<T, E>,
    ) -> Result<Vec<core::result::Result<T, E>>> {
        check_in_flight(options.in_flight)?;
        let inputs: Vec<I> = inputs.into_iter().collect();
        let fibers = options.in_flight.min(inputs.len()).max(1);
        let mut outcomes: Vec<Option<Outcome<T, E>>> = Vec::new();
        outcomes.resize_with(inputs.len(), || None);
        let outcomes = RefCell::new(outcomes);
        // Borrowed for a moment each, never while a peer may run.
        let inputs = RefCell::new(inputs.into_iter().enumerate());
        let next = || inputs.borrow_mut().next();
        let left = || inputs.borrow().len();
        let drain = |session: &mut Session| {
            while let Some((place, mut input)) = next() {
                let run =
                    || session.run(self.rules(), Plan::now(options), |tx| body(tx, &mut input));
                let outcome = catch_unwind(AssertUnwindSafe(run));
                outcomes.borrow_mut()[place] = Some(outcome);
                Interleaved::between();
            }
        };
        let ended = self.rules().pace.interleave(fibers, |_| match left() {
            0 => Ok(()),
            _ => self.with_session(drain),
        })?;
        for fiber in ended {
            let began = fiber.unwrap_or_else(|panic| resume_unwind(panic));
            // A fiber that had a session has left nothing to do.
            if left() > 0 {
                began?;
            }
        }
        self.tell(outcomes.into_inner())
    }

    /// The results, when all of them may be told.
    fn tell<T, E: From<Error>>(
        &self,
        outcomes: Vec<Option<Outcome<T, E>>>,
    ) -> Result<Vec<core::result::Result<T, E>>> {
        let held: thread::Result<Vec<Held<T, E>>> = outcomes.into_iter().flatten().collect();
        let held = held.unwrap_or_else(|panic| resume_unwind(panic));
        // With the newest epoch all are durable.
        let newest = held.iter().map(|held| held.epoch).max().unwrap_or(0);
        if let Some(acks) = self.rules().holding() {
            acks.hurry(newest);
        }
        Ok(held.into_iter().map(|held| held.wait(self.rules())).collect())
    }
}
