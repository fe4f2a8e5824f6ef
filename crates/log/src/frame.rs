//! Frames: what files of log and checkpoint consist of. Each begins at a multiple of
//! [`BLOCK_BYTES`] and is padded with zeros to the next.
//!
//! ```text
//! +0   u32  magic "CHLF"
//! +4   u32  CRC-32 of the identity of the file, of bytes 8 to 48 of this head, and of the payload
//! +8   u8   kind
//! +9   u8   flags: 1 = the payload is compressed (LZ4 block)
//! +10  u16  zero
//! +12  u32  bytes of the payload as it stands here
//! +16  u32  bytes of the payload as it was
//! +20  u32  CRC-32 of the identity of the file, by which a frame of another life of the file is told
//!           from one that was cut short
//! +24  u64  epoch: everything of this epoch and before that is this writer's is in this frame or in
//!           an earlier one
//! +32  u64  synced: the bytes of this file that were known to be durable when the frame was written
//! +40  u64  where the frame is, in bytes from the start of the file
//! +48       payload
//! ```
//!
//! The identity is the database (u128), 0 for the log or 1 for a checkpoint (u8), and three numbers
//! (u32): incarnation, writer and sequence of a segment; checkpoint, part and 0 of a part. It enters
//! the checksum: a file that is used again under a new name holds no frame that could be taken for
//! one of the new file.

use crate::codec::Decoder;
use chiliad_machine::disk::{BLOCK_BYTES, Blocks};

const MAGIC: u32 = u32::from_le_bytes(*b"CHLF");

/// Bytes before the payload.
pub const HEAD_BYTES: usize = 48;

/// Where the checksummed part of the head begins.
const CHECKED_FROM: usize = 8;

const COMPRESSED: u8 = 1;

/// The greatest payload in bytes: what a reader is willing to hold in memory at once.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 30;

/// Payloads below this are not worth compressing.
const COMPRESS_FROM: usize = 256;

/// The bytes that a compressed byte can stand for, at most.
const LZ4_RATIO_MAX: u32 = 255;

/// The kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The first of a file.
    Start,
    /// Transactions, or rows.
    Data,
    /// The last of a file that is complete.
    End,
}

impl Kind {
    fn number(self) -> u8 {
        match self {
            Self::Start => 1,
            Self::Data => 2,
            Self::End => 3,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        [Self::Start, Self::Data, Self::End].into_iter().find(|kind| kind.number() == number)
    }
}

/// The identity that is hashed before a frame: which file of which database this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The database's number.
    pub database: u128,
    /// 0: log, 1: checkpoint, 2: claims, 3: marks of a segment, 4: segment of a shared log, 5: head of one, 6:
    /// checkpoint of a server of one.
    pub room: u8,
    /// Incarnation, writer and sequence of a segment; number and part of a checkpoint; first position of a segment of
    /// a shared log, or label of a checkpoint of one, its upper half first.
    pub numbers: [u32; 3],
}

impl Identity {
    pub(crate) fn hasher(&self) -> crc32fast::Hasher {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.database.to_le_bytes());
        hasher.update(&[self.room]);
        for number in self.numbers {
            hasher.update(&number.to_le_bytes());
        }
        hasher
    }

    /// The identity of the file in the form of heads.
    #[must_use]
    pub fn tag(&self) -> u32 {
        self.hasher().finalize()
    }
}

/// The head of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Its kind.
    pub kind: Kind,
    /// Complete through this epoch.
    pub epoch: u64,
    /// Bytes of the file that were durable when it was written.
    pub synced: u64,
    /// Where it is.
    pub position: u64,
    /// The tag of the file that it was written to.
    pub file: u32,
    compressed: bool,
    stored_bytes: u32,
    raw_bytes: u32,
    crc: u32,
}

impl Head {
    /// Bytes of the file that the frame takes.
    #[must_use]
    pub fn frame_bytes(&self) -> u64 {
        debug_assert!(self.stored_bytes() <= PAYLOAD_BYTES_MAX, "no head says more");
        (HEAD_BYTES as u64 + u64::from(self.stored_bytes)).next_multiple_of(BLOCK_BYTES as u64)
    }

