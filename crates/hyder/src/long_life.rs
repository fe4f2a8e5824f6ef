//! Servers that restart from checkpoints over and over: verdicts and rows are those of a plain validator, whatever is
//! damaged, lost or trimmed, and memory stays what it was.

use crate::checkpoints::name;
use crate::cursor::Cursor;
use crate::faults::{
    FREED_ABOVE_LOW_WATER, ITEMS_FORGOTTEN_AT_CHECKPOINT, NEWEST_NOT_RAISED,
    NUMBERED_AT_FIRST_PART, PARTS_FORGOTTEN_AT_CHECKPOINT, RANGE_DROPPED, READ_DEPENDENCE_DROPPED,
    TOMBSTONE_PURGED_EARLY, TRIMMED_BEFORE_DURABLE,
};
use crate::intention::{Encoder, Intention, Written};
use crate::options::{Certifier, Level, Premeld, RollOptions, ServerOptions};
use crate::parts::Part;
use crate::record::{Head, Kind, RecordWriter};
use crate::server::{Server, SharedServer};
use crate::state::{Published, StateRef};
use crate::trial::{Random, Row, Shape, expected, intention};
use crate::validator::Validator;
use chiliad_api::{Error, TableSpec};
use chiliad_machine::{Fault, Interleaved, Machine};
use chiliad_simulator::{Config, DiskFaults, FaultyDisk, FaultyLog, LogFaults, Run, Sim};
use core::ops::Bound;
use core::time::Duration;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// How old a state may be that an intention has read.
const WINDOW: u64 = 24;

/// By which the author of the intentions is known.
const AUTHOR: u64 = 1 << 40;

fn options(seed: u64) -> ServerOptions {
    let plain = RollOptions { window: WINDOW, ..RollOptions::default() };
    let roll = match seed % 4 {
        0 => plain,
        1 => RollOptions { certifier: Certifier::Window, ..plain },
        2 => RollOptions { certifier: Certifier::Meld, ..plain },
        _ => RollOptions { certifier: Certifier::Meld, premeld: Premeld::Newest, ..plain },
    };
    ServerOptions { roll, log_patience: Duration::ZERO, ..ServerOptions::default() }
}

fn record(kind: Kind, bytes: &[u8]) -> Vec<u8> {
    let mut writer = RecordWriter::new(Head { server: AUTHOR, label: 0, digest: 0 });
    writer.item(kind, bytes);
    writer.finish()
}

/// The records of an intention in three parts.
fn parts(bytes: &[u8]) -> Vec<Vec<u8>> {
    let local = u64::from_le_bytes(bytes[..8].try_into().expect("a number"));
    let parts = Part::split(local, bytes, bytes.len().div_ceil(3));
    parts.map(|part| record(Kind::Part, &part.encode())).collect()
}

/// The rows of two tables, without tombstones.
type Rows = [Vec<Row>; 2];

fn rows_in<M: Machine>(state: StateRef<M>) -> Rows {
    [0, 1].map(|table| {
        let nodes = Cursor::new(state.tree(table), Bound::Unbounded, Bound::Unbounded, false);
        let there = nodes.filter(|node| !node.content().tombstone);
        let row = there.map(|node| {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            node.append_key(&mut key);
            node.content().value.into_iter().for_each(|stored| stored.append(&mut value));
            (key, node.version(), Some(value))
        });
        row.collect()
    })
}

/// A reader that looks at one state for a while.
struct Reader<M: Machine> {
    server: SharedServer<M>,
    slot: u32,
    state: StateRef<M>,
    rows: Rows,
}

impl<M: Machine> Reader<M> {
    fn begin(server: &SharedServer<M>) -> Self {
        let slot = server.heap.slots.acquire().expect("a slot");
        let state = server.published.pin(server.slot(slot));
        Self { server: Arc::clone(server), slot, state, rows: rows_in(state) }
    }

    /// The rows as it has seen them, and as they are.
    fn end(self) -> (Rows, Rows) {
        let now = rows_in(self.state);
        Published::unpin(self.server.slot(self.slot));
        self.server.heap.slots.release(self.slot);
        (self.rows, now)
    }
}

fn rows<M: Machine>(server: &SharedServer<M>) -> Rows {
    Reader::begin(server).end().0
}

