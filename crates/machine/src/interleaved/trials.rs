//! How many transactions in flight pay: found by trials, on whatever clock it is given.
//!
//! More of them hide waits for memory; they also share caches, hold locks for longer and meet each other at
//! the same rows. So what counts is what comes of it: transactions finished per time, refusals and waits
//! included. An *incumbent* number is kept for a *stretch*, then a *challenger* is compared with it in short
//! windows, one of each in turn:
//!
//! ```text
//! stretch of A ------------> A | B B | A A | B B | A ... verdict -> stretch of the better one
//!                              ^ a number has changed: for the time of a window nothing counts
//! ```
//!
//! Challengers are the numbers next to the incumbent; where these lose, those beyond would, too.
//!
//! Transactions count, and they differ in length. Of those that begin together the short ones end
//! first, and the long ones end when the number has fallen again: in windows as short as a long
//! transaction any greater number would win. So a window lasts for several transactions of each that is in
//! flight, and so does the time after a change before one begins.
//!
//! A verdict falls as soon as the pairs of windows allow it: after a few where the difference is large, so a
//! challenger that would ruin throughput has it for a few windows; after a hundred where it is small, and
//! trying costs next to nothing. A trial that has to end undecided goes on if the challenger seems to be the
//! better one. A challenger that has lost is not tried again before [`SPARED`] times what its trial has
//! cost at worst, and twice as long as the last time. A rate that strays from what it was says that the load
//! has changed: then all challengers may try again at once.

use crate::Ticks;

/// Ticks of the clock are nanoseconds here.
const MILLISECOND: Ticks = 1_000_000;

/// The length of a window: so many finished transactions, and so many for each that is in flight, but within
/// these times.
const WINDOW_TRANSACTIONS: u64 = 150;
const WINDOW_TRANSACTIONS_EACH: u64 = 20;
/// Fewer say nothing of how long that will take.
const TRANSACTIONS_MIN: u64 = 20;
const WINDOW_MIN: Ticks = MILLISECOND;
const WINDOW_MAX: Ticks = 100 * MILLISECOND;
/// Groups for which a window is as short as it can be; with more it is longer, since each takes its time to
/// notice.
const GROUPS_PER_WINDOW: u64 = 16;
/// Pairs of windows in the first trial of a challenger, and in any: each has twice as many as the last. The
/// longest one decides by what little it has seen; those before leave it open.
const PAIRS_FIRST: u32 = 10;
const PAIRS_MAX: u32 = 160;
/// Those from which on the average speaks.
const PAIRS_MIN: u32 = 4;
/// A pair says no more than this (in logarithms): one that differs by more was interrupted, or all do.
const PAIR_MAX: f64 = 0.25;
/// A pair that differs by this is glaring. So many more against a challenger than for it, or for it, decide,
/// where they are half of all.
const GLARING: f64 = 0.2;
const GLARINGLY_WORSE: i32 = 2;
const GLARINGLY_BETTER: i32 = 5;
/// The scatter of pairs is taken for no less: few pairs may agree by chance.
const SCATTER_MIN: f64 = 0.02;
/// How much better a greater number must be, and how much worse a smaller one may be: more in flight is a
/// longer wait for each.
const GREATER_GAINS: f64 = 0.015;
const SMALLER_LOSES: f64 = 0.01;

/// The time until a challenger may try again: at first, doubled up to, and in what its last trial has cost, by
/// the number of challengers, and has taken.
const GAP_MIN: Ticks = 16 * MILLISECOND;
const GAP_MAX: Ticks = 2_000 * MILLISECOND;
const SPARED: f64 = 150.0;
const SPARED_TIMES: Ticks = 24;
/// The cost counts up to this many times the doubled one, as long as little is known.
const GAPS: Ticks = 8;

/// The rate of a stretch is looked at so often, and has strayed when it is off by this (in logarithms) as
/// many times in a row; not more often than this.
const LOOK: Ticks = 16 * MILLISECOND;
const STRAYED: f64 = 0.3;
const STRAYS: u32 = 2;
const CHANGES_APART: Ticks = 1_000 * MILLISECOND;

/// Each number is this many times the one before: 1, 8, 64. Those between would differ by less, and cost
/// trials of their own.
const STEP: usize = 8;

