//! Bidding as a graph of tasks.
//!
//! ```text
//!   root ── count the user's bid ── insert the bid
//!        ── keep the product's highest
//! ```
//!
//! Clients are as many as transactions, each with one request in hand; the number of a client is that of its
//! transaction in the order.

use super::Client;
use super::request::Shown;
use super::schema::{Tables, bid, bidmax, biduser, key};
use crate::tasks::{
    GENERATE, GraphOptions, Log, RANGE, ROOT, Scratch, charge_request, generate, get, log_column,
    set,
};
use chiliad_machine::Machine;
use chiliad_machine::tasks::{FunctionId, Task, Tasks};
use chiliad_swarm::{Graph, TaskLog, View};

/// Names of the functions, by number.
const NAMES: [&str; 6] = ["generate", "root", "count_bid", "insert_bid", "keep_highest", "log"];

const COUNT_BID: FunctionId = FunctionId(2);
const INSERT_BID: FunctionId = FunctionId(3);
const KEEP_HIGHEST: FunctionId = FunctionId(4);
const LOG: FunctionId = FunctionId(5);

// Lines of scratch: what the user and the product have said.
const USER: usize = 0;
const PRODUCT: usize = 1;
const SCRATCH_LINES: usize = 2;

/// The transactions of so many requests, as tasks.
pub struct BiddingTasks<'c, M: Machine> {
    tables: Tables,
    clients: &'c [Client],
    scratch: Scratch<M>,
    log: Log<M>,
}

impl<'c, M: Machine> BiddingTasks<'c, M> {
    /// One transaction for each client: the request that it has in hand.
    ///
    /// # Panics
    /// When there is no client, or no memory for the scratch.
    #[must_use]
    pub fn new(clients: &'c [Client]) -> Self {
        Self::with(clients, &GraphOptions::default())
    }

    /// As [`BiddingTasks::new`], with these options. No task has several parents here.
    ///
    /// # Panics
    /// As [`BiddingTasks::new`].
    #[must_use]
    pub fn with(clients: &'c [Client], options: &GraphOptions) -> Self {
        let tables = clients.first().expect("a client").tables;
        let scratch = Scratch::new(clients.len(), SCRATCH_LINES);
        Self { tables, clients, scratch, log: Log::new(options, clients.len(), LOG) }
    }

    /// What the transactions have written, if that is logged.
    #[must_use]
    pub fn log(&self) -> Option<&TaskLog<M>> {
        self.log.kept()
    }

    /// The answer to a request whose transaction has finished: [`Client::shown`].
    #[must_use]
    pub fn shown(&self, request: usize) -> Shown {
        let word = |line| self.scratch.get(request as u64, line, 0) as u32;
        Shown { number: word(USER), highest: word(PRODUCT) }
    }

    fn begin<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let request = task.word(0);
        self.log.commit(view, task);
        charge_request::<M>(2);
        let bid = self.clients[request as usize].bid();
        let hint =
            |of: u32, table: chiliad_api::TableId| Some(u64::from(table.0) << 32 | u64::from(of));
        let base = task.timestamp / RANGE * RANGE;
        let user = hint(bid.user, self.tables.biduser);
        view.enqueue(COUNT_BID, base + 1, &[request], user);
        let product = hint(bid.product, self.tables.bidmax);
        view.enqueue(KEEP_HIGHEST, base + 3, &[request], product);
    }

    fn count_bid<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let request = task.word(0);
        let user = self.clients[request as usize].bid().user;
        let row = view.get(self.tables.biduser, &key::user(user));
        let number = get(row, biduser::BIDS);
        set(row, biduser::BIDS, number.wrapping_add(1));
        self.scratch.set(request, USER, 0, number.into());
        let base = task.timestamp / RANGE * RANGE;
        view.enqueue(INSERT_BID, base + 2, &[request, number.into()], task.hint);
        self.log.write(view, task.timestamp, |entry| {
            let key = key::user(user);
            log_column(entry, (self.tables.biduser, &key), biduser::BIDS, number.wrapping_add(1));
        });
    }

    /// Word: the bid's number.
    fn insert_bid<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let asked = self.clients[task.word(0) as usize].bid();
        let key = key::bid(asked.user, task.word(1) as u32);
        let mut row = [0; bid::BYTES];
        bid::PRODUCT.set(&mut row, asked.product);
        bid::AMOUNT.set(&mut row, asked.amount);
        view.insert(self.tables.bid, &key, &row);
        self.log.write(view, task.timestamp, |entry| entry.row(self.tables.bid, &key, &row));
    }

    fn keep_highest<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let request = task.word(0);
        let asked = self.clients[request as usize].bid();
        let row = view.get(self.tables.bidmax, &key::product(asked.product));
        let highest = get(row, bidmax::AMOUNT);
        if asked.amount > highest {
            set(row, bidmax::AMOUNT, asked.amount);
            self.log.write(view, task.timestamp, |entry| {
                let key = key::product(asked.product);
                log_column(entry, (self.tables.bidmax, &key), bidmax::AMOUNT, asked.amount);
            });
        }
        self.scratch.set(request, PRODUCT, 0, highest.into());
    }
}

impl<T: Tasks> Graph<T> for BiddingTasks<'_, T::Machine> {
    fn name(&self, function: FunctionId) -> &'static str {
        NAMES.get(usize::from(function.0)).copied().unwrap_or("unknown")
    }

    fn run(&self, view: &mut View<'_, T>, task: &Task) {
        match task.function {
            GENERATE => generate(view, task),
            ROOT => self.begin(view, task),
            COUNT_BID => self.count_bid(view, task),
            INSERT_BID => self.insert_bid(view, task),
            KEEP_HIGHEST => self.keep_highest(view, task),
            LOG => self.log.put(view, task),
            _ => view.trap("a function that does not exist"),
        }
    }
}
