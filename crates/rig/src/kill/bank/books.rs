//! The parent's books of the bank: every transfer that was acknowledged, against what is there.

use super::{ACCOUNTS, Cursor, Entry, INITIAL, Tables, Transfer};
use crate::kill::ledger::Findings;
use crate::kill::said::Said;
use chiliad::{Database, Reader, RunOptions};
use std::collections::BTreeMap;

/// The change of each account by transfers.
type Effects = Vec<i64>;

/// One client.
struct Page {
    /// The number of its next transfer at the last comparison.
    next: u64,
    /// The effects of all before.
    effects: Effects,
    /// Acknowledged since.
    acknowledged: Vec<Transfer>,
}

impl Default for Page {
    fn default() -> Self {
        Self { next: 0, effects: vec![0; ACCOUNTS as usize], acknowledged: Vec::new() }
    }
}

/// All clients.
pub struct Books {
    /// The accounts were there, durable.
    ready: bool,
    /// How many transfers of one client may be under way.
    in_flight: u64,
    pages: BTreeMap<u32, Page>,
}

/// All rows of one state.
struct Rows {
    accounts: Vec<(u32, i64)>,
    cursors: BTreeMap<u32, Cursor>,
    journal: BTreeMap<u32, Vec<(u64, Transfer)>>,
    settled: Vec<((u32, u32), i64)>,
    /// Rows of the journal by payer, as the index has them.
    by_payer: Vec<usize>,
}

impl Rows {
    fn read(reader: &mut Reader<'_>, tables: &Tables) -> chiliad::Result<Self> {
        let mut journal: BTreeMap<u32, Vec<(u64, Transfer)>> = BTreeMap::new();
        for (Entry { client, number }, row) in reader.scan(&tables.journal, ..).rows()? {
            journal.entry(client).or_default().push((number, row));
        }
        let by_payer = |account| {
            let found = reader.find(&tables.journal, Transfer::BY_PAYER, &(account,)).values()?;
            Ok(found.len())
        };
        let by_payer = (0..ACCOUNTS).map(by_payer).collect::<chiliad::Result<_>>()?;
        Ok(Self {
            accounts: reader.scan(&tables.accounts, ..).rows()?,
            cursors: reader.scan(&tables.cursors, ..).rows()?.into_iter().collect(),
            journal,
            settled: reader.scan(&tables.settled, ..).rows()?,
            by_payer,
        })
    }

    /// The transfers of client `number` by these rows.
    fn effects(&self, client: u32) -> Effects {
        let mut effects = vec![0; ACCOUNTS as usize];
        for &((owner, account), amount) in &self.settled {
            if owner == client {
                add(&mut effects, account, amount);
            }
        }
        self.journal_of(client).iter().for_each(|(_, row)| apply(&mut effects, row));
        effects
    }

    fn journal_of(&self, client: u32) -> &[(u64, Transfer)] {
        self.journal.get(&client).map_or(&[], |rows| rows)
    }
}

fn add(effects: &mut Effects, account: u32, amount: i64) {
    if let Some(sum) = effects.get_mut(account as usize) {
        *sum += amount;
    }
}

fn apply(effects: &mut Effects, transfer: &Transfer) {
    add(effects, transfer.from, -transfer.amount);
    add(effects, transfer.to, transfer.amount);
}

impl Books {
    /// Of an empty bank.
    pub fn new(in_flight: u64) -> Self {
        Self { ready: false, in_flight, pages: BTreeMap::new() }
    }

    /// Takes note of a line of the child; whether it acknowledges a transfer.
    pub fn note(&mut self, said: &Said, findings: &mut Findings) -> bool {
        match *said {
            Said::Ready => self.ready = true,
            Said::Moved { client, number, from, to, amount } => {
                let page = self.pages.entry(client).or_default();
                let due = page.next + page.acknowledged.len() as u64;
                findings.demand(number == due, || {
                    format!("client {client} acknowledged transfer {number} in place of {due}")
                });
                page.acknowledged.push(Transfer { from, to, amount });
                return true;
            }
            _ => {}
        }
        false
    }

