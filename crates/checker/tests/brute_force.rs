//! The graph against brute force: small random histories, every serial order of them.
//!
//! A random engine with too few rules runs a few transactions over three keys: reads may be stale,
//! writes may overlook a version or be of the wrong kind, tombstones may be unlinked. Then:
//!
//! - an anomaly that the checker reports means that no serial order explains the history;
//! - no anomaly, and no unexplained read, means that one does;
//! - of the histories with ambiguous reads, hardly any is left undecided;
//! - the same for strict serializability, with the orders that respect real time.
//!
//! A serial order explains a history if each transaction sees what it saw in the state that those
//! before it left, and overwrites what it overwrote, and the claimed orders grow along each key.

use chiliad_checker::{
    Bound, Direction, Header, History, Options, Recorder, Stamp, Version, WriteKind, check,
};

const KEYS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    version: Version,
    present: bool,
    order: u64,
}

#[derive(Clone, Debug)]
enum Action {
    /// The version seen, or nothing at all.
    Read {
        key: usize,
        seen: Option<(Version, bool)>,
    },
    Scan {
        keys: [usize; 2],
        descending: bool,
        seen: Vec<(usize, Version, bool)>,
        limited: bool,
    },
    Write {
        key: usize,
        kind: WriteKind,
        over: Stamp,
        index: u32,
    },
}

#[derive(Clone, Debug)]
struct Run {
    stamp: Stamp,
    start: u64,
    end: u64,
    order: u64,
    snapshot: bool,
    committed: bool,
    actions: Vec<Action>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// How wrong the engine is, in percent.
struct Faults {
    stale: u64,
    fork: u64,
    reversal: u64,
    intermediate: u64,
    unlink: u64,
    kind: u64,
    abort: u64,
}

struct Engine {
    random: Random,
    faults: Faults,
    kept: bool,
    /// All versions of each key, in the order of installation.
    versions: [Vec<State>; KEYS],
}

impl Engine {
    fn look(&mut self, key: usize) -> State {
        let all = &self.versions[key];
        let mut at = all.len() - 1;
        if self.random.chance(self.faults.stale) {
            at = self.random.below(all.len() as u64) as usize;
        }
        let mut state = all[at];
        if state.version.index > 0 && self.random.chance(self.faults.intermediate) {
            state.version.index -= 1;
        }
        state
    }

    /// What a reader reports of a state: a tombstone may be gone.
    fn report(&mut self, state: State) -> Option<(Version, bool)> {
        let nothing = state.version == Version::INITIAL && !state.present;
        let unlinked = !state.present && !self.kept && self.random.chance(self.faults.unlink);
        (!nothing && !unlinked).then_some((state.version, state.present))
    }

    fn scan(&mut self) -> Action {
        let a = self.random.below(KEYS as u64) as usize;
        let b = a + self.random.below((KEYS - a) as u64) as usize;
        let descending = self.random.chance(50);
        let limit = if self.random.chance(40) { 1 } else { KEYS };
        let mut keys: Vec<usize> = (a..=b).collect();
        if descending {
            keys.reverse();
        }
        let (mut seen, mut found, mut limited) = (Vec::new(), 0, false);
        for key in keys {
            let state = self.look(key);
            if let Some((version, present)) = self.report(state) {
                seen.push((key, version, present));
                found += usize::from(present);
            }
            if found == limit {
                limited = true;
                break;
            }
        }
        Action::Scan { keys: [a, b], descending, seen, limited }
    }

    fn write(&mut self, run: &Run, key: usize) -> (Action, State) {
        let all = &self.versions[key];
        let mut old = all[all.len() - 1];
        if self.random.chance(self.faults.fork) {
            old = all[self.random.below(all.len() as u64) as usize];
        }
        let claimed = old.present != self.random.chance(self.faults.kind);
        let kind = match (claimed, self.random.chance(50)) {
            (false, _) => WriteKind::Insert,
            (true, true) => WriteKind::Update,
            (true, false) => WriteKind::Remove,
        };
        let over = self.report(old).map_or(Stamp::INITIAL, |(version, _)| version.stamp);
        let index = self.random.below(3) as u32;
        let version = Version::new(run.stamp, index);
        let state = State { version, present: kind != WriteKind::Remove, order: run.order };
        (Action::Write { key, kind, over, index }, state)
    }