/// A log, a disk, and what must come of the log.
struct World {
    log: FaultyLog,
    random: Random,
    shape: Shape,
    model: Validator,
    /// The last intentions, which the log may have again.
    sent: Vec<Vec<u8>>,
    /// The next intention, if the first part of it is in the log.
    begun: Option<Vec<u8>>,
    options: ServerOptions,
}

impl World {
    fn new(seed: u64) -> Self {
        let shape = Shape { seed, keys: 12 + seed % 5 * 9, zone: WINDOW - 4, intentions: 0 };
        let log = FaultyLog::new(seed, LogFaults::default());
        let (random, model, sent) = (Random::new(seed), Validator::default(), Vec::new());
        Self { log, random, shape, model, sent, begun: None, options: options(seed) }
    }

    fn open<M: Machine>(&self, disk: Option<&FaultyDisk>) -> Result<SharedServer<M>, Error> {
        let disk = disk.map(|disk| Arc::new(disk.clone()) as Arc<_>);
        Server::open(self.log.server(0), disk, self.options.clone())
    }

    /// A server that declares the tables.
    fn begin<M: Machine>(&self, disk: Option<&FaultyDisk>) -> SharedServer<M> {
        let server = self.open(disk).expect("a server");
        for name in ["a", "b"] {
            let change = crate::catalog::Change::Create(TableSpec::ordered(name));
            server.change(&change).expect("a table");
        }
        server
    }

    /// Appends the next intention, and now and then an earlier one again.
    fn append<M: Machine>(&mut self, server: &SharedServer<M>) {
        server.append_and_roll(1);
        let label = server.head().label + 1;
        match self.begun.take() {
            // Another intention lies between its parts, and has the lower number.
            Some(begun) => {
                let rest = parts(&begun).split_off(1);
                self.put(&rest[0]);
                server.append_and_roll(1);
                let mut other = intention(&mut self.random, self.shape, label);
                other[..8].copy_from_slice(&(label + 1).to_le_bytes());
                self.decide(label, &other);
                self.put(&record(Kind::Intention, &other));
                server.append_and_roll(1);
                self.decide(label + 1, &begun);
                self.put(&rest[1]);
            }
            None => {
                let bytes = intention(&mut self.random, self.shape, label);
                self.decide(label, &bytes);
                self.put(&record(Kind::Intention, &bytes));
            }
        }
        let back = self.random.below(12) as usize;
        if let Some(again) = self.sent.len().checked_sub(back + 1).filter(|_| back < 6) {
            self.log.server(0).append(&[&self.sent[again]]).expect("appended");
        }
        server.append_and_roll(1);
        if self.random.below(3) == 0 {
            let next = server.head().label + 1;
            let bytes = intention(&mut self.random, self.shape, next);
            self.put(&parts(&bytes)[0]);
            self.begun = Some(bytes);
            server.append_and_roll(1);
        }
    }

    fn decide(&mut self, label: u64, bytes: &[u8]) {
        let read = Intention::decode(bytes).expect("an intention");
        self.model.decide(label, &read, bytes, Level::Serializable);
    }

    fn put(&mut self, record: &[u8]) {
        self.log.server(0).append(&[record]).expect("appended");
        self.sent.push(record.to_vec());
    }

    fn expected(&self) -> Rows {
        [0, 1].map(|table| {
            expected(&self.model, table).into_iter().filter(|row| row.2.is_some()).collect()
        })
    }

    fn compare<M: Machine>(&self, server: &SharedServer<M>) -> Result<(), String> {
        server.append_and_roll(1);
        if let Some(failure) = server.failure() {
            return Err(format!("lost: {failure}"));
        }
        let found = rows(server);
        match found == self.expected() {
            true => Ok(()),
            false => Err(format!("verdict: {found:?} for {:?}", self.expected())),
        }
    }
}