/// Totals so far.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Totals {
    pub now: Ticks,
    /// Transactions that have finished.
    pub finished: u64,
    /// Time of all groups together in which they had something to do.
    pub busy: Ticks,
}

/// A number in flight, and when it may be tried.
struct Arm {
    limit: usize,
    due: Ticks,
    gap: Ticks,
    /// Pairs of its next trial.
    pairs: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Stretch,
    /// The number has changed, and nothing counts yet.
    Settling,
    Window,
}

/// A comparison of the incumbent with a challenger.
#[derive(Default)]
struct Trial {
    challenger: usize,
    /// Pairs at most.
    most: u32,
    /// Windows so far.
    windows: u32,
    /// The logarithm of the rate in the first window of the pair.
    first: f64,
    pairs: u32,
    sum: f64,
    squares: f64,
    /// The verdict of the pairs before it was cut.
    uncut: f64,
    /// Glaring pairs, those for the incumbent counted below zero.
    glaring: i32,
    /// Time that the challenger had.
    had: Ticks,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Open,
    Better,
    Worse,
    /// It is to be tried again, for longer.
    Undecided,
}

/// Which number is in flight now, and how that goes on.
pub(super) struct Trials {
    arms: Vec<Arm>,
    incumbent: usize,
    stage: Stage,
    trial: Trial,
    /// When what is under way ends, and the totals when it began.
    until: Ticks,
    begun: Totals,
    window: Ticks,
    /// The rate of the incumbent as it was; 0 where it is not known.
    usual: f64,
    strays: u32,
    changed: Ticks,
}

impl Trials {
    /// One in flight, of `fibers` at most; nothing is known.
    pub fn new(fibers: usize, now: Ticks) -> Self {
        let mut trials = Self {
            arms: vec![Arm { limit: 1, due: now, gap: GAP_MIN, pairs: PAIRS_FIRST }],
            incumbent: 0,
            stage: Stage::Stretch,
            trial: Trial::default(),
            until: now + WINDOW_MIN,
            begun: Totals { now, ..Totals::default() },
            window: WINDOW_MIN,
            usual: 0.0,
            strays: 0,
            changed: now,
        };
        trials.reach(fibers, now);
        trials
    }

    /// There are groups of so many fibers now.
    pub fn reach(&mut self, fibers: usize, now: Ticks) {
        while self.arms[self.arms.len() - 1].limit < fibers {
            let limit = (self.arms[self.arms.len() - 1].limit * STEP).min(fibers);
            let due = now + GAP_MIN * (self.arms.len() as Ticks - 1);
            self.arms.push(Arm { limit, due, gap: GAP_MIN, pairs: PAIRS_FIRST });
        }
    }

    /// How many transactions a group may have in flight now.
    pub fn limit(&self) -> usize {
        let challenger = self.stage != Stage::Stretch && self.challenger_runs();
        self.arms[if challenger { self.trial.challenger } else { self.incumbent }].limit
    }

    /// When [`Trials::go_on`] is to be called next.
    pub fn until(&self) -> Ticks {
        self.until
    }

    /// The current measurement has ended, with `groups` at work.
    pub fn go_on(&mut self, totals: Totals, groups: usize) {
        if totals.busy.saturating_sub(self.begun.busy) < self.window / 4 {
            // There was little to do: it goes on until there was more.
            self.until = totals.now + self.window;
            return;
        }
        match self.stage {
            Stage::Stretch => self.stretched(totals, groups),
            Stage::Settling => {
                self.stage = Stage::Window;
                self.begin(totals, self.window);
            }
            Stage::Window => self.measured(totals),
        }
    }

    /// The numbers next to the incumbent. Those beyond are not worth a trial while these lose.
    fn neighbours(&self) -> impl Iterator<Item = usize> + use<> {
        let (incumbent, arms) = (self.incumbent, self.arms.len());
        (0..arms).filter(move |arm| arm.abs_diff(incumbent) == 1)
    }

    fn begin(&mut self, totals: Totals, length: Ticks) {
        (self.begun, self.until) = (totals, totals.now + length);
    }