    /// A few transactions whose steps interleave: reads one by one, all writes of one at its end.
    fn history(&mut self) -> Vec<Run> {
        let count = 2 + self.random.below(5) as usize;
        let mut runs: Vec<Run> = (0..count)
            .map(|n| Run {
                stamp: Stamp::new(n as u32 % 2, n as u64 / 2 + 1),
                start: 0,
                end: 0,
                order: 0,
                snapshot: false,
                committed: !self.random.chance(self.faults.abort),
                actions: Vec::new(),
            })
            .collect();
        let mut plan: Vec<usize> = (0..count).flat_map(|n| [n; 3]).collect();
        for at in (1..plan.len()).rev() {
            // Half of the swaps are short, so that many transactions hardly overlap.
            let reach = if self.random.chance(50) { 2 } else { at as u64 + 1 };
            plan.swap(at, at - self.random.below(reach.min(at as u64 + 1)) as usize);
        }
        let mut steps = vec![0; count];
        for (time, n) in plan.into_iter().enumerate() {
            let time = 10 * (time as u64 + 1);
            steps[n] += 1;
            if steps[n] == 1 {
                runs[n].start = time;
            }
            if steps[n] < 3 {
                for _ in 0..self.random.below(2) + 1 {
                    let action = if self.random.chance(40) {
                        self.scan()
                    } else {
                        let key = self.random.below(KEYS as u64) as usize;
                        let state = self.look(key);
                        Action::Read { key, seen: self.report(state) }
                    };
                    runs[n].actions.push(action);
                }
                continue;
            }
            runs[n].end = time + 5;
            let early = self.random.chance(self.faults.reversal);
            runs[n].order = if early { time / 2 } else { time };
            let run = runs[n].clone();
            let writes = self.random.below(3);
            runs[n].snapshot = writes == 0 && self.random.chance(30);
            let first = self.random.below(KEYS as u64);
            for w in 0..writes {
                let (action, state) = self.write(&run, ((first + w) % KEYS as u64) as usize);
                let Action::Write { key, .. } = action else { unreachable!() };
                runs[n].actions.push(action);
                if run.committed || self.random.chance(self.faults.stale) {
                    self.versions[key].push(state);
                }
            }
        }
        runs
    }
}

fn name(key: usize) -> [u8; 1] {
    [b'a' + key as u8]
}

fn record(runs: &[Run], kept: bool) -> History {
    let mut recorders = [Recorder::new(0), Recorder::new(1)];
    for run in runs {
        let r = &mut recorders[run.stamp.worker() as usize];
        r.begin(run.stamp, run.start, run.snapshot);
        for action in &run.actions {
            match action {
                Action::Read { key, seen: Some((version, true)) } => {
                    r.read(0, &name(*key), *version)
                }
                Action::Read { key, seen } => {
                    r.absent(0, &name(*key), seen.map_or(Version::INITIAL, |(version, _)| version));
                }
                Action::Write { key, kind, over, index } => {
                    r.write(0, &name(*key), *kind, *over, *index);
                }
                Action::Scan { keys: [a, b], descending, seen, limited } => {
                    let direction =
                        if *descending { Direction::Descending } else { Direction::Ascending };
                    let (low, high) = (name(*a), name(b + 1));
                    r.scan_begin(0, Bound::Included(&low), Bound::Excluded(&high), direction);
                    for (key, version, present) in seen {
                        if *present {
                            r.scan_entry(&name(*key), *version);
                        } else {
                            r.scan_tombstone(&name(*key), *version);
                        }
                    }
                    r.scan_end(*limited);
                }
            }
        }
        if run.committed {
            r.commit(run.end, run.order, 0);
        } else {
            r.abort(run.end);
        }
    }
    let header = Header { tombstones_kept: kept, ..Header::default() };
    History::from_recorders(header, recorders).unwrap()
}

struct Brute<'a> {
    runs: Vec<&'a Run>,
    kept: bool,
    strict: bool,
}

