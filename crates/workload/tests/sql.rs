//! The workloads in SQL, one request after another: what they leave, and whether their conditions see that it is not so.

use chiliad_api::{Error, Intent, Range, Running, Store, TableId, Transaction};
use chiliad_machine::Plain;
use chiliad_swarm::Swarm;
use chiliad_workload::sql::tpcb::TpcbOptions;
use chiliad_workload::tpcc::TpccOptions;
use chiliad_workload::{AnyWorkload, ClientId, WorkloadOptions};
use std::sync::Arc;

struct Bank {
    workload: Arc<dyn AnyWorkload>,
    database: Swarm<Plain>,
    tables: Vec<TableId>,
}

fn micro() -> [WorkloadOptions; 2] {
    [WorkloadOptions::TpcbSql(TpcbOptions::micro()), WorkloadOptions::TpccSql(TpccOptions::micro())]
}

impl Bank {
    fn new(options: &WorkloadOptions) -> Self {
        let workload = options.make().expect("valid");
        let database = Swarm::<Plain>::new();
        let specs = workload.tables().into_iter();
        let tables: Vec<TableId> =
            specs.map(|spec| database.create_table(spec).expect("a table")).collect();
        let mut session = database.session().expect("a session");
        for part in 0..workload.load_parts() {
            let mut insert = |table, key: &[u8], row: &[u8]| session.load(table, key, row);
            workload.load(&tables, part, 3, &mut insert).expect("loads");
        }
        drop(session);
        Self { workload, database, tables }
    }

    /// Runs so many requests of three clients in turn, and returns how many of each kind committed, and how many rolled
    /// back.
    fn run(&self, requests: usize, seed: u64) -> (Vec<usize>, usize) {
        let mut session = self.database.session().expect("a session");
        let client = |index| ClientId::apart(index, 3, seed);
        let mut clients: Vec<_> =
            (0..3).map(|it| self.workload.any_client(&self.tables, client(it))).collect();
        let (mut committed, mut rolled_back) = (vec![0; self.workload.kinds().len()], 0);
        for turn in 0..requests {
            let client = &mut clients[turn % 3];
            let mut partitions = Vec::new();
            let shape = client.next(&mut partitions);
            assert!(partitions.is_sorted() && !partitions.is_empty());
            let intent = Intent { partitions: &partitions, ..Intent::update() };
            let mut running = Running::begin(&mut *session, &intent).expect("begins");
            match client.execute(&mut running) {
                Ok(()) => {
                    running.commit().expect("nobody else is there");
                    committed[shape.kind] += 1;
                }
                Err(Error::RolledBack) => {
                    running.rollback();
                    rolled_back += 1;
                }
                Err(error) => panic!("{}: {error}", self.workload.kinds()[shape.kind]),
            }
        }
        (committed, rolled_back)
    }

    /// The names of the conditions that do not hold.
    fn broken(&self) -> Vec<String> {
        let mut session = self.database.session().expect("a session");
        let mut run = |body: &mut dyn FnMut(&mut dyn Transaction) -> chiliad_api::Result<()>| {
            let mut running = Running::begin(&mut *session, &Intent::read_only())?;
            body(&mut running)?;
            running.commit().map(|_| ())
        };
        let conditions = self.workload.conditions_kept(true, &self.tables, &mut run);
        let conditions = conditions.expect("nobody else is there").into_iter();
        conditions.filter(|it| it.failure.is_some()).map(|it| it.name).collect()
    }

    /// Removes the last row of a table.
    fn remove_last(&self, name: &str) {
        let table = self.database.table(name).expect("a table");
        let mut session = self.database.session().expect("a session");
        let mut running = Running::begin(&mut *session, &Intent::update()).expect("begins");
        let last = running.scan(table, Range::all().reverse().limit(1)).expect("ordered");
        let row = running.entries(last).expect("ours")[0].row;
        running.remove_row(row).expect("nobody else is there");
        running.commit().expect("nobody else is there");
    }
}

#[test]
fn requests_one_after_another_keep_the_conditions() {
    for options in micro() {
        let bank = Bank::new(&options);
        assert_eq!(bank.broken(), Vec::<String>::new(), "as loaded");
        for seed in 1..3 {
            // The second run finds its numbers in HISTORY taken.
            let (committed, rolled_back) = bank.run(600, seed);
            assert!(committed.iter().all(|&count| count > 20), "{committed:?}");
            assert!(rolled_back > 5, "{rolled_back}");
            assert_eq!(bank.broken(), Vec::<String>::new(), "{}", bank.workload.name());
        }
    }
}

#[test]
fn conditions_see_what_is_missing() {
    let [tpcb, tpcc] = micro();
    let cases: [(&WorkloadOptions, &str, &[&str]); 8] = [
        (&tpcb, "branches", &["history", "accounts", "index"]),
        (&tpcb, "tellers", &["tellers"]),
        (&tpcb, "accounts", &["accounts", "index"]),
        (&tpcb, "history", &["history"]),
        (&tpcc, "history", &["3.3.2.8", "3.3.2.9", "3.3.2.10"]),
        (&tpcc, "new_order", &["3.3.2.2", "3.3.2.5", "3.3.2.11"]),
        (&tpcc, "orders", &["3.3.2.2", "3.3.2.4", "3.3.2.6"]),
        (&tpcc, "order_line", &["3.3.2.4", "3.3.2.6"]),
    ];
    for (options, table, expected) in cases {
        let bank = Bank::new(options);
        // With this seed the district of the last new order has others: conditions pass over an empty queue.
        bank.run(100, 5);
        bank.remove_last(table);
        let broken = bank.broken();
        for condition in expected {
            assert!(broken.iter().any(|it| it == condition), "{table}: {broken:?}");
        }
    }
}
