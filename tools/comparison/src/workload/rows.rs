//! Typed rows of ten columns: one operation a transaction, of one kind, so that each kind has a table of its own.

use super::{Loader, Session, Workload, found};
use crate::item::Item;
use crate::random::Random;
use crate::store::{Error, Kind, Needs, Result, Store, Tx, Verdict};
use std::sync::atomic::{AtomicU64, Ordering};

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
    records: u64,
    operation: Operation,
    /// Transactions of sessions that have ended, since it was loaded.
    drawn: AtomicU64,
}

impl Rows {
    /// Of so many rows, at least [`RANGE`].
    pub fn new(records: u64, operation: Operation) -> Self {
        Self { records, operation, drawn: AtomicU64::new(0) }
    }

    /// The rows that are loaded, in order.
    fn loaded(&self) -> impl Iterator<Item = (u64, Item)> {
        let mut random = Random::new(0, 0);
        (0..self.records).map(move |key| (key, Item::new(key, &mut random)))
    }
}

impl Workload for Rows {
    fn tables(&self) -> usize {
        1
    }

    fn has_items(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { reads_many: self.operation == Operation::Range, ..Needs::default() }
    }

    fn load(&self, rows: &mut Loader<'_>) -> Result<()> {
        self.drawn.store(0, Ordering::Relaxed);
        self.loaded().try_for_each(|(key, item)| rows.item(key, item))
    }

    fn session(&self, client: u64, seed: u64) -> Box<dyn Session + '_> {
        let mut random = Random::new(seed, client + 1);
        // Each client inserts into a range of its own.
        let next = self.records + (client << 40);
        let item = Item::new(next, &mut random);
        Box::new(Client { workload: self, random, key: 0, next, item, drawn: 0 })
    }

    /// Each row that was loaded is as it was but for one column, which has grown by one for each update; all rows that were
    /// inserted are there besides, and no others.
    fn verify(&self, store: &dyn Store) -> Result<()> {
        let (mut loaded, mut sold, mut inserted) = (self.loaded(), 0, 0);
        visit(store, &mut |key, item| {
            let fits = match loaded.next() {
                Some((expected, old)) => {
                    sold += item.sold.wrapping_sub(old.sold);
                    key == expected && item == Item { sold: item.sold, ..old }
                }
                None => {
                    inserted += 1;
                    item.fits(key)
                }
            };
            if fits { Ok(()) } else { Err(Error::Failed(format!("row {key} is not what it was"))) }
        })?;
        found(loaded.next().is_none(), "rows that were loaded")?;
        let drawn = self.drawn.load(Ordering::Relaxed);
        let of = |operation| if self.operation == operation { drawn } else { 0 };
        found(sold == of(Operation::Update), "updates, or has too many")?;
        found(inserted == of(Operation::Insert), "rows that were inserted, or has too many")
    }
}

/// Hands out all rows in their order, some thousands in a transaction.
fn visit(store: &dyn Store, each: &mut dyn FnMut(u64, Item) -> Result<()>) -> Result<()> {
    const AT_ONCE: usize = 10_000;
    let (mut client, mut low) = (store.client()?, 0);
    let mut some = Vec::with_capacity(AT_ONCE);
    loop {
        client.run(Kind::ReadOnly, &mut |tx| {
            some.clear();
            tx.items(low, AT_ONCE, &mut |key, item| some.push((key, item)))?;
            Ok(Verdict::Commit)
        })?;
        let Some((last, _)) = some.last() else { return Ok(()) };
        low = last + 1;
        some.drain(..).try_for_each(|(key, item)| each(key, item))?;
    }
}

struct Client<'w> {
    workload: &'w Rows,
    random: Random,
    key: u64,
    /// The key of the next row to insert.
    next: u64,
    item: Item,
    drawn: u64,
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.workload.drawn.fetch_add(self.drawn, Ordering::Relaxed);
    }
}