    /// Transactions per busy time since what is under way began.
    fn rate(&self, totals: Totals) -> f64 {
        let busy = totals.busy.saturating_sub(self.begun.busy).max(1);
        let finished = totals.finished.saturating_sub(self.begun.finished);
        (finished as f64).max(0.5) / busy as f64
    }

    fn stretched(&mut self, totals: Totals, groups: usize) {
        let passed = totals.now.saturating_sub(self.begun.now).max(1);
        let finished = totals.finished.saturating_sub(self.begun.finished).max(1);
        if finished < TRANSACTIONS_MIN && passed < WINDOW_MAX {
            self.until = totals.now + self.window;
            return;
        }
        self.compare_with_usual(self.rate(totals), totals.now);
        let next = self.neighbours().min_by_key(|&arm| self.arms[arm].due);
        let Some(next) = next else { return self.begin(totals, WINDOW_MAX) };
        let in_flight = self.arms[next.max(self.incumbent)].limit * groups;
        let transactions = WINDOW_TRANSACTIONS.max(WINDOW_TRANSACTIONS_EACH * in_flight as u64);
        let time = passed.saturating_mul(transactions) / finished;
        let shared = 1 + groups as Ticks / GROUPS_PER_WINDOW;
        self.window = time.clamp(WINDOW_MIN, WINDOW_MAX) * shared;
        if self.arms[next].due > totals.now {
            let rest = self.arms[next].due - totals.now;
            return self.begin(totals, rest.clamp(WINDOW_MIN, LOOK.max(self.window)));
        }
        self.trial = Trial { challenger: next, most: self.arms[next].pairs, ..Trial::default() };
        self.stage = Stage::Window;
        self.begin(totals, self.window);
    }

    /// Whether the load is what it was.
    fn compare_with_usual(&mut self, rate: f64, now: Ticks) {
        let strays = self.usual > 0.0 && (rate / self.usual).ln().abs() > STRAYED;
        self.strays = if strays { self.strays + 1 } else { 0 };
        if self.usual == 0.0 {
            self.usual = rate;
        } else if !strays {
            self.usual += (rate - self.usual) / 8.0;
        } else if self.strays >= STRAYS {
            (self.usual, self.strays) = (rate, 0);
            if now.saturating_sub(self.changed) >= CHANGES_APART {
                self.changed = now;
                // It may have been the machine: then they have lost again, and wait for longer.
                self.arms.iter_mut().for_each(|arm| (arm.due, arm.pairs) = (now, PAIRS_FIRST));
            }
        }
    }

    /// Windows go A, B, B, A, and so on: a pair has one of each, and a number that stays needs no settling.
    fn challenger_runs(&self) -> bool {
        matches!(self.trial.windows % 4, 1 | 2)
    }

    fn measured(&mut self, totals: Totals) {
        let ran = self.challenger_runs();
        if ran {
            let passed = totals.now.saturating_sub(self.begun.now);
            self.trial.had += passed.min(totals.busy.saturating_sub(self.begun.busy));
        }
        let rate = self.rate(totals);
        let trial = &mut self.trial;
        if trial.windows.is_multiple_of(2) {
            trial.first = rate.ln();
        } else {
            let gain = if ran { rate.ln() - trial.first } else { trial.first - rate.ln() };
            trial.add(gain);
        }
        trial.windows += 1;
        let greater = trial.challenger > self.incumbent;
        let wanted = if greater { GREATER_GAINS } else { -SMALLER_LOSES };
        let mut verdict = trial.verdict(wanted);
        if verdict == Verdict::Undecided && trial.mean() > wanted {
            trial.most *= 2;
            verdict = Verdict::Open;
        }
        match verdict {
            Verdict::Open if self.challenger_runs() == ran => self.begin(totals, self.window),
            Verdict::Open => {
                self.stage = Stage::Settling;
                self.begin(totals, self.window);
            }
            verdict => self.end_trial(verdict, totals),
        }
    }

