//! The two forms of a history: what goes in comes out, and damage is an error, never a panic.

use chiliad_checker::{
    Bound, Direction, Header, History, Options, ReadErrorKind, Recorder, Stamp, Version, WriteKind,
    check,
};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Event {
    Read(u32, Vec<u8>, Version, bool),
    Write(u32, Vec<u8>, u8, u64, u32, Option<u64>),
    Scan {
        table: u32,
        bounds: [(u8, Vec<u8>); 2],
        flags: u8,
        entries: Vec<(Vec<u8>, Version, bool)>,
    },
}

#[derive(Clone, Debug)]
struct Transaction {
    worker: u32,
    numbers: [u64; 4],
    flags: u8,
    events: Vec<Event>,
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..20), Just(b"gone".to_vec()), Just(b"a \"b\\ #c".to_vec())]
}

fn version() -> impl Strategy<Value = Version> {
    (prop_oneof![0..5_u64, any::<u64>()], prop_oneof![Just(0), 0..=Version::INDEX_MAX])
        .prop_map(|(stamp, index)| Version::new(Stamp(stamp), index))
}

fn event() -> impl Strategy<Value = Event> {
    let table = || prop_oneof![0..4_u32, any::<u32>()];
    let bound = || (0..3_u8, key());
    prop_oneof![
        (table(), key(), version(), any::<bool>()).prop_map(|(t, k, v, p)| Event::Read(t, k, v, p)),
        (table(), key(), 0..3_u8, version(), any::<Option<u64>>())
            .prop_map(|(t, k, w, v, o)| Event::Write(t, k, w, v.stamp.0, v.index, o)),
        (table(), [bound(), bound()], 0..4_u8, vec((key(), version(), any::<bool>()), 0..4))
            .prop_map(|(table, bounds, flags, entries)| Event::Scan {
                table,
                bounds,
                flags,
                entries
            }),
    ]
}

fn transactions() -> impl Strategy<Value = Vec<Transaction>> {
    let one = (0..3_u32, any::<[u64; 4]>(), 0..8_u8, vec(event(), 0..8));
    let one = one.prop_map(|(worker, numbers, flags, events)| Transaction {
        worker,
        numbers,
        flags,
        events,
    });
    vec(one, 0..12)
}

fn header() -> impl Strategy<Value = Header> {
    let names = proptest::sample::subsequence(vec!["stock", "3", "a table", "\"", "über"], 0..5);
    (names, any::<bool>(), any::<bool>()).prop_map(|(names, complete, tombstones_kept)| {
        let tables = (1..).zip(names.into_iter().map(str::to_owned)).collect();
        Header { tables, complete, tombstones_kept }
    })
}

fn bound((kind, key): &(u8, Vec<u8>)) -> Bound<'_> {
    match kind {
        0 => Bound::Unbounded,
        1 => Bound::Included(key),
        _ => Bound::Excluded(key),
    }
}

fn record(transactions: &[Transaction]) -> Vec<Recorder> {
    let mut recorders: Vec<Recorder> = (0..3).map(Recorder::new).collect();
    for t in transactions {
        let r = &mut recorders[t.worker as usize];
        r.begin(Stamp(t.numbers[0].max(1)), t.numbers[1], t.flags & 1 != 0);
        for event in &t.events {
            match event {
                Event::Read(table, key, version, true) => r.read(*table, key, *version),
                Event::Read(table, key, version, false) => r.absent(*table, key, *version),
                Event::Write(table, key, kind, over, index, order) => {
                    let kinds = [WriteKind::Insert, WriteKind::Update, WriteKind::Remove];
                    let (kind, over) = (kinds[*kind as usize], Stamp(*over));
                    match order {
                        Some(order) => r.write_ordered(*table, key, kind, over, *index, *order),
                        None => r.write(*table, key, kind, over, *index),
                    }
                }
                Event::Scan { table, bounds: [low, high], flags, entries } => {
                    let direction =
                        [Direction::Ascending, Direction::Descending][usize::from(flags & 1)];
                    r.scan_begin(*table, bound(low), bound(high), direction);
                    for (key, version, present) in entries {
                        if *present {
                            r.scan_entry(key, *version);
                        } else {
                            r.scan_tombstone(key, *version);
                        }
                    }
                    r.scan_end(flags & 2 != 0);
                }
            }
        }
        match t.flags >> 1 {
            0 | 1 => r.commit(t.numbers[2], t.numbers[3], t.numbers[1] / 2),
            2 => r.abort(t.numbers[2]),
            _ => r.abort_bare(t.numbers[2]),
        }
    }
    recorders
}

