//! Meld without clients: intentions made up with an exact conflict zone, through the stages that decide them, each
//! stage timed.
//!
//! One thread plays all stages in turns: a batch of intentions goes through one stage after the other, and the time of
//! each is its own. The conflict zone is exact: intention n has read the state after intention n - zone.

use crate::collector::Collector;
use crate::group::meld_into_one;
use crate::intention::{Encoder, Intention, Written};
use crate::item::{Item, Refused};
use crate::judge::Judge;
use crate::maker::Maker;
use crate::node::{Content, Key, KeySource, Tree};
use crate::options::{Certifier, Group, Premeld, RollOptions};
use crate::warm::warm;
use chiliad_api::{Error, Reason, Result};
use chiliad_machine::{Machine, Ticks};
use chiliad_storage::{Heap, LocalHeap, OutOfMemory};
use std::collections::VecDeque;

/// The table of all rows.
const TABLE: u32 = 0;

/// Intentions that go through each stage together.
const BATCH: u64 = 32;

/// Intentions that are made up before any are timed.
const MADE_AHEAD: u64 = 4096;

/// The stage that is measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeldPlan {
    /// Rows, 1 or more.
    pub records: u64,
    /// Bytes of a row.
    pub record_bytes: usize,
    /// Keys that an intention depends on, and how many of them it writes.
    pub operations: u64,
    /// Of these it writes so many.
    pub writes: u64,
    /// Intentions between the state that one has read and itself.
    pub zone: u64,
    /// Zipf's exponent of the choice of keys, 0 to below 1; 0: all alike.
    pub theta: f64,
    /// Intentions that are timed, after as many as the zone has.
    pub intentions: u64,
    /// The seed of rows and intentions.
    pub seed: u64,
}

/// How intentions are decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeldSetting {
    /// The certifier and its stages.
    pub roll: RollOptions,
    /// Overlays are built on the newest state that is there at the time, in place of the one that was read.
    pub fused: bool,
}

/// The cost of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stage {
    /// Ticks of the machine: nanoseconds natively.
    pub time: Ticks,
    /// Nodes looked at.
    pub visited: u64,
    /// Nodes made.
    pub made: u64,
}

/// The results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MeldReport {
    /// Intentions timed.
    pub intentions: u64,
    /// Of these, committed.
    pub committed: u64,
    /// Of all verdicts, those before the timed ones too.
    pub digest: u64,
    /// Of all timed intentions with overlays together, the intentions between the state that the overlay was last built
    /// on and its own: what is left of the conflict zone.
    pub zone_left: u64,
    /// Reading the bytes; the descents that wait together.
    pub decode: Stage,
    /// Building overlays.
    pub build: Stage,
    /// Premeld.
    pub premeld: Stage,
    /// Group meld.
    pub group: Stage,
    /// The last stage: what has to be done in the order of the log.
    pub last: Stage,
    /// Clearing away what is left of intentions, and freeing what was replaced.
    pub free: Stage,
}

impl MeldReport {
    /// All stages with their names.
    #[must_use]
    pub fn stages(&self) -> [(&'static str, Stage); 6] {
        [
            ("decode", self.decode),
            ("build", self.build),
            ("premeld", self.premeld),
            ("group", self.group),
            ("last", self.last),
            ("free", self.free),
        ]
    }
}

/// Draws keys.
struct Draw {
    state: u64,
    records: u64,
    /// Zipf's law by rejection inversion needs powers; here it is the generator of Gray et al. (1994).
    zipf: Option<Zipf>,
}

struct Zipf {
    theta: f64,
    alpha: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    fn new(records: u64, theta: f64) -> Self {
        let zeta = |n: u64| (1..=n).map(|i| (i as f64).powf(-theta)).sum::<f64>();
        let (all, two) = (zeta(records), zeta(2));
        let eta = (1.0 - (2.0 / records as f64).powf(1.0 - theta)) / (1.0 - two / all);
        Self { theta, alpha: 1.0 / (1.0 - theta), zeta: all, eta }
    }