impl Session for Client<'_> {
    fn draw(&mut self) -> Kind {
        let Rows { records, operation, .. } = *self.workload;
        self.drawn += 1;
        self.key = self.random.below(records);
        match operation {
            Operation::Get => Kind::ReadOnly,
            Operation::Range => {
                self.key = self.random.below(records - RANGE as u64 + 1);
                Kind::ReadOnly
            }
            Operation::Update => Kind::Update,
            Operation::Insert => {
                self.key = self.next;
                self.item.move_to(self.key);
                self.next += 1;
                Kind::Update
            }
        }
    }

    fn body(&mut self, tx: &mut dyn Tx) -> Result<Verdict> {
        match self.workload.operation {
            Operation::Get => {
                found(tx.item(self.key)?.is_some_and(|item| item.fits(self.key)), "a row")?;
            }
            Operation::Update => {
                found(tx.change_item(self.key, &mut |item| item.sold += 1)?, "a row")?;
            }
            Operation::Range => {
                let (mut next, mut fit) = (self.key, true);
                tx.items(self.key, RANGE, &mut |key, item| {
                    fit &= key == next && item.fits(key);
                    next += 1;
                })?;
                found(fit && next == self.key + RANGE as u64, "rows of a range")?;
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
    use crate::store::{Durability, Kind, Result, Setup, Store, Tx, Verdict};
    use crate::stores::CANDIDATES;
    use crate::workload::{Workload, load};

    const RECORDS: u64 = 250;

    /// So many transactions of two clients, one after the other.
    fn run(store: &dyn Store, workload: &Rows, transactions: u64) {
        let mut client = store.client().unwrap();
        for number in 0..2 {
            let mut session = workload.session(number, 1);
            for _ in 0..transactions {
                let kind = session.draw();
                client.run(kind, &mut |tx| session.body(tx)).unwrap();
            }
        }
        while client.durable(false).unwrap() > 0 {}
    }

    /// Does something to a store that has the rows after some transactions, and verifies.
    fn verified(
        store: &dyn Store,
        operation: Operation,
        also: impl Fn(&mut dyn Tx) -> Result<()>,
    ) -> Result<()> {
        let workload = Rows::new(RECORDS, operation);
        load(&workload, store)?;
        run(store, &workload, 100);
        store.client()?.run(Kind::Update, &mut |tx| also(tx).map(|()| Verdict::Commit))?;
        workload.verify(store)
    }

    #[test]
    fn every_store_has_the_rows_after_each_kind_of_transaction() {
        for candidate in CANDIDATES {
            for operation in
                [Operation::Get, Operation::Update, Operation::Range, Operation::Insert]
            {
                let name = format!("rows-{}-{operation:?}-{}", candidate.name, std::process::id());
                let directory = Directory::new(&std::env::temp_dir(), &name).unwrap();
                let durability = Durability::None;
                let setup =
                    Setup { directory: directory.path(), tables: 1, items: true, durability };
                let store = (candidate.open)(&setup).unwrap();
                verified(&*store, operation, |_| Ok(())).unwrap();
            }
        }
    }

    #[test]
    fn what_is_lost_or_too_much_is_seen() {
        let candidate = &CANDIDATES[0];
        let seen = |name: &str, operation, also: fn(&mut dyn Tx) -> Result<()>| {
            let name = format!("rows-{name}-{}", std::process::id());
            let directory = Directory::new(&std::env::temp_dir(), &name).unwrap();
            let durability = Durability::None;
            let setup = Setup { directory: directory.path(), tables: 1, items: true, durability };
            verified(&*(candidate.open)(&setup).unwrap(), operation, also).unwrap_err().to_string()
        };
        let once_more = seen("more", Operation::Update, |tx| {
            tx.change_item(7, &mut |item| item.sold += 1).map(|_| ())
        });
        assert!(once_more.contains("updates"), "{once_more}");
        let other = seen("other", Operation::Get, |tx| {
            tx.change_item(7, &mut |item| item.rating += 1).map(|_| ())
        });
        assert!(other.contains("row 7"), "{other}");
        let inserted = seen("inserted", Operation::Get, |tx| {
            let mut item = tx.item(7)?.expect("loaded");
            item.move_to(RECORDS);
            tx.insert_item(RECORDS, &item)
        });
        assert!(inserted.contains("inserted"), "{inserted}");
    }
}
