//! Random intentions decided in every way there is, against a plain validator and a plain map.

use crate::blocks::Block;
use crate::collector::Collector;
use crate::faults::{
    GRAFTED_ON_EQUAL_KEY, INNER_CONFLICT_IGNORED, NEWEST_NOT_RAISED, RANGE_DROPPED,
    READ_DEPENDENCE_DROPPED,
};
use crate::group::meld_into_one;
use crate::intention::{Encoder, Intention, Written};
use crate::item::{Item, Refused};
use crate::judge::Judge;
use crate::maker::Maker;
use crate::node::{Key, NodeRef, Tree};
use crate::options::{Certifier, Group, Level, RollOptions};
use crate::validator::{Validator, Version};
use crate::window::Window;
use chiliad_machine::{Fault, Machine, Plain};
use chiliad_simulator::{Config, Run, Sim};
use chiliad_storage::{Heap, LocalHeap};
use core::ops::Bound;
use std::collections::VecDeque;

/// A generator of random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// The shape of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub seed: u64,
    pub keys: u64,
    /// How far back an intention's snapshot lies, at most.
    pub zone: u64,
    pub intentions: u64,
}

/// A key: some are longer than a node's prefix, and share it.
fn key(number: u64) -> Vec<u8> {
    match number % 3 {
        0 => number.to_be_bytes().to_vec(),
        1 => [b"the same beginning ".as_slice(), &number.to_be_bytes()].concat(),
        _ => number.to_string().into_bytes(),
    }
}

/// A random intention of this number.
pub fn intention(random: &mut Random, shape: Shape, label: u64) -> Vec<u8> {
    let snapshot = label - 1 - random.below(shape.zone.min(label));
    let mut encoder = Encoder::new(label, snapshot);
    for table in 0..2 {
        let mut keys: Vec<_> =
            (0..random.below(5)).map(|_| key(random.below(shape.keys))).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let value = vec![label as u8; random.below(40) as usize];
            let written = match random.below(5) {
                0 | 1 => Some(Written { tombstone: false, value: &value }),
                2 => Some(Written { tombstone: true, value: &[] }),
                _ => None,
            };
            encoder.entry(table, &key, written.is_none() || random.below(8) > 0, written);
        }
    }
    if random.below(4) == 0 {
        let (low, high) = (key(random.below(shape.keys)), key(random.below(shape.keys)));
        let low = if random.below(3) == 0 { Bound::Unbounded } else { Bound::Included(&*low) };
        let high = if random.below(3) == 0 { Bound::Unbounded } else { Bound::Excluded(&*high) };
        encoder.range(random.below(2) as u32, low, high);
    }
    encoder.finish()
}

/// The validator's rows of a table.
pub fn expected(model: &Validator, table: u32) -> Vec<Row> {
    let rows = model.rows.iter().filter(|((number, _), _)| *number == table);
    let row = |((_, key), version): (&(u32, Vec<u8>), &Version)| {
        let value = (!version.tombstone).then(|| version.value.clone());
        (key.clone(), version.label, value)
    };
    rows.map(row).collect()
}

/// Key, version and value.
pub type Row = (Vec<u8>, u64, Option<Vec<u8>>);

/// All rows of a tree, which is checked on the way.
fn rows<M: Machine>(tree: Tree<M>, out: &mut Vec<Row>) {
    let Some(node) = tree.root else {
        assert_eq!((tree.height, tree.newest), (0, 0));
        return;
    };
    let (left, right) = (node.left(), node.right());
    assert!(left.height.abs_diff(right.height) <= 1, "balanced");
    assert_eq!(tree.height, 1 + left.height.max(right.height));
    assert_eq!(tree.newest, node.version().max(left.newest).max(right.newest));
    rows(left, out);
    let mut key = Vec::new();
    node.append_key(&mut key);
    assert!(out.last().is_none_or(|last| last.0 < key), "in order");
    assert!(node.compare(Key::new(&key)).is_eq());
    let content = node.content();
    let mut value = Vec::new();
    if let Some(stored) = content.value {
        stored.append(&mut value);
    }
    out.push((key, content.version, (!content.tombstone).then_some(value)));
    rows(right, out);
}

/// Nodes and values that a tree leads to.
fn blocks<M: Machine>(tree: Tree<M>) -> u64 {
    tree.root.map_or(0, |node| {
        let value = u64::from(node.content().value.is_some());
        1 + value + blocks(node.left()) + blocks(node.right())
    })
}

