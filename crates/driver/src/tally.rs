//! The counts of one client, and of the run.

use chiliad_engine::{Part, Reason};
use hdrhistogram::Histogram;

/// The longest latency that is told from longer ones, in nanoseconds: about 69 seconds.
const LATENCY_NS_MAX: u64 = 1 << 36;

/// Two significant digits: 15 KB a histogram, and an error of at most one percent.
const DIGITS: u8 = 2;

/// Where the time of the sampled transactions went, as shares that sum to one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Breakdown {
    /// The transactions' own work.
    pub useful: f64,
    /// Attempts that were refused.
    pub abort: f64,
    /// Obtaining timestamps.
    pub timestamp: f64,
    /// Finding records.
    pub index: f64,
    /// Waiting for others, back-off included.
    pub wait: f64,
    /// The scheme's bookkeeping.
    pub manager: f64,
}

/// The counts of one kind of transaction.
#[derive(Clone, Debug)]
pub struct KindTally {
    /// Transactions that committed.
    pub committed: u64,
    /// Those of them that found nothing to act on, as the workload expects of some.
    pub unsuccessful: u64,
    /// Attempts that the scheme refused.
    pub aborted: u64,
    /// Transactions whose own logic asked for a rollback.
    pub rolled_back: u64,
    /// From the begin of the first attempt (or the intended arrival) to the end, in nanoseconds,
    /// of those that were timed.
    pub latency_ns: Histogram<u32>,
}

/// An empty histogram of latencies.
fn latencies() -> Histogram<u32> {
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS)
        .expect("bounds and digits are constants in range")
}

/// Appends how many different latencies there are, and each with its count.
fn put_latencies(out: &mut Vec<u64>, latencies: &Histogram<u32>) {
    let at = out.len();
    out.push(0);
    for latency in latencies.iter_recorded() {
        out.extend([latency.value_iterated_to(), u64::from(latency.count_at_value())]);
        out[at] += 1;
    }
}

/// Reads what [`put_latencies`] has written.
fn take_latencies(
    from: &mut impl Iterator<Item = u64>,
    latencies: &mut Histogram<u32>,
) -> Option<()> {
    for _ in 0..from.next()? {
        let (latency, count) = (from.next()?, from.next()?);
        latencies.record_n(latency, u32::try_from(count).ok()?).ok()?;
    }
    Some(())
}

impl KindTally {
    fn new() -> Self {
        Self { committed: 0, unsuccessful: 0, aborted: 0, rolled_back: 0, latency_ns: latencies() }
    }

    fn clear(&mut self) {
        (self.committed, self.unsuccessful) = (0, 0);
        (self.aborted, self.rolled_back) = (0, 0);
        self.latency_ns.reset();
    }

    fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.unsuccessful += other.unsuccessful;
        self.aborted += other.aborted;
        self.rolled_back += other.rolled_back;
        self.latency_ns.add(&other.latency_ns).expect("all histograms have the same bounds");
    }
}

/// The counts of a client or of a run.
#[derive(Clone, Debug)]
pub struct Tally {
    /// By kind of transaction, in the workload's order.
    pub kinds: Vec<KindTally>,
    /// Refusals by [`Reason::index`].
    pub reasons: [u64; Reason::ALL.len()],
    /// Ticks that the sampled transactions spent in each [`Part`].
    pub parts: [u64; Part::ALL.len()],
    /// From the begin of the first attempt (or the intended arrival) until the transaction was seen to
    /// be durable, in nanoseconds, of those that were timed; empty without a log.
    pub durable_ns: Histogram<u32>,
}

impl Tally {
    /// Nothing counted, for `kinds` kinds.
    #[must_use]
    pub fn new(kinds: usize) -> Self {
        let kinds = (0..kinds).map(|_| KindTally::new()).collect();
        Self {
            kinds,
            reasons: [0; Reason::ALL.len()],
            parts: [0; Part::ALL.len()],
            durable_ns: latencies(),
        }
    }

