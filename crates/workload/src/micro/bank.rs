//! Bank: accounts that are found by number, by card (a unique secondary index) and by owner (an
//! ordinary one).
//!
//! A row is balance, card and owner. Transfers conserve the sum; accounts are closed (their balance
//! goes to another) and opened again; cards and owners change, so that index rows come and go.
//! Conditions: `sum`; `cards` and `owners`: each index has exactly the rows of the table, under the
//! keys that the rows say.

use crate::memory::{Estimate, Tables};
use crate::random::Random;
use crate::workload::{free, present};
use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{
    Error, Get, KeyPart, PartType, Range, Result, SecondarySpec, Source, TableId, TableSpec,
    Transaction,
};

mod account {
    crate::row::columns! {
        BALANCE: i64, CARD: u32, OWNER: u16,
    }
}

const KINDS: [&str; 6] = ["transfer", "by_card", "by_owner", "change", "reopen", "audit"];
const TRANSFER: usize = 0;
const BY_CARD: usize = 1;
const BY_OWNER: usize = 2;
const CHANGE: usize = 3;
const REOPEN: usize = 4;

/// The secondary indexes, by position.
const CARDS: usize = 0;
const OWNERS: usize = 1;

/// The initial balance of every account.
const FIRST_BALANCE: i64 = 100;

/// The bank as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankOptions {
    /// `--accounts`.
    pub accounts: u32,
    /// `--cards`: how many numbers there are; more than accounts, so that some are free.
    pub cards: u32,
    /// `--owners`: how many there are.
    pub owners: u16,
    /// `--snapshot-reads`: audits read a snapshot of the past.
    pub snapshot_reads: bool,
}

impl Default for BankOptions {
    fn default() -> Self {
        Self { accounts: 12, cards: 16, owners: 4, snapshot_reads: true }
    }
}

impl BankOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        let accounts = u64::from(self.accounts);
        Tables::new(kept).rows(accounts, 16).secondary(2 * accounts).estimate("--accounts")
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> core::result::Result<(), String> {
        if !(2..=10_000_000).contains(&self.accounts) {
            return Err(format!("--accounts {}: accepted is 2 to 10000000", self.accounts));
        }
        if self.cards <= self.accounts {
            let low = self.accounts + 1;
            return Err(format!("--cards {}: accepted is {low} or more", self.cards));
        }
        if self.owners == 0 {
            return Err("--owners 0: accepted is 1 to 65535".into());
        }
        Ok(())
    }
}

/// The workload.
#[derive(Debug)]
pub struct Bank {
    options: BankOptions,
}

/// One client: its random numbers and the request in hand.
pub struct BankClient {
    accounts: TableId,
    random: Random,
    kind: usize,
    from: u32,
    to: u32,
    amount: i64,
    card: u32,
    owner: u16,
    shown: i64,
}

impl BankClient {
    /// The number that the last transaction saw: a balance or a sum.
    #[must_use]
    pub fn shown(&self) -> i64 {
        self.shown
    }
}

impl Bank {
    /// The bank as asked for.
    ///
    /// # Errors
    /// Those of [`BankOptions::validate`].
    pub fn new(options: BankOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        Ok(Self { options })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &BankOptions {
        &self.options
    }
}

fn index(name: &str, offset: usize, length: usize, unique: bool) -> SecondarySpec {
    let part_type = PartType::Unsigned;
    let part = KeyPart { source: Source::Value, offset, length, part_type, descending: false };
    SecondarySpec { name: name.into(), parts: vec![part].into(), unique }
}

impl Workload for Bank {
    type Client = BankClient;

    fn name(&self) -> &'static str {
        "bank"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        use account::{CARD, OWNER};
        let accounts = TableSpec::ordered("accounts")
            .with_index(index("cards", CARD.offset(), CARD.bytes(), true))
            .with_index(index("owners", OWNER.offset(), OWNER.bytes(), false));
        vec![accounts]
    }

    fn load_parts(&self) -> usize {
        1
    }

