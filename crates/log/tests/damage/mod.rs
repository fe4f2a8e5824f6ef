//! Damage to files, as a script of bytes says, and checksums made to fit again so that the damage
//! gets past them.
//!
//! Whatever the script, there is something that it means: fuzzers and random tests make scripts, and
//! a script that was kept does the same again.

#![allow(dead_code, reason = "each user takes a part of it")]

use chiliad_log::frame::{HEAD_BYTES, Head, Identity};
use chiliad_machine::disk::{BLOCK_BYTES, Blocks, Disk};

/// Choices still to be made. One that has come to its end chooses zeros.
pub struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// One of `count`, or 0 if there are none.
    pub fn below(&mut self, count: usize) -> usize {
        let number = u32::from_le_bytes([self.byte(), self.byte(), self.byte(), 0]);
        number as usize % count.max(1)
    }

    /// A number of the kind that breaks things.
    pub fn number(&mut self) -> u64 {
        let small = u64::from(self.byte());
        match self.byte() % 8 {
            0 => small,
            1 => small << 8,
            2 => u64::MAX - small,
            3 => u64::from(u32::MAX) - small,
            4 => u64::from(u32::MAX / 2) + small,
            5 => 1 << (small % 64),
            6 => (1 << 30) - small,
            _ => small << 32 | small,
        }
    }

    /// As many bytes as there are, up to `count`.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// Changes a file in one way. It stays a multiple of [`BLOCK_BYTES`] long if it was one.
pub fn change(file: &mut Vec<u8>, script: &mut Script<'_>) {
    let blocks = file.len() / BLOCK_BYTES;
    let block = |at: usize| at * BLOCK_BYTES..(at + 1) * BLOCK_BYTES;
    match script.byte() % 8 {
        0 => {
            let at = place(file, script);
            let bit = script.byte() % 8;
            file.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << bit);
        }
        1 => {
            let at = place(file, script);
            let bytes = script.number().to_le_bytes();
            let width = [1, 2, 4, 8][script.below(4)];
            file.iter_mut().skip(at).zip(&bytes[..width]).for_each(|(old, new)| *old = *new);
        }
        2 => {
            let at = place(file, script);
            let count = usize::from(script.byte() % 32);
            let new = script.bytes(count);
            file.iter_mut().skip(at).zip(new).for_each(|(old, new)| *old = *new);
        }
        3 => file.truncate(script.below(blocks + 1) * BLOCK_BYTES),
        4 => file.resize(file.len() + (1 + script.below(3)) * BLOCK_BYTES, 0),
        5 if blocks > 0 => file[block(script.below(blocks))].fill(0),
        6 if blocks > 0 => {
            let (from, to) = (script.below(blocks), script.below(blocks));
            file.copy_within(block(from), to * BLOCK_BYTES);
        }
        7 if blocks > 0 => {
            let (one, other) = (script.below(blocks), script.below(blocks));
            let held = file[block(one)].to_vec();
            file.copy_within(block(other), one * BLOCK_BYTES);
            file[block(other)].copy_from_slice(&held);
        }
        _ => {}
    }
}

/// A place in a file: near the beginning of a block most of the time, where heads are.
fn place(file: &[u8], script: &mut Script<'_>) -> usize {
    let block = script.below(file.len().div_ceil(BLOCK_BYTES)) * BLOCK_BYTES;
    let reach = if script.byte().is_multiple_of(4) { BLOCK_BYTES } else { 3 * HEAD_BYTES };
    block + script.below(reach)
}

/// The first bytes of a mark.
const MARK_MAGIC: &[u8] = b"CHLC";

/// Makes everything that looks like a frame sound: its place, its file, its length where it is more
/// than there is, its checksum.
pub fn reseal(file: &mut [u8], identity: &Identity) {
    let mut at = 0;
    while at + HEAD_BYTES <= file.len() {
        let frame = &mut file[at..];
        if frame.starts_with(MARK_MAGIC) {
            at += BLOCK_BYTES;
            continue;
        }
        frame[20..24].copy_from_slice(&identity.tag().to_le_bytes());
        frame[40..48].copy_from_slice(&(at as u64).to_le_bytes());
        let Some(head) = Head::decode(frame) else {
            at += BLOCK_BYTES;
            continue;
        };
        let most = frame.len() - HEAD_BYTES;
        if head.stored_bytes() > most {
            frame[12..16].copy_from_slice(&(most as u32).to_le_bytes());
        }
        let stored = head.stored_bytes().min(most);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&identity.database.to_le_bytes());
        hasher.update(&[identity.room]);
        identity.numbers.iter().for_each(|number| hasher.update(&number.to_le_bytes()));
        hasher.update(&frame[8..HEAD_BYTES + stored]);
        let crc = hasher.finalize();
        frame[4..8].copy_from_slice(&crc.to_le_bytes());
        at += (HEAD_BYTES + stored).next_multiple_of(BLOCK_BYTES);
    }
}

