//! TPC-C as a graph of tasks: its five transactions, step by step, for hardware that keeps the order (Yan, 2015, 4.1).
//!
//! One file for each transaction. A step is a task on the rows of one table, as far as that goes; steps whose keys are
//! known begin at once, others descend from the step that finds their keys. Rules and rows are those of the procedures
//! beside this module.
//!
//! Clients are as many as transactions, each with one request in hand; the number of a client is that of its
//! transaction in the order. Their numbers in HISTORY are not to be taken by rows of a run before.

mod delivery;
mod new_order;
mod payment;
mod reads;

use super::schema::Tables;
use super::{Client, DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT};
use crate::tasks::{
    GENERATE, GraphOptions, Joins, Log, ROOT, Scratch, charge_request, generate, hint, step,
};
use chiliad_machine::Machine;
use chiliad_machine::tasks::{FunctionId, Task, Tasks};
use chiliad_swarm::{Graph, TaskLog, View};

/// Names of the functions, by number.
const NAMES: [&str; 23] = [
    "generate",
    "root",
    "items",
    "terms",
    "next_order",
    "stocks",
    "insert_lines",
    "insert_order",
    "pay_warehouse",
    "pay_district",
    "find_customer",
    "pay_customer",
    "note_bad_credit",
    "insert_history",
    "customer_status",
    "order_status",
    "deliver_districts",
    "deliver_order",
    "deliver_lines",
    "deliver_customer",
    "make_room",
    "log",
    "read_names",
];

const ITEMS: FunctionId = FunctionId(2);
const TERMS: FunctionId = FunctionId(3);
const NEXT_ORDER: FunctionId = FunctionId(4);
const STOCKS: FunctionId = FunctionId(5);
const INSERT_LINES: FunctionId = FunctionId(6);
const INSERT_ORDER: FunctionId = FunctionId(7);
const PAY_WAREHOUSE: FunctionId = FunctionId(8);
const PAY_DISTRICT: FunctionId = FunctionId(9);
const FIND_CUSTOMER: FunctionId = FunctionId(10);
const PAY_CUSTOMER: FunctionId = FunctionId(11);
const NOTE_BAD_CREDIT: FunctionId = FunctionId(12);
const INSERT_HISTORY: FunctionId = FunctionId(13);
const CUSTOMER_STATUS: FunctionId = FunctionId(14);
const SHOW_ORDER: FunctionId = FunctionId(15);
const DELIVER_DISTRICTS: FunctionId = FunctionId(16);
const DELIVER_ORDER: FunctionId = FunctionId(17);
const DELIVER_LINES: FunctionId = FunctionId(18);
const DELIVER_CUSTOMER: FunctionId = FunctionId(19);
const MAKE_ROOM: FunctionId = FunctionId(20);
const LOG: FunctionId = FunctionId(21);
const READ_NAMES: FunctionId = FunctionId(22);

/// Lines of a transaction's scratch: the most that one uses, new-order.
const SCRATCH_LINES: usize = new_order::SCRATCH_LINES;

/// The transactions of so many requests, as tasks.
pub struct TpccTasks<'c, M: Machine> {
    tables: Tables,
    clients: &'c [Client],
    scratch: Scratch<M>,
    /// Counters of the parents of HISTORY.
    joins: Option<Joins<M>>,
    log: Log<M>,
}

impl<'c, M: Machine> TpccTasks<'c, M> {
    /// One transaction for each client: the request that it has in hand.
    ///
    /// # Panics
    /// When there is no client, or no memory for the scratch.
    #[must_use]
    pub fn new(clients: &'c [Client]) -> Self {
        Self::with(clients, &GraphOptions::default())
    }

    /// As [`TpccTasks::new`], with these options.
    ///
    /// # Panics
    /// As [`TpccTasks::new`].
    #[must_use]
    pub fn with(clients: &'c [Client], options: &GraphOptions) -> Self {
        let tables = clients.first().expect("a client").tables;
        let joins = options.joins.then(|| Joins::new(clients.len(), 1));
        let scratch = Scratch::new(clients.len(), SCRATCH_LINES);
        Self { tables, clients, scratch, joins, log: Log::new(options, clients.len(), LOG) }
    }

    /// What the transactions have written, if that is logged.
    #[must_use]
    pub fn log(&self) -> Option<&TaskLog<M>> {
        self.log.kept()
    }

    /// The terminal's output after a transaction has finished: [`Client::shown`]; `None` if it was rolled back.
    #[must_use]
    pub fn shown(&self, request: usize) -> Option<u64> {
        let client = &self.clients[request];
        let request = request as u64;
        match client.kind {
            NEW_ORDER => self.shown_new_order(request, &client.new_order),
            PAYMENT => Some(self.shown_payment(request)),
            ORDER_STATUS => Some(self.shown_order_status(request)),
            DELIVERY => Some(self.shown_delivery(request)),
            _ => Some(self.shown_stock_level(request)),
        }
    }

    /// The client whose request a task is about, and the number of that.
    fn client(&self, task: &Task) -> (u64, &'c Client) {
        let request = task.word(0);
        (request, &self.clients[request as usize])
    }
}

impl<T: Tasks> Graph<T> for TpccTasks<'_, T::Machine> {
    fn name(&self, function: FunctionId) -> &'static str {
        NAMES.get(usize::from(function.0)).copied().unwrap_or("unknown")
    }

    fn run(&self, view: &mut View<'_, T>, task: &Task) {
        match task.function {
            GENERATE => generate(view, task),
            ROOT => self.begin(view, task),
            ITEMS => self.items(view, task),
            TERMS => self.terms(view, task),
            NEXT_ORDER => self.next_order(view, task),
            STOCKS => self.stocks(view, task),
            INSERT_LINES => self.insert_lines(view, task),
            INSERT_ORDER => self.insert_order(view, task),
            PAY_WAREHOUSE => self.pay_warehouse(view, task),
            PAY_DISTRICT => self.pay_district(view, task),
            READ_NAMES => self.read_names(view, task),
            FIND_CUSTOMER => self.find_customer(view, task),
            PAY_CUSTOMER => self.pay_customer(view, task),
            NOTE_BAD_CREDIT => self.note_bad_credit(view, task),
            INSERT_HISTORY => self.insert_history(view, task),
            CUSTOMER_STATUS => self.customer_status(view, task),
            SHOW_ORDER => self.show_order(view, task),
            DELIVER_DISTRICTS => self.deliver_districts(view, task),
            DELIVER_ORDER => self.deliver_order(view, task),
            DELIVER_LINES => self.deliver_lines(view, task),
            DELIVER_CUSTOMER => self.deliver_customer(view, task),
            MAKE_ROOM => self.make_room(view, task),
            LOG => self.log.put(view, task),
            _ => view.trap("a function that does not exist"),
        }
    }
}

impl<M: Machine> TpccTasks<'_, M> {
    /// The root of a transaction.
    fn begin<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (_, client) = self.client(task);
        let is_order = client.kind == NEW_ORDER;
        self.log.commit(view, task);
        charge_request::<M>(if is_order { client.new_order.lines().len() as u32 } else { 1 });
        match client.kind {
            NEW_ORDER => self.begin_new_order(view, task),
            PAYMENT => self.begin_payment(view, task),
            ORDER_STATUS => self.begin_order_status(view, task),
            DELIVERY => self.begin_delivery(view, task),
            _ => self.stock_level(view, task),
        }
    }
}
