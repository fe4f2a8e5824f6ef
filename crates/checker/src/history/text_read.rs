//! The text form, read: for histories written by hand. The grammar stands in `HISTORY.md`.
//!
//! Lines are read one by one, so that a file that is no history ends at its first wrong byte or word,
//! however long it is.
//!
//! Invariants: an error names its line and what was expected there; no message holds more of a line
//! than a few words of it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};

use super::builder::{Builder, Outcome, ScanHead};
use super::error::{ReadError, ReadErrorKind};
use super::model::{History, OpKind};
use super::recorder::Bound;
use super::text_write::brief;
use crate::stamp::{Stamp, Version};

type Parsed<T> = Result<T, ReadErrorKind>;

/// A text is for people. What is longer than this belongs into the binary form.
const TEXT_BYTES_MAX: u64 = 256 << 20;

pub(super) fn read(text: impl BufRead) -> Result<History, ReadError> {
    let mut reader = Reader::default();
    let mut lines = Lines { text, at: 0 };
    let (mut line, mut number) = (Vec::new(), 0);
    while lines.next(&mut line)? {
        number += 1;
        reader.line(&line).map_err(|kind| ReadError::new(kind, number))?;
    }
    reader.close().map_err(|kind| ReadError::new(kind, number))?;
    if reader.count == 0 && !reader.empty {
        return Err(ReadError::new(ReadErrorKind::NoTransactions, lines.at));
    }
    Ok(reader.builder.build())
}

/// A text by lines.
struct Lines<R> {
    text: R,
    at: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads the next line, without its end. False at the end of the text.
    fn next(&mut self, line: &mut Vec<u8>) -> Result<bool, ReadError> {
        line.clear();
        let start = self.at;
        let mut valid = 0;
        loop {
            let chunk = match self.text.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(ReadError::new(ReadErrorKind::Io(error), self.at)),
            };
            let stop = chunk.iter().position(|&byte| byte == b'\n' || is_foreign(byte));
            let taken = stop.unwrap_or(chunk.len());
            let (ended, last) = (stop.map(|at| chunk[at]), chunk.is_empty());
            line.extend_from_slice(&chunk[..taken]);
            let used = taken + usize::from(ended == Some(b'\n'));
            self.text.consume(used);
            self.at += used as u64;
            if self.at > TEXT_BYTES_MAX {
                return Err(ReadError::new(ReadErrorKind::LongText, TEXT_BYTES_MAX));
            }
            if let Err(error) = str::from_utf8(&line[valid..]) {
                valid += error.valid_up_to();
                // The end of a chunk may divide a character.
                if error.error_len().is_some() || ended.is_some() || last {
                    return Err(ReadError::new(ReadErrorKind::NotAHistory, start + valid as u64));
                }
            } else {
                valid = line.len();
            }
            if ended.is_none() && !last {
                continue;
            }
            return match ended {
                Some(b'\n') => Ok(true),
                Some(_) => Err(ReadError::new(ReadErrorKind::NotAHistory, self.at)),
                None => Ok(!line.is_empty()),
            };
        }
    }
}

/// A byte that no text holds.
fn is_foreign(byte: u8) -> bool {
    byte.is_ascii_control() && !byte.is_ascii_whitespace()
}

/// The tables named so far, beside the header's list of them, which would have to be searched.
#[derive(Default)]
struct Tables {
    names: HashMap<String, u32>,
    numbers: HashSet<u32>,
    greatest: Option<u32>,
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    tables: Tables,
    /// The outcome of the transaction that is open: its line tells it before the operations.
    open: Option<Outcome>,
    count: u64,
    /// The text says that it has no transaction.
    empty: bool,
}

impl Reader {
    fn line(&mut self, line: &[u8]) -> Parsed<()> {
        let mut tokens = Tokens { rest: line };
        let Some(verb) = tokens.take()? else { return Ok(()) };
        if self.empty {
            return Err(syntax("a statement after `empty`"));
        }
        match &*verb.text {
            b"table" => self.declare_table(&mut tokens)?,
            b"tombstones" => {
                tokens.expect("kept")?;
                self.builder.header().tombstones_kept = true;
            }
            b"incomplete" => self.builder.header().complete = false,
            b"empty" if self.count == 0 => self.empty = true,
            b"empty" => return Err(syntax("`empty` after a transaction")),
            b"txn" => self.begin(&mut tokens)?,
            b"r" => self.read(&mut tokens, true)?,
            b"a" => self.read(&mut tokens, false)?,
            b"i" => self.write(&mut tokens, OpKind::Insert)?,
            b"u" => self.write(&mut tokens, OpKind::Update)?,
            b"d" => self.write(&mut tokens, OpKind::Remove)?,
            b"s" => self.scan(&mut tokens)?,
            _ => {
                let what = "expected table, tombstones, incomplete, empty, txn, r, a, i, u, d or s";
                return Err(syntax(what));
            }
        }
        match tokens.take()? {
            None => Ok(()),
            Some(token) => Err(syntax(&format!("unexpected {}", token.show()))),
        }
    }