fn binary(header: &Header, recorders: &[Recorder]) -> Vec<u8> {
    let mut bytes = Vec::new();
    History::write(header, recorders, &mut bytes).unwrap();
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_ways_lead_to_the_same_history(header in header(), transactions in transactions()) {
        let recorders = record(&transactions);
        let file = History::read(binary(&header, &recorders).as_slice()).unwrap();
        let history = History::from_recorders(header.clone(), recorders).unwrap();
        let text = history.to_text();
        prop_assert_eq!(history.transactions(), transactions.len());
        prop_assert_eq!(file.to_text(), text.clone());
        prop_assert_eq!(file.header(), &header);
        let read = History::from_text(&text).unwrap();
        prop_assert_eq!(read.to_text(), text.clone());
        prop_assert_eq!(read.header(), &header);
        let again = binary(read.header(), &read.to_recorders());
        prop_assert_eq!(History::read(again.as_slice()).unwrap().operations(), file.operations());
        // Nonsense as these histories are, they are judged alike.
        let options = Options { strict: true, ..Options::default() };
        prop_assert_eq!(check(&read, &options).to_string(), check(&file, &options).to_string());
    }

    #[test]
    fn a_changed_byte_is_noticed(
        transactions in transactions(),
        at in any::<prop::sample::Index>(),
        change in 1..=255_u8,
    ) {
        let mut bytes = binary(&Header::default(), &record(&transactions));
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        // A first byte that is another makes it text, and binary text is no history either.
        prop_assert!(History::read(bytes.as_slice()).is_err());
    }

    #[test]
    fn a_cut_file_is_noticed(transactions in transactions(), at in any::<prop::sample::Index>()) {
        let bytes = binary(&Header::default(), &record(&transactions));
        let at = at.index(bytes.len() - 1) + 1;
        if at < bytes.len() {
            let error = History::read(&bytes[..at]).unwrap_err();
            prop_assert!(matches!(error.kind, ReadErrorKind::Truncated), "{}", error);
            prop_assert_eq!(error.position, at as u64);
        }
    }

    /// Behind a valid checksum: what a faulty producer, not a faulty disk, would write.
    #[test]
    fn nonsense_events_never_panic(mut events in vec(any::<u8>(), 0..200), tags in vec(1..13_u8, 0..9)) {
        for (at, tag) in tags.into_iter().enumerate() {
            if let Some(byte) = events.get_mut(at * 17) {
                *byte = tag;
            }
        }
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(b"B\0\0\0\0");
        hasher.update(&events);
        let mut file = binary(&Header::default(), &[]);
        let end = file.len() - (13 + 8);
        let mut block = b"B\0\0\0\0".to_vec();
        block.extend((events.len() as u32).to_le_bytes());
        block.extend(hasher.finalize().to_le_bytes());
        block.extend(&events);
        file.splice(end..end, block);
        if let Err(error) = History::read(file.as_slice()) {
            prop_assert!(error.position <= file.len() as u64);
        }
    }

    #[test]
    fn nonsense_text_never_panics(lines in vec("[riduastxn \"\\\\0-9.:#gone over from to limit]{0,30}", 0..6)) {
        let _ = History::from_text(&lines.join("\n"));
        let _ = History::from_text(&format!("txn 1 commit\n{}", lines.join("\n")));
    }
}

#[test]
fn errors_say_where() {
    let text = |text: &str| History::from_text(text).unwrap_err().to_string();
    assert_eq!(text("txn 1 commit\n  r t\n"), "line 2: expected a key");
    assert_eq!(text("txn 1 commit\nr t x 0 0"), "line 2: unexpected 0");
    assert_eq!(text("txn x commit"), "line 1: expected a stamp, found x");
    assert_eq!(text("\nr t x 0"), "impossible history: outside a transaction, at 2");
    assert_eq!(text("txn 0 commit"), "impossible history: the stamp 0 is the initial state, at 1");
    assert_eq!(
        text("hello"),
        "line 1: expected table, tombstones, incomplete, empty, txn, r, a, i, u, d or s"
    );
    assert_eq!(text("empty\ntxn 1 commit"), "line 2: a statement after `empty`");
    assert_eq!(text("txn 1 commit\nempty"), "line 2: `empty` after a transaction");

    let bytes = binary(&Header::default(), &[]);
    let read = |bytes: &[u8]| History::read(bytes).unwrap_err().to_string();
    assert_eq!(read(&bytes[..5]), "the file is truncated, at 5");
    assert_eq!(read(b"\x89PNG\r\n\x1a\n"), "damaged: the magic number, at 8");
    assert_eq!(read(b"abc\xff"), "not a history: neither the binary form nor UTF-8 text, at 3");
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert_eq!(read(&newer), "version 2 of the binary form; this build reads version 1, at 8");
    let longer = [bytes.clone(), vec![0]].concat();
    assert_eq!(read(&longer), format!("damaged: bytes after the end, at {}", bytes.len()));
}