/// A server that makes a checkpoint and restarts from it after every `every`-th intention, beside one that never does.
fn story<M: Machine>(seed: u64, every: u64, intentions: u64) -> Result<(), String> {
    let mut world = World::new(seed);
    let disk = FaultyDisk::new(seed, DiskFaults::default());
    let steady = world.begin::<M>(None);
    let mut server = world.open::<M>(Some(&disk)).map_err(|error| format!("lost: {error}"))?;
    let mut reader = None;
    for number in 1..=intentions {
        world.append(&server);
        world.compare(&server)?;
        world.compare(&steady)?;
        if number % 8 == 3 {
            reader = Some(Reader::begin(&steady));
        } else if let Some(reader) = reader.take_if(|_| number % 8 == 1) {
            let (then, now) = reader.end();
            if then != now {
                return Err("use of freed memory".into());
            }
        }
        if number % every == 0 {
            let made = server.checkpoint().map_err(|error| format!("lost: {error}"))?;
            // The item that tells of it has no number.
            assert_eq!(made.info.redo_after, server.head().label);
            drop(server);
            server = world.open(Some(&disk)).map_err(|error| format!("lost: {error}"))?;
        }
        steady.append_and_roll(1);
        server.append_and_roll(1);
        let digests = [&steady, &server].map(|it| (it.head().label, it.head().digest));
        if digests[0] != digests[1] {
            return Err(format!("verdict: {digests:?} at {number}"));
        }
    }
    assert!(disk.file_names().len() <= 2, "{:?}", disk.file_names());
    Ok(())
}

#[test]
fn a_server_restarts_at_every_label() {
    for seed in 0..24 {
        let told = story::<Interleaved>(seed, 1 + seed % 3, 150);
        assert_eq!(told, Ok(()), "seed {seed}");
    }
}

/// The same on a simulated core, with a planted bug or without: what went wrong.
fn simulated(seed: u64, fault: Option<&'static Fault>) -> Option<String> {
    let config = Config { fault, stack_bytes: 1 << 20, ..Config::new(seed) };
    let told = Rc::new(RefCell::new(Ok(())));
    let mut run = Run::new(config);
    let telling = Rc::clone(&told);
    run.spawn("servers", move || {
        let loses = |fault: &Fault| fault.name == TRIMMED_BEFORE_DURABLE.name;
        let tells = match fault.is_some_and(loses) {
            true => crash::<Sim>(seed),
            false => story::<Sim>(seed, 2 + seed % 3, 60),
        };
        *telling.borrow_mut() = tells;
    });
    let outcome = run.go();
    if !outcome.verdict.is_completed() {
        return Some(outcome.verdict.to_string());
    }
    told.borrow().clone().err()
}

/// The planted bugs that such stories show, and as what.
const NOTICED: [(&Fault, &str); 9] = [
    (&PARTS_FORGOTTEN_AT_CHECKPOINT, "verdict"),
    (&NUMBERED_AT_FIRST_PART, "verdict"),
    (&FREED_ABOVE_LOW_WATER, "use of freed memory"),
    (&ITEMS_FORGOTTEN_AT_CHECKPOINT, "verdict"),
    (&NEWEST_NOT_RAISED, "verdict"),
    (&RANGE_DROPPED, "verdict"),
    (&READ_DEPENDENCE_DROPPED, "verdict"),
    (&TOMBSTONE_PURGED_EARLY, "verdict"),
    (&TRIMMED_BEFORE_DURABLE, "lost"),
];

#[test]
fn no_planted_bug_goes_unnoticed() {
    for (fault, expected) in NOTICED {
        let mut wrong = None;
        for seed in 0..u64::from(fault.seeds) {
            wrong = simulated(seed, Some(fault)).map(|wrong| (seed, wrong));
            if wrong.is_some() {
                break;
            }
        }
        let Some((seed, wrong)) = wrong else { panic!("{}: nobody noticed", fault.name) };
        assert!(wrong.contains(expected), "{} at seed {seed}: {wrong}", fault.name);
        assert_eq!(simulated(seed, None), None, "{} alone is wrong at seed {seed}", fault.name);
    }
}

