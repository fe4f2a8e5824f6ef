//! TPC-E as a graph of tasks: its six transactions, step by step, for hardware that keeps the order (Yan, 2015, 4.2.2).
//!
//! One file for each transaction. What is scanned is divided into as many parts as `--scan-partitions` says, each a task of its own;
//! tasks that only begin others make a tree of them, eight to each, and a last task merges what the parts have found.
//! It is begun by the last part by number, or with `--joins` by the last one that is done.
//! Rules, rows and answers are those of the procedures beside this module.
//!
//! Clients are as many as transactions, each with one request in hand; the number of a client is that of its
//! transaction in the order.

mod order;
mod parts;
mod position;
mod result;
mod status;
mod update;
mod watch;

use super::Client;
use super::request::Request;
use super::rules::{ACCOUNTS_MAX, Rules};
use super::schema::Tables;
use crate::tasks::{GENERATE, GraphOptions, Joins, Log, ROOT, Scratch, charge_request, generate};
use chiliad_machine::Machine;
use chiliad_machine::tasks::{FunctionId, Task, Tasks};
use chiliad_swarm::{Graph, TaskLog, View};

/// Names of the functions, by number.
const NAMES: [&str; 25] = [
    "generate",
    "root",
    "fan",
    "merge",
    "customer",
    "accounts",
    "account",
    "find_trades",
    "show_trades",
    "watch",
    "owner",
    "correct",
    "order_owner",
    "order_security",
    "order_holdings",
    "order_worth",
    "order_costs",
    "insert_trade",
    "insert_way",
    "take_trade",
    "note_price",
    "settle",
    "complete",
    "pay",
    "log",
];

const FAN: FunctionId = FunctionId(2);
const MERGE: FunctionId = FunctionId(3);
const CUSTOMER: FunctionId = FunctionId(4);
const ACCOUNTS: FunctionId = FunctionId(5);
const ACCOUNT: FunctionId = FunctionId(6);
const FIND_TRADES: FunctionId = FunctionId(7);
const SHOW_TRADES: FunctionId = FunctionId(8);
const WATCH: FunctionId = FunctionId(9);
const OWNER: FunctionId = FunctionId(10);
const CORRECT: FunctionId = FunctionId(11);
const ORDER_OWNER: FunctionId = FunctionId(12);
const ORDER_SECURITY: FunctionId = FunctionId(13);
const ORDER_HOLDINGS: FunctionId = FunctionId(14);
const ORDER_WORTH: FunctionId = FunctionId(15);
const ORDER_COSTS: FunctionId = FunctionId(16);
const INSERT_TRADE: FunctionId = FunctionId(17);
const INSERT_WAY: FunctionId = FunctionId(18);
const TAKE_TRADE: FunctionId = FunctionId(19);
const NOTE_PRICE: FunctionId = FunctionId(20);
const SETTLE: FunctionId = FunctionId(21);
const COMPLETE: FunctionId = FunctionId(22);
const PAY: FunctionId = FunctionId(23);
const LOG: FunctionId = FunctionId(24);

// Lines of a transaction's scratch. Each is written by one task.
/// What the merging task has made of the parts.
const RESULT: usize = 0;
/// What is known of those who ask: six lines, as each transaction uses them.
const KNOWN: usize = 1;
/// The accounts of a customer.
const OF_ACCOUNTS: usize = KNOWN + 6;
/// Numbers of trades that were found.
const LIST: usize = OF_ACCOUNTS + ACCOUNTS_MAX as usize;
/// What the parts have found, a line for each.
const PART: usize = LIST + parts::LIST_LINES;

/// The transactions of so many requests, as tasks.
pub struct TpceTasks<'c, M: Machine> {
    tables: Tables,
    rules: Rules,
    /// Parts of a scan.
    parts: u32,
    clients: &'c [Client],
    scratch: Scratch<M>,
    /// A counter of a transaction's parts.
    joins: Option<Joins<M>>,
    log: Log<M>,
}

