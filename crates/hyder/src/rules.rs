//! The rules by which all servers of a log must judge: those of the first server that has joined it.

use crate::options::Level;
use chiliad_log::codec::Decoder;
use core::fmt;

/// The rules that decide verdicts, beside the version of the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    pub level: Level,
    pub window: u64,
}

/// The item of a server that joins: a number by which it knows its own record, and its rules.
///
/// ```text
/// 16 bytes nonce | u8 level (0 serializable, 1 snapshot) | u64 window
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    pub nonce: [u8; 16],
    pub rules: Rules,
}

impl Rules {
    /// Appends them to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.level == Level::Snapshot));
        out.extend_from_slice(&self.window.to_le_bytes());
    }

    /// Reads what [`Rules::encode`] has written; `None` if the bytes are something else.
    pub fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let level = match from.u8()? {
            0 => Level::Serializable,
            1 => Level::Snapshot,
            _ => return None,
        };
        Some(Self { level, window: from.u64()? })
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Serializable => "serializable",
            Level::Snapshot => "snapshot",
        };
        write!(f, "isolation {level} and a window of {}", self.window)
    }
}

impl Joined {
    /// Its bytes in an item.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.nonce.to_vec();
        self.rules.encode(&mut out);
        out
    }

    /// Reads what [`Joined::encode`] has written; `None` if the bytes are something else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder::new(bytes);
        let nonce = from.bytes(16)?.try_into().ok()?;
        let joined = Self { nonce, rules: Rules::decode(&mut from)? };
        from.is_empty().then_some(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back() {
        for level in [Level::Serializable, Level::Snapshot] {
            let joined = Joined { nonce: [7; 16], rules: Rules { level, window: 1 << 20 } };
            let bytes = joined.encode();
            assert_eq!(Joined::decode(&bytes), Some(joined));
            for end in 0..bytes.len() {
                assert_eq!(Joined::decode(&bytes[..end]), None, "{end}");
            }
        }
    }
}