    fn rank(&self, records: u64, uniform: f64) -> u64 {
        let scaled = uniform * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(self.theta) {
            return 1.min(records - 1);
        }
        let rank = records as f64 * (self.eta * uniform - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(records - 1)
    }
}

impl Draw {
    fn new(plan: &MeldPlan) -> Self {
        let zipf = (plan.theta > 0.0).then(|| Zipf::new(plan.records, plan.theta));
        Self { state: plan.seed << 1 | 1, records: plan.records, zipf }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn key(&mut self) -> u64 {
        let drawn = self.next();
        match &self.zipf {
            None => drawn % self.records,
            Some(zipf) => {
                let rank = zipf.rank(self.records, (drawn >> 11) as f64 / (1_u64 << 53) as f64);
                // The frequent keys are not neighbours.
                rank.wrapping_mul(0x9e37_79b9_7f4a_7c15) % self.records
            }
        }
    }
}

/// The bytes of an intention that has read the state `snapshot`.
fn make_up(draw: &mut Draw, plan: &MeldPlan, label: u64, snapshot: u64, row: &[u8]) -> Vec<u8> {
    let mut keys = Vec::with_capacity(plan.operations as usize);
    while (keys.len() as u64) < plan.operations {
        let key = draw.key();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    // Those drawn first are written: drawn at random, so any of them.
    let mut ordered: Vec<_> = keys.iter().enumerate().map(|(at, &key)| (key, at)).collect();
    ordered.sort_unstable();
    let mut encoder = Encoder::new(label, snapshot);
    for (key, at) in ordered {
        let writes = (at as u64) < plan.writes;
        let written = writes.then_some(Written { tombstone: false, value: row });
        encoder.entry(TABLE, &key.to_be_bytes(), true, written);
    }
    encoder.finish()
}

/// The balanced tree of these keys.
fn load<M: Machine>(
    maker: &mut Maker<M>,
    keys: core::ops::Range<u64>,
    row: &[u8],
) -> core::result::Result<Tree<M>, OutOfMemory> {
    if keys.is_empty() {
        return Ok(Tree::EMPTY);
    }
    let middle = keys.start + (keys.end - keys.start) / 2;
    let left = load(maker, keys.start..middle, row)?;
    let right = load(maker, middle + 1..keys.end, row)?;
    let content = Content { version: 0, tombstone: false, value: Some(maker.value(row)?) };
    let made = maker.node(KeySource::Bytes(Key::new(&middle.to_be_bytes())), content, left, right);
    // So that what was made is not remembered row by row.
    maker.settle(&mut Vec::new());
    made
}

/// A run of one setting.
struct Run<'p, M: Machine> {
    plan: &'p MeldPlan,
    setting: MeldSetting,
    judge: Judge<M>,
    collector: Collector<M>,
    /// The trees after the last intentions, the newest last.
    states: VecDeque<Tree<M>>,
    /// The number of the first of them.
    first: u64,
    label: u64,
    report: MeldReport,
    is_timed: bool,
}

/// Runs intentions through the stages, and says what each has cost.
///
/// # Errors
/// [`Error::OutOfMemory`]; [`Error::InvalidOption`] for a plan that makes no sense.
pub fn run_meld<M: Machine>(
    plan: &MeldPlan,
    setting: MeldSetting,
    memory_bytes_max: u64,
) -> Result<MeldReport> {
    check(plan, setting)?;
    let out = |_| Error::OutOfMemory { limit_bytes: memory_bytes_max };
    let heap = Heap::<M>::new(memory_bytes_max);
    let mut maker = Maker::new(LocalHeap::new(&heap).ok_or(Error::NO_SLOT)?);
    let row = vec![7; plan.record_bytes];
    let tree = load(&mut maker, 0..plan.records, &row).map_err(out)?;
    let mut judge = Judge::new(maker, setting.roll);
    judge.roots = vec![Some(tree)];
    let mut run = Run {
        plan,
        setting,
        judge,
        collector: Collector::new(),
        states: VecDeque::from([tree]),
        first: 0,
        label: 0,
        report: MeldReport::default(),
        is_timed: false,
    };
    let mut draw = Draw::new(plan);
    // Until the zone is as long as it will be, and its nodes lie where later ones do.
    let begin = (2 * plan.zone).next_multiple_of(BATCH);
    let end = begin + plan.intentions.next_multiple_of(BATCH);
    while run.label < end {
        let some = MADE_AHEAD.min(end - run.label);
        let made: Vec<_> = (1..=some)
            .map(|at| {
                let label = run.label + at;
                make_up(&mut draw, plan, label, label.saturating_sub(plan.zone.max(1)), &row)
            })
            .collect();
        for batch in made.chunks(BATCH as usize) {
            run.is_timed = run.label >= begin;
            run.batch(batch).map_err(|Short| out(OutOfMemory))?;
        }
    }
    Ok(run.report)
}

fn check(plan: &MeldPlan, setting: MeldSetting) -> Result<()> {
    let refuse = |what: &str| Err(Error::InvalidOption(what.into()));
    if plan.operations > plan.records || plan.writes > plan.operations {
        return refuse("an intention writes at most the keys that it has, and these are rows");
    }
    if let Premeld::Fixed { threads, distance } = setting.roll.premeld
        && u64::from(threads) * u64::from(distance) < BATCH
    {
        return refuse("premeld: threads x distance of 32 or more are accepted");
    }
    Ok(())
}

/// There is no more memory.
struct Short;

impl<M: Machine> Run<'_, M> {
    /// Takes a batch through all stages.
    fn batch(&mut self, batch: &[Vec<u8>]) -> core::result::Result<(), Short> {
        let newest = self.label;
        let mut items = Vec::with_capacity(batch.len());
        let start = self.begin();
        for (at, bytes) in (1..).zip(batch) {
            let intention = Intention::decode(bytes).ok_or(Short)?;
            let (maker, level) = (&mut self.judge.maker, self.setting.roll.level);
            let item = Item::new(maker, newest + at, bytes, intention, level);
            items.push(Ok(item.map_err(|_| Short)?));
        }
        self.warm(&items);
        self.end(start, |report| &mut report.decode);
        if self.setting.roll.certifier == Certifier::Meld {
            self.overlays(&mut items, newest)?;
        }
        if self.setting.roll.pairs() {
            let start = self.begin();
            self.pair(&mut items);
            self.end(start, |report| &mut report.group);
        }
        let start = self.begin();
        self.decide(&mut items)?;
        self.end(start, |report| &mut report.last);
        let start = self.begin();
        let maker = &mut self.judge.maker;
        let mut replaced = core::mem::take(&mut self.judge.replaced);
        items.into_iter().flatten().for_each(|item| item.clear_away(maker, &mut replaced));
        self.collector.add(self.label, replaced, None);
        // Later intentions are built on states of the zone, and premelded with later ones.
        while self.first + self.plan.zone + 2 * BATCH < self.label {
            self.first += 1;
            self.states.pop_front();
        }
        self.collector.free(&mut self.judge.maker, self.first);
        self.end(start, |report| &mut report.free);
        Ok(())
    }

