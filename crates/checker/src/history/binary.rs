//! The binary form of a history: a header, blocks of events, an end.
//!
//! ```text
//! magic 8 | version u32 | header block | block ... | end block
//! block:  kind u8 | worker u32 | length u32 | checksum u32 | payload
//! ```
//!
//! Numbers are little-endian; the checksum is the CRC-32 of kind, worker and payload. A block of events is a chunk of one worker's recorder, so writing
//! copies nothing and reading holds one block at a time. The end block holds the number of
//! transactions, so that a file cut between two blocks is known to be cut.

use std::io::{self, BufReader, BufWriter, Read, Write};

use super::builder::Builder;
use super::error::{ReadError, ReadErrorKind};
use super::model::{Header, History};
use super::recorder::Recorder;
use super::{decode, text_read};

const MAGIC: [u8; 8] = *b"\x89CHHIST\n";
const FORMAT: u32 = 1;

const BLOCK_HEADER: u8 = b'H';
const BLOCK_EVENTS: u8 = b'B';
const BLOCK_END: u8 = b'E';

/// Blocks are about a mebibyte; one transaction can make a block larger, but a length above this
/// is a damaged length, and is not allocated.
const BLOCK_BYTES_MAX: u32 = 1 << 30;

pub(super) fn write(header: &Header, recorders: &[Recorder], writer: impl Write) -> io::Result<()> {
    let mut writer = BufWriter::new(writer);
    writer.write_all(&MAGIC)?;
    writer.write_all(&FORMAT.to_le_bytes())?;
    write_block(&mut writer, BLOCK_HEADER, 0, &encode_header(header))?;
    let mut transactions = 0;
    for recorder in recorders {
        transactions += recorder.transactions();
        for chunk in recorder.chunks() {
            write_block(&mut writer, BLOCK_EVENTS, recorder.worker(), chunk)?;
        }
    }
    write_block(&mut writer, BLOCK_END, 0, &transactions.to_le_bytes())?;
    writer.flush()
}

fn write_block(writer: &mut impl Write, kind: u8, worker: u32, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).ok().filter(|&length| length <= BLOCK_BYTES_MAX);
    let length = length.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "a transaction of more than 1 GiB of events")
    })?;
    writer.write_all(&[kind])?;
    writer.write_all(&worker.to_le_bytes())?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(&checksum(kind, worker, payload).to_le_bytes())?;
    writer.write_all(payload)
}

