//! The text form, read: for histories written by hand. The grammar stands in `HISTORY.md`.
//!
//! Invariant: an error names its line and what was expected there.

use super::builder::{Builder, Outcome, ScanHead};
use super::model::OpKind;
use super::recorder::Bound;
use super::{Header, History, ReadError, ReadErrorKind};
use crate::stamp::{Stamp, Version};

type Parsed<T> = Result<T, ReadErrorKind>;

pub(super) fn read(text: &str) -> Result<History, ReadError> {
    let mut reader = Reader { builder: Builder::new(Header::default()), open: None, count: 0 };
    let mut number = 0;
    for line in text.lines() {
        number += 1;
        reader.line(line).map_err(|kind| ReadError::new(kind, number))?;
    }
    reader.close().map_err(|kind| ReadError::new(kind, number))?;
    Ok(reader.builder.build())
}

struct Reader {
    builder: Builder,
    /// The outcome of the transaction that is open: its line tells it before the operations.
    open: Option<Outcome>,
    count: u64,
}

impl Reader {
    fn line(&mut self, line: &str) -> Parsed<()> {
        let tokens = tokenize(line)?;
        let mut tokens = Tokens { tokens: &tokens };
        let Some(verb) = tokens.tokens.first() else { return Ok(()) };
        tokens.tokens = &tokens.tokens[1..];
        match verb.text.as_slice() {
            b"table" => self.declare_table(&mut tokens)?,
            b"tombstones" => {
                tokens.expect("kept")?;
                self.builder.header().tombstones_kept = true;
            }
            b"incomplete" => self.builder.header().complete = false,
            b"txn" => self.begin(&mut tokens)?,
            b"r" => self.read(&mut tokens, true)?,
            b"a" => self.read(&mut tokens, false)?,
            b"i" => self.write(&mut tokens, OpKind::Insert)?,
            b"u" => self.write(&mut tokens, OpKind::Update)?,
            b"d" => self.write(&mut tokens, OpKind::Remove)?,
            b"s" => self.scan(&mut tokens)?,
            _ => {
                let what = "expected table, tombstones, incomplete, txn, r, a, i, u, d or s";
                return Err(syntax(what));
            }
        }
        match tokens.tokens.first() {
            None => Ok(()),
            Some(token) => Err(syntax(&format!("unexpected {}", token.show()))),
        }
    }

    fn declare_table(&mut self, tokens: &mut Tokens) -> Parsed<()> {
        let id = tokens.number("the number of the table")?;
        let id = u32::try_from(id).map_err(|_| syntax("a table number above 2^32"))?;
        let name = tokens.next("the name of the table")?.string()?;
        let tables = &mut self.builder.header().tables;
        if tables.iter().any(|(other, old)| *other == id || *old == name) {
            return Err(syntax("a table declared twice"));
        }
        tables.push((id, name));
        Ok(())
    }

    fn begin(&mut self, tokens: &mut Tokens) -> Parsed<()> {
        self.close()?;
        self.count += 1;
        let stamp = tokens.stamp()?;
        let mut worker = stamp.worker();
        let (mut start, mut snapshot) = (0, false);
        let mut outcome = Outcome { committed: true, end: u64::MAX, order: self.count, epoch: 0 };
        loop {
            match tokens.next("commit or abort")?.text.as_slice() {
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
        while !tokens.tokens.is_empty() {
            match tokens.next("index or order")?.text.as_slice() {
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
        let (mut low, mut high) = (Bound::Unbounded, Bound::Unbounded);
        let (mut descending, mut limited) = (false, false);
        while let Some(token) = tokens.tokens.first() {
            tokens.tokens = &tokens.tokens[1..];
            match token.text.as_slice() {
                b"from" => low = Bound::Included(&tokens.next("a key")?.text),
                b"after" => low = Bound::Excluded(&tokens.next("a key")?.text),
                b"to" => high = Bound::Included(&tokens.next("a key")?.text),
                b"before" => high = Bound::Excluded(&tokens.next("a key")?.text),
                b"desc" => descending = true,
                b"limit" => limited = true,
                b":" => break,
                _ => return Err(syntax("expected from, after, to, before, desc, limit or :")),
            }
        }
        self.builder.scan_begin(&ScanHead { table, low, high, descending })?;
        while !tokens.tokens.is_empty() {
            let key = tokens.next("a key")?;
            let gone = tokens.tokens.first().is_some_and(|token| token.is("gone"));
            if gone {
                tokens.expect("gone")?;
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
        let tables = &mut self.builder.header().tables;
        if let Some(&(id, _)) = tables.iter().find(|(_, known)| *known == name) {
            return Ok(id);
        }
        let id = tables.iter().map(|&(id, _)| id).max().map_or(Some(0), |id| id.checked_add(1));
        let id = id.ok_or_else(|| syntax("no number is left for a new table"))?;
        tables.push((id, name));
        Ok(id)
    }
}

/// A word, or a string in quotes.
struct Token {
    /// Not empty unless quoted.
    text: Vec<u8>,
    quoted: bool,
}

impl Token {
    fn is(&self, word: &str) -> bool {
        !self.quoted && self.text == word.as_bytes()
    }

    fn show(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    fn string(&self) -> Parsed<String> {
        String::from_utf8(self.text.clone()).map_err(|_| syntax("a name that is not UTF-8"))
    }
}

struct Tokens<'a> {
    tokens: &'a [Token],
}

impl<'a> Tokens<'a> {
    fn next(&mut self, what: &str) -> Parsed<&'a Token> {
        let (first, rest) =
            self.tokens.split_first().ok_or_else(|| syntax(&format!("expected {what}")))?;
        self.tokens = rest;
        Ok(first)
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.next(word)?.is(word) { Ok(()) } else { Err(syntax(&format!("expected {word}"))) }
    }

    fn number(&mut self, what: &str) -> Parsed<u64> {
        let token = self.next(what)?;
        let number = token.show().parse();
        number.map_err(|_| syntax(&format!("expected {what}, found {}", token.show())))
    }

    fn stamp(&mut self) -> Parsed<Stamp> {
        let text = self.next("a stamp")?.show();
        parse_stamp(&text).ok_or_else(|| syntax(&format!("expected a stamp, found {text}")))
    }

    fn version(&mut self) -> Parsed<Version> {
        let text = self.next("a version")?.show();
        let (stamp, index) = text.split_once('.').unwrap_or((&text, "0"));
        let version = parse_stamp(stamp).zip(index.parse().ok());
        let (stamp, index) =
            version.ok_or_else(|| syntax(&format!("expected a version, found {text}")))?;
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

fn tokenize(line: &str) -> Parsed<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = line.as_bytes();
    loop {
        rest = rest.trim_ascii_start();
        match rest.first() {
            None | Some(b'#') => return Ok(tokens),
            Some(b'"') => {
                let (text, after) = quoted(&rest[1..])?;
                tokens.push(Token { text, quoted: true });
                rest = after;
            }
            Some(_) => {
                let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                tokens.push(Token { text: rest[..end].to_vec(), quoted: false });
                rest = &rest[end..];
            }
        }
    }
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
