//! Room that is made ahead for rows changes no row: random insertions, removals and makings of room beside a sorted map, on the
//! serial runtime and on simulated hardware that gives executions up in between; and its memory comes back when
//! the rows go.

use chiliad_api::{Intent, Running, Store, TableId, TableSpec, Transaction};
use chiliad_machine::tasks::{FunctionId, Serial, Task, Tasks, Ties};
use chiliad_machine::{Machine, Plain};
use chiliad_simulator::description::Description;
use chiliad_simulator::{Config, Run, Sim, TaskOptions};
use chiliad_swarm::{Graph, Swarm, View};
use std::collections::BTreeMap;

const TABLE: TableId = TableId(0);
const BEGIN: FunctionId = FunctionId(0);
const STEP: FunctionId = FunctionId(1);

/// Steps that are begun at a time.
const AT_A_TIME: u64 = 7;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Xorshift (Marsaglia, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

enum Step {
    Room(Vec<u8>, usize),
    Insert(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
}

/// A key whose last byte is `line`, of group `number`.
fn key(number: u64, line: u8) -> Vec<u8> {
    [&number.to_be_bytes()[4..], &[line]].concat()
}

/// Whether all room that is made for a seed is used: a leaf without rows stays until rows have come and gone there.
fn all_is_used(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

/// Random steps of which each is possible after those before it, and the rows that they leave.
fn steps(seed: u64, count: usize) -> (Vec<Step>, Map) {
    let mut random = Random(seed * 2 + 1);
    let (mut steps, mut map) = (Vec::new(), Map::new());
    let groups = [3, 20, 200][(seed / 2) as usize % 3];
    while steps.len() < count {
        let (number, line) = (random.below(groups), random.below(200) as u8);
        match random.below(4) {
            // As an order does: room, and then the rows.
            0 => {
                let keys = random.below(16) as usize;
                let mut lines = (line..).take(keys);
                let is_taken = lines.any(|line| map.contains_key(&key(number, line)));
                if all_is_used(seed) && (keys == 0 || is_taken) {
                    continue;
                }
                steps.push(Step::Room(key(number, line), keys));
                for line in (line..).take(keys) {
                    let value = vec![line; random.below(90) as usize];
                    if map.insert(key(number, line), value.clone()).is_none() {
                        steps.push(Step::Insert(key(number, line), value));
                    } else {
                        map.remove(&key(number, line));
                        steps.push(Step::Remove(key(number, line)));
                    }
                }
            }
            // Room that nobody uses.
            1 if !all_is_used(seed) => {
                steps.push(Step::Room(key(number, line), random.below(40) as usize))
            }
            _ => {
                let first = map.range(key(number, line)..).next().map(|(key, _)| key.clone());
                if let Some(key) = first {
                    map.remove(&key);
                    steps.push(Step::Remove(key));
                }
            }
        }
    }
    (steps, map)
}

/// Steps, each a task.
struct InOrder<'s>(&'s [Step]);

impl<T: Tasks> Graph<T> for InOrder<'_> {
    fn name(&self, function: FunctionId) -> &'static str {
        if function == BEGIN { "begin" } else { "step" }
    }

    fn run(&self, view: &mut View<'_, T>, task: &Task) {
        let number = task.word(0);
        if task.function == STEP {
            match &self.0[number as usize] {
                Step::Room(key, keys) => view.make_room(TABLE, key, *keys),
                Step::Insert(key, value) => view.insert(TABLE, key, value),
                Step::Remove(key) => view.remove(TABLE, key),
            }
            return;
        }
        let end = self.0.len() as u64;
        for step in number..end.min(number + AT_A_TIME) {
            view.enqueue(STEP, step, &[step], None);
        }
        if number + AT_A_TIME < end {
            view.enqueue(BEGIN, number + AT_A_TIME, &[number + AT_A_TIME], None);
        }
    }
}

fn begin() -> Task {
    Task::new(BEGIN, 0, &[0], None).expect("a word")
}

