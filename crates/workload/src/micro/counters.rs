//! Counters: numbers that are added to without a look at them ([`Transaction::add`]), few enough that clients meet all the
//! time.
//!
//! A counter has a sum and says how often it was counted; each client notes what it counts in a ledger, which it reads and
//! writes. Pairs of additions move amounts from one counter to another; counters are read, emptied, closed and opened
//! again, with additions to the same rows before and after in one transaction. Conditions: `sums` and `times`: all counters
//! together have what the ledgers have.

use crate::memory::{Estimate, Tables};
use crate::random::Random;
use crate::workload::{free, present};
use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{Error, Integer, Number, Range, Result, TableId, TableSpec, Transaction};

mod counter {
    crate::row::columns! {
        SUM: i64, TIMES: u32,
    }
}

use counter::{SUM, TIMES};

/// The columns as numbers to add to.
const SUM_OF: Number = Number::at(SUM.offset(), Integer::I64);
const TIMES_OF: Number = Number::at(TIMES.offset(), Integer::U32);

const KINDS: [&str; 6] = ["count", "move", "look", "empty", "reopen", "audit"];
const COUNT: usize = 0;
const MOVE: usize = 1;
const LOOK: usize = 2;
const EMPTY: usize = 3;
const REOPEN: usize = 4;

/// Clients share so many ledgers.
const LEDGERS: u32 = 8;

/// The counters as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountersOptions {
    /// `--counters`.
    pub counters: u32,
    /// `--snapshot-reads`: audits read a snapshot of the past.
    pub snapshot_reads: bool,
}

impl Default for CountersOptions {
    fn default() -> Self {
        Self { counters: 6, snapshot_reads: true }
    }
}

impl CountersOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        let rows = u64::from(self.counters) + u64::from(LEDGERS);
        Tables::new(kept).rows(rows, counter::BYTES as u64).estimate("--counters")
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> core::result::Result<(), String> {
        match self.counters {
            2..=10_000_000 => Ok(()),
            given => Err(format!("--counters {given}: accepted is 2 to 10000000")),
        }
    }
}

/// The workload.
#[derive(Debug)]
pub struct Counters {
    options: CountersOptions,
}

/// One client: its random numbers and the request in hand.
pub struct CountersClient {
    counters: TableId,
    ledgers: TableId,
    ledger: u32,
    random: Random,
    kind: usize,
    from: u32,
    to: u32,
    amount: i64,
    shown: i64,
}

impl CountersClient {
    /// The number that the last transaction saw.
    #[must_use]
    pub fn shown(&self) -> i64 {
        self.shown
    }
}

impl Counters {
    /// The counters as asked for.
    ///
    /// # Errors
    /// Those of [`CountersOptions::validate`].
    pub fn new(options: CountersOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        Ok(Self { options })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &CountersOptions {
        &self.options
    }
}

impl Workload for Counters {
    type Client = CountersClient;

    fn name(&self) -> &'static str {
        "counters"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        vec![TableSpec::ordered("counters"), TableSpec::hash("ledgers", LEDGERS as usize)]
    }

    fn load_parts(&self) -> usize {
        1
    }

    fn load(&self, tables: &[TableId], _: usize, _: u64, insert: &mut InsertRow<'_>) -> Result<()> {
        for number in 0..self.options.counters {
            insert(tables[0], &number.to_be_bytes(), &EMPTY_ROW)?;
        }
        for number in 0..LEDGERS {
            insert(tables[1], &number.to_be_bytes(), &EMPTY_ROW)?;
        }
        Ok(())
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> CountersClient {
        CountersClient {
            counters: tables[0],
            ledgers: tables[1],
            ledger: (client_id.index % LEDGERS as usize) as u32,
            random: Random::new(client_id.seed, 0xc0_0000_0000 + client_id.index as u64),
            kind: COUNT,
            from: 0,
            to: 0,
            amount: 0,
            shown: 0,
        }
    }

    fn next(&self, client: &mut CountersClient, partitions: &mut Vec<u32>) -> Shape {
        partitions.push(0);
        let (options, random) = (&self.options, &mut client.random);
        client.kind = match random.below(100) {
            0..35 => COUNT,
            35..65 => MOVE,
            65..75 => LOOK,
            75..82 => EMPTY,
            82..90 => REOPEN,
            _ => KINDS.len() - 1,
        };
        client.from = random.below(options.counters);
        client.to = (client.from + 1 + random.below(options.counters - 1)) % options.counters;
        client.amount = i64::from(random.range(1, 50)) - 20;
        let read_only = client.kind > REOPEN;
        Shape { kind: client.kind, read_only, snapshot: read_only && options.snapshot_reads }
    }

    fn execute<T: Transaction + ?Sized>(
        &self,
        client: &mut CountersClient,
        tx: &mut T,
    ) -> Result<()> {
        match client.kind {
            COUNT => client.count(tx),
            MOVE => client.transfer(tx),
            LOOK => client.look(tx),
            EMPTY => client.empty(tx),
            REOPEN => client.reopen(tx),
            _ => client.audit(tx),
        }
    }

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        let mut found = [(0, 0); 2];
        run(&mut |tx| {
            found =
                [counted(tables[0], self.options.counters, tx)?, counted(tables[1], LEDGERS, tx)?];
            Ok(())
        })?;
        let [counters, ledgers] = found;
        let unlike = |name, counters: i64, ledgers: i64| Condition {
            name: String::from(name),
            failure: (counters != ledgers)
                .then(|| format!("counters have {counters} and ledgers {ledgers}")),
        };
        Ok(vec![unlike("sums", counters.0, ledgers.0), unlike("times", counters.1, ledgers.1)])
    }
}