    fn load(
        &self,
        tables: &[TableId],
        _: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        let mut random = Random::new(seed, 0x10ad);
        for number in 0..self.options.accounts {
            let owner = random.below(self.options.owners.into()) as u16;
            insert(tables[0], &number.to_be_bytes(), &row(FIRST_BALANCE, number, owner))?;
        }
        Ok(())
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> BankClient {
        BankClient {
            accounts: tables[0],
            random: Random::new(client_id.seed, 0xba_0000_0000 + client_id.index as u64),
            kind: TRANSFER,
            from: 0,
            to: 0,
            amount: 0,
            card: 0,
            owner: 0,
            shown: 0,
        }
    }

    fn next(&self, client: &mut BankClient, partitions: &mut Vec<u32>) -> Shape {
        partitions.push(0);
        let (options, random) = (&self.options, &mut client.random);
        client.kind = match random.below(100) {
            0..40 => TRANSFER,
            40..52 => BY_CARD,
            52..64 => BY_OWNER,
            64..80 => CHANGE,
            80..92 => REOPEN,
            _ => KINDS.len() - 1,
        };
        client.from = random.below(options.accounts);
        client.to = (client.from + 1 + random.below(options.accounts - 1)) % options.accounts;
        client.amount = i64::from(random.range(1, 50));
        client.card = random.below(options.cards);
        client.owner = random.below(options.owners.into()) as u16;
        let read_only = client.kind > REOPEN;
        Shape { kind: client.kind, read_only, snapshot: read_only && options.snapshot_reads }
    }

    fn execute<T: Transaction + ?Sized>(&self, client: &mut BankClient, tx: &mut T) -> Result<()> {
        match client.kind {
            TRANSFER => client.transfer(tx),
            BY_CARD => client.pay_by_card(tx),
            BY_OWNER => client.collect(tx),
            CHANGE => client.change(tx),
            REOPEN => client.reopen(tx),
            _ => client.audit(tx),
        }
    }

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        let mut failures = [None, None, None];
        run(&mut |tx| {
            let sum = sum(tables[0], tx)?;
            let expected = i64::from(self.options.accounts) * FIRST_BALANCE;
            let wrong = sum.1 != expected;
            failures = [
                wrong.then(|| format!("{} accounts hold {}, not {expected}", sum.0, sum.1)),
                check_index(tables[0], tx, CARDS, sum.0)?,
                check_index(tables[0], tx, OWNERS, sum.0)?,
            ];
            Ok(())
        })?;
        let names = ["sum", "cards", "owners"].into_iter();
        let condition = |(name, failure): (&str, _)| Condition { name: name.into(), failure };
        Ok(names.zip(failures).map(condition).collect())
    }
}

fn row(balance: i64, card: u32, owner: u16) -> [u8; account::BYTES] {
    let mut row = [0; account::BYTES];
    account::BALANCE.set(&mut row, balance);
    account::CARD.set(&mut row, card);
    account::OWNER.set(&mut row, owner);
    row
}

/// Adds to the balance of an account and returns what it is then.
fn add<T: Transaction + ?Sized>(tx: &mut T, row: chiliad_api::Row, amount: i64) -> Result<i64> {
    let bytes = tx.modify(row)?;
    let balance = account::BALANCE.get(bytes) + amount;
    account::BALANCE.set(bytes, balance);
    Ok(balance)
}

/// Rows of the table and the sum of their balances.
fn sum<T: Transaction + ?Sized>(accounts: TableId, tx: &mut T) -> Result<(usize, i64)> {
    let all = tx.scan(accounts, Range::all())?;
    let mut sum = 0;
    for entry in tx.entries(all)? {
        sum += account::BALANCE.get(tx.bytes(entry.row)?);
    }
    Ok((all.len(), sum))
}

/// Whether an index has the `count` rows of the table, each under the key that the row says.
fn check_index(
    accounts: TableId,
    tx: &mut dyn Transaction,
    index: usize,
    count: usize,
) -> Result<Option<String>> {
    let all = tx.scan_index(accounts, index, Range::all())?;
    if all.len() != count {
        return Ok(Some(format!("{} entries for {count} accounts", all.len())));
    }
    for &entry in tx.entries(all)? {
        let (key, bytes) = (tx.key(entry)?, tx.bytes(entry.row)?);
        let (card, owner) = (account::CARD.get(bytes), account::OWNER.get(bytes));
        let agrees = match index {
            CARDS => key.starts_with(&card.to_be_bytes()),
            _ => key.starts_with(&owner.to_be_bytes()),
        };
        if !agrees {
            return Ok(Some(format!("{key:?} leads to card {card} of owner {owner}")));
        }
    }
    Ok(None)
}

