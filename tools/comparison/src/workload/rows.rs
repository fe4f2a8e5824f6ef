//! Typed rows of ten columns: one operation a transaction, of one kind, so that each kind has a table of its own.

use super::{Loader, Session, Workload, found};
use crate::item::Item;
use crate::random::Random;
use crate::store::{Kind, Result, Tx, Verdict};
use std::hint::black_box;

/// What a transaction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Operation {
    /// Reads one row.
    Get,
    /// Changes one column of one row.
    Update,
    /// Reads the rows of 100 keys that follow each other.
    Range,
    /// Inserts one row.
    Insert,
}

/// Rows of a range.
const RANGE: usize = 100;

/// What one run is made of.
pub struct Rows {
    pub records: u64,
    pub operation: Operation,
}

impl Workload for Rows {
    fn tables(&self) -> usize {
        1
    }

    fn has_items(&self) -> bool {
        true
    }

    fn load(&self, rows: &mut Loader<'_>) -> Result<()> {
        let mut random = Random::new(0, 0);
        for key in 0..self.records {
            rows.item(key, Item::any(&mut random))?;
        }
        Ok(())
    }

    fn session(&self, client: u64, seed: u64) -> Box<dyn Session + '_> {
        let mut random = Random::new(seed, client + 1);
        let item = Item::any(&mut random);
        // Each client inserts into a range of its own.
        let next = self.records + (client << 40);
        Box::new(Client { workload: self, random, key: 0, next, item })
    }
}

struct Client<'w> {
    workload: &'w Rows,
    random: Random,
    key: u64,
    /// The key of the next row to insert.
    next: u64,
    item: Item,
}

impl Session for Client<'_> {
    fn draw(&mut self) -> Kind {
        let Rows { records, operation } = *self.workload;
        self.key = self.random.below(records);
        match operation {
            Operation::Get => Kind::ReadOnly,
            Operation::Range => {
                self.key = self.random.below(records.saturating_sub(RANGE as u64) + 1);
                Kind::ReadOnly
            }
            Operation::Update => Kind::Update,
            Operation::Insert => {
                self.key = self.next;
                self.next += 1;
                Kind::Update
            }
        }
    }

    fn body(&mut self, tx: &mut dyn Tx) -> Result<Verdict> {
        match self.workload.operation {
            Operation::Get => found(black_box(tx.item(self.key)?).is_some(), "a row")?,
            Operation::Update => {
                found(tx.change_item(self.key, &mut |item| item.sold += 1)?, "a row")?;
            }
            Operation::Range => {
                let mut count = 0;
                tx.items(self.key, RANGE, &mut |_, item| {
                    black_box(&item);
                    count += 1;
                })?;
                let expected = RANGE.min((self.workload.records - self.key) as usize);
                found(count == expected, "rows of a range")?;
            }
            Operation::Insert => tx.insert_item(self.key, &self.item)?,
        }
        Ok(Verdict::Commit)
    }
}

#[cfg(test)]
mod tests {
    use super::{Operation, Rows};
    use crate::directory::Directory;
    use crate::item::Item;
    use crate::random::Random;
    use crate::store::{Durability, Kind, Setup, Verdict};
    use crate::stores::CANDIDATES;
    use crate::workload::{Workload, load};

    const RECORDS: u64 = 250;

    #[test]
    fn every_store_has_the_rows_after_each_kind_of_transaction() {
        for candidate in CANDIDATES {
            let name = format!("rows-{}-{}", candidate.name, std::process::id());
            let directory = Directory::new(&std::env::temp_dir(), &name).unwrap();
            let durability = Durability::None;
            let setup = Setup { directory: directory.path(), tables: 1, items: true, durability };
            let store = (candidate.open)(&setup).unwrap();
            let all = [Operation::Get, Operation::Update, Operation::Range, Operation::Insert];
            load(&Rows { records: RECORDS, operation: Operation::Get }, &*store).unwrap();
            let mut client = store.client().unwrap();
            for operation in all {
                let workload = Rows { records: RECORDS, operation };
                let mut session = workload.session(0, 1);
                for _ in 0..100 {
                    let kind = session.draw();
                    client.run(kind, &mut |tx| session.body(tx)).unwrap();
                }
            }
            let mut random = Random::new(0, 0);
            let before: Vec<Item> = (0..RECORDS).map(|_| Item::any(&mut random)).collect();
            let mut after = Vec::new();
            let mut all_items = |tx: &mut dyn crate::store::Tx| {
                after.clear();
                tx.items(0, usize::MAX, &mut |key, item| after.push((key, item)))?;
                Ok(Verdict::Commit)
            };
            client.run(Kind::ReadOnly, &mut all_items).unwrap();
            let keys: Vec<u64> = after.iter().map(|(key, _)| *key).collect();
            assert_eq!(keys, (0..RECORDS + 100).collect::<Vec<_>>(), "{}", candidate.name);
            let sold: u64 =
                before.iter().zip(&after).map(|(old, (_, new))| new.sold - old.sold).sum();
            assert_eq!(sold, 100, "{}", candidate.name);
            assert!(before.iter().zip(&after).all(|(old, (_, new))| old.note == new.note));
        }
    }
}