/// Makes the checksums of all marks fit, of the claims (room 2, sequence 0) or in a segment (room 3).
pub fn reseal_marks(file: &mut [u8], database: u128, room: u8, incarnation: u32, sequence: u32) {
    for block in file.chunks_mut(BLOCK_BYTES).filter(|block| block.starts_with(MARK_MAGIC)) {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&database.to_le_bytes());
        hasher.update(&[room]);
        hasher.update(&incarnation.to_le_bytes());
        hasher.update(&block[8..12]);
        hasher.update(&sequence.to_le_bytes());
        hasher.update(&block[8..48]);
        let crc = hasher.finalize();
        block[4..8].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Bytes before the body of a manifest.
const MANIFEST_HEAD_BYTES: usize = 20;

/// Makes the checksum of a manifest fit, and its length where it is more than there is.
pub fn reseal_manifest(file: &mut [u8]) {
    let Some(most) = file.len().checked_sub(MANIFEST_HEAD_BYTES) else { return };
    let stated = u32::from_le_bytes([file[12], file[13], file[14], file[15]]);
    let bytes = most.min(stated as usize);
    file[12..16].copy_from_slice(&(bytes as u32).to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&file[8..12]);
    hasher.update(&file[MANIFEST_HEAD_BYTES..MANIFEST_HEAD_BYTES + bytes]);
    let crc = hasher.finalize();
    file[16..20].copy_from_slice(&crc.to_le_bytes());
}

/// The file of a manifest with this body.
pub fn manifest_file(body: &[u8]) -> Vec<u8> {
    let mut file = b"CHILIAD\n\x03\0\0\0".to_vec();
    file.extend_from_slice(&(body.len() as u32).to_le_bytes());
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(body);
    reseal_manifest(&mut file);
    file
}

/// Puts a file on a disk, durably.
pub fn put(disk: &dyn Disk, name: &str, bytes: &[u8]) {
    let mut blocks = Blocks::new();
    blocks.push(bytes);
    blocks.pad();
    let file = disk.create(name, 0).expect("created");
    file.write_at(0, &blocks).expect("written");
    file.sync().expect("synced");
    disk.sync_names().expect("synced");
}

/// Files without the padding of their frames: a script short enough for a fuzzer. Each piece is its
/// length (u16, top bit: begin the next file) and its bytes, which stand at a block's beginning.
pub fn spread(script: &mut Script<'_>) -> Vec<Vec<u8>> {
    let mut files = vec![Vec::new()];
    while !script.is_empty() && files.len() <= 4 {
        let length = u16::from_le_bytes([script.byte(), script.byte()]);
        if length & NEXT_FILE != 0 {
            files.push(Vec::new());
        }
        let piece = script.bytes(usize::from(length & !NEXT_FILE));
        let Some(file) = files.last_mut() else { break };
        file.extend_from_slice(piece);
        file.resize(file.len().next_multiple_of(BLOCK_BYTES), 0);
    }
    files
}

const NEXT_FILE: u16 = 1 << 15;

/// Undoes [`spread`], up to zeros.
pub fn compact(files: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let mut at = 0;
        while at < file.len() {
            let bytes = Head::decode(&file[at..]).map_or(0, |it| it.frame_bytes() as usize);
            let frame = &file[at..(at + bytes.max(BLOCK_BYTES)).min(file.len())];
            let used = frame.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            let next = if number > 0 && at == 0 { NEXT_FILE } else { 0 };
            out.extend_from_slice(&(used as u16 | next).to_le_bytes());
            out.extend_from_slice(&frame[..used]);
            at += frame.len();
        }
    }
    out
}
