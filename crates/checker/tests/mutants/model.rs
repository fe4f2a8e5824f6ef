//! A history as the text form has it, to be changed and written again. It shares no code with the
//! checker.

use std::fmt::Write;

/// Stamps are compared as they are written.
pub type Stamp = String;

/// A stamp and the index of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    pub stamp: Stamp,
    pub index: u32,
}

impl Version {
    pub fn is_initial(&self) -> bool {
        self.stamp == "0"
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub table: String,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Insert,
    Update,
    Remove,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Insert, Kind::Update, Kind::Remove];
}

#[derive(Clone, Debug)]
pub struct Read {
    pub key: Key,
    pub seen: Version,
    pub present: bool,
}

#[derive(Clone, Debug)]
pub struct Write_ {
    pub key: Key,
    pub kind: Kind,
    pub over: Stamp,
    pub index: u32,
    pub order: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Scan {
    pub table: String,
    /// The bound, and whether it belongs to the range.
    pub low: Option<(Vec<u8>, bool)>,
    pub high: Option<(Vec<u8>, bool)>,
    pub descending: bool,
    pub limited: bool,
    pub entries: Vec<Read>,
}

#[derive(Clone, Debug)]
pub enum Op {
    Read(Read),
    Write(Write_),
    Scan(Scan),
}

#[derive(Clone, Debug)]
pub struct Transaction {
    pub stamp: Stamp,
    pub start: u64,
    pub end: u64,
    pub order: u64,
    pub snapshot: bool,
    pub committed: bool,
    pub ops: Vec<Op>,
}

impl Transaction {
    pub fn writes(&self) -> impl Iterator<Item = &Write_> {
        self.ops.iter().filter_map(|op| match op {
            Op::Write(write) => Some(write),
            _ => None,
        })
    }

    pub fn write(&self, key: &Key) -> Option<&Write_> {
        self.writes().find(|write| write.key == *key)
    }

    /// Point reads and the entries of scans.
    pub fn reads(&self) -> impl Iterator<Item = &Read> {
        self.ops.iter().flat_map(|op| match op {
            Op::Read(read) => std::slice::from_ref(read),
            Op::Scan(scan) => &scan.entries,
            Op::Write(_) => &[],
        })
    }
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Lines that name tables, as they are.
    pub tables: Vec<String>,
    pub kept: bool,
    pub incomplete: bool,
    pub transactions: Vec<Transaction>,
}

impl Model {
    /// Reads what `History::to_text` wrote.
    pub fn parse(text: &str) -> Model {
        let mut model = Model::default();
        for line in text.lines() {
            let words = split(line);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words[0] {
                "table" => model.tables.push(line.to_owned()),
                "tombstones" => model.kept = true,
                "incomplete" => model.incomplete = true,
                "txn" => model.transactions.push(begin(&words)),
                _ => {
                    let last = model.transactions.last_mut().expect("inside a transaction");
                    last.ops.push(op(&words));
                }
            }
        }
        model
    }

    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for table in &self.tables {
            writeln!(out, "{table}").unwrap();
        }
        for (said, word) in [
            (self.kept, "tombstones kept"),
            (self.incomplete, "incomplete"),
            (self.transactions.is_empty(), "empty"),
        ] {
            if said {
                writeln!(out, "{word}").unwrap();
            }
        }
        for t in &self.transactions {
            write!(out, "txn {} start {} ", t.stamp, t.start).unwrap();
            if t.end != u64::MAX {
                write!(out, "end {} ", t.end).unwrap();
            }
            if t.committed {
                write!(out, "order {} ", t.order).unwrap();
            }
            let snapshot = if t.snapshot { "snapshot " } else { "" };
            writeln!(out, "{snapshot}{}", if t.committed { "commit" } else { "abort" }).unwrap();
            for op in &t.ops {
                writeln!(out, "  {}", show(op)).unwrap();
            }
        }
        out
    }
}

fn begin(words: &[&str]) -> Transaction {
    let mut t = Transaction {
        stamp: words[1].to_owned(),
        start: 0,
        end: u64::MAX,
        order: 0,
        snapshot: words.contains(&"snapshot"),
        committed: words.last() == Some(&"commit"),
        ops: Vec::new(),
    };
    for pair in words.windows(2) {
        match pair[0] {
            "start" => t.start = pair[1].parse().unwrap(),
            "end" => t.end = pair[1].parse().unwrap(),
            "order" => t.order = pair[1].parse().unwrap(),
            _ => {}
        }
    }
    t
}

