//! Reading files back, frame by frame.
//!
//! A reader stops at the first place where no sound frame begins. That is the end of what was
//! written, or a write that a crash cut short, or damage: [`SegmentReader::judge`] tells them apart.
//! Only bytes that were never synced can have been cut short; so where a later frame of the same
//! file says that the place was durable when it was written, the place is damaged.

use crate::error::{LogError, Result};
use crate::faults;
use crate::frame::{HEAD_BYTES, Head, Identity, Kind};
use crate::marks::{self, MARKS_BYTES, Mark, SLOTS};
use chiliad_machine::Machine;
use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk, DiskFile};
use core::marker::PhantomData;

/// Bytes read at once, at least: enough for the time of a request to be that of its bytes.
const CHUNK_BYTES: usize = 4 << 20;

/// The bytes at a place where no sound frame begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// The end of what was written, or of what can be told from it: nothing that counted is missing.
    End {
        /// Whether there was something that was cut short.
        torn: bool,
    },
    /// Something that was durable is not there.
    Lost {
        /// Where sound frames begin again.
        resumes_at: u64,
    },
}

/// A segment's note of how far it is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Noted {
    /// Nothing: it is of a format that had no marks, or does not begin as it should.
    Unmarked,
    /// Its marks are not sound.
    Lost,
    /// This.
    Mark(Mark),
}

/// A sound frame.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Its head.
    pub head: Head,
    /// Its payload, as it was before it was compressed.
    pub payload: &'a [u8],
}

/// Reads one file.
#[derive(Debug)]
pub struct SegmentReader<M> {
    name: String,
    file: Box<dyn DiskFile>,
    identity: Identity,
    bytes: u64,
    /// Where the next frame should be.
    offset: u64,
    /// Whether there are marks in its head.
    has_marks: bool,
    /// The bytes read of the file, from `chunk_start` on.
    chunk: Blocks,
    chunk_start: u64,
    unpacked: Vec<u8>,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> SegmentReader<M> {
    /// Opens a file.
    ///
    /// # Errors
    /// [`LogError::Damaged`] when it is missing, the system's.
    pub fn open(disk: &dyn Disk, name: &str, identity: Identity) -> Result<Self> {
        let doing = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => LogError::damaged(name, 0, "the file is missing"),
            _ => LogError::io(format!("opening {name} in {}", disk.place()))(error),
        };
        let file = disk.open(name, Access::Read).map_err(doing)?;
        let bytes = file.bytes().map_err(doing)?;
        Ok(Self {
            name: name.into(),
            file,
            identity,
            bytes,
            offset: 0,
            has_marks: false,
            chunk: Blocks::new(),
            chunk_start: 0,
            unpacked: Vec::new(),
            machine: PhantomData,
        })
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file's length in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the next frame should be.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Goes on at `offset`, a multiple of the block size.
    pub fn seek(&mut self, offset: u64) {
        debug_assert!(offset.is_multiple_of(BLOCK_BYTES as u64), "frames begin with a block");
        self.offset = offset;
    }

    /// Reads nothing from `bytes` on, where the file may still change; `u64::MAX` for all that the file has.
    pub(crate) fn stop_at(&mut self, bytes: u64) {
        self.bytes = bytes;
        if bytes == u64::MAX {
            // A file that cannot tell its length has no frame behind what was read.
            self.bytes = self.file.bytes().unwrap_or(self.offset);
        }
    }

    /// Makes sure of the syncs of the file's writer: what was read stays.
    ///
    /// # Errors
    /// The system's.
    pub fn sync(&self) -> Result<()> {
        self.file.sync().map_err(LogError::io(format!("syncing {}", self.name)))
    }

    /// The next frame; `None` where no sound one begins.
    ///
    /// # Errors
    /// The system's.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>> {
        let offset = self.offset;
        let Some(head) = self.sound_at(offset)? else {
            return Ok(None);
        };
        self.offset = offset + head.frame_bytes();
        debug_assert!(head.position == offset, "a sound frame is where it says");
        let start = (offset - self.chunk_start) as usize + HEAD_BYTES;
        debug_assert!(start + head.stored_bytes() <= self.chunk.len(), "its bytes are there");
        let stored = &self.chunk.bytes()[start..start + head.stored_bytes()];
        match head.unpack(stored, &mut self.unpacked) {
            Some(payload) => {
                if head.kind == Kind::Start && payload == [SLOTS as u8] {
                    self.has_marks = true;
                    self.offset += MARKS_BYTES;
                    return Ok(Some(Frame { head, payload: &[] }));
                }
                Ok(Some(Frame { head, payload }))
            }
            None => {
                self.offset = offset;
                Ok(None)
            }
        }
    }

