//! Positions in the changes of a database: between two of them, in the order in which a feed gives them.

use core::fmt;
use core::str::FromStr;

/// A place between two changes of a database: a feed that begins there gives the changes after it, each once.
///
/// It is printed as `DATABASE.INCARNATION.EPOCH.INDEX`, the first in hexadecimal, and parsed from that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// The number of the database; 0 in [`Position::START`].
    pub database: u128,
    /// The opening of the database in which the next change was committed, at the earliest.
    pub incarnation: u32,
    /// Its commit epoch, at the earliest.
    pub epoch: u64,
    /// The changes of that epoch that lie before the place.
    pub index: u64,
}

impl Position {
    /// The place before the first change of any database.
    pub const START: Self = Self { database: 0, incarnation: 0, epoch: 0, index: 0 };

    /// Whether changes up to this epoch of this incarnation lie behind the place, in part at least.
    #[must_use]
    pub fn is_within(&self, incarnation: u32, epoch: u64) -> bool {
        (self.incarnation, self.epoch) <= (incarnation, epoch)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, incarnation, epoch, index } = self;
        write!(f, "{database:032x}.{incarnation}.{epoch}.{index}")
    }
}

/// A text that is no position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadPosition(String);

impl fmt::Display for BadPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(f, "{text:?} is no position; accepted: DATABASE.INCARNATION.EPOCH.INDEX")
    }
}

impl std::error::Error for BadPosition {}

impl FromStr for Position {
    type Err = BadPosition;

    fn from_str(text: &str) -> Result<Self, BadPosition> {
        let parse = || {
            let mut parts = text.split('.');
            let database = u128::from_str_radix(parts.next()?, 16).ok()?;
            let incarnation = parts.next()?.parse().ok()?;
            let epoch = parts.next()?.parse().ok()?;
            let index = parts.next()?.parse().ok()?;
            let position = Self { database, incarnation, epoch, index };
            // One position, one text.
            (parts.next().is_none() && position.to_string() == text).then_some(position)
        };
        parse().ok_or_else(|| BadPosition(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_its_text() {
        let position = Position { database: 0xabc, incarnation: 3, epoch: 1207, index: 2 };
        let text = position.to_string();
        assert_eq!(text, "00000000000000000000000000000abc.3.1207.2");
        assert_eq!(text.parse(), Ok(position));
        assert_eq!(Position::START.to_string().parse(), Ok(Position::START));
        for bad in ["", "1.2.3", "1.2.3.4", "x.1.1.1", &format!("{text}.1"), &format!("{text} ")] {
            assert!(bad.parse::<Position>().is_err(), "{bad}");
        }
    }
}
