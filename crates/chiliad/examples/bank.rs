//! A bank: threads move money between accounts, an auditor adds everything up in snapshots of the
//! past, and no money is made or lost. The scheme is chosen at run time:
//!
//! ```text
//! cargo run --release -p chiliad --example bank -- [silo|global-tid|partitioned|h-store]
//! ```

use chiliad::{Database, Error, Options, Row, RunOptions, Scheme, Table, Text};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ACCOUNTS: u64 = 1_000;
const OPENING_BALANCE: i64 = 1_000;
const TELLERS: u64 = 4;
const TRANSFERS_EACH: u64 = 50_000;

#[derive(Row, Debug)]
struct Account {
    owner: Text<16>,
    balance: i64,
    transfers: u32,
}

/// Why the bank itself says no.
#[derive(Debug)]
enum Refusal {
    TooPoor,
    Database(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

/// Moves `amount`, or nothing at all.
fn transfer(
    db: &Database,
    accounts: Table<u64, Account>,
    (from, to): (u64, u64),
    amount: i64,
) -> Result<(), Refusal> {
    let options = RunOptions::default().deadline(Duration::from_secs(10));
    db.run_with(&options, |tx| {
        tx.update(&accounts, &to, |account| {
            account.balance += amount;
            account.transfers += 1;
        })?;
        let mut payer = tx.fetch(&accounts, &from)?.ok_or(Error::RolledBack)?;
        if payer.balance < amount {
            return Err(Refusal::TooPoor); // and what was given above is undone
        }
        payer.balance -= amount;
        payer.transfers += 1;
        Ok(tx.store(&payer)?)
    })
}

/// A teller's random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Transfers made and refused.
fn teller(db: &Database, accounts: Table<u64, Account>, seed: u64) -> Result<(u64, u64), Error> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed);
    let (mut made, mut refused) = (0, 0);
    while made + refused < TRANSFERS_EACH {
        let from = dice.below(ACCOUNTS);
        let to = (from + 1 + dice.below(ACCOUNTS - 1)) % ACCOUNTS;
        let amount = i64::try_from(dice.below(400)).unwrap_or(0);
        match transfer(db, accounts, (from, to), amount) {
            Ok(()) => made += 1,
            Err(Refusal::TooPoor) => refused += 1,
            Err(Refusal::Database(error)) => return Err(error),
        }
    }
    Ok((made, refused))
}

/// Adds up all balances of some past state until told to stop; says how often.
fn auditor(
    db: &Database,
    accounts: Table<u64, Account>,
    stop: &AtomicBool,
) -> Result<usize, Error> {
    let expected = OPENING_BALANCE * i64::try_from(ACCOUNTS).unwrap_or(0);
    let mut audits = 0;
    while !stop.load(Ordering::Relaxed) {
        let total = db.snapshot(|snapshot| {
            let mut total = 0;
            snapshot.scan(&accounts, ..).for_each(|_, account| {
                total += account.balance;
                Ok(())
            })?;
            Ok(total)
        })?;
        assert_eq!(total, expected, "money was made or lost");
        audits += 1;
    }
    Ok(audits)
}

fn main() -> Result<(), Error> {
    let scheme: Scheme = std::env::args().nth(1).unwrap_or("silo".into()).parse()?;
    let db = Database::in_memory_with(
        Options::default().scheme(scheme).epoch(Duration::from_millis(5)),
    )?;
    let accounts: Table<u64, Account> = db.create_table("accounts")?;
    let opening = (0..ACCOUNTS).map(|id| {
        let owner = Text::truncated(&format!("owner {id}"));
        (id, Account { owner, balance: OPENING_BALANCE, transfers: 0 })
    });
    db.bulk_load(&accounts, opening)?;
    println!("{ACCOUNTS} accounts of {OPENING_BALANCE} each; scheme {scheme}");

    let start = Instant::now();
    let stop = AtomicBool::new(false);
    let (made, refused, audits) = std::thread::scope(|scope| {
        let tellers: Vec<_> = (1..=TELLERS)
            .map(|seed| {
                scope.spawn({
                    let db = &db;
                    move || teller(db, accounts, seed)
                })
            })
            .collect();
        let audits = scope.spawn(|| auditor(&db, accounts, &stop));
        let mut sums = (0, 0);
        for teller in tellers {
            let (made, refused) = teller.join().expect("no teller panics")?;
            sums = (sums.0 + made, sums.1 + refused);
        }
        stop.store(true, Ordering::Relaxed);
        Ok::<_, Error>((sums.0, sums.1, audits.join().expect("the auditor does not panic")?))
    })?;
    let seconds = start.elapsed().as_secs_f64();

    println!("{TELLERS} tellers made {made} transfers and refused {refused} in {seconds:.2} s");
    println!("{audits} audits of the past while they worked, all balanced");
    let (total, transfers, richest) = db.run(|tx| {
        let all = tx.scan(&accounts, ..).values()?;
        let total: i64 = all.iter().map(|account| account.balance).sum();
        let transfers: u64 = all.iter().map(|account| u64::from(account.transfers)).sum();
        let richest = all.into_iter().max_by_key(|account| account.balance);
        Ok((total, transfers, richest))
    })?;
    if let Some(Account { owner, balance, .. }) = richest {
        println!("richest: {owner} with {balance}");
    }
    assert_eq!(total, OPENING_BALANCE * i64::try_from(ACCOUNTS).unwrap_or(0));
    assert_eq!(transfers, 2 * made, "each transfer is on two accounts");
    println!("total {total}: nothing made, nothing lost");
    Ok(())
}