    /// Bytes of the payload as it stands in the file.
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        self.stored_bytes as usize
    }

    /// Reads a head; `None` if these bytes are none. The checksum is not looked at yet.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder::new(bytes);
        if from.u32()? != MAGIC {
            return None;
        }
        let crc = from.u32()?;
        let kind = Kind::from_number(from.u8()?)?;
        let flags = from.u8()?;
        let zero = from.u16()?;
        let stored_bytes = from.u32()?;
        let raw_bytes = from.u32()?;
        let file = from.u32()?;
        let (epoch, synced, position) = (from.u64()?, from.u64()?, from.u64()?);
        let compressed = flags == COMPRESSED;
        let sound = (flags == 0 || compressed)
            && zero == 0
            // Whole frames before this one.
            && synced <= position
            && synced.is_multiple_of(BLOCK_BYTES as u64)
            && raw_bytes as usize <= PAYLOAD_BYTES_MAX
            && stored_bytes as usize <= PAYLOAD_BYTES_MAX
            && (if compressed {
                // Nothing unpacks to more: no memory for a length that cannot be.
                raw_bytes / LZ4_RATIO_MAX <= stored_bytes
            } else {
                raw_bytes == stored_bytes
            });
        let head =
            Self { kind, epoch, synced, position, file, compressed, stored_bytes, raw_bytes, crc };
        sound.then_some(head)
    }

    /// Whether head and payload, as they stand in the file, are what was written to it.
    #[must_use]
    pub fn fits(&self, identity: &Identity, head: &[u8], stored: &[u8]) -> bool {
        debug_assert!(head.len() >= HEAD_BYTES, "the head is whole");
        debug_assert!(stored.len() == self.stored_bytes(), "so is the payload");
        let mut hasher = identity.hasher();
        hasher.update(&head[CHECKED_FROM..HEAD_BYTES]);
        hasher.update(stored);
        hasher.finalize() == self.crc
    }

    /// The payload as it was, in `out` if it had to be unpacked; `None` if it cannot be.
    #[must_use]
    pub fn unpack<'a>(&self, stored: &'a [u8], out: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        debug_assert!(stored.len() == self.stored_bytes(), "the payload is whole");
        if !self.compressed {
            return Some(stored);
        }
        out.resize(self.raw_bytes as usize, 0);
        let bytes = lz4_flex::block::decompress_into(stored, out).ok()?;
        (bytes == out.len()).then_some(out.as_slice())
    }
}

/// Builds frames in a buffer: begin, append payload to the buffer, finish.
#[derive(Debug)]
pub struct Framer {
    identity: Identity,
    compress: bool,
    /// Room for a payload on its way to be compressed.
    packed: Vec<u8>,
}

impl Framer {
    /// Frames for the file of this identity.
    #[must_use]
    pub fn new(identity: Identity, compress: bool) -> Self {
        Self { identity, compress, packed: Vec::new() }
    }

    /// The file's identity.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Frames are for another file from now on.
    pub fn turn_to(&mut self, identity: Identity) {
        self.identity = identity;
    }

    /// Begins a frame: room for its head. `out` is empty or ends with a frame.
    pub fn begin(out: &mut Blocks) -> usize {
        let start = out.len();
        debug_assert!(start.is_multiple_of(BLOCK_BYTES));
        out.push(&[0; HEAD_BYTES]);
        start
    }

    /// Ends the frame that began at `start` in `out`, whose payload follows the room for the head
    /// there, and which will stand at `position`.
    ///
    /// # Panics
    /// When the payload exceeds [`PAYLOAD_BYTES_MAX`].
    pub fn finish(
        &mut self,
        out: &mut Blocks,
        start: usize,
        kind: Kind,
        epoch: u64,
        synced: u64,
        position: u64,
    ) {
        debug_assert!(start.is_multiple_of(BLOCK_BYTES), "frames begin with a block");
        debug_assert!(start + HEAD_BYTES <= out.len(), "there is room for the head");
        debug_assert!(position.is_multiple_of(BLOCK_BYTES as u64), "also in the file");
        debug_assert!(synced <= position, "what is durable lies before it");
        debug_assert!(synced.is_multiple_of(BLOCK_BYTES as u64), "whole frames are durable");
        let raw_bytes = out.len() - start - HEAD_BYTES;
        assert!(raw_bytes <= PAYLOAD_BYTES_MAX, "a frame of {raw_bytes} bytes");
        let flags = self.pack(out, start + HEAD_BYTES);
        let stored_bytes = out.len() - start - HEAD_BYTES;
        let mut head = [0; HEAD_BYTES];
        head[..4].copy_from_slice(&MAGIC.to_le_bytes());
        head[8] = kind.number();
        head[9] = flags;
        head[12..16].copy_from_slice(&(stored_bytes as u32).to_le_bytes());
        head[16..20].copy_from_slice(&(raw_bytes as u32).to_le_bytes());
        head[20..24].copy_from_slice(&self.identity.tag().to_le_bytes());
        head[24..32].copy_from_slice(&epoch.to_le_bytes());
        head[32..40].copy_from_slice(&synced.to_le_bytes());
        head[40..48].copy_from_slice(&position.to_le_bytes());
        let mut hasher = self.identity.hasher();
        hasher.update(&head[CHECKED_FROM..]);
        hasher.update(&out.bytes()[start + HEAD_BYTES..]);
        head[4..8].copy_from_slice(&hasher.finalize().to_le_bytes());
        out.bytes_mut()[start..start + HEAD_BYTES].copy_from_slice(&head);
        out.pad();
        debug_assert!(
            Head::decode(&out.bytes()[start..])
                .is_some_and(|head| head.frame_bytes() as usize == out.len() - start),
            "a reader finds the frame"
        );
    }