    /// The newest of the marks in its head, with the identity that they have.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn mark(&self, identity: &Identity) -> Result<Noted> {
        if !self.has_marks {
            return Ok(Noted::Unmarked);
        }
        let mut blocks = Blocks::new();
        let there = self.bytes.saturating_sub(BLOCK_BYTES as u64).min(MARKS_BYTES) as usize;
        let wanted = there / BLOCK_BYTES * BLOCK_BYTES;
        let read = self.file.read_at(BLOCK_BYTES as u64, wanted, &mut blocks);
        read.map_err(LogError::io(format!("reading {}", self.name)))?;
        Ok(marks::newest(blocks.bytes(), identity).map_or(Noted::Lost, Noted::Mark))
    }

    /// The head of the sound frame at `offset`, whose bytes are then in the chunk.
    fn sound_at(&mut self, offset: u64) -> Result<Option<Head>> {
        if offset + HEAD_BYTES as u64 > self.bytes {
            return Ok(None);
        }
        self.have(offset, HEAD_BYTES)?;
        let start = (offset - self.chunk_start) as usize;
        let Some(head) = self.chunk.bytes().get(start..start + HEAD_BYTES).and_then(Head::decode)
        else {
            return Ok(None);
        };
        let whole = HEAD_BYTES + head.stored_bytes();
        if head.position != offset
            || head.file != self.identity.tag()
            || offset + whole as u64 > self.bytes
        {
            return Ok(None);
        }
        self.have(offset, whole)?;
        let start = (offset - self.chunk_start) as usize;
        let Some(frame) = self.chunk.bytes().get(start..start + whole) else {
            return Ok(None);
        };
        let fits = head.fits(&self.identity, frame, &frame[HEAD_BYTES..]);
        Ok((fits || M::fault(&faults::NO_CHECKSUM)).then_some(head))
    }

    /// Sees to it that `count` bytes from `offset` on are in the chunk, if the file has them.
    fn have(&mut self, offset: u64, count: usize) -> Result<()> {
        debug_assert!(offset.is_multiple_of(BLOCK_BYTES as u64), "frames begin with a block");
        debug_assert!(offset + count as u64 <= self.bytes, "the file has them");
        let end = self.chunk_start + self.chunk.len() as u64;
        if offset >= self.chunk_start && offset + count as u64 <= end {
            return Ok(());
        }
        let kept = if (self.chunk_start..end).contains(&offset) { end - offset } else { 0 };
        // The end of a file that is no whole number of blocks is read anew.
        let kept = kept as usize / BLOCK_BYTES * BLOCK_BYTES;
        if kept > 0 {
            self.chunk.drop_front((offset - self.chunk_start) as usize);
        }
        self.chunk.truncate(kept);
        self.chunk_start = offset;
        let wanted = count.max(CHUNK_BYTES).min((self.bytes - offset) as usize);
        let read = self.file.read_at(
            offset + kept as u64,
            wanted.next_multiple_of(BLOCK_BYTES) - kept,
            &mut self.chunk,
        );
        read.map_err(LogError::io(format!("reading {}", self.name)))
    }

    /// Classifies the place where [`SegmentReader::next_frame`] found nothing. Looks at the rest of
    /// the file.
    ///
    /// # Errors
    /// The system's.
    pub fn judge(&mut self) -> Result<Damage> {
        let stopped = self.offset;
        let mut at = stopped + BLOCK_BYTES as u64;
        let mut torn = false;
        while at < self.bytes {
            if let Some(head) = self.sound_at(at)? {
                if head.synced > stopped {
                    return Ok(Damage::Lost { resumes_at: at });
                }
                torn = true;
                at += head.frame_bytes();
            } else {
                at += BLOCK_BYTES as u64;
            }
        }
        debug_assert!(self.offset == stopped, "whoever reads on reads on from there");
        Ok(Damage::End { torn: torn || self.looks_begun(stopped)? })
    }

    /// Whether the bytes at `offset` look like the beginning of a frame of this file.
    fn looks_begun(&mut self, offset: u64) -> Result<bool> {
        if offset + HEAD_BYTES as u64 > self.bytes {
            return Ok(false);
        }
        self.have(offset, HEAD_BYTES)?;
        let start = (offset - self.chunk_start) as usize;
        let head = self.chunk.bytes().get(start..start + HEAD_BYTES).and_then(Head::decode);
        let own = |head: Head| head.position == offset && head.file == self.identity.tag();
        Ok(head.is_some_and(own))
    }
}