    fn declare_table(&mut self, tokens: &mut Tokens) -> Parsed<()> {
        let id = tokens.number("the number of the table")?;
        let id = u32::try_from(id).map_err(|_| syntax("a table number above 2^32"))?;
        let name = tokens.next("the name of the table")?.string()?;
        if self.tables.names.contains_key(&name) || !self.tables.numbers.insert(id) {
            return Err(syntax("a table declared twice"));
        }
        self.name_table(id, name);
        Ok(())
    }

    fn name_table(&mut self, id: u32, name: String) {
        self.builder.header().tables.push((id, name.clone()));
        self.tables.names.insert(name, id);
        self.tables.greatest = self.tables.greatest.max(Some(id));
    }

    fn begin(&mut self, tokens: &mut Tokens) -> Parsed<()> {
        self.close()?;
        self.count += 1;
        let stamp = tokens.stamp()?;
        let mut worker = stamp.worker();
        let (mut start, mut snapshot) = (0, false);
        let mut outcome = Outcome { committed: true, end: u64::MAX, order: self.count, epoch: 0 };
        loop {
            match &*tokens.next("commit or abort")?.text {
                b"worker" => {
                    let n = tokens.number("a worker")?;
                    worker = u32::try_from(n).map_err(|_| syntax("a worker above 2^32"))?;
                }
                b"start" => start = tokens.number("a time")?,
                b"end" => outcome.end = tokens.number("a time")?,
                b"order" => outcome.order = tokens.number("an order")?,
                b"epoch" => outcome.epoch = tokens.number("an epoch")?,
                b"snapshot" => snapshot = true,
                b"commit" => break,
                b"abort" => {
                    (outcome.committed, outcome.order, outcome.epoch) = (false, 0, 0);
                    break;
                }
                _ => {
                    let what = "expected worker, start, end, order, epoch, snapshot, commit, abort";
                    return Err(syntax(what));
                }
            }
        }
        self.builder.begin(worker, stamp, start, snapshot)?;
        self.open = Some(outcome);
        Ok(())
    }

    fn close(&mut self) -> Parsed<()> {
        self.open.take().map_or(Ok(()), |outcome| self.builder.finish(outcome))
    }

    fn read(&mut self, tokens: &mut Tokens, present: bool) -> Parsed<()> {
        let table = self.table(tokens)?;
        let key = tokens.next("a key")?;
        let version = tokens.version()?;
        self.builder.read(table, &key.text, version, present)
    }

    fn write(&mut self, tokens: &mut Tokens, kind: OpKind) -> Parsed<()> {
        let table = self.table(tokens)?;
        let key = tokens.next("a key")?;
        tokens.expect("over")?;
        let mut over = Version::new(tokens.stamp()?, 0);
        let mut order = None;
        while tokens.more()? {
            match &*tokens.next("index or order")?.text {
                b"index" => {
                    let index = u32::try_from(tokens.number("an index")?);
                    over.index = index.map_err(|_| syntax("an index above 2^28"))?;
                }
                b"order" => order = Some(tokens.number("an order")?),
                _ => return Err(syntax("expected index or order")),
            }
        }
        self.builder.write(kind, table, &key.text, over, order)
    }

    fn scan(&mut self, tokens: &mut Tokens) -> Parsed<()> {
        let table = self.table(tokens)?;
        let (mut low, mut high) = (None, None);
        let (mut descending, mut limited) = (false, false);
        while let Some(token) = tokens.take()? {
            match &*token.text {
                b"from" => low = Some((true, tokens.next("a key")?)),
                b"after" => low = Some((false, tokens.next("a key")?)),
                b"to" => high = Some((true, tokens.next("a key")?)),
                b"before" => high = Some((false, tokens.next("a key")?)),
                b"desc" => descending = true,
                b"limit" => limited = true,
                b":" => break,
                _ => return Err(syntax("expected from, after, to, before, desc, limit or :")),
            }
        }
        let (low, high) = (bound(low.as_ref()), bound(high.as_ref()));
        self.builder.scan_begin(&ScanHead { table, low, high, descending })?;
        while tokens.more()? {
            let key = tokens.next("a key")?;
            let mut ahead = tokens.clone();
            let gone = ahead.take()?.is_some_and(|token| token.is("gone"));
            if gone {
                *tokens = ahead;
            }
            let version = tokens.version()?;
            self.builder.scan_entry(&key.text, version, !gone)?;
        }
        self.builder.scan_end(limited)
    }