impl<'c, M: Machine> TpceTasks<'c, M> {
    /// One transaction for each client: the request that it has in hand.
    ///
    /// # Panics
    /// When there is no client, or no memory for the scratch.
    #[must_use]
    pub fn new(clients: &'c [Client]) -> Self {
        Self::with(clients, &GraphOptions::default())
    }

    /// As [`TpceTasks::new`], with these options.
    ///
    /// # Panics
    /// As [`TpceTasks::new`], and when the options are not in range.
    #[must_use]
    pub fn with(clients: &'c [Client], options: &GraphOptions) -> Self {
        let &Client { tables, rules, .. } = clients.first().expect("a client");
        let parts = options.scan_partitions().expect("parts that are in range");
        let scratch = Scratch::new(clients.len(), PART + parts as usize);
        let joins = options.joins.then(|| Joins::new(clients.len(), 1));
        let log = Log::new(options, clients.len(), LOG);
        Self { tables, rules, parts, clients, scratch, joins, log }
    }

    /// What the transactions have written, if that is logged.
    #[must_use]
    pub fn log(&self) -> Option<&TaskLog<M>> {
        self.log.kept()
    }

    /// What a transaction that has finished has shown: [`Client::shown`], or zero where [`Client::found`] would be
    /// false; `None` if it was rolled back.
    #[must_use]
    pub fn shown(&self, request: usize) -> Option<u64> {
        let asked = &self.clients[request].request;
        let request = request as u64;
        match asked {
            Request::TradeOrder(order) => self.shown_order(request, order),
            Request::TradeResult(_) => Some(self.shown_result(request)),
            _ => Some(self.scratch.get(request, RESULT, 0)),
        }
    }

    /// The number of the request that a task is about, and the request.
    fn asked(&self, task: &Task) -> (u64, &'c Request) {
        let request = task.word(0);
        (request, &self.clients[request as usize].request)
    }

    /// The root of a transaction.
    fn begin<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, request) = self.asked(task);
        self.log.commit(view, task);
        charge_request::<M>(self.clients[number as usize].draws());
        match request {
            Request::CustomerPosition(request) => self.begin_position(view, task, request),
            Request::MarketWatch(_) => self.begin_watch(view, task),
            Request::TradeStatus(request) => self.begin_status(view, task, request),
            Request::TradeOrder(request) => self.begin_order(view, task, request),
            Request::TradeUpdate(request) => self.begin_update(view, task, request),
            Request::TradeResult(request) => self.begin_result(view, task, request),
        }
    }
}

impl<T: Tasks> Graph<T> for TpceTasks<'_, T::Machine> {
    fn name(&self, function: FunctionId) -> &'static str {
        NAMES.get(usize::from(function.0)).copied().unwrap_or("unknown")
    }

    fn run(&self, view: &mut View<'_, T>, task: &Task) {
        match task.function {
            GENERATE => generate(view, task),
            ROOT => self.begin(view, task),
            FAN => self.fan(view, task),
            MERGE => self.merge(view, task),
            CUSTOMER => self.customer(view, task),
            ACCOUNTS => self.accounts(view, task),
            ACCOUNT => self.account(view, task),
            FIND_TRADES => self.find_trades(view, task),
            SHOW_TRADES => self.show_trades(view, task),
            WATCH => self.watch(view, task),
            OWNER => self.owner(view, task),
            CORRECT => self.correct(view, task),
            ORDER_OWNER => self.order_owner(view, task),
            ORDER_SECURITY => self.order_security(view, task),
            ORDER_HOLDINGS => self.order_holdings(view, task),
            ORDER_WORTH => self.order_worth(view, task),
            ORDER_COSTS => self.order_costs(view, task),
            INSERT_TRADE => self.insert_trade(view, task),
            INSERT_WAY => self.insert_way(view, task),
            TAKE_TRADE => self.take_trade(view, task),
            NOTE_PRICE => self.note_price(view, task),
            SETTLE => self.settle(view, task),
            COMPLETE => self.complete(view, task),
            PAY => self.pay(view, task),
            LOG => self.log.put(view, task),
            _ => view.trap("a function that does not exist"),
        }
    }
}