    fn end_trial(&mut self, verdict: Verdict, totals: Totals) {
        let loser = match verdict {
            Verdict::Better => {
                self.usual = 0.0;
                let loser = core::mem::replace(&mut self.incumbent, self.trial.challenger);
                (self.arms[loser].gap, self.arms[loser].pairs) = (GAP_MIN / 2, PAIRS_FIRST);
                loser
            }
            _ => self.trial.challenger,
        };
        let cost = if loser == self.trial.challenger { self.trial.cost() } else { 0.0 };
        let others = self.neighbours().count() as f64;
        let arm = &mut self.arms[loser];
        arm.gap = (arm.gap * 2).min(GAP_MAX);
        arm.pairs = if verdict == Verdict::Undecided { self.trial.most * 2 } else { arm.pairs };
        let spared = ((cost * SPARED * others) as Ticks).clamp(arm.gap, arm.gap * GAPS);
        arm.due = totals.now + spared.max(self.trial.had * SPARED_TIMES);
        self.stage = Stage::Stretch;
        self.begin(totals, self.window);
    }
}

impl Trial {
    fn add(&mut self, gain: f64) {
        self.pairs += 1;
        self.uncut += gain;
        self.glaring += if gain.abs() > GLARING { gain.signum() as i32 } else { 0 };
        let gain = gain.clamp(-PAIR_MAX, PAIR_MAX);
        self.sum += gain;
        self.squares += gain * gain;
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.pairs.max(1))
    }

    /// How far the mean may be off.
    fn error(&self) -> f64 {
        let pairs = f64::from(self.pairs.max(2));
        let mean = self.mean();
        let variance = (self.squares / pairs - mean * mean).max(0.0) * pairs / (pairs - 1.0);
        variance.sqrt().max(SCATTER_MIN) / pairs.sqrt()
    }

    /// The worst-case cost of the challenger's time, in time of the incumbent.
    fn cost(&self) -> f64 {
        let mean = self.uncut / f64::from(self.pairs.max(1));
        self.had as f64 * (1.0 - (mean - self.error()).exp()).max(0.0)
    }

    /// The verdict of the pairs on a challenger that must gain `wanted`.
    fn verdict(&self, wanted: f64) -> Verdict {
        if self.windows % 2 == 1 || self.pairs < 2 {
            return Verdict::Open;
        }
        let pairs = f64::from(self.pairs);
        let excess = self.mean() - wanted;
        let verdict = if excess > 0.0 { Verdict::Better } else { Verdict::Worse };
        let half = (self.pairs / 2) as i32;
        if self.glaring >= half.max(GLARINGLY_BETTER) {
            return Verdict::Better;
        }
        if -self.glaring >= half.max(GLARINGLY_WORSE) {
            return Verdict::Worse;
        }
        // Few pairs know little of their own scatter.
        let sure = self.error() * (3.2 + 6.0 / pairs);
        let speaks = self.pairs >= PAIRS_MIN && excess.abs() > sure;
        match self.pairs >= self.most {
            _ if speaks => verdict,
            false => Verdict::Open,
            true if self.most < PAIRS_MAX => Verdict::Undecided,
            true => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups on a clock of their own: transactions take so many ticks, by their number in flight.
    struct Run {
        trials: Trials,
        totals: Totals,
        random: u64,
        /// Time in which each number was in flight, and what all transactions took beyond the least.
        had: Vec<(usize, Ticks)>,
        lost: f64,
        /// The host takes and gives time in bursts: how fast it is in this one, and until when.
        bursts: bool,
        speed: f64,
        speed_until: Ticks,
        /// Most work is that of few long transactions. What is left of each that is in flight; negative: none is.
        mixed: Option<Vec<f64>>,
        next_slot: usize,
    }

    /// One in so many is long, and they are half of the work.
    const LONG_IN: f64 = 25.0;

    impl Run {
        fn new(fibers: usize) -> Self {
            let (trials, totals) = (Trials::new(fibers, 0), Totals::default());
            Self {
                trials,
                totals,
                random: 1,
                had: Vec::new(),
                lost: 0.0,
                bursts: false,
                speed: 1.0,
                speed_until: 0,
                mixed: None,
                next_slot: 0,
            }
        }

        /// A host with transactions of different lengths.
        fn mixed(fibers: usize, seed: u64) -> Self {
            Self { mixed: Some(vec![-1.0; fibers]), ..Self::in_bursts(fibers, seed) }
        }

        /// A host that is shared with other load.
        fn in_bursts(fibers: usize, seed: u64) -> Self {
            Self { bursts: true, random: seed, ..Self::new(fibers) }
        }

        /// A number below one.
        fn draw(&mut self) -> f64 {
            self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (self.random >> 40) as f64 / (1 << 24) as f64
        }

        /// The transactions that finish in a stride of the host's time, where they take `mean` on average.
        fn finish(&mut self, stride: f64, mean: f64, limit: usize) -> f64 {
            let Some(mut slots) = self.mixed.take() else {
                let scatter = 2.0 * (mean / stride).sqrt() * (self.draw() - 0.5);
                return stride / mean * (1.0 + 1.7 * scatter);
            };
            let (mut left, mut finished) = (stride, 0.0);
            let busy = slots.iter().rposition(|&left| left >= 0.0).map_or(0, |last| last + 1);
            while left > 0.0 {
                // Those in flight have turns. One that is beyond the limit ends, and none follows it.
                self.next_slot = (self.next_slot + 1) % busy.max(limit);
                let slot = &mut slots[self.next_slot];
                if *slot < 0.0 {
                    if self.next_slot >= limit {
                        continue;
                    }
                    *slot = match self.draw() * LONG_IN < 1.0 {
                        true => mean * LONG_IN / 2.0,
                        false => mean / 2.0,
                    };
                }
                let turn = (mean / 4.0).min(left);
                left -= turn;
                *slot -= turn;
                finished += f64::from(u8::from(*slot < 0.0));
            }
            self.mixed = Some(slots);
            finished
        }

        /// Goes on for so long, in strides. What finishes in one scatters, and now and then the core is taken
        /// away.
        fn go(&mut self, time: Ticks, ticks: impl Fn(usize) -> f64) {
            const STRIDE: Ticks = MILLISECOND / 10;
            let numbers = [1, 2, 4, 8, 16, 32, 64, 128, 256].map(&ticks);
            let least = numbers.into_iter().fold(f64::INFINITY, f64::min);
            let end = self.totals.now + time;
            self.had.clear();
            self.lost = 0.0;
            while self.totals.now < end {
                let limit = self.trials.limit();
                if self.bursts && self.totals.now >= self.speed_until {
                    self.speed = 0.5 + 0.7 * self.draw();
                    let length = 6.0 * self.draw() * self.draw();
                    self.speed_until = self.totals.now + (length * MILLISECOND as f64) as Ticks;
                }
                let mean = ticks(limit) / self.speed;
                let stolen = if self.draw() < 0.002 { 2 * MILLISECOND } else { 0 };
                let finished = self.finish(STRIDE as f64, mean, limit);
                self.lost += STRIDE as f64 * (1.0 - least / ticks(limit));
                self.totals.now += STRIDE + stolen;
                self.totals.busy += STRIDE + stolen;
                self.totals.finished += (finished + self.draw()) as u64;
                match self.had.iter_mut().find(|had| had.0 == limit) {
                    Some(had) => had.1 += STRIDE,
                    None => self.had.push((limit, STRIDE)),
                }
                if self.totals.now >= self.trials.until() {
                    self.trials.go_on(self.totals, 1);
                }
            }
            self.lost /= time as f64;
        }
    }

    /// The loads that the limits are for: a cache miss hidden, nothing gained, contention.
    fn uniform(limit: usize) -> f64 {
        600.0 / (limit.min(8) as f64).powf(0.45) + 5.0 * limit.saturating_sub(8) as f64
    }
    fn tpcc(limit: usize) -> f64 {
        5000.0 * if limit == 1 { 1.0 } else { 1.05 + 0.01 * limit as f64 }
    }
    fn contended(limit: usize) -> f64 {
        6000.0 * (limit as f64).powf(0.8)
    }
    fn shared_row(limit: usize) -> f64 {
        8000.0 * (1.0 + 0.04 * (limit as f64).log2())
    }
    fn slightly_better(limit: usize) -> f64 {
        3000.0 * (1.0 - 0.015 * (limit as f64).log2().min(3.0))
    }
    type Load = fn(usize) -> f64;
    const LOADS: [(&str, Load); 5] = [
        ("uniform", uniform),
        ("tpcc", tpcc),
        ("contended", contended),
        ("shared row", shared_row),
        ("slightly better", slightly_better),
    ];

    #[test]
    fn it_begins_with_one_and_finds_what_pays_at_once() {
        let mut run = Run::new(8);
        assert_eq!(run.trials.limit(), 1);
        run.go(60 * MILLISECOND, uniform);
        assert_eq!(
            run.had.iter().max_by_key(|had| had.1).map(|had| had.0),
            Some(8),
            "{:?}",
            run.had
        );
        assert!(run.lost < 0.25, "{}", run.lost);
    }

    #[test]
    fn trials_cost_less_than_a_hundredth() {
        for fibers in [2, 8, 256] {
            for (name, load) in
                [("uniform", uniform as Load), ("tpcc", tpcc), ("contended", contended)]
            {
                let mut run = Run::new(fibers);
                let best = (0..9).map(|power| load(fibers.min(1 << power)));
                let best = best.fold(f64::INFINITY, f64::min);
                run.go(2_000 * MILLISECOND, load);
                run.go(10_000 * MILLISECOND, |limit| load(limit).max(best));
                assert!(run.lost < 0.01, "{name} of {fibers}: {} {:?}", run.lost, run.had);
            }
        }
    }

    /// Of these loads so much may be lost in the seconds after the first, on average over seeds.
    fn loses_less_than(most: f64, seeds: u64, begin: impl Fn(usize, u64) -> Run) {
        for fibers in [8, 256] {
            for (name, load) in LOADS {
                let runs = (1..=seeds).map(|seed| {
                    let mut run = begin(fibers, seed);
                    run.go(1_000 * MILLISECOND, load);
                    run.go(4_000 * MILLISECOND, load);
                    run.lost
                });
                let lost: Vec<f64> = runs.collect();
                let mean = lost.iter().sum::<f64>() / seeds as f64;
                assert!(mean < most, "{name} of {fibers}: {lost:?}");
            }
        }
    }

    #[test]
    fn a_host_that_is_shared_deceives_nobody_for_long() {
        loses_less_than(0.01, 20, Run::in_bursts);
    }

    #[test]
    fn long_transactions_count_where_they_run() {
        loses_less_than(0.02, 6, Run::mixed);
    }

    #[test]
    fn a_change_of_the_load_is_noticed() {
        let mut run = Run::new(8);
        for round in 0..3 {
            for (load, best) in [(uniform as Load, 8), (contended, 1)] {
                run.go(3_000 * MILLISECOND, load);
                run.go(500 * MILLISECOND, load);
                assert!(run.lost < 0.01, "round {round}, best {best}: {} {:?}", run.lost, run.had);
            }
        }
    }

    #[test]
    fn a_small_difference_is_seen() {
        for (gain, best) in [(0.95, 8), (1.03, 1)] {
            let mut run = Run::new(8);
            run.go(8_000 * MILLISECOND, |limit| 3000.0 * if limit == 8 { gain } else { 1.0 });
            run.go(8_000 * MILLISECOND, |limit| 3000.0 * if limit == 8 { gain } else { 1.0 });
            assert!(run.lost < 0.01, "{best}: {} {:?}", run.lost, run.had);
        }
    }

    #[test]
    fn a_number_at_which_nothing_finishes_is_left_again() {
        let mut run = Run::new(8);
        run.go(100 * MILLISECOND, |_| 2000.0);
        let mut stuck = 0;
        // Nobody finishes with more than one in flight; refused attempts look at the clock all the same.
        for _ in 0..200_000 {
            run.totals.now += 10_000;
            run.totals.busy += 10_000;
            let alone = run.trials.limit() == 1;
            run.totals.finished += if alone { 5 } else { 0 };
            stuck += u64::from(!alone);
            if run.totals.now >= run.trials.until() {
                run.trials.go_on(run.totals, 1);
            }
        }
        assert!(stuck < 4_000, "{stuck}");
    }

    #[test]
    fn idle_time_says_nothing() {
        let mut trials = Trials::new(8, 0);
        let mut totals = Totals::default();
        // One transaction in ten milliseconds.
        for _ in 0..1000 {
            totals.now += 10 * MILLISECOND;
            (totals.busy, totals.finished) = (totals.busy + 5_000, totals.finished + 1);
            if totals.now >= trials.until() {
                trials.go_on(totals, 1);
            }
        }
        assert!(trials.trial.pairs <= 10 && trials.limit() <= 8);
    }
}