/// A counter or ledger in which nothing was counted.
const EMPTY_ROW: [u8; counter::BYTES] = [0; counter::BYTES];

/// What the rows of a table have together.
fn counted<T: Transaction + ?Sized>(table: TableId, rows: u32, tx: &mut T) -> Result<(i64, i64)> {
    let (mut sum, mut times) = (0, 0);
    for number in 0..rows {
        if let Some(row) = tx.get(table, &number.to_be_bytes())? {
            let bytes = tx.bytes(row)?;
            (sum, times) = (sum + SUM.get(bytes), times + i64::from(TIMES.get(bytes)));
        }
    }
    Ok((sum, times))
}

impl CountersClient {
    /// Counts, and notes it in the ledger.
    fn count<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        if !self.add(tx, self.from, self.amount)? {
            return Ok(());
        }
        tx.add(self.counters, &self.from.to_be_bytes(), TIMES_OF, 1)?;
        let ledger = tx.get_for_update(self.ledgers, &self.ledger.to_be_bytes())?;
        let row = tx.modify(present(ledger)?)?;
        SUM.set(row, SUM.get(row) + self.amount);
        TIMES.set(row, TIMES.get(row) + 1);
        Ok(())
    }

    /// Adds to the sum of a counter, if it is open.
    fn add<T: Transaction + ?Sized>(&self, tx: &mut T, counter: u32, n: i64) -> Result<bool> {
        tx.add(self.counters, &counter.to_be_bytes(), SUM_OF, n)
    }

    /// Moves an amount between two counters, if both are open.
    fn transfer<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        match self.add(tx, self.from, -self.amount)? && !self.add(tx, self.to, self.amount)? {
            true => Err(Error::RolledBack),
            false => Ok(()),
        }
    }

    /// Moves an amount, and sees one counter before or after.
    fn look<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        if self.amount > 0 {
            self.shown = self.sum(tx, self.from)?;
        }
        self.transfer(tx)?;
        if self.amount <= 0 {
            self.shown = self.sum(tx, self.from)?;
        }
        Ok(())
    }

    /// What a counter has; nothing if it is closed.
    fn sum<T: Transaction + ?Sized>(&self, tx: &mut T, counter: u32) -> Result<i64> {
        let row = tx.get(self.counters, &counter.to_be_bytes())?;
        row.map_or(Ok(0), |row| tx.bytes(row).map(|bytes| SUM.get(bytes)))
    }

    /// Moves all that a counter has to another one, which may be an amount that it got in this transaction.
    fn empty<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        self.transfer(tx)?;
        let Some(row) = tx.get_for_update(self.counters, &self.from.to_be_bytes())? else {
            return Ok(());
        };
        let bytes = tx.modify(row)?;
        let sum = SUM.get(bytes);
        SUM.set(bytes, 0);
        self.shown = sum;
        if self.add(tx, self.to, sum)? { Ok(()) } else { Err(Error::RolledBack) }
    }

    /// Closes a counter, of which another one gets what it has, or opens it.
    fn reopen<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let key = self.from.to_be_bytes();
        let Some(row) = tx.get_for_update(self.counters, &key)? else {
            free(tx.insert(self.counters, &key, &EMPTY_ROW))?;
            return self.transfer(tx);
        };
        let bytes = tx.bytes(row)?;
        let (sum, times) = (SUM.get(bytes), TIMES.get(bytes));
        tx.remove_row(row)?;
        if !self.add(tx, self.to, sum)? {
            return Err(Error::RolledBack);
        }
        tx.add(self.counters, &self.to.to_be_bytes(), TIMES_OF, i64::from(times))?;
        Ok(())
    }

    /// Reads all counters.
    fn audit<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let all = tx.scan(self.counters, Range::all())?;
        self.shown = 0;
        for entry in tx.entries(all)? {
            self.shown += SUM.get(tx.bytes(entry.row)?);
        }
        Ok(())
    }
}
