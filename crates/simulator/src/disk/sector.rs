//! Sectors, the unit in which a write survives a loss of power or does not.

use std::sync::Arc;

/// Bytes per sector.
pub(super) const SECTOR_BYTES: usize = 512;

pub(super) type Bytes = [u8; SECTOR_BYTES];

/// The bytes of a sector of a file. They are shared between the cache, what is pending and what is
/// durable, so that writing and copying a disk are cheap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Sector {
    /// The file is as long as that, but nothing ever got here.
    Hole,
    Zeros,
    Bytes(Arc<Bytes>),
}

impl Sector {
    pub(super) fn to_bytes(&self) -> Bytes {
        match self {
            Self::Hole | Self::Zeros => [0; SECTOR_BYTES],
            Self::Bytes(bytes) => **bytes,
        }
    }

    pub(super) fn from_bytes(bytes: Bytes) -> Self {
        Self::Bytes(Arc::new(bytes))
    }

    /// Turns over one bit.
    pub(super) fn flip(&mut self, byte: usize, bit: u8) {
        let mut bytes = self.to_bytes();
        bytes[byte] ^= 1 << (bit % 8);
        *self = Self::from_bytes(bytes);
    }
}

/// The sectors of `bytes`, a multiple of a sector's.
pub(super) fn sectors(bytes: &[u8]) -> Vec<Sector> {
    let (whole, _) = bytes.as_chunks::<SECTOR_BYTES>();
    whole.iter().map(|bytes| Sector::from_bytes(*bytes)).collect()
}

/// Reads from `offset` until `buffer` is full or the sectors end; returns how many bytes.
pub(super) fn read(sectors: &[Sector], offset: u64, buffer: &mut [u8]) -> usize {
    let mut at = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut read = 0;
    while read < buffer.len()
        && let Some(sector) = sectors.get(at / SECTOR_BYTES)
    {
        let bytes = &sector.to_bytes()[at % SECTOR_BYTES..];
        let count = bytes.len().min(buffer.len() - read);
        buffer[read..read + count].copy_from_slice(&bytes[..count]);
        read += count;
        at += count;
    }
    read
}