/// The state that intentions are built on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// Any state before it.
    Any,
    /// Any state before it, and then any later one.
    Premelded,
}

/// Runs the trial; returns how many have committed.
pub fn run<M: Machine>(shape: Shape, options: RollOptions, base: Base) -> u64 {
    let heap = Heap::<M>::new(u64::MAX);
    let maker = Maker::new(LocalHeap::new(&heap).expect("a slot"));
    let mut judge = Judge::new(maker, options);
    judge.roots = vec![Some(Tree::EMPTY); 2];
    let (mut collector, mut model) = (Collector::new(), Validator::default());
    let (mut random, mut choices) = (Random::new(shape.seed), Random::new(!shape.seed));
    let mut states = VecDeque::from([(0, judge.roots.clone())]);
    // So few that intentions read states from before it, too.
    judge.window = Window::new(8);
    let mut commits = 0;
    let grouped = if options.group == Group::Exact { 2 } else { 1 };
    for first in (1..=shape.intentions).step_by(grouped) {
        let labels = first..first + grouped as u64;
        let bytes: Vec<_> =
            labels.map(|label| (label, intention(&mut random, shape, label))).collect();
        let (verdicts, replaced) = decide(&mut judge, &bytes, base, &states, &mut choices);
        for ((label, bytes), verdict) in bytes.iter().zip(verdicts) {
            let read = Intention::decode(bytes).expect("an intention");
            let expected = model.decide(*label, &read, bytes, options.level).is_some();
            match verdict {
                Ok(()) => assert!(expected, "{label} of {shape:?} {options:?} commits"),
                Err(refused) => assert!(!expected, "{label} of {shape:?} {options:?}: {refused:?}"),
            }
            commits += u64::from(expected);
        }
        let label = first + grouped as u64 - 1;
        states.push_back((label, judge.roots.clone()));
        collector.add(label, replaced, None);
        if states.len() > 20 {
            states.pop_front();
        }
        collector.free(&mut judge.maker, states.front().map_or(label, |state| state.0));
    }
    collector.free(&mut judge.maker, u64::MAX);
    for (number, tree) in (0..).zip(&judge.roots) {
        let mut found = Vec::new();
        rows(tree.expect("a table"), &mut found);
        assert_eq!(found, expected(&model, number), "{shape:?} {options:?}");
    }
    let reached: u64 = judge.roots.iter().flatten().map(|tree| blocks(*tree)).sum();
    assert_eq!(
        judge.maker.blocks_there, reached as i64,
        "{shape:?} {options:?}: what is not freed"
    );
    commits
}

type States<M> = VecDeque<(u64, Vec<Option<Tree<M>>>)>;

fn prepare<'b, M: Machine>(
    judge: &mut Judge<M>,
    (label, bytes): &'b (u64, Vec<u8>),
    base: Base,
    states: &States<M>,
    choices: &mut Random,
) -> Result<Item<'b, M>, Refused> {
    let intention = Intention::decode(bytes).expect("an intention");
    let mut item = Item::new(&mut judge.maker, *label, bytes, intention, judge.options.level)?;
    if judge.options.certifier == Certifier::Meld {
        let first = choices.below(states.len() as u64) as usize;
        let tree = |at: usize, table: u32| states[at].1[table as usize].unwrap_or(Tree::EMPTY);
        let mut built = item.build(&mut judge.maker, |table| tree(first, table));
        if base == Base::Premelded {
            let later = first + choices.below((states.len() - first) as u64) as usize;
            built = built.and_then(|()| item.rebase(&mut judge.maker, |table| tree(later, table)));
        }
        if let Err(refused) = built {
            item.free(&mut judge.maker);
            return Err(refused);
        }
    }
    Ok(item)
}