fn empty<M: Machine>() -> Swarm<M> {
    let swarm = Swarm::new();
    assert_eq!(swarm.create_table(TableSpec::ordered("t")).expect("a table"), TABLE);
    swarm
}

/// The rows are those of the map, and the memory comes back with them.
fn check<M: Machine>(swarm: &Swarm<M>, map: &Map, lines: usize, seed: u64) {
    let what = format!("seed {seed}");
    let rows: Map = swarm.rows(TABLE).expect("a table").into_iter().collect();
    assert_eq!(rows, *map, "{what}");
    let mut session = swarm.session().expect("a session");
    let mut running = Running::begin(&mut *session, &Intent::update()).expect("a transaction");
    for key in map.keys() {
        assert!(running.remove(TABLE, key).expect("an open table"), "{what}");
    }
    running.commit().expect("nobody else");
    drop(session);
    if all_is_used(seed) {
        assert_eq!(swarm.lines(), lines, "{what}: the tree is a leaf again");
    }
}

fn serially(seed: u64) {
    let (steps, map) = steps(seed, 600);
    let mut swarm = empty::<Plain>();
    let lines = swarm.lines();
    let bodies = swarm.bodies(InOrder(&steps)).expect("no session");
    let ran = Serial::new(bodies.pool(), Ties::Creation).run(&bodies, [begin()]);
    assert!(ran.expect("no violation") > steps.len() as u64);
    check(&swarm, &map, lines, seed);
}

#[test]
fn room_changes_no_row() {
    for seed in 0..if cfg!(miri) { 1 } else { 60 } {
        serially(seed);
    }
}

#[test]
fn room_changes_no_row_where_executions_are_given_up() {
    let mut aborted = 0;
    for seed in 0..24 {
        let (steps, map) = steps(seed, 300);
        let mut run = Run::new(Config {
            machine: Some(Description::tiled(4)),
            region_bytes: 64 << 20,
            stack_bytes: 128 << 10,
            events_max: 100_000_000,
            ..Config::new(seed)
        });
        let mut swarm = run.outside(empty::<Sim>);
        let lines = swarm.lines();
        let bodies = run.outside(|| swarm.bodies(InOrder(&steps))).expect("no session");
        let options = TaskOptions::default();
        let outcome = run.go_tasks(16, bodies.pool(), &bodies, &[begin()], options);
        assert!(outcome.verdict.is_completed(), "seed {seed}: {}", outcome.verdict);
        let tasks = outcome.tasks.expect("a run of tasks");
        aborted += tasks.aborted.iter().sum::<u64>();
        run.outside(move || {
            check(&swarm, &map, lines, seed);
            drop(swarm);
        });
    }
    assert!(aborted > 1000, "{aborted}");
}

/// The rows of an order after those of the order before it, as they come in TPC-C: where room was made they take their own
/// lines and no others, whatever came before.
#[test]
fn rows_that_room_was_made_for_divide_no_leaf() {
    let mut made = 0;
    let mut swarm = empty::<Plain>();
    for order in 0..200 {
        let keys = 5 + order % 11;
        let mut lines = [0; 3];
        lines[0] = swarm.lines();
        for (at, rows) in [(1, false), (2, true)] {
            let steps: Vec<Step> = match rows {
                false => vec![Step::Room(key(order, 1), keys as usize)],
                true => (1..=keys as u8)
                    .map(|line| Step::Insert(key(order, line), vec![7; 8]))
                    .collect(),
            };
            let bodies = swarm.bodies(InOrder(&steps)).expect("no session");
            let ran = Serial::new(bodies.pool(), Ties::Creation).run(&bodies, [begin()]);
            ran.expect("no violation");
            lines[at] = swarm.lines();
        }
        made += lines[1] - lines[0];
        assert_eq!(lines[2] - lines[1], keys as usize, "order {order}");
    }
    assert!(made > 0, "no leaf was divided at all");
}