impl BankClient {
    /// Moves money between two accounts, if they are open.
    fn transfer<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let keys = [self.from.to_be_bytes(), self.to.to_be_bytes()];
        let gets = keys.each_ref().map(|key| Get::read(self.accounts, key));
        let mut rows = [None; 2];
        tx.get_many(&gets, &mut rows)?;
        let [Some(from), Some(to)] = rows else { return Ok(()) };
        self.shown = add(tx, from, -self.amount)?;
        add(tx, to, self.amount)?;
        Ok(())
    }

    /// Moves money from the account that a card belongs to.
    fn pay_by_card<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let low = self.card.to_be_bytes();
        let high = (self.card + 1).to_be_bytes();
        let found = tx.scan_index(self.accounts, CARDS, Range::between(&low, &high))?;
        let Some(&payer) = tx.entries(found)?.first() else { return Ok(()) };
        let to = tx.get(self.accounts, &self.to.to_be_bytes())?;
        let Some(to) = to else { return Ok(()) };
        if account::CARD.get(tx.bytes(to)?) == self.card {
            return Ok(());
        }
        self.shown = add(tx, payer.row, -self.amount)?;
        add(tx, to, self.amount)?;
        Ok(())
    }

    /// Moves what an owner has in all accounts to the last of them.
    fn collect<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let low = self.owner.to_be_bytes();
        let high = (u32::from(self.owner) + 1).to_be_bytes();
        // The greatest owner's upper end has no two bytes: the range is open then.
        let range = match high {
            [0, 0, ..] => Range::between(&low, &high[2..]),
            _ => Range { low: core::ops::Bound::Included(&low), ..Range::all() },
        };
        let found = tx.scan_index(self.accounts, OWNERS, range)?;
        let mut sum = 0;
        for at in 0..found.len() {
            let row = tx.entries(found)?[at].row;
            let balance = account::BALANCE.get(tx.bytes(row)?);
            if at + 1 == found.len() {
                sum = add(tx, row, sum)?;
            } else {
                sum += balance;
                add(tx, row, -balance)?;
            }
        }
        self.shown = sum;
        Ok(())
    }

    /// Gives an account another card and another owner. A card that is taken is refused.
    fn change<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let Some(old) = tx.get(self.accounts, &self.from.to_be_bytes())? else { return Ok(()) };
        let balance = account::BALANCE.get(tx.bytes(old)?);
        match tx.update(old, &row(balance, self.card, self.owner)) {
            Err(Error::UniqueViolation { .. }) => Err(Error::RolledBack),
            other => other,
        }
    }

    /// Closes an account, whose money goes to another, or opens it again with the card of its
    /// number.
    fn reopen<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let key = self.from.to_be_bytes();
        let Some(old) = tx.get(self.accounts, &key)? else {
            let inserted = tx.insert(self.accounts, &key, &row(0, self.from, self.owner));
            return match free(inserted) {
                Err(Error::UniqueViolation { .. }) => Err(Error::RolledBack),
                other => other,
            };
        };
        let Some(heir) = tx.get(self.accounts, &self.to.to_be_bytes())? else { return Ok(()) };
        let balance = account::BALANCE.get(tx.bytes(old)?);
        self.shown = add(tx, heir, balance)?;
        tx.remove_row(old)
    }

    /// Sums up all accounts, and reads one by its card.
    fn audit<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let (_, sum) = sum(self.accounts, tx)?;
        let all = tx.scan_index(self.accounts, CARDS, Range::all().reverse().limit(1))?;
        let last = present(tx.entries(all)?.first())?.row;
        self.shown = sum ^ account::BALANCE.get(tx.bytes(last)?);
        Ok(())
    }
}