/// What was never recorded proves nothing.
#[test]
fn a_text_without_transactions_says_so_or_is_refused() {
    for text in ["", "\n", "# only words\n", "table 1 stock\ntombstones kept\n"] {
        let error = History::from_text(text).unwrap_err();
        assert!(matches!(error.kind, ReadErrorKind::NoTransactions), "{error}");
        assert_eq!(error.position, text.len() as u64);
        assert!(History::read(text.as_bytes()).is_err());
    }
    assert_eq!(History::from_text("empty\n").unwrap().to_text(), "empty\n");
    let empty = binary(&Header::default(), &[]);
    assert_eq!(History::read(empty.as_slice()).unwrap().transactions(), 0);
}

/// Counts what is taken from an endless source.
struct Endless {
    head: &'static [u8],
    filler: u8,
    taken: u64,
}

impl std::io::Read for &mut Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        into.fill(self.filler);
        let n = self.head.len().min(into.len());
        into[..n].copy_from_slice(&self.head[..n]);
        self.head = &self.head[n..];
        self.taken += into.len() as u64;
        Ok(into.len())
    }
}

#[test]
fn what_is_no_history_is_refused_at_its_first_wrong_byte() {
    for (head, filler, position) in [
        (&b""[..], 0, 0),
        (b"txn 1 commit\n  r t x", 0, 20),
        (b"# of \x80", b'a', 5),
        (b"hello\n", b'a', 1),
        (b"\x89CHHIST\n\x01\0\0\0", 0, 12),
    ] {
        let mut file = Endless { head, filler, taken: 0 };
        let error = History::read(&mut file).unwrap_err();
        assert_eq!(error.position, position, "{error}");
        assert!(file.taken <= 1 << 20, "{} bytes taken before: {error}", file.taken);
    }
}

#[test]
fn a_text_has_a_length() {
    let mut file = Endless { head: b"#", filler: b'a', taken: 0 };
    let error = History::read(&mut file).unwrap_err();
    assert!(matches!(error.kind, ReadErrorKind::LongText), "{error}");
}

#[test]
fn no_message_is_longer_than_a_line() {
    let long = "x".repeat(1 << 20);
    for text in [
        format!("txn {long} commit"),
        format!("txn 1 commit\nr t x {long}"),
        format!("txn 1 commit\nr t x 0 {long}"),
        format!("txn 1 start {long} commit"),
    ] {
        let error = History::from_text(&text).unwrap_err().to_string();
        assert!(error.len() < 200 && error.contains(".. (1048576 bytes)"), "{error}");
    }
    let escape = History::from_text("txn \"\\x1b[2J\" commit").unwrap_err().to_string();
    assert!(!escape.contains('\x1b'), "{escape}");
    // A key and a table in an anomaly: cut there, whole in the history's own text.
    let text = format!("txn 1 commit\nr \"{long}\" \"{long}\" 7\ns \"{long}\" from b : a 0\n");
    let history = History::from_text(&text).unwrap();
    let verdict = check(&history, &Options::default()).to_string();
    assert!(verdict.contains("read of unknown version") && verdict.len() < 4_000, "{verdict}");
    assert!(verdict.lines().all(|line| line.len() < 500), "{verdict}");
    assert!(history.to_text().len() > 3 << 20);
}

#[test]
fn what_is_unfinished_or_discarded_is_left_out() {
    let mut recorder = Recorder::new(7);
    recorder.begin(Stamp::new(7, 1), 1, false);
    recorder.write(0, b"x", WriteKind::Update, Stamp::INITIAL, 0);
    recorder.commit(2, 1, 1);
    recorder.begin(Stamp::new(7, 2), 3, false);
    recorder.read(0, b"x", Stamp::new(7, 1).into());
    recorder.discard();
    recorder.begin(Stamp::new(7, 3), 3, false);
    recorder.write(0, b"x", WriteKind::Update, Stamp::new(7, 1), 0);
    recorder.abort_bare(4);
    recorder.begin(Stamp::new(7, 4), 5, false);
    recorder.read(0, b"x", Stamp::new(7, 3).into());
    assert!(recorder.bytes() > 0 && recorder.transactions() == 2);
    let file = History::read(binary(&Header::default(), &[recorder.clone()]).as_slice()).unwrap();
    let history = History::from_recorders(Header::default(), [recorder]).unwrap();
    for history in [file, history] {
        assert_eq!((history.transactions(), history.unfinished(), history.operations()), (2, 1, 1));
    }
}

#[test]
fn a_long_recording_is_cut_into_chunks() {
    let mut recorder = Recorder::new(0);
    for n in 0..20_000 {
        recorder.begin(Stamp(n + 1), n, false);
        for _ in 0..4 {
            recorder.read(0, &[b'k'; 50], Version::INITIAL);
        }
        recorder.commit(n, n, 0);
    }
    assert!((5_000_000..8_000_000).contains(&recorder.bytes()));
    let bytes = binary(&Header::default(), &[recorder]);
    assert_eq!(History::read(bytes.as_slice()).unwrap().operations(), 80_000);
}