/// Loses power at any operation of the disk while checkpoints are made: the next server begins with what is there.
fn crash<M: Machine>(seed: u64) -> Result<(), String> {
    for checkpoint in 1..=3_u64 {
        for operations in 1.. {
            let mut world = World::new(seed);
            let disk = FaultyDisk::new(seed, DiskFaults::default());
            let server = world.begin::<M>(Some(&disk));
            for _ in 1..checkpoint {
                (0..5).for_each(|_| world.append(&server));
                server.checkpoint().map_err(|error| format!("lost: {error}"))?;
            }
            (0..5).for_each(|_| world.append(&server));
            let off_after_operations = Some(operations);
            disk.set_faults(DiskFaults { off_after_operations, ..DiskFaults::default() });
            let is_made = server.checkpoint().is_ok();
            drop(server);
            let found = disk.crash(operations);
            found.set_faults(DiskFaults::default());
            let next = world.open::<M>(Some(&found)).map_err(|error| format!("lost: {error}"))?;
            world.compare(&next)?;
            (0..3).for_each(|_| world.append(&next));
            world.compare(&next)?;
            next.checkpoint().map_err(|error| format!("lost: {error}"))?;
            if is_made {
                assert!(operations > 3, "the disk does not go off");
                break;
            }
        }
    }
    Ok(())
}

#[test]
fn power_is_lost_at_any_operation() {
    for seed in 0..8 {
        assert_eq!(crash::<Interleaved>(seed), Ok(()), "seed {seed}");
    }
}

/// A world with checkpoints, the log trimmed: their labels, the newest first.
fn with_checkpoints(seed: u64, count: u64) -> (World, FaultyDisk, Vec<u64>) {
    let mut world = World::new(seed);
    let disk = FaultyDisk::new(seed, DiskFaults::default());
    let server = world.begin::<Interleaved>(Some(&disk));
    let mut labels = Vec::new();
    for _ in 0..count {
        (0..6).for_each(|_| world.append(&server));
        labels.insert(0, server.checkpoint().expect("a checkpoint").info.redo_after);
    }
    (0..6).for_each(|_| world.append(&server));
    labels.truncate(2);
    (world, disk, labels)
}

#[test]
fn a_damaged_checkpoint_costs_nothing_and_two_are_told() {
    let (world, disk, labels) = with_checkpoints(3, 3);
    let bytes = disk.contents(&name(labels[0])).expect("there").len() as u64;
    let is_padding = |at: u64| {
        let contents = disk.contents(&name(labels[0])).expect("there");
        contents[at as usize..].iter().take(64).all(|byte| *byte == 0)
    };
    for at in (0..bytes).step_by(97).filter(|at| !is_padding(*at)) {
        let damaged = disk.fork();
        damaged.flip(&name(labels[0]), at, (at % 8) as u8).expect("flipped");
        let server = world.open::<Interleaved>(Some(&damaged)).expect("the one before");
        assert_eq!(world.compare(&server), Ok(()), "{at}");
    }
    let both = disk.fork();
    for label in &labels {
        both.flip(&name(*label), 9, 1).expect("flipped");
    }
    let before = world.log.extent();
    let refused = world.open::<Interleaved>(Some(&both)).err().expect("refused");
    assert!(matches!(refused, Error::Data(_)) && refused.to_string().contains(&name(labels[0])));
    let none = FaultyDisk::new(1, DiskFaults::default());
    for disk in [Some(&none), None] {
        let refused = world.open::<Interleaved>(disk).err().expect("refused");
        let text = refused.to_string();
        assert!(matches!(refused, Error::LogRefused { .. }), "{text}");
        assert!(text.contains("no checkpoint") && text.lines().count() == 1, "{text}");
    }
    assert_eq!(world.log.extent(), before, "nothing was appended");
}