/// Decides intentions, and clears away what is left of them: what they have replaced is returned.
fn decide<M: Machine>(
    judge: &mut Judge<M>,
    bytes: &[(u64, Vec<u8>)],
    base: Base,
    states: &States<M>,
    choices: &mut Random,
) -> (Vec<Result<(), Refused>>, Vec<Block<M>>) {
    let mut items: Vec<_> =
        bytes.iter().map(|bytes| prepare(judge, bytes, base, states, choices)).collect();
    if let [Ok(first), Ok(second)] = &mut items[..] {
        meld_into_one(&mut judge.maker, first, second);
    }
    let verdicts = match &mut items[..] {
        [Ok(first), Ok(second)] if second.is_paired => judge.decide_both(first, second).to_vec(),
        _ => {
            let alone = |item: &mut Result<Item<'_, _>, _>| match item {
                Ok(item) => judge.decide(item),
                Err(refused) => Err(*refused),
            };
            items.iter_mut().map(alone).collect()
        }
    };
    let mut replaced = core::mem::take(&mut judge.replaced);
    let items = items.into_iter().flatten();
    items.for_each(|item| item.clear_away(&mut judge.maker, &mut replaced));
    (verdicts, replaced)
}

fn all(group: Group) -> Vec<(RollOptions, Base)> {
    let mut all = Vec::new();
    for level in [Level::Serializable, Level::Snapshot] {
        if group == Group::Exact {
            let melded =
                RollOptions { level, group, certifier: Certifier::Meld, ..Default::default() };
            all.extend([(melded, Base::Any), (melded, Base::Premelded)]);
            continue;
        }
        let plain = RollOptions { level, group, ..RollOptions::default() };
        let certified = |certifier| RollOptions { certifier, ..plain };
        all.extend([
            (plain, Base::Any),
            (certified(Certifier::Window), Base::Any),
            (certified(Certifier::Meld), Base::Any),
            (certified(Certifier::Meld), Base::Premelded),
        ]);
    }
    all
}

#[test]
fn verdicts_states_and_memory_are_those_of_the_model() {
    for seed in 1..=60 {
        let shape =
            Shape { seed, keys: 10 + seed % 7 * 30, zone: 3 + seed % 5 * 10, intentions: 400 };
        for (options, base) in all(Group::Off).into_iter().chain(all(Group::Exact)) {
            let commits = run::<Plain>(shape, options, base);
            assert!((40..400).contains(&commits), "{commits} of {shape:?}");
        }
    }
}

/// What goes wrong in a trial on a machine that watches its memory; nothing, if all goes well.
fn wrong(
    fault: Option<&'static Fault>,
    seed: u64,
    options: RollOptions,
    base: Base,
) -> Option<String> {
    let shape = Shape { seed, keys: 20 + seed % 3 * 20, zone: 3 + seed % 5 * 4, intentions: 60 };
    let mut trial = Run::new(Config { fault, stack_bytes: 1 << 20, ..Config::new(seed) });
    trial.spawn("trial", move || _ = run::<Sim>(shape, options, base));
    let verdict = trial.go().verdict;
    (!verdict.is_completed()).then(|| verdict.to_string())
}

#[test]
fn nothing_is_looked_at_that_was_freed() {
    for seed in 1..=6 {
        for (options, base) in all(Group::Off).into_iter().chain(all(Group::Exact)) {
            assert_eq!(wrong(None, seed, options, base), None, "{seed} {options:?} {base:?}");
        }
    }
}

#[test]
fn planted_bugs_are_told() {
    for fault in [
        &READ_DEPENDENCE_DROPPED,
        &RANGE_DROPPED,
        &NEWEST_NOT_RAISED,
        &GRAFTED_ON_EQUAL_KEY,
        &INNER_CONFLICT_IGNORED,
    ] {
        let tells = |seed| {
            let mut ways = all(Group::Off).into_iter().chain(all(Group::Exact));
            ways.any(|(options, base)| wrong(Some(fault), seed, options, base).is_some())
        };
        assert!((1..=10).any(tells), "{}", fault.name);
    }
}

/// A node is not told from another by its prefix alone.
#[test]
fn keys_compare_as_their_bytes() {
    let heap = Heap::<Plain>::new(u64::MAX);
    let mut maker = Maker::new(LocalHeap::new(&heap).expect("a slot"));
    let content = crate::node::Content { version: 1, tombstone: true, value: None };
    let mut keys: Vec<Vec<u8>> = vec![vec![], vec![0], vec![0; 8], vec![0; 9], b"a".to_vec()];
    keys.extend((0..40).map(key));
    for one in &keys {
        let source = crate::node::KeySource::Bytes(Key::new(one));
        let made = maker.node(source, content, Tree::EMPTY, Tree::EMPTY).expect("memory");
        let node: NodeRef<Plain> = made.root.expect("a node");
        for other in &keys {
            assert_eq!(node.compare(Key::new(other)), other.cmp(one), "{one:?} {other:?}");
        }
    }
}
