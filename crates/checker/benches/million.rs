//! How long a check takes: a history shaped like TPC-C, a million transactions by default.
//!
//! `cargo bench -p chiliad-checker --bench million -- [TRANSACTIONS] [WORKERS] [STALE]`
//!
//! `STALE` is how many reads in a million see the previous version: the graph of a broken engine,
//! in which nearly all transactions hang together, is the hardest to explain.
//!
//! The generator executes the transactions of the standard mix one after the other, over a model of
//! the versions, and so yields a serializable history with the accesses of the real thing: hot
//! warehouse and district rows, ten order lines an order, scans of orders and order lines,
//! deliveries that eat a queue from the left. Transactions are dealt to the workers in turn and
//! overlap in time.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use chiliad_checker::{
    Bound, Direction, Header, History, Options, Recorder, Stamp, Version, WriteKind, check,
};

const WAREHOUSES: u64 = 2;
const DISTRICTS: u64 = 10;
const CUSTOMERS: u64 = 3000;
const ITEMS: u64 = 100_000;

const TABLES: [&str; 8] =
    ["warehouse", "district", "customer", "new_order", "orders", "order_line", "item", "stock"];
const WAREHOUSE: u32 = 0;
const DISTRICT: u32 = 1;
const CUSTOMER: u32 = 2;
const NEW_ORDER: u32 = 3;
const ORDERS: u32 = 4;
const ORDER_LINE: u32 = 5;
const ITEM: u32 = 6;
const STOCK: u32 = 7;

type Key = (u32, [u64; 4]);

struct Generator {
    recorders: Vec<Recorder>,
    /// The writer of the current version of each key that was written.
    current: HashMap<Key, Stamp>,
    orders: Vec<VecDeque<u64>>,
    next_order: Vec<u64>,
    lines: HashMap<(u64, u64), u64>,
    random: u64,
    stamp: Stamp,
    at: usize,
    stale: u64,
    previous: HashMap<Key, Stamp>,
}

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % n
    }

    fn version(&self, key: Key) -> Version {
        self.current.get(&key).copied().unwrap_or_default().into()
    }

    fn read(&mut self, table: u32, key: [u64; 4]) {
        let mut version = self.version((table, key));
        if self.stale > 0 && self.below(1_000_000) < self.stale {
            version = self.previous.get(&(table, key)).copied().unwrap_or_default().into();
        }
        self.recorders[self.at].read(table, &bytes(table, key), version);
    }

    fn write(&mut self, table: u32, key: [u64; 4], kind: WriteKind) {
        let over = self.current.insert((table, key), self.stamp).unwrap_or_default();
        if self.stale > 0 && over != Stamp::INITIAL {
            self.previous.insert((table, key), over);
        }
        self.recorders[self.at].write(table, &bytes(table, key), kind, over, 0);
    }

    fn update(&mut self, table: u32, key: [u64; 4]) {
        self.read(table, key);
        self.write(table, key, WriteKind::Update);
    }

    fn scan_lines(&mut self, w: u64, d: u64, orders: std::ops::Range<u64>) {
        let (low, high) = ([w, d, orders.start, 0], [w, d, orders.end, 0]);
        let (low, high) = (bytes(ORDER_LINE, low), bytes(ORDER_LINE, high));
        let (low, high) = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        self.recorders[self.at].scan_begin(ORDER_LINE, low, high, Direction::Ascending);
        for o in orders {
            for line in 0..self.lines.get(&(w * DISTRICTS + d, o)).copied().unwrap_or(0) {
                let key = [w, d, o, line];
                let version = self.version((ORDER_LINE, key));
                self.recorders[self.at].scan_entry(&bytes(ORDER_LINE, key), version);
            }
        }
        self.recorders[self.at].scan_end(false);
    }

    fn new_order(&mut self, w: u64, d: u64) {
        let c = self.below(CUSTOMERS);
        self.read(WAREHOUSE, [w, 0, 0, 0]);
        self.read(CUSTOMER, [w, d, c, 0]);
        self.update(DISTRICT, [w, d, 0, 0]);
        let place = w * DISTRICTS + d;
        let o = self.next_order[place as usize];
        self.next_order[place as usize] += 1;
        self.write(ORDERS, [w, d, o, 0], WriteKind::Insert);
        self.write(NEW_ORDER, [w, d, o, 0], WriteKind::Insert);
        let lines = 5 + self.below(11);
        let mut items: Vec<u64> = (0..lines).map(|_| self.below(ITEMS)).collect();
        items.sort_unstable();
        items.dedup();
        self.lines.insert((place, o), items.len() as u64);
        for (line, item) in items.into_iter().enumerate() {
            self.read(ITEM, [item, 0, 0, 0]);
            self.update(STOCK, [w, item, 0, 0]);
            self.write(ORDER_LINE, [w, d, o, line as u64], WriteKind::Insert);
        }
        self.orders[place as usize].push_back(o);
    }

    fn payment(&mut self, w: u64, d: u64) {
        let c = self.below(CUSTOMERS);
        self.update(WAREHOUSE, [w, 0, 0, 0]);
        self.update(DISTRICT, [w, d, 0, 0]);
        self.update(CUSTOMER, [w, d, c, 0]);
    }

    fn order_status(&mut self, w: u64, d: u64) {
        let c = self.below(CUSTOMERS);
        self.read(CUSTOMER, [w, d, c, 0]);
        let last = self.next_order[(w * DISTRICTS + d) as usize];
        if last > 0 {
            self.read(ORDERS, [w, d, last - 1, 0]);
            self.scan_lines(w, d, last - 1..last);
        }
    }

    fn delivery(&mut self, w: u64) {
        for d in 0..DISTRICTS {
            let (low, high) = (bytes(NEW_ORDER, [w, d, 0, 0]), bytes(NEW_ORDER, [w, d + 1, 0, 0]));
            let (low, high) = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
            self.recorders[self.at].scan_begin(NEW_ORDER, low, high, Direction::Ascending);
            let first = self.orders[(w * DISTRICTS + d) as usize].pop_front();
            let Some(o) = first else {
                self.recorders[self.at].scan_end(false);
                continue;
            };
            let key = [w, d, o, 0];
            let version = self.version((NEW_ORDER, key));
            self.recorders[self.at].scan_entry(&bytes(NEW_ORDER, key), version);
            self.recorders[self.at].scan_end(true);
            self.write(NEW_ORDER, key, WriteKind::Remove);
            self.update(ORDERS, key);
            self.scan_lines(w, d, o..o + 1);
            for line in 0..self.lines[&(w * DISTRICTS + d, o)] {
                self.write(ORDER_LINE, [w, d, o, line], WriteKind::Update);
            }
            let c = self.below(CUSTOMERS);
            self.update(CUSTOMER, [w, d, c, 0]);
        }
    }

    fn stock_level(&mut self, w: u64, d: u64) {
        self.read(DISTRICT, [w, d, 0, 0]);
        let next = self.next_order[(w * DISTRICTS + d) as usize];
        self.scan_lines(w, d, next.saturating_sub(20)..next);
        for _ in 0..200 {
            let item = self.below(ITEMS);
            self.read(STOCK, [w, item, 0, 0]);
        }
    }
}