#[test]
fn a_log_that_is_another_one_is_refused() {
    type Harm = fn(&FaultyLog);
    let harms: [(Harm, &str); 5] = [
        (|log| log.recreate(), "made anew"),
        (FaultyLog::empty, "emptied or rolled back"),
        (|log| log.roll_back(log.extent().end - 20), "emptied or rolled back"),
        (|log| log.server(0).trim(log.extent().end - 2).expect("trimmed"), "first record"),
        (
            |log| {
                // As many records as before, the newest others.
                let end = log.extent().end;
                log.roll_back(end - 20);
                while log.extent().end < end {
                    log.server(0).append(&[b"another"]).expect("appended");
                }
            },
            "is not the one",
        ),
    ];
    for (harm, says) in harms {
        let (world, disk, _) = with_checkpoints(4, 2);
        harm(&world.log);
        let before = world.log.contents();
        let refused = world.open::<Interleaved>(Some(&disk)).err().expect("refused");
        let text = refused.to_string();
        assert!(matches!(refused, Error::LogRefused { .. }) && text.contains(says), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(world.log.contents(), before, "nothing was appended");
    }
}

#[test]
fn servers_that_differ_stop() {
    let mut world = World::new(5);
    let server = world.begin::<Interleaved>(None);
    let other = Server::<Interleaved>::open(world.log.server(1), None, world.options.clone());
    let other = other.expect("a server");
    (0..10).for_each(|_| world.append(&server));
    // One that commits for the first, and has read the future for the other.
    let label = server.head().label + 1;
    let written = |snapshot| {
        let mut encoder = Encoder::new(label, snapshot);
        encoder.entry(0, b"k", true, Some(Written { tombstone: false, value: b"v" }));
        record(Kind::Intention, &encoder.finish())
    };
    let position = world.log.extent().end;
    world.log.server(0).append(&[&written(label - 1)]).expect("appended");
    world.log.deceive(1, position, &written(label + 1));
    server.append_and_roll(1);
    other.append_and_roll(1);
    assert_eq!(server.head().label, other.head().label);
    assert_eq!((server.failure(), other.failure()), (None, None), "nobody has told yet");
    server.catch_up().expect("the first has no reason to stop");
    other.append_and_roll(1);
    let servers = (other.head().server, server.head().server);
    assert_eq!(other.failure(), Some(Error::Diverged { servers, label }));
    assert!(matches!(other.checkpoint(), Err(Error::InvalidOption(_))), "no place for any");
}

/// Inserts and removals on a few keys, with checkpoints: memory and the log stay what they were.
#[test]
fn an_endless_run_keeps_its_memory() {
    for seed in 0..4 {
        let world = World::new(seed);
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        let server = world.begin::<Interleaved>(Some(&disk));
        let (log, mut random) = (world.log.server(0), Random::new(seed));
        let mut most = [0; 2];
        for number in 0..12_000_u64 {
            let label = server.head().label + 1;
            let mut encoder = Encoder::new(label, label - 1);
            let (key, value) = (random.below(1 << 40).to_be_bytes(), [0; 100]);
            // Each key is written once and removed by the next one: all that is left is tombstones.
            encoder.entry(0, &key, true, Some(Written { tombstone: true, value: &[] }));
            let one = 1_u64.to_be_bytes();
            encoder.entry(
                1,
                &one,
                true,
                Some(Written { tombstone: number % 3 == 0, value: &value }),
            );
            log.append(&[&record(Kind::Intention, &encoder.finish())]).expect("appended");
            server.append_and_roll(1);
            if number % 500 == 499 {
                server.checkpoint().expect("a checkpoint");
                let half = (number / 6_000) as usize;
                most[half] = most[half].max(server.heap.usage().reserved_bytes);
            }
        }
        let records = world.log.extent();
        assert!(records.end - records.start < 1_100, "{records:?}");
        assert!(most[1] <= most[0], "{most:?} bytes in either half");
        assert!(disk.file_names().len() <= 2);
        assert_eq!(server.head().label, 12_003);
        let reader = Reader::begin(&server);
        let all = Cursor::new(reader.state.tree(0), Bound::Unbounded, Bound::Unbounded, false);
        assert_eq!(all.count() as u64, WINDOW, "tombstones that may decide something");
        reader.end();
    }
}

/// A server counts the conflict zones that the intentions of its log have.
#[test]
fn conflict_zones_are_those_of_the_log() {
    let world = World::new(5);
    let server = world.begin::<Interleaved>(None);
    let log = world.log.server(0);
    let zones = [0, 1, 0, 3, 2];
    for zone in zones {
        let label = server.head().label + 1;
        let mut encoder = Encoder::new(label, label - 1 - zone);
        encoder.entry(
            0,
            &label.to_be_bytes(),
            true,
            Some(Written { tombstone: false, value: b"" }),
        );
        log.append(&[&record(Kind::Intention, &encoder.finish())]).expect("appended");
        server.append_and_roll(1);
    }
    let rolled = server.progress.rolled();
    let count = zones.len() as u64;
    assert_eq!((rolled.intentions, rolled.zone_total, rolled.zone_max), (count, 6, 3));
    for time in [rolled.reading, rolled.building, rolled.deciding] {
        assert!(!time.is_zero(), "{rolled:?}");
    }
}