impl Brute<'_> {
    fn serializable(&self) -> bool {
        let initial = |key| State {
            version: Version::INITIAL,
            present: self.runs.iter().flat_map(|run| &run.actions).any(|a| existed(a, key)),
            order: 0,
        };
        self.extend([initial(0), initial(1), initial(2)], 0)
    }

    fn extend(&self, state: [State; KEYS], done: u32) -> bool {
        let left = |n: &usize| done & 1 << n == 0;
        let mut all = (0..self.runs.len()).filter(left).peekable();
        all.peek().is_none()
            || all.any(|n| {
                let run = self.runs[n];
                let too_early =
                    |other: &Run| !other.snapshot && !run.snapshot && other.end < run.start;
                if self.strict && (0..self.runs.len()).filter(left).any(|m| too_early(self.runs[m]))
                {
                    return false;
                }
                self.apply(state, run).is_some_and(|next| self.extend(next, done | 1 << n))
            })
    }

    fn apply(&self, before: [State; KEYS], run: &Run) -> Option<[State; KEYS]> {
        let mut state = before;
        for action in &run.actions {
            let fits = match action {
                Action::Read { key, seen } => {
                    self.fits(before[*key], *seen) || removes(run, *key) && seen.is_none()
                }
                Action::Scan { keys: [a, b], descending, seen, limited } => {
                    let (mut a, mut b) = (*a, *b);
                    if let (true, Some(&(last, ..))) = (limited, seen.last()) {
                        if *descending { a = last } else { b = last }
                    }
                    (a..=b).all(|key| {
                        let entry = seen.iter().find(|(k, ..)| *k == key);
                        entry.is_none() && removes(run, key)
                            || self.fits(
                                before[key],
                                entry.map(|&(_, version, present)| (version, present)),
                            )
                    })
                }
                Action::Write { key, kind, over, index } => {
                    let old = before[*key];
                    let version = Version::new(run.stamp, *index);
                    let present = *kind != WriteKind::Remove;
                    state[*key] = State { version, present, order: run.order };
                    let fits = if *over == Stamp::INITIAL && *kind == WriteKind::Insert {
                        self.fits(old, None)
                    } else {
                        old.version.stamp == *over && old.present == (*kind != WriteKind::Insert)
                    };
                    fits && (old.version == Version::INITIAL || old.order < run.order)
                }
            };
            if !fits {
                return None;
            }
        }
        Some(state)
    }

    fn fits(&self, state: State, seen: Option<(Version, bool)>) -> bool {
        match seen {
            Some(seen) => (state.version, state.present) == seen,
            None => !state.present && (!self.kept || state.version == Version::INITIAL),
        }
    }
}

/// The transaction removes the key: that it found nothing may be its own doing.
fn removes(run: &Run, key: usize) -> bool {
    run.actions.iter().any(|action| {
        matches!(action, Action::Write { key: k, kind: WriteKind::Remove, .. } if *k == key)
    })
}

/// The action shows that the key existed before the history.
fn existed(action: &Action, key: usize) -> bool {
    let initial = Some((Version::INITIAL, true));
    match action {
        Action::Read { key: k, seen } => *k == key && *seen == initial,
        Action::Scan { seen, .. } => seen.contains(&(key, Version::INITIAL, true)),
        Action::Write { key: k, kind, over, .. } => {
            *k == key && *kind != WriteKind::Insert && *over == Stamp::INITIAL
        }
    }
}

#[derive(Default, Debug)]
struct Tally {
    serializable: u32,
    anomalous: u32,
    open: u32,
    open_serializable: u32,
    ambiguous: u32,
}

fn compare(seed: u64, tally: &mut Tally) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..8 {
        random.below(2);
    }
    let mut rate = |percent| if random.chance(60) { 0 } else { percent };
    let faults = Faults {
        stale: rate(25),
        fork: rate(15),
        reversal: rate(10),
        intermediate: rate(10),
        unlink: 2 * rate(50),
        kind: rate(10),
        abort: rate(15),
    };
    let kept = random.chance(30);
    let initial = |present| vec![State { version: Version::INITIAL, present, order: 0 }];
    let versions = [random.chance(50), random.chance(50), random.chance(50)].map(initial);
    let runs = Engine { random, faults, kept, versions }.history();
    let history = record(&runs, kept);
    let committed: Vec<&Run> = runs.iter().filter(|run| run.committed).collect();
    for strict in [false, true] {
        let brute = Brute { runs: committed.clone(), kept, strict }.serializable();
        let gap_edges_max = if seed.is_multiple_of(2) { 0 } else { 16 };
        let verdict = check(&history, &Options { strict, gap_edges_max, ..Options::default() });
        let text = || format!("seed {seed}, strict {strict}\n{}\n{verdict}", history.to_text());
        tally.ambiguous += u32::from(verdict.ambiguous_reads > 0);
        if !verdict.passed() {
            assert!(!brute, "a serial order exists: {}", text());
            tally.anomalous += 1;
        } else if verdict.unexplained_reads == 0 {
            assert!(brute, "no serial order exists: {}", text());
            tally.serializable += 1;
        } else {
            tally.open += 1;
            tally.open_serializable += u32::from(brute);
        }
    }
}

#[test]
fn agrees_with_brute_force() {
    let seeds = std::env::var("BRUTE_FORCE_SEEDS").map_or(40_000, |n| n.parse().unwrap());
    let mut tally = Tally::default();
    for seed in 0..seeds {
        compare(seed, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.serializable > 10_000 && tally.anomalous > 10_000, "{tally:?}");
    assert!(tally.ambiguous > 5_000 && tally.open < tally.ambiguous / 100, "{tally:?}");
}
