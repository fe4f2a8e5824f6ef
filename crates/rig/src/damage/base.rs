//! A directory with a history that is known: transfers between accounts in several openings, each
//! closed or killed, with copies of its files from times before.

use super::trouble::{Trouble, trouble};
use chiliad::{Database, Options, Scheme, Table};
use chiliad_host::threads::start;
use chiliad_workload::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Accounts.
pub const ACCOUNTS: u64 = 32;
/// The initial balance of each account.
pub const INITIAL: i64 = 1000;
pub const ACCOUNTS_NAME: &str = "accounts";
pub const JOURNAL_NAME: &str = "journal";

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A transfer, as its row in the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub from: u64,
    pub to: u64,
    pub amount: i64,
}

impl Transfer {
    fn draw(random: &mut Random) -> Self {
        let from = random.below_u64(ACCOUNTS);
        let to = (from + 1 + random.below_u64(ACCOUNTS - 1)) % ACCOUNTS;
        Self { from, to, amount: i64::from(random.range(1, 90)) }
    }

    /// As a row.
    pub fn packed(self) -> Vec<u8> {
        // Long enough for segments to fill.
        let mut row = vec![0; 24 + self.amount as usize * 40];
        row[..8].copy_from_slice(&self.from.to_le_bytes());
        row[8..16].copy_from_slice(&self.to.to_le_bytes());
        row[16..24].copy_from_slice(&self.amount.to_le_bytes());
        row
    }
}

/// The acknowledgements of clients.
#[derive(Clone, Default)]
pub struct Ledger {
    /// Transfers by client and number, all acknowledged.
    pub acknowledged: BTreeMap<u64, Transfer>,
    /// Those that may be missing after damage: nothing was begun after them that showed that they are
    /// witnessed.
    pub last: Vec<u64>,
}

/// A directory's files, and what they must hold.
pub struct Base {
    pub(super) files: Files,
    /// The times before.
    pub(super) before: Vec<Moment>,
    pub(super) ledger: Ledger,
    pub(super) closed: bool,
}

/// A time at which nobody was at work.
pub struct Moment {
    /// The files as they were.
    pub files: Files,
    /// The transfers that had been acknowledged.
    pub acknowledged: BTreeSet<u64>,
}

/// Clients.
const CLIENTS: u64 = 2;

impl Base {
    /// Builds the directory of this number in `path`, which is replaced.
    ///
    /// # Errors
    /// [`Trouble`]: what the host refuses.
    pub fn build(path: &Path, number: u64, scheme: Scheme) -> Result<Self, Trouble> {
        let mut random = Random::new(number, 0xba5e);
        let mut base = Self {
            files: Files::new(),
            before: Vec::new(),
            ledger: Ledger::default(),
            closed: false,
        };
        let openings = 1 + random.below(3);
        for opening in 0..openings {
            // What was killed is gone on with in a copy, as the next process would find it.
            write_all(path, &base.files)?;
            let options = options(&mut random, scheme);
            let db = Database::open_with(path, options).map_err(trouble)?;
            base.live(path, &db, &mut random, opening)?;
            base.closed = random.below(2) == 0;
            if base.closed {
                drop(db);
                base.files = read_all(path)?;
                base.ledger.last.clear();
            } else {
                base.files = read_all(path)?;
                drop(db);
            }
        }
        Ok(base)
    }

    /// One opening: some transfers, and now and then a checkpoint or a copy of the files.
    fn live(
        &mut self,
        path: &Path,
        db: &Database,
        random: &mut Random,
        opening: u32,
    ) -> Result<(), Trouble> {
        let (accounts, journal) = tables(db).map_err(trouble)?;
        for round in 0..random.range(1, 3) {
            let each = u64::from(random.range(3, 14));
            let seed = random.bits();
            let stream = u64::from(opening * 8 + round);
            self.transfer(db, accounts, journal, each, seed, stream)?;
            match random.below(3) {
                0 => drop(db.checkpoint().map_err(trouble)?),
                _ => {
                    let acknowledged = self.ledger.acknowledged.keys().copied().collect();
                    self.before.push(Moment { files: read_all(path)?, acknowledged });
                }
            }
        }
        // The last of them are those after which nothing begins.
        let seed = random.bits();
        self.transfer(db, accounts, journal, 2, seed, u64::from(opening * 8 + 7))
    }

