//! TPC-B in SQL: customers of a bank pay at tellers.
//!
//! After the TPC Benchmark B specification (1994), clause 1, whose profile pgbench has: an account's balance changes and is
//! read, the teller's and the branch's change, and HISTORY gets a row. 15 of a hundred accounts are of another branch than the
//! teller, where there are several.
//!
//! At micro scale accounts move, too, which changes their primary key and their entry in the index of a branch's
//! accounts; accounts of a range of numbers get interest, which is booked by another query's count of that range; and branches
//! are audited, by a join, sums and the index. Payments then meet accounts that have gone, and roll back.

mod conditions;
mod options;
mod statements;

pub use options::{BRANCHES_MAX, TpcbOptions};

use super::connection::{Connection, int, load};
use super::plans::{Plans, Program};
use crate::random::Random;
use crate::{AnyClient, AnyWorkload, ClientId, Condition, InsertRow, RunReadOnly, Shape};
use chiliad_api::{Error, Result, TableId, TableSpec, Transaction};
use chiliad_sql::Datum;
use statements::Statement;

const KINDS: [&str; 4] = ["payment", "audit", "move", "interest"];
const PAYMENT: usize = 0;
const AUDIT: usize = 1;
const MOVE: usize = 2;

/// The sums of the shares of the kinds up to each, in percent.
const SHARES: [u32; 4] = [100, 100, 100, 100];
const SHARES_MICRO: [u32; 4] = [50, 70, 85, 100];

/// Accounts of one part of the load.
const LOAD_PART: u32 = 20_000;

/// The workload.
#[derive(Debug)]
pub struct TpcbSql {
    options: TpcbOptions,
    program: Program,
}

impl TpcbSql {
    /// TPC-B as asked for.
    ///
    /// # Errors
    /// Those of [`TpcbOptions::validate`].
    pub fn new(options: TpcbOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        let tables = match options.micro {
            true => [statements::TABLES, statements::INDEX].concat(),
            false => statements::TABLES.to_owned(),
        };
        let texts = statements::TEXTS.iter().map(|&text| text.to_owned()).collect();
        Ok(Self { program: Program::new(&tables, texts)?, options })
    }

    /// Parts of the accounts of all branches; the branches themselves are the first part.
    fn account_parts(&self) -> u32 {
        (self.options.branches * self.options.accounts()).div_ceil(LOAD_PART)
    }

    fn load_branches(
        &self,
        plans: &Plans,
        tables: &[TableId],
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        let blank = Datum::text(" ");
        for branch in 1..=self.options.branches {
            let row = [int(branch), int(0), blank.clone()];
            load(plans, ("branches", tables[0]), &row, insert)?;
        }
        let tellers = self.options.tellers();
        for teller in 0..self.options.branches * tellers {
            let row = [int(teller + 1), int(teller / tellers + 1), int(0), blank.clone()];
            load(plans, ("tellers", tables[1]), &row, insert)?;
        }
        Ok(())
    }
}

impl AnyWorkload for TpcbSql {
    fn name(&self) -> &'static str {
        "tpcb-sql"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        self.program.specs()
    }

    fn load_parts(&self) -> usize {
        1 + self.account_parts() as usize
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        _seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        let plans = self.program.plans(tables)?;
        let Some(part) = part.checked_sub(1) else {
            return self.load_branches(&plans, tables, insert);
        };
        let first = part as u32 * LOAD_PART;
        let all = self.options.branches * self.options.accounts();
        for account in first..(first + LOAD_PART).min(all) {
            let branch = account / self.options.accounts() + 1;
            let row = [int(account + 1), int(branch), int(0), Datum::text(" ")];
            load(&plans, ("accounts", tables[2]), &row, insert)?;
        }
        Ok(())
    }

    fn any_client<'w>(
        &'w self,
        tables: &[TableId],
        client_id: ClientId,
    ) -> Box<dyn AnyClient + 'w> {
        let plans = self.program.plans(tables).unwrap_or_else(|wrong| panic!("{wrong}"));
        Box::new(Client {
            options: &self.options,
            connection: Connection::new(plans),
            random: Random::new(client_id.seed, 0xbb_0000_0000 + client_id.index as u64),
            number: client_id.index as u32,
            home: client_id.home as u32 % self.options.branches,
            noted: 0,
            request: Request::default(),
            nothing_found: false,
            shown: 0,
        })
    }

    fn conditions_kept(
        &self,
        _serializable: bool,
        tables: &[TableId],
        run: &mut RunReadOnly<'_>,
    ) -> Result<Vec<Condition>> {
        conditions::check(&self.options, &Connection::new(self.program.plans(tables)?), run)
    }
}

/// One client: its random numbers and the request in hand.
struct Client<'w> {
    options: &'w TpcbOptions,
    connection: Connection,
    random: Random,
    /// Its number among the clients, from zero.
    number: u32,
    /// Its branch, from zero.
    home: u32,
    /// The number of its next row of HISTORY.
    noted: u32,
    request: Request,
    nothing_found: bool,
    /// What the last transaction saw, folded into a number.
    shown: i64,
}

/// What the client wants.
#[derive(Clone, Copy, Default)]
struct Request {
    kind: usize,
    account: u32,
    teller: u32,
    /// From one.
    branch: u32,
    amount: i32,
    /// The account's new number.
    number: u32,
    /// The number of its row of HISTORY.
    noted: u32,
}

