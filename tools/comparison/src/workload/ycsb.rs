//! YCSB as transactions: a few distinct records each, read, or read and written back changed.

use super::{Loader, Session, Workload, found};
use crate::random::{Random, Zipf};
use crate::store::{Kind, Needs, Result, Tx, Verdict};
use std::hint::black_box;

/// What one run is made of.
pub struct Ycsb {
    records: u64,
    record_bytes: usize,
    operations: usize,
    read_percent: u32,
    zipf: Zipf,
}

/// The counter that an update raises, at the beginning of each record.
pub const COUNTER_BYTES: usize = 8;

impl Ycsb {
    /// Needs `operations <= records` and `record_bytes >= COUNTER_BYTES`.
    pub fn new(
        records: u64,
        record_bytes: usize,
        operations: usize,
        read_percent: u32,
        theta: f64,
    ) -> Self {
        let zipf = Zipf::new(records, theta);
        Self { records, record_bytes, operations, read_percent, zipf }
    }

    fn client(&self, number: u64, seed: u64) -> Client<'_> {
        let random = Random::new(seed, number + 1);
        Client { workload: self, random, drawn: Vec::new(), value: Vec::new() }
    }
}

impl Workload for Ycsb {
    fn tables(&self) -> usize {
        1
    }

    fn needs(&self) -> Needs {
        Needs { reads_many: self.operations > 1, ..Needs::default() }
    }

    fn load(&self, rows: &mut Loader<'_>) -> Result<()> {
        let mut random = Random::new(0, 0);
        let mut value = vec![0; self.record_bytes];
        for record in 0..self.records {
            random.letters(&mut value[COUNTER_BYTES..]);
            rows.row(0, &record.to_be_bytes(), &value)?;
        }
        Ok(())
    }

    fn session(&self, client: u64, seed: u64) -> Box<dyn Session + '_> {
        Box::new(self.client(client, seed))
    }
}

struct Client<'w> {
    workload: &'w Ycsb,
    random: Random,
    /// The records, and which of them are written.
    drawn: Vec<(u64, bool)>,
    value: Vec<u8>,
}

impl Session for Client<'_> {
    fn draw(&mut self) -> Kind {
        let Ycsb { operations, read_percent, zipf, .. } = self.workload;
        self.drawn.clear();
        while self.drawn.len() < *operations {
            let record = zipf.draw(&mut self.random);
            if self.drawn.iter().all(|&(other, _)| other != record) {
                self.drawn.push((record, !self.random.percent(*read_percent)));
            }
        }
        let writes = self.drawn.iter().any(|&(_, writes)| writes);
        if writes { Kind::Update } else { Kind::ReadOnly }
    }

    fn body(&mut self, tx: &mut dyn Tx) -> Result<Verdict> {
        for &(record, writes) in &self.drawn {
            let key = record.to_be_bytes();
            let there = if writes {
                tx.update(0, &key, &mut |value| {
                    let counter = value.first_chunk_mut().expect("longer than its counter");
                    *counter = (u64::from_le_bytes(*counter) + 1).to_le_bytes();
                })?
            } else {
                let there = tx.get(0, &key, &mut self.value)?;
                black_box(&self.value);
                there
            };
            found(there, "a record")?;
        }
        Ok(Verdict::Commit)
    }
}

#[cfg(test)]
mod tests {
    use super::Ycsb;
    use crate::directory::Directory;
    use crate::store::{Durability, Kind, Result, Setup, Store, Verdict};
    use crate::stores::CANDIDATES;
    use crate::workload::{Session, Workload, load};
    use std::thread;

    const RECORDS: u64 = 64;
    const TRANSACTIONS: u64 = 300;

    fn updates(store: &dyn Store, workload: &Ycsb, number: u64) -> Result<()> {
        let mut client = store.client()?;
        let mut session = workload.session(number, 1);
        for _ in 0..TRANSACTIONS {
            let kind = session.draw();
            client.run(kind, &mut |tx| session.body(tx))?;
        }
        Ok(())
    }

    /// All counters together, in a transaction of its own.
    fn total(store: &dyn Store) -> Result<u64> {
        let (mut total, mut client) = (0, store.client()?);
        client.run(Kind::ReadOnly, &mut |tx| {
            total = 0;
            tx.scan(0, &[0; 8], &[0xFF; 8], usize::MAX, &mut |_, value| {
                total += u64::from_le_bytes(*value.first_chunk().unwrap());
            })?;
            Ok(Verdict::Commit)
        })?;
        Ok(total)
    }

    #[test]
    fn no_store_loses_an_update() {
        let workload = Ycsb::new(RECORDS, 20, 4, 0, 0.5);
        for candidate in CANDIDATES {
            let name = format!("ycsb-{}-{}", candidate.name, std::process::id());
            let directory = Directory::new(&std::env::temp_dir(), &name).unwrap();
            let setup = Setup {
                directory: directory.path(),
                tables: 1,
                items: false,
                durability: Durability::None,
            };
            let store = (candidate.open)(&setup).unwrap();
            load(&workload, &*store).unwrap();
            thread::scope(|scope| {
                for number in 0..3 {
                    let (store, workload) = (&*store, &workload);
                    scope.spawn(move || updates(store, workload, number).unwrap());
                }
            });
            let counted = total(&*store).unwrap();
            assert_eq!(counted, 3 * TRANSACTIONS * 4, "{}", candidate.name);
        }
    }

    #[test]
    fn a_transactions_records_are_distinct() {
        let workload = Ycsb::new(20, 20, 20, 50, 0.9);
        let mut client = workload.client(0, 1);
        client.draw();
        let mut drawn = client.drawn.iter().map(|&(record, _)| record).collect::<Vec<_>>();
        drawn.sort_unstable();
        assert_eq!(drawn, (0..20).collect::<Vec<_>>());
    }
}
