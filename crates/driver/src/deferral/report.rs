//! The results of deferred requests: counted, timed, and held against what was queued.

use chiliad_workload::{DEFERRED_WORDS, Outcome};
use hdrhistogram::Histogram;
use std::time::Duration;

/// How soon most deferred requests are to be done (TPC-C, clause 2.7.2.2).
const SOON: Duration = Duration::from_secs(80);

/// The longest delay that is told from longer ones, in nanoseconds: about 73 minutes.
const DELAY_NS_MAX: u64 = 1 << 42;

/// Records that a client keeps at most: about 100 MB.
pub(super) const RECORDS_MAX: usize = 1 << 20;

/// The record of a deferred request's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResultRecord {
    /// The client that made the request up.
    pub client: usize,
    /// Which of its deferred requests it was, from zero.
    pub number: u64,
    /// What it asked for: [`chiliad_workload::Deferred::words`].
    pub words: [u64; DEFERRED_WORDS],
    /// When it was queued, in nanoseconds since the clients began.
    pub queued_ns: u64,
    /// When it was done, in nanoseconds since the clients began.
    pub completed_ns: u64,
    /// The client that ran it.
    pub run_by: usize,
    /// What it has done.
    pub outcome: Outcome,
}

/// Requests by their numbers: how many, and which, as far as two sums can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Which {
    count: u64,
    sum: u64,
    mixed: u64,
}

impl Which {
    fn add_one(&mut self, number: u64) {
        let mixed = mix(number);
        self.add(Self { count: 1, sum: number, mixed });
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.mixed = self.mixed.wrapping_add(other.mixed);
    }
}

/// Mixes a number's bits (the finaliser of SplitMix64): sums of what comes of different numbers are different.
fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The deferred requests of a client or of a run, from the first to the last: warm-up and end included.
#[derive(Clone, Debug)]
pub struct Deferrals {
    queued: Which,
    completed: Which,
    /// Those that their client ran itself, since the queue was full or closed.
    pub run_at_once: u64,
    /// From being queued to being done, in nanoseconds.
    pub delay_ns: Histogram<u32>,
    /// Those done within 80 seconds.
    pub soon: u64,
    /// Parts that acted on something: orders delivered.
    pub done: u64,
    /// Parts that found nothing: districts skipped.
    pub skipped: u64,
    /// The records, in no order, where the plan asked for them.
    pub records: Vec<ResultRecord>,
    /// Records that did not fit: a client keeps 1,048,576.
    pub unrecorded: u64,
}

impl Default for Deferrals {
    fn default() -> Self {
        Self {
            queued: Which::default(),
            completed: Which::default(),
            run_at_once: 0,
            delay_ns: Histogram::new_with_bounds(1, DELAY_NS_MAX, 2)
                .expect("bounds and digits are constants in range"),
            soon: 0,
            done: 0,
            skipped: 0,
            records: Vec::new(),
            unrecorded: 0,
        }
    }
}

impl Deferrals {
    /// Requests queued.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.queued.count
    }

    /// Requests done.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.completed.count
    }

    /// The share of those done that were done within 80 seconds; `None` where none was.
    #[must_use]
    pub fn share_soon(&self) -> Option<f64> {
        (self.completed.count > 0).then(|| self.soon as f64 / self.completed.count as f64)
    }

    /// What is wrong with the results of a run whose clients have all returned, in words: a request without a result,
    /// or one with two.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        if self.queued == self.completed {
            return None;
        }
        let (queued, completed) = (self.queued.count, self.completed.count);
        let same = if queued == completed { ", and not of the same requests" } else { "" };
        Some(format!("{queued} requests were deferred, and {completed} results came of them{same}"))
    }

    /// A request has been queued.
    pub(crate) fn queued_one(&mut self, number: u64) {
        self.queued.add_one(number);
    }

    /// A request has been done, `delay_ns` after it was queued.
    pub(crate) fn completed_one(&mut self, number: u64, delay_ns: u64, outcome: &Outcome) {
        self.completed.add_one(number);
        self.delay_ns.saturating_record(delay_ns.max(1));
        self.soon += u64::from(u128::from(delay_ns) <= SOON.as_nanos());
        let (done, skipped) = outcome.counts();
        self.done += done;
        self.skipped += skipped;
    }

    /// Keeps a record, as long as there is room.
    pub(crate) fn keep(&mut self, record: ResultRecord) {
        if self.records.len() < RECORDS_MAX {
            self.records.push(record);
        } else {
            self.unrecorded += 1;
        }
    }

    /// Adds those of another client to those so far, where it has any.
    pub(crate) fn gather(all: &mut Option<Self>, client: Option<Self>) {
        match (all, client) {
            (Some(all), Some(client)) => all.add(&client),
            (all @ None, client) => *all = client,
            (Some(_), None) => {}
        }
    }

    /// Adds those of another client.
    ///
    /// # Panics
    /// Never: all histograms have the same bounds.
    pub fn add(&mut self, other: &Self) {
        self.queued.add(other.queued);
        self.completed.add(other.completed);
        self.run_at_once += other.run_at_once;
        self.delay_ns.add(&other.delay_ns).expect("all histograms have the same bounds");
        self.soon += other.soon;
        self.done += other.done;
        self.skipped += other.skipped;
        self.records.extend_from_slice(&other.records);
        self.unrecorded += other.unrecorded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(queued: &[u64], completed: &[u64]) -> Deferrals {
        let mut deferrals = Deferrals::default();
        queued.iter().for_each(|&number| deferrals.queued_one(number));
        completed.iter().for_each(|&it| deferrals.completed_one(it, 1, &Outcome::default()));
        deferrals
    }

    #[test]
    fn a_lost_request_and_one_run_twice_are_found() {
        assert_eq!(of(&[], &[]).problem(), None);
        assert_eq!(of(&[3, 1, 2], &[1, 2, 3]).problem(), None);
        assert!(of(&[1, 2], &[1]).problem().is_some());
        assert!(of(&[1], &[1, 1]).problem().is_some());
        // As many, and even of the same sum: 1 and 4 lost, 2 and 3 twice.
        let problem = of(&[1, 2, 3, 4], &[2, 2, 3, 3]).problem().expect("not the same");
        assert!(problem.ends_with("not of the same requests"), "{problem}");
    }

    #[test]
    fn eighty_seconds_are_soon_and_more_are_not() {
        let mut deferrals = of(&[1, 2], &[]);
        assert_eq!(deferrals.share_soon(), None);
        let mut outcome = Outcome::default();
        outcome.push(Some(9));
        outcome.push(None);
        deferrals.completed_one(1, 80_000_000_000, &outcome);
        deferrals.completed_one(2, 80_000_000_001, &outcome);
        assert_eq!(deferrals.share_soon(), Some(0.5));
        assert_eq!((deferrals.done, deferrals.skipped), (2, 2));
        let mut both = deferrals.clone();
        both.add(&deferrals);
        assert_eq!((both.completed(), both.soon, both.delay_ns.len()), (4, 2, 4));
    }
}
