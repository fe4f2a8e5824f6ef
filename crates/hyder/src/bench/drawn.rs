//! Made-up rows and intentions.

use super::plan::MeldPlan;
use crate::intention::{Encoder, Written};
use crate::maker::Maker;
use crate::node::{Content, Key, KeySource, Tree};
use chiliad_machine::Machine;
use chiliad_storage::OutOfMemory;

/// The table of all rows.
const TABLE: u32 = 0;

/// Draws keys.
pub struct Draw {
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
    pub fn new(plan: &MeldPlan) -> Self {
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

/// The bytes of intention `label`.
pub fn make_up(draw: &mut Draw, plan: &MeldPlan, label: u64, row: &[u8]) -> Vec<u8> {
    let snapshot = label.saturating_sub(plan.zone.max(1));
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
pub fn load<M: Machine>(
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