    /// Takes what is there for granted.
    pub fn adopt(&mut self, db: &Database, findings: &mut Findings) -> chiliad::Result<()> {
        let in_flight = std::mem::replace(&mut self.in_flight, u64::MAX);
        let Some(rows) = rows(db)? else { return Ok(()) };
        for (&client, cursor) in &rows.cursors {
            let page = Page { next: cursor.next, effects: rows.effects(client), ..Page::default() };
            self.pages.insert(client, page);
        }
        self.ready = !rows.accounts.is_empty();
        self.compare(db, findings)?;
        self.in_flight = in_flight;
        Ok(())
    }

    /// Compares, and goes on from what is there.
    pub fn compare(&mut self, db: &Database, findings: &mut Findings) -> chiliad::Result<()> {
        let rows = rows(db)?.filter(|rows| !rows.accounts.is_empty());
        let Some(rows) = rows else {
            let lost = self.pages.values().map(|page| page.next + page.acknowledged.len() as u64);
            findings.lose(lost.sum(), || "every transfer is gone".into());
            findings.demand(!self.ready, || "the accounts are gone".into());
            return Ok(());
        };
        for &client in rows.cursors.keys().chain(rows.journal.keys()) {
            self.pages.entry(client).or_default();
        }
        let mut balances = vec![INITIAL; ACCOUNTS as usize];
        for (&client, page) in &mut self.pages {
            page.compare(client, &rows, self.in_flight, findings);
            balances.iter_mut().zip(&page.effects).for_each(|(sum, change)| *sum += change);
        }
        let found: Vec<i64> = rows.accounts.iter().map(|&(_, balance)| balance).collect();
        findings.demand(found == balances, || {
            let at = found.iter().zip(&balances).position(|(found, due)| found != due);
            format!("account {at:?} does not have what was paid to it less what it paid")
        });
        let mut payers = vec![0; ACCOUNTS as usize];
        for (_, row) in rows.journal.values().flatten() {
            if let Some(count) = payers.get_mut(row.from as usize) {
                *count += 1;
            }
        }
        findings
            .demand(payers == rows.by_payer, || "the index by payer is not the journal's".into());
        Ok(())
    }
}

impl Page {
    fn compare(&mut self, client: u32, rows: &Rows, in_flight: u64, findings: &mut Findings) {
        let cursor = rows.cursors.get(&client).copied().unwrap_or_default();
        let journal = rows.journal_of(client);
        let numbers = journal.iter().map(|&(number, _)| number);
        findings.demand(numbers.eq(cursor.first..cursor.next), || {
            format!("the journal of client {client} is not what its cursor says: {cursor:?}")
        });
        let due = self.next + self.acknowledged.len() as u64;
        findings.lose(due.saturating_sub(cursor.next), || {
            format!("client {client} has {} transfers, {due} were acknowledged", cursor.next)
        });
        let more = cursor.next.saturating_sub(due);
        findings.unacknowledged += more;
        findings.demand(more <= in_flight, || {
            format!("client {client} has {more} transfers more than were acknowledged")
        });
        for (number, acknowledged) in (self.next..).zip(&self.acknowledged) {
            if number < cursor.next {
                apply(&mut self.effects, acknowledged);
            }
            let kept = number.checked_sub(cursor.first).and_then(|at| journal.get(at as usize));
            if let Some((_, row)) = kept {
                findings.lose(u64::from(row != acknowledged), || {
                    format!("transfer {number} of client {client} is {row:?}: {acknowledged:?}")
                });
            }
        }
        for (_, row) in journal.iter().filter(|(number, _)| *number >= due) {
            apply(&mut self.effects, row);
        }
        findings.demand(self.effects == rows.effects(client), || {
            format!("what client {client} settled and its journal are not what it moved")
        });
        self.effects = rows.effects(client);
        self.next = cursor.next;
        self.acknowledged.clear();
    }
}

/// All rows, in one transaction; `None` while a table is missing.
fn rows(db: &Database) -> chiliad::Result<Option<Rows>> {
    let Some(tables) = Tables::open(db)? else { return Ok(None) };
    let read_only = RunOptions::default().read_only();
    db.run_with(&read_only, |tx| Rows::read(tx, &tables)).map(Some)
}