fn op(words: &[&str]) -> Op {
    let table = words[1].to_owned();
    let key = |word: &str| Key { table: table.clone(), bytes: unquote(word) };
    let kind = match words[0] {
        "r" | "a" => {
            let (seen, present) = (version(words[3]), words[0] == "r");
            return Op::Read(Read { key: key(words[2]), seen, present });
        }
        "s" => return Op::Scan(scan(words)),
        "i" => Kind::Insert,
        "u" => Kind::Update,
        "d" => Kind::Remove,
        verb => panic!("unknown verb {verb}"),
    };
    let (mut index, mut order) = (0, None);
    for pair in words[5..].chunks(2) {
        match pair[0] {
            "index" => index = pair[1].parse().unwrap(),
            _ => order = Some(pair[1].parse().unwrap()),
        }
    }
    Op::Write(Write_ { key: key(words[2]), kind, over: words[4].to_owned(), index, order })
}

fn scan(words: &[&str]) -> Scan {
    let colon = words.iter().position(|&word| word == ":").expect("a colon");
    let (head, mut rest) = (&words[2..colon], &words[colon + 1..]);
    let bound = |included: &str, excluded: &str| {
        head.windows(2).find_map(|pair| {
            let wanted = pair[0] == included || pair[0] == excluded;
            wanted.then(|| (unquote(pair[1]), pair[0] == included))
        })
    };
    let table = words[1].to_owned();
    let mut entries = Vec::new();
    while let [key, after @ ..] = rest {
        let gone = after[0] == "gone";
        let after = if gone { &after[1..] } else { after };
        let key = Key { table: table.clone(), bytes: unquote(key) };
        entries.push(Read { key, seen: version(after[0]), present: !gone });
        rest = &after[1..];
    }
    Scan {
        low: bound("from", "after"),
        high: bound("to", "before"),
        descending: head.contains(&"desc"),
        limited: head.contains(&"limit"),
        table,
        entries,
    }
}

fn version(word: &str) -> Version {
    let (stamp, index) = word.split_once('.').unwrap_or((word, "0"));
    Version { stamp: stamp.to_owned(), index: index.parse().unwrap() }
}

/// The words of a line; strings keep their quotes.
fn split(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut inside, mut escaped, mut fresh) = (false, false, true);
    for c in line.chars() {
        if c == ' ' && !inside {
            fresh = true;
            continue;
        }
        if std::mem::take(&mut fresh) {
            words.push(String::new());
        }
        inside ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        words.last_mut().expect("a word was begun").push(c);
    }
    words
}

fn unquote(word: &str) -> Vec<u8> {
    let Some(inner) = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')) else {
        return word.as_bytes().to_vec();
    };
    let (mut bytes, mut rest) = (Vec::new(), inner.as_bytes());
    while let [byte, after @ ..] = rest {
        (rest, _) = match (byte, after) {
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).unwrap();
                (after, bytes.push(u8::from_str_radix(digits, 16).unwrap()))
            }
            (b'\\', [escaped, after @ ..]) => (after, bytes.push(*escaped)),
            _ => (after, bytes.push(*byte)),
        };
    }
    bytes
}

fn quote(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in bytes {
        write!(out, "\\x{byte:02x}").unwrap();
    }
    out + "\""
}

fn show_version(version: &Version) -> String {
    format!("{}.{}", version.stamp, version.index)
}

fn show(op: &Op) -> String {
    match op {
        Op::Read(read) => {
            let verb = if read.present { "r" } else { "a" };
            let (table, key) = (&read.key.table, quote(&read.key.bytes));
            format!("{verb} {table} {key} {}", show_version(&read.seen))
        }
        Op::Write(write) => {
            let verb = match write.kind {
                Kind::Insert => "i",
                Kind::Update => "u",
                Kind::Remove => "d",
            };
            let (table, key) = (&write.key.table, quote(&write.key.bytes));
            let order = write.order.map_or(String::new(), |order| format!(" order {order}"));
            format!("{verb} {table} {key} over {} index {}{order}", write.over, write.index)
        }
        Op::Scan(scan) => {
            let mut out = format!("s {}", scan.table);
            for (bound, words) in [(&scan.low, ["after", "from"]), (&scan.high, ["before", "to"])] {
                if let Some((key, included)) = bound {
                    write!(out, " {} {}", words[usize::from(*included)], quote(key)).unwrap();
                }
            }
            for (said, word) in [(scan.descending, " desc"), (scan.limited, " limit")] {
                out += if said { word } else { "" };
            }
            out += " :";
            for entry in &scan.entries {
                let gone = if entry.present { "" } else { "gone " };
                let (key, seen) = (quote(&entry.key.bytes), show_version(&entry.seen));
                write!(out, " {key} {gone}{seen}").unwrap();
            }
            out
        }
    }
}
