//! Where cores' time went: on attempts that committed, on attempts that were refused, waiting, and without work.
//!
//! Workers whose work is measured say when an attempt begins and how it ended ([`chiliad_machine::Machine::begun`],
//! [`chiliad_machine::Machine::ended`]), and what they did since the last one (making a request up) is part of it.
//! A wait is time in which a worker sleeps, pauses, or has no core because another thread has it: *stalled*
//! while an attempt is in hand or is to be repeated, *idle* between two requests. Looking costs no simulated time.
//!
//! Only what lies in the window counts, of an attempt that crosses its edge the part within.

/// Cycles of the workers that were measured, within the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreTime {
    /// On attempts that were not repeated: they committed, or their own logic gave them up.
    pub committed: u64,
    /// On attempts that were refused.
    pub aborted: u64,
    /// Waiting with a request in hand.
    pub stalled: u64,
    /// Waiting for a request, or done with all of them.
    pub idle: u64,
}

impl CoreTime {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.committed + self.aborted + self.stalled + self.idle
    }

    /// The time since that of an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            committed: self.committed - earlier.committed,
            aborted: self.aborted - earlier.aborted,
            stalled: self.stalled - earlier.stalled,
            idle: self.idle.saturating_sub(earlier.idle),
        }
    }

    /// The four parts as shares that sum to one, in the order of the fields, where `more` cycles of further cores are
    /// idle; `None` where there was no time.
    #[must_use]
    pub fn shares(&self, more: u64) -> Option<[f64; 4]> {
        let total = (self.total() + more) as f64;
        let share = |cycles: u64| cycles as f64 / total;
        let idle = self.idle + more;
        (total > 0.0).then(|| [self.committed, self.aborted, self.stalled, idle].map(share))
    }
}

/// A worker's time that is not booked yet.
#[derive(Clone, Copy, Default)]
struct Account {
    /// Its work is measured.
    open: bool,
    /// Where booking has come to.
    mark: u64,
    /// Of the time since, what it waited.
    waited: u64,
    /// Waits that it is in: while it pauses another thread may take its core.
    waits: u32,
    /// An attempt is in hand, or one that was refused is to be repeated.
    engaged: bool,
}

/// The books of a run.
pub(crate) struct Books {
    begin: u64,
    end: u64,
    /// By worker.
    accounts: Vec<Account>,
    time: CoreTime,
}

impl Default for Books {
    fn default() -> Self {
        Self { begin: 0, end: u64::MAX, accounts: Vec::new(), time: CoreTime::default() }
    }
}

impl Books {
    fn clip(&self, from: u64, to: u64) -> u64 {
        to.min(self.end).saturating_sub(from.max(self.begin))
    }

    /// The work of a worker is measured from `time` on.
    pub(crate) fn open(&mut self, worker: u32, time: u64) {
        let index = worker as usize;
        self.accounts.resize((index + 1).max(self.accounts.len()), Account::default());
        self.accounts[index] = Account { open: true, mark: time, ..Account::default() };
    }

    #[inline]
    fn account(&mut self, worker: u32) -> Option<&mut Account> {
        self.accounts.get_mut(worker as usize).filter(|it| it.open)
    }

    /// A worker begins a wait.
    #[inline]
    pub(crate) fn waits(&mut self, worker: u32) {
        if let Some(account) = self.account(worker) {
            account.waits += 1;
        }
    }

    /// The wait that a worker has begun last is over.
    #[inline]
    pub(crate) fn waited(&mut self, worker: u32, from: u64, to: u64) {
        let cycles = self.clip(from, to);
        let Some(account) = self.account(worker) else { return };
        // Of waits within waits the outermost counts.
        account.waits = account.waits.saturating_sub(1);
        if account.waits > 0 {
            return;
        }
        account.waited += cycles;
        if account.engaged {
            self.time.stalled += cycles;
        } else {
            self.time.idle += cycles;
        }
    }

    /// A worker takes an attempt in hand.
    pub(crate) fn begun(&mut self, worker: u32) {
        if let Some(account) = self.account(worker) {
            account.engaged = true;
        }
    }

    /// A worker's attempt is over at `time`, for good (`finished`) or to be repeated.
    pub(crate) fn ended(&mut self, worker: u32, time: u64, finished: bool) {
        let Some(account) = self.account(worker) else { return };
        let Account { mark, waited, .. } = *account;
        *account = Account { mark: time, waited: 0, engaged: !finished, ..*account };
        let cycles = self.clip(mark, time).saturating_sub(waited);
        if finished {
            self.time.committed += cycles;
        } else {
            self.time.aborted += cycles;
        }
    }

    /// The window begins at `time`: all before is forgotten.
    pub(crate) fn begin(&mut self, time: u64) {
        self.begin = time;
        self.time = CoreTime::default();
        self.accounts.iter_mut().for_each(|it| it.waited = 0);
    }

    /// The window ends at `time`.
    pub(crate) fn end(&mut self, time: u64) {
        self.end = time.min(self.end);
    }

    /// The books of workers that are done, at the run's end. What comes after a worker's last attempt it idles.
    pub(crate) fn total(&self, now: u64) -> CoreTime {
        let mut time = self.time;
        for it in self.accounts.iter().filter(|it| it.open) {
            time.idle += self.clip(it.mark, now).saturating_sub(it.waited);
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cycle_of_the_window_is_booked_once() {
        let mut books = Books::default();
        books.open(1, 100);
        books.begun(1);
        books.waited(1, 110, 120);
        books.begin(150);
        books.waited(1, 140, 160);
        books.ended(1, 200, false);
        books.waited(1, 200, 230);
        books.begun(1);
        books.ended(1, 300, true);
        books.waited(1, 310, 350);
        books.begun(1);
        books.end(400);
        books.ended(1, 450, true);
        let time = books.total(500);
        let expected = CoreTime { committed: 70 + 60, aborted: 40, stalled: 40, idle: 40 };
        assert_eq!(time, expected);
        assert_eq!(time.total(), 250);
        let shares = time.shares(250).expect("time");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((shares[3] - 290.0 / 500.0).abs() < 1e-12);
    }

    #[test]
    fn a_worker_that_is_done_idles_and_one_that_is_not_measured_is_not() {
        let mut books = Books::default();
        books.open(2, 0);
        books.ended(2, 10, true);
        books.ended(1, 50, true);
        books.waited(0, 0, 50);
        let expected = CoreTime { committed: 10, idle: 40, ..CoreTime::default() };
        assert_eq!(books.total(50), expected);
    }
}