impl AnyClient for Client<'_> {
    fn next(&mut self, partitions: &mut Vec<u32>) -> Shape {
        let (options, random) = (self.options, &mut self.random);
        let shares = if options.micro { SHARES_MICRO } else { SHARES };
        let drawn = random.below(100);
        let kind = shares.iter().filter(|&&sum| sum <= drawn).count();
        let accounts = options.accounts();
        let other = |random: &mut Random| {
            (self.home + 1 + random.below(options.branches - 1)) % options.branches
        };
        let remote = options.branches > 1 && random.below(100) < 15;
        let branch_of_account = if remote { other(random) } else { self.home };
        let account = match options.micro {
            true => 1 + random.below(options.numbers()),
            false => 1 + branch_of_account * accounts + random.below(accounts),
        };
        self.request = Request {
            kind,
            account,
            teller: 1 + self.home * options.tellers() + random.below(options.tellers()),
            branch: match kind {
                AUDIT | MOVE => 1 + random.below(options.branches),
                _ => self.home + 1,
            },
            amount: random.range(0, 9_998) as i32 - 4_999,
            number: 1 + random.below(options.numbers()),
            noted: self.noted,
        };
        self.noted += 1;
        match kind {
            PAYMENT => {
                partitions.extend([self.home, options.partition(account)]);
                partitions.sort_unstable();
                partitions.dedup();
            }
            // Accounts of a branch may have any number.
            _ => partitions.extend(0..options.branches),
        }
        let read_only = kind == AUDIT;
        self.connection.seconds += 1;
        Shape { kind, read_only, snapshot: read_only && options.snapshot_reads }
    }

    fn next_stalled(&mut self, partitions: &mut Vec<u32>) -> Shape {
        self.next(partitions)
    }

    fn draws(&self) -> u32 {
        1
    }

    fn unsuccessful(&self) -> bool {
        self.nothing_found
    }

    fn execute(&mut self, tx: &mut dyn Transaction) -> Result<()> {
        self.nothing_found = false;
        match self.request.kind {
            PAYMENT => self.pay(tx),
            AUDIT => self.audit(tx),
            MOVE => {
                let Request { account, branch, number, .. } = self.request;
                let parameters = [int(number), int(branch), int(account)];
                self.nothing_found = self.connection.run(tx, Statement::Move, &parameters)? == 0;
                Ok(())
            }
            _ => self.pay_interest(tx),
        }
    }
}

impl Client<'_> {
    fn pay(&mut self, tx: &mut dyn Transaction) -> Result<()> {
        let Self { connection, .. } = self;
        let Request { account, teller, branch, amount, .. } = self.request;
        let (amount, account) = (int(amount), int(account));
        let change = [amount.clone(), account.clone()];
        if connection.run(tx, Statement::Pay, &change)? == 0 {
            // It has moved.
            return Err(Error::RolledBack);
        }
        let [balance] = connection
            .numbers(tx, Statement::Balance, core::slice::from_ref(&account))?
            .unwrap_or_default();
        self.shown = balance;
        self.book(tx, (teller, branch), account, amount)
    }

    /// The bank pays: the accounts of a range get one each, and the branch gets as many.
    fn pay_interest(&mut self, tx: &mut dyn Transaction) -> Result<()> {
        let Request { account, number, teller, branch, .. } = self.request;
        let range = [int(account.min(number)), int(account.max(number))];
        self.connection.run(tx, Statement::Interest, &range)?;
        let [count] = self.connection.numbers(tx, Statement::Within, &range)?.unwrap_or_default();
        let [account, _] = range;
        self.book(tx, (teller, branch), account, int(count))
    }

    /// Adds an amount to teller and branch, and writes the row of HISTORY.
    fn book(
        &mut self,
        tx: &mut dyn Transaction,
        (teller, branch): (u32, u32),
        account: Datum<'static>,
        amount: Datum<'static>,
    ) -> Result<()> {
        let Self { connection, request, .. } = self;
        connection.run(tx, Statement::Teller, &[amount.clone(), int(teller)])?;
        connection.run(tx, Statement::Branch, &[amount.clone(), int(branch)])?;
        let mut row = [int(self.number), int(0), int(teller), int(branch), account, amount];
        loop {
            row[1] = int(request.noted);
            if connection.run(tx, Statement::Note, &row)? > 0 {
                return Ok(());
            }
            // An earlier run on the same database has used this client's numbers.
            let last = connection.numbers(tx, Statement::Last, &row[..1])?;
            request.noted = last.map_or(0, |[last]| u32::try_from(last + 1).unwrap_or(0));
            self.noted = request.noted + 1;
        }
    }

    fn audit(&mut self, tx: &mut dyn Transaction) -> Result<()> {
        let branch = [int(self.request.branch)];
        let [balance, tellers] =
            self.connection.numbers(tx, Statement::Audit, &branch)?.unwrap_or_default();
        let [accounts, total] =
            self.connection.numbers(tx, Statement::AuditAccounts, &branch)?.unwrap_or_default();
        self.shown = balance ^ tellers ^ accounts ^ total;
        Ok(())
    }
}