    /// Forgets all counts and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.kinds.iter_mut().for_each(KindTally::clear);
        self.reasons.fill(0);
        self.parts.fill(0);
        self.durable_ns.reset();
    }

    /// As numbers, for another process: see [`Tally::from_numbers`].
    #[must_use]
    pub fn to_numbers(&self) -> Vec<u64> {
        let mut out = Vec::new();
        for kind in &self.kinds {
            out.extend([kind.committed, kind.unsuccessful, kind.aborted, kind.rolled_back]);
            put_latencies(&mut out, &kind.latency_ns);
        }
        out.extend(self.reasons);
        out.extend(self.parts);
        put_latencies(&mut out, &self.durable_ns);
        out
    }

    /// A tally of `kinds` kinds from the numbers of another process of the same build; `None` if it has none such.
    #[must_use]
    pub fn from_numbers(kinds: usize, numbers: &[u64]) -> Option<Self> {
        let mut from = numbers.iter().copied();
        let mut tally = Self::new(kinds);
        for kind in &mut tally.kinds {
            kind.committed = from.next()?;
            kind.unsuccessful = from.next()?;
            kind.aborted = from.next()?;
            kind.rolled_back = from.next()?;
            take_latencies(&mut from, &mut kind.latency_ns)?;
        }
        for number in tally.reasons.iter_mut().chain(&mut tally.parts) {
            *number = from.next()?;
        }
        take_latencies(&mut from, &mut tally.durable_ns)?;
        from.next().is_none().then_some(tally)
    }

    /// Adds another tally of the same workload.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.add(theirs);
        }
        for (mine, theirs) in self.reasons.iter_mut().zip(&other.reasons) {
            *mine += theirs;
        }
        self.add_parts(other.parts);
        self.durable_ns.add(&other.durable_ns).expect("all histograms have the same bounds");
    }

    /// Adds where a sampled transaction spent its time.
    pub(crate) fn add_parts(&mut self, parts: [u64; Part::ALL.len()]) {
        for (mine, theirs) in self.parts.iter_mut().zip(parts) {
            *mine += theirs;
        }
    }

    /// Where the sampled transactions spent their time; `None` if none was sampled.
    #[must_use]
    pub fn breakdown(&self) -> Option<Breakdown> {
        let all: u64 = self.parts.iter().sum();
        let share = |part: Part| self.parts[part as usize] as f64 / all as f64;
        (all > 0).then(|| Breakdown {
            useful: share(Part::Useful),
            abort: share(Part::Abort),
            timestamp: share(Part::Timestamp),
            index: share(Part::Index),
            wait: share(Part::Wait),
            manager: share(Part::Manager),
        })
    }

    /// Records a latency, at most what a histogram can tell from longer ones.
    #[inline]
    pub(crate) fn time(&mut self, kind: usize, ns: u64) {
        self.kinds[kind].latency_ns.saturating_record(ns.max(1));
    }

    /// Transactions that committed.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.committed).sum()
    }

    /// Attempts that were refused.
    #[must_use]
    pub fn aborted(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.aborted).sum()
    }

    /// Transactions that rolled themselves back.
    #[must_use]
    pub fn rolled_back(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.rolled_back).sum()
    }

    /// The latencies of all kinds together.
    #[must_use]
    pub fn latency_ns(&self) -> Histogram<u32> {
        let mut all = KindTally::new();
        self.kinds.iter().for_each(|kind| all.add(kind));
        all.latency_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_goes_to_another_process() {
        let mut tally = Tally::new(2);
        tally.kinds[1].committed = 7;
        tally.reasons[2] = 5;
        tally.add_parts([3; Part::ALL.len()]);
        for latency in [1, 900, 900, 1 << 20, LATENCY_NS_MAX, u64::MAX] {
            tally.time(1, latency);
        }
        let numbers = tally.to_numbers();
        let mut back = Tally::from_numbers(2, &numbers).expect("as it was written");
        assert_eq!(back.to_numbers(), numbers);
        assert_eq!(back.kinds[1].latency_ns.max(), tally.kinds[1].latency_ns.max());
        back.add(&tally);
        assert_eq!((back.committed(), back.latency_ns().len()), (14, 12));
        assert!(Tally::from_numbers(3, &numbers).is_none());
        assert!(Tally::from_numbers(2, &numbers[1..]).is_none());
    }
}