/// Four-byte big-endian parts, as many as the table's key has.
fn bytes(table: u32, key: [u64; 4]) -> Vec<u8> {
    let parts = match table {
        WAREHOUSE | ITEM => 1,
        DISTRICT | STOCK => 2,
        ORDER_LINE => 4,
        _ => 3,
    };
    key[..parts].iter().flat_map(|&part| (part as u32).to_be_bytes()).collect()
}

/// What the process has used, on Linux: on a busy machine this says more than the clock.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.split_whitespace().skip(13).take(2).filter_map(|n| n.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn main() {
    // Cargo says `--bench` to every bench.
    let given = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut arguments = given.map(|word| word.parse::<u64>().expect("a number"));
    let transactions = arguments.next().unwrap_or(1_000_000);
    let workers = arguments.next().unwrap_or(2);
    let stale = arguments.next().unwrap_or(0);

    let places = (WAREHOUSES * DISTRICTS) as usize;
    let mut generator = Generator {
        recorders: (0..workers).map(|worker| Recorder::new(worker as u32)).collect(),
        current: HashMap::new(),
        orders: vec![VecDeque::new(); places],
        next_order: vec![0; places],
        lines: HashMap::new(),
        random: 1,
        stamp: Stamp::INITIAL,
        at: 0,
        stale,
        previous: HashMap::new(),
    };
    for n in 0..transactions {
        generator.at = (n % workers) as usize;
        generator.stamp = Stamp::new((n % workers) as u32, n / workers + 1);
        let start = (10 * n).saturating_sub(generator.below(10 * workers));
        generator.recorders[generator.at].begin(generator.stamp, start, false);
        let (w, d) = (generator.below(WAREHOUSES), generator.below(DISTRICTS));
        match generator.below(100) {
            0..45 => generator.new_order(w, d),
            45..88 => generator.payment(w, d),
            88..92 => generator.order_status(w, d),
            92..96 => generator.delivery(w),
            _ => generator.stock_level(w, d),
        }
        let end = 10 * n + 9 + generator.below(10 * workers);
        generator.recorders[generator.at].commit(end, n + 1, n / 10_000);
    }
    let recorders = generator.recorders;
    let bytes: usize = recorders.iter().map(Recorder::bytes).sum();
    drop((generator.current, generator.lines, generator.previous));

    let names = TABLES.iter().map(|name| (*name).to_owned());
    let tables = (0..).zip(names).collect();
    let header = Header { tables, ..Header::default() };
    let before = processor_seconds();
    let start = Instant::now();
    let history = History::from_recorders(header, recorders).expect("the generator is sound");
    let loaded = start.elapsed();
    let count = history.operations();
    println!("{transactions} transactions, {count} operations, {bytes} bytes recorded");
    println!("merged in {:.2} s", loaded.as_secs_f64());
    let verdict = check(&history, &Options::default());
    println!("checked in {:.2} s", (start.elapsed() - loaded).as_secs_f64());
    println!("processor time of both {:.2} s", processor_seconds() - before);
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    }
    print!("{verdict}");
}