    fn pair(&mut self, items: &mut [Prepared<'_, M>]) {
        for pair in items.chunks_mut(2) {
            if let [Ok(first), Ok(second)] = pair {
                let is_one = meld_into_one(&mut self.judge.maker, first, second);
                if !is_one && self.setting.roll.group == Group::Fate {
                    for item in pair {
                        let refused = Err(Refused::Because(Reason::ReadChanged));
                        if let Ok(item) = core::mem::replace(item, refused) {
                            item.free(&mut self.judge.maker);
                        }
                    }
                }
            }
        }
    }

    fn begin(&self) -> (Ticks, u64, u64) {
        (M::now(), self.judge.maker.nodes_visited, self.judge.maker.nodes_made)
    }

    fn end(
        &mut self,
        (time, visited, made): (Ticks, u64, u64),
        stage: impl FnOnce(&mut MeldReport) -> &mut Stage,
    ) {
        if self.is_timed {
            let maker = &self.judge.maker;
            let stage = stage(&mut self.report);
            stage.time += M::now().saturating_sub(time);
            stage.visited += maker.nodes_visited - visited;
            stage.made += maker.nodes_made - made;
        }
    }

    fn state(&self, label: u64) -> Tree<M> {
        let at = label.saturating_sub(self.first) as usize;
        self.states[at.min(self.states.len() - 1)]
    }

    fn warm(&self, items: &[Prepared<'_, M>]) {
        if !self.setting.roll.overlap {
            return;
        }
        let only_writes = self.setting.roll.certifier == Certifier::Window;
        let newest = self.state(u64::MAX);
        let mut keys = Vec::with_capacity(items.len() * self.plan.operations as usize);
        for item in items.iter().flatten() {
            let is_read = self.setting.roll.certifier == Certifier::Meld && !self.setting.fused;
            let tree = if is_read { self.state(item.intention.snapshot) } else { newest };
            let entries = item.parts.iter().flat_map(|part| &part.entries);
            let entries = entries.filter(|entry| !only_writes || entry.write.is_some());
            keys.extend(entries.map(|entry| (tree, entry.key)));
        }
        warm(&keys);
    }

    fn overlays(
        &mut self,
        items: &mut [Prepared<'_, M>],
        newest: u64,
    ) -> core::result::Result<(), Short> {
        let start = self.begin();
        for place in items.iter_mut() {
            let Ok(item) = place else { continue };
            let base = if self.setting.fused { newest } else { item.intention.snapshot };
            if self.is_timed {
                self.report.zone_left += item.label - base;
            }
            let tree = self.state(base);
            let built = item.build(&mut self.judge.maker, |_| tree);
            self.keep(place, built)?;
        }
        self.end(start, |report| &mut report.build);
        let start = self.begin();
        for place in items.iter_mut() {
            let Ok(item) = place else { continue };
            let later = match self.setting.roll.premeld {
                Premeld::Off => continue,
                Premeld::Newest => newest,
                Premeld::Fixed { threads, distance } => {
                    item.label.saturating_sub(u64::from(threads) * u64::from(distance) + 1)
                }
            };
            if !self.setting.fused && later > item.intention.snapshot {
                if self.is_timed {
                    self.report.zone_left -= later - item.intention.snapshot;
                }
                let tree = self.state(later);
                let rebased = item.rebase(&mut self.judge.maker, |_| tree);
                self.keep(place, rebased)?;
            }
        }
        self.end(start, |report| &mut report.premeld);
        Ok(())
    }

    /// Keeps an item, or why it does not commit.
    fn keep<'b>(
        &mut self,
        place: &mut Prepared<'b, M>,
        stage: core::result::Result<(), Refused>,
    ) -> core::result::Result<(), Short> {
        match stage {
            Ok(()) => Ok(()),
            Err(Refused::OutOfMemory) => Err(Short),
            Err(refused) => {
                if let Ok(item) = core::mem::replace(place, Err(refused)) {
                    item.free(&mut self.judge.maker);
                }
                Ok(())
            }
        }
    }

    fn decide(&mut self, items: &mut [Prepared<'_, M>]) -> core::result::Result<(), Short> {
        let mut at = 0;
        while at < items.len() {
            match &mut items[at..] {
                [Ok(first), Ok(second), ..] if second.is_paired => {
                    let verdicts = self.judge.decide_both(first, second);
                    verdicts.into_iter().try_for_each(|verdict| self.decided(verdict))?;
                    at += 2;
                }
                [Ok(item), ..] => {
                    let verdict = self.judge.decide(item);
                    self.decided(verdict)?;
                    at += 1;
                }
                [Err(refused), ..] => {
                    let verdict = Err(*refused);
                    self.decided(verdict)?;
                    at += 1;
                }
                [] => {}
            }
        }
        Ok(())
    }

    fn decided(
        &mut self,
        verdict: core::result::Result<(), Refused>,
    ) -> core::result::Result<(), Short> {
        if verdict == Err(Refused::OutOfMemory) {
            return Err(Short);
        }
        self.label += 1;
        let commits = u64::from(verdict.is_ok());
        let digest = self.report.digest ^ (self.label << 1 | commits);
        self.report.digest = digest.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        if self.is_timed {
            self.report.intentions += 1;
            self.report.committed += commits;
        }
        self.states.push_back(self.judge.roots[0].unwrap_or(Tree::EMPTY));
        Ok(())
    }
}

/// An intention, or why it does not commit.
type Prepared<'b, M> = core::result::Result<Item<'b, M>, Refused>;

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_machine::Plain;

    #[test]
    fn all_settings_come_to_the_same_verdicts() {
        let plan = MeldPlan {
            records: 2_000,
            record_bytes: 20,
            operations: 8,
            writes: 3,
            zone: 200,
            theta: 0.6,
            intentions: 2_000,
            seed: 5,
        };
        let mut reports = Vec::new();
        for certifier in [Certifier::Plain, Certifier::Meld, Certifier::Window] {
            for premeld in
                [Premeld::Off, Premeld::Newest, Premeld::Fixed { threads: 5, distance: 10 }]
            {
                for (group, fused, overlap) in [
                    (Group::Off, false, false),
                    (Group::Exact, false, true),
                    (Group::Exact, true, false),
                ] {
                    let roll =
                        RollOptions { certifier, premeld, group, overlap, ..Default::default() };
                    let setting = MeldSetting { roll, fused };
                    let report = run_meld::<Plain>(&plan, setting, u64::MAX).expect("a report");
                    reports.push((setting, report));
                }
            }
        }
        let first = reports[0].1;
        assert!((200..1_990).contains(&first.committed), "{first:?}");
        for (setting, report) in &reports {
            let (found, expected) =
                ((report.committed, report.digest), (first.committed, first.digest));
            assert_eq!(found, expected, "{setting:?}");
        }
    }

    #[test]
    fn those_that_share_their_fate_commit_less_unless_nothing_conflicts() {
        let commits = |zone, premeld, group| {
            let plan = MeldPlan {
                records: 2_000,
                record_bytes: 20,
                operations: 8,
                writes: 3,
                zone,
                theta: 0.6,
                intentions: 2_000,
                seed: 7,
            };
            let roll =
                RollOptions { certifier: Certifier::Meld, premeld, group, ..Default::default() };
            let setting = MeldSetting { roll, fused: false };
            run_meld::<Plain>(&plan, setting, u64::MAX).expect("a report").committed
        };
        let fixed = Premeld::Fixed { threads: 5, distance: 10 };
        let [exact, fate, fate_after_premeld] = [
            commits(200, Premeld::Off, Group::Exact),
            commits(200, Premeld::Off, Group::Fate),
            commits(200, fixed, Group::Fate),
        ];
        // Most conflicts are found by premeld, before anybody is paired.
        assert!(
            fate < fate_after_premeld && fate_after_premeld < exact,
            "{fate} {fate_after_premeld} {exact}"
        );
    }
}