fn checksum(kind: u8, worker: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(&worker.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

fn encode_header(header: &Header) -> Vec<u8> {
    let mut bytes = vec![u8::from(header.complete) | u8::from(header.tombstones_kept) << 1];
    bytes.extend_from_slice(&(header.tables.len() as u32).to_le_bytes());
    for (id, name) in &header.tables {
        bytes.extend_from_slice(&id.to_le_bytes());
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes
}

fn decode_header(mut bytes: &[u8]) -> Option<Header> {
    fn word(bytes: &mut &[u8]) -> Option<u32> {
        let (word, rest) = bytes.split_first_chunk::<4>()?;
        *bytes = rest;
        Some(u32::from_le_bytes(*word))
    }
    let (&flags, rest) = bytes.split_first()?;
    bytes = rest;
    let count = word(&mut bytes)?;
    let mut tables = Vec::new();
    for _ in 0..count {
        let id = word(&mut bytes)?;
        let length = word(&mut bytes)? as usize;
        let name = bytes.split_off(..length)?;
        tables.push((id, String::from_utf8(name.to_vec()).ok()?));
    }
    let known = bytes.is_empty() && flags < 4;
    known.then_some(Header { tables, complete: flags & 1 != 0, tombstones_kept: flags & 2 != 0 })
}

/// Reads either form: what does not begin with the magic must be text.
pub(super) fn read_any(reader: impl Read) -> Result<History, ReadError> {
    let mut file = File { reader: BufReader::with_capacity(1 << 16, reader), at: 0 };
    let mut magic = [0; MAGIC.len()];
    let n = file.read_up_to(&mut magic)?;
    if magic == MAGIC {
        return read_binary(&mut file);
    }
    if magic[0] == MAGIC[0] {
        // No text begins with this byte: the file is ours, and damaged or cut in its magic.
        let damaged = ReadErrorKind::Damaged("the magic number");
        let kind = if MAGIC.starts_with(&magic[..n]) { ReadErrorKind::Truncated } else { damaged };
        return Err(ReadError::new(kind, n as u64));
    }
    text_read::read((&magic[..n]).chain(file.reader))
}

fn read_binary(file: &mut File<impl Read>) -> Result<History, ReadError> {
    let format = u32::from_le_bytes(file.array()?);
    if format != FORMAT {
        return Err(ReadError::new(ReadErrorKind::UnknownFormat(format), MAGIC.len() as u64));
    }
    let mut payload = Vec::new();
    let mut builder: Option<Builder> = None;
    let mut last_worker = 0;
    loop {
        let start = file.at;
        let damaged = |what| ReadError::new(ReadErrorKind::Damaged(what), start);
        let (kind, worker) = file.block(&mut payload)?;
        let at = file.at - payload.len() as u64;
        if kind == BLOCK_HEADER && builder.is_none() {
            let header = decode_header(&payload).ok_or_else(|| damaged("the header"))?;
            builder = Some(Builder::new(header));
            continue;
        }
        let Some(open) = &mut builder else { return Err(damaged("no header")) };
        if kind == BLOCK_EVENTS {
            if worker != last_worker {
                open.drop_unfinished();
                last_worker = worker;
            }
            decode::events(open, worker, &payload, at)?;
        } else if kind == BLOCK_END {
            let history = builder.take().map(Builder::build).expect("a builder is open");
            let count = (history.transactions.len() as u64).to_le_bytes();
            if payload != count {
                return Err(damaged("the number of transactions"));
            }
            return match file.read_up_to(&mut [0])? {
                0 => Ok(history),
                _ => {
                    Err(ReadError::new(ReadErrorKind::Damaged("bytes after the end"), file.at - 1))
                }
            };
        } else {
            return Err(damaged("an unknown block"));
        }
    }
}

/// A file and how far it was read.
struct File<R> {
    reader: BufReader<R>,
    at: u64,
}

impl<R: Read> File<R> {
    /// Reads until `bytes` is full or the file ends.
    fn read_up_to(&mut self, bytes: &mut [u8]) -> Result<usize, ReadError> {
        let mut n = 0;
        while n < bytes.len() {
            match self.reader.read(&mut bytes[n..]) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::new(ReadErrorKind::Io(error), self.at)),
            }
        }
        self.at += n as u64;
        Ok(n)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), ReadError> {
        if self.read_up_to(bytes)? < bytes.len() {
            return Err(ReadError::new(ReadErrorKind::Truncated, self.at));
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the next block into `payload`; its kind and worker.
    fn block(&mut self, payload: &mut Vec<u8>) -> Result<(u8, u32), ReadError> {
        let start = self.at;
        let [kind] = self.array()?;
        let worker = u32::from_le_bytes(self.array()?);
        let length = u32::from_le_bytes(self.array()?);
        let expected = u32::from_le_bytes(self.array()?);
        if length > BLOCK_BYTES_MAX {
            return Err(ReadError::new(ReadErrorKind::Damaged("the length of a block"), start));
        }
        // A damaged length must not allocate what the file does not hold: grow as bytes arrive.
        payload.clear();
        let mut left = length as usize;
        while left > 0 {
            let (old, piece) = (payload.len(), left.min(1 << 22));
            payload.resize(old + piece, 0);
            self.fill(&mut payload[old..])?;
            left -= piece;
        }
        if checksum(kind, worker, payload) != expected {
            return Err(ReadError::new(ReadErrorKind::Damaged("a checksum"), start));
        }
        Ok((kind, worker))
    }
}