    /// Every client makes transfers, and waits for each.
    fn transfer(
        &mut self,
        db: &Database,
        accounts: Table<u64, i64>,
        journal: Table<u64, Vec<u8>>,
        each: u64,
        seed: u64,
        stream: u64,
    ) -> Result<(), Trouble> {
        let done = Mutex::new(Vec::new());
        let failures = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (done, failures) = (&done, &failures);
                let transfers = move || {
                    let mut random = Random::new(seed, client);
                    for number in 0..each {
                        let transfer = Transfer::draw(&mut random);
                        let key = stream << 32 | client << 16 | number;
                        let made = db.run(|tx| {
                            for (account, change) in
                                [(transfer.from, -transfer.amount), (transfer.to, transfer.amount)]
                            {
                                let balance = tx.get(&accounts, &account)?.unwrap_or(INITIAL);
                                tx.put(&accounts, &account, &(balance + change))?;
                            }
                            tx.insert(&journal, &key, &transfer.packed())
                        });
                        match made {
                            Ok(()) => keep(done, (key, transfer)),
                            Err(error) => return keep(failures, error),
                        }
                    }
                };
                start(scope, transfers).map_err(Trouble::NoThread)?;
            }
            Ok::<_, Trouble>(())
        })?;
        if let Some(error) = all(failures).first() {
            return Err(trouble(error));
        }
        let done: Vec<(u64, Transfer)> = all(done);
        let last = |client: u64| {
            let own = done.iter().map(|(key, _)| *key).filter(|key| key >> 16 & 0xffff == client);
            own.max()
        };
        self.ledger.last = (0..CLIENTS).filter_map(last).collect();
        self.ledger.acknowledged.extend(done);
        Ok(())
    }
}

/// Puts something into a list that threads share.
fn keep<T>(into: &Mutex<Vec<T>>, what: T) {
    into.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

/// The list, when all threads have ended.
fn all<T>(of: Mutex<Vec<T>>) -> Vec<T> {
    of.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The accounts and the journal.
pub type Tables = (Table<u64, i64>, Table<u64, Vec<u8>>);

fn tables(db: &Database) -> chiliad::Result<Tables> {
    if let (Ok(accounts), Ok(journal)) = (db.table(ACCOUNTS_NAME), db.table(JOURNAL_NAME)) {
        return Ok((accounts, journal));
    }
    Ok((db.create_table(ACCOUNTS_NAME)?, db.create_table(JOURNAL_NAME)?))
}

/// How a base is opened: small files, so that there are many.
fn options(random: &mut Random, scheme: Scheme) -> Options {
    small(scheme)
        .epoch(std::time::Duration::from_millis(u64::from(random.range(1, 8))))
        .log_writers(random.range(1, 3))
        .log_segment_bytes(64 << 10)
        .log_compress(random.below(3) == 0)
        .checkpoint_effort(100)
}

/// Options for many openings of small directories.
pub fn small(scheme: Scheme) -> Options {
    Options::default()
        .scheme(scheme)
        .memory_bytes_max(64 << 20)
        .recovery_threads(1)
        .log_segment_bytes(64 << 10)
}

/// The files of a directory, those first that say what is durable in the others.
pub fn read_all(path: &Path) -> Result<Files, Trouble> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(trouble)? {
        names.push(entry.map_err(trouble)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_by_key(|name| !name.starts_with("claims"));
    let mut files = Files::new();
    for name in names {
        match fs::read(path.join(&name)) {
            Ok(bytes) => drop(files.insert(name, bytes)),
            // A spare that was given its new name meanwhile is met under one of the two, or needs not be.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(trouble(error)),
        }
    }
    Ok(files)
}

/// Makes a directory of these files alone.
pub fn write_all(path: &Path, files: &Files) -> Result<(), Trouble> {
    if path.exists() {
        fs::remove_dir_all(path).map_err(trouble)?;
    }
    fs::create_dir(path).map_err(trouble)?;
    for (name, bytes) in files {
        fs::write(path.join(name), bytes).map_err(trouble)?;
    }
    Ok(())
}