    /// Compresses the payload at `from` in place if that is asked for and saves something; returns
    /// the flags.
    fn pack(&mut self, out: &mut Blocks, from: usize) -> u8 {
        debug_assert!(from <= out.len(), "a payload begins where its head ends");
        let raw_bytes = out.len() - from;
        if !self.compress || raw_bytes < COMPRESS_FROM {
            return 0;
        }
        self.packed.resize(lz4_flex::block::get_maximum_output_size(raw_bytes), 0);
        let packed = lz4_flex::block::compress_into(&out.bytes()[from..], &mut self.packed);
        let Some(bytes) = packed.ok().filter(|&bytes| bytes < raw_bytes) else {
            return 0;
        };
        out.truncate(from);
        out.push(&self.packed[..bytes]);
        COMPRESSED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: Identity = Identity { database: 7, room: 0, numbers: [1, 0, 2] };

    fn framed(payload: &[u8], compress: bool) -> Blocks {
        let mut out = Blocks::new();
        let start = Framer::begin(&mut out);
        out.push(payload);
        Framer::new(FILE, compress).finish(&mut out, start, Kind::Data, 9, 4096, 8192);
        out
    }

    fn read(bytes: &[u8], identity: &Identity) -> Option<Vec<u8>> {
        let head = Head::decode(bytes)?;
        let stored = bytes.get(HEAD_BYTES..HEAD_BYTES + head.stored_bytes())?;
        let mut out = Vec::new();
        head.fits(identity, bytes, stored)
            .then(|| head.unpack(stored, &mut out).map(<[u8]>::to_vec))?
    }

    #[test]
    fn a_frame_comes_back_and_is_nobody_elses() {
        for compress in [false, true] {
            let payload = vec![3; 10_000];
            let frame = framed(&payload, compress);
            assert_eq!(frame.len() == BLOCK_BYTES, compress, "{}", frame.len());
            assert_eq!(read(frame.bytes(), &FILE).as_ref(), Some(&payload));
            let other = Identity { numbers: [1, 0, 3], ..FILE };
            assert_eq!(read(frame.bytes(), &other), None);
        }
    }

    #[test]
    fn a_length_that_nothing_unpacks_to_is_no_head() {
        let packed = framed(&[7; 1000], true);
        assert!(Head::decode(packed.bytes()).is_some_and(|head| head.compressed));
        let mut boastful = packed.bytes().to_vec();
        boastful[16..20].copy_from_slice(&(PAYLOAD_BYTES_MAX as u32).to_le_bytes());
        assert_eq!(Head::decode(&boastful), None);
    }

    #[test]
    fn what_was_durable_before_a_frame_is_whole_frames_before_it() {
        let frame = framed(b"payload", false);
        for synced in [1_u64, 4097, 8192 + 4096, u64::MAX] {
            let mut wrong = frame.bytes().to_vec();
            wrong[32..40].copy_from_slice(&synced.to_le_bytes());
            assert_eq!(Head::decode(&wrong), None, "{synced}");
        }
    }

    proptest! {
        #[test]
        fn no_flipped_bit_goes_unnoticed(
            payload in proptest::collection::vec(any::<u8>(), 0..600),
            compress in any::<bool>(),
            at in any::<proptest::sample::Index>(),
            bit in 0_u32..8,
        ) {
            let mut frame = framed(&payload, compress);
            let head = Head::decode(frame.bytes()).expect("sound");
            let at = at.index(HEAD_BYTES + head.stored_bytes());
            frame.bytes_mut()[at] ^= 1 << bit;
            prop_assert_eq!(read(frame.bytes(), &FILE), None);
        }

        #[test]
        fn garbage_is_no_frame(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(read(&bytes, &FILE), None);
            if bytes.len() > 4 {
                bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
                prop_assert_eq!(read(&bytes, &FILE), None);
            }
        }
    }
}