    /// A table: a bare number is the number of a table, all else a name, declared or new.
    fn table(&mut self, tokens: &mut Tokens) -> Parsed<u32> {
        let token = tokens.next("a table")?;
        if !token.quoted && token.text[0].is_ascii_digit() {
            let number = token.string()?.parse();
            return number.map_err(|_| syntax("a bare table name that begins with a digit"));
        }
        let name = token.string()?;
        if let Some(&id) = self.tables.names.get(&name) {
            return Ok(id);
        }
        let id = self.tables.greatest.map_or(Some(0), |id| id.checked_add(1));
        let id = id.ok_or_else(|| syntax("no number is left for a new table"))?;
        self.tables.numbers.insert(id);
        self.name_table(id, name);
        Ok(id)
    }
}

fn bound<'a>(end: Option<&'a (bool, Token)>) -> Bound<'a> {
    match end {
        None => Bound::Unbounded,
        Some((true, key)) => Bound::Included(&key.text),
        Some((false, key)) => Bound::Excluded(&key.text),
    }
}

/// A word, or a string in quotes.
struct Token<'a> {
    /// Not empty unless quoted.
    text: Cow<'a, [u8]>,
    quoted: bool,
}

impl Token<'_> {
    fn is(&self, word: &str) -> bool {
        !self.quoted && *self.text == *word.as_bytes()
    }

    /// The token in a message.
    fn show(&self) -> String {
        brief(&self.text)
    }

    fn string(&self) -> Parsed<String> {
        String::from_utf8(self.text.to_vec()).map_err(|_| syntax("a name that is not UTF-8"))
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.text).unwrap_or_default()
    }
}

/// The tokens of a line that are left.
#[derive(Clone)]
struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    /// The next token; `None` at the end of the line or before a comment.
    fn take(&mut self) -> Parsed<Option<Token<'a>>> {
        self.rest = self.rest.trim_ascii_start();
        let (text, quoted, rest) = match self.rest {
            [] | [b'#', ..] => return Ok(None),
            [b'"', string @ ..] => {
                let (text, after) = quoted(string)?;
                (Cow::Owned(text), true, after)
            }
            line => {
                let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
                let (word, after) = line.split_at(end);
                (Cow::Borrowed(word), false, after)
            }
        };
        self.rest = rest;
        Ok(Some(Token { text, quoted }))
    }

    /// Whether a token is left.
    fn more(&self) -> Parsed<bool> {
        Ok(self.clone().take()?.is_some())
    }

    fn next(&mut self, what: &str) -> Parsed<Token<'a>> {
        self.take()?.ok_or_else(|| syntax(&format!("expected {what}")))
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.next(word)?.is(word) { Ok(()) } else { Err(syntax(&format!("expected {word}"))) }
    }

    fn number(&mut self, what: &str) -> Parsed<u64> {
        let token = self.next(what)?;
        let number = token.as_str().parse();
        number.map_err(|_| syntax(&format!("expected {what}, found {}", token.show())))
    }

    fn stamp(&mut self) -> Parsed<Stamp> {
        let token = self.next("a stamp")?;
        let stamp = parse_stamp(token.as_str());
        stamp.ok_or_else(|| syntax(&format!("expected a stamp, found {}", token.show())))
    }

    fn version(&mut self) -> Parsed<Version> {
        let token = self.next("a version")?;
        let text = token.as_str();
        let (stamp, index) = text.split_once('.').unwrap_or((text, "0"));
        let version = parse_stamp(stamp).zip(index.parse().ok());
        let (stamp, index) = version
            .ok_or_else(|| syntax(&format!("expected a version, found {}", token.show())))?;
        Ok(Version::new(stamp, index))
    }
}

/// `7`, or `worker:sequence`.
fn parse_stamp(text: &str) -> Option<Stamp> {
    let Some((worker, sequence)) = text.split_once(':') else {
        return text.parse().ok().map(Stamp);
    };
    let (worker, sequence) = (worker.parse::<u32>().ok()?, sequence.parse::<u64>().ok()?);
    (worker < 1 << 24 && sequence < 1 << 40).then(|| Stamp::new(worker, sequence))
}

/// The string up to the closing quote, and what follows it.
fn quoted(mut rest: &[u8]) -> Parsed<(Vec<u8>, &[u8])> {
    let mut text = Vec::new();
    loop {
        match *rest {
            [b'"', ref after @ ..] => return Ok((text, after)),
            [b'\\', escaped @ (b'"' | b'\\'), ref after @ ..] => {
                text.push(escaped);
                rest = after;
            }
            [b'\\', b'x', high, low, ref after @ ..] => {
                let digits = [high, low];
                let digits = str::from_utf8(&digits).ok();
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                text.push(byte.ok_or_else(|| syntax("expected two hexadecimal digits after \\x"))?);
                rest = after;
            }
            [b'\\', ..] => return Err(syntax("expected \\\\, \\\" or \\xNN")),
            [byte, ref after @ ..] => {
                text.push(byte);
                rest = after;
            }
            [] => return Err(syntax("a string without its closing quote")),
        }
    }
}

fn syntax(what: &str) -> ReadErrorKind {
    ReadErrorKind::Syntax(what.to_owned())
}
