//! Lock modes, what they exclude and what they are together (Gray and Reuter, "Transaction Processing",
//! 1992, 7.8).
//!
//! |     | IS | IX | S | SIX | X |
//! | --- | --- | --- | --- | --- | --- |
//! | IS  | + | + | + | + | - |
//! | IX  | + | + | - | - | - |
//! | S   | + | - | + | - | - |
//! | SIX | + | - | - | - | - |
//! | X   | - | - | - | - | - |

/// How something is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Mode {
    /// Parts of it will be locked in `S`.
    Is = 1,
    /// Parts of it will be locked in `X`.
    Ix = 2,
    /// It will be read.
    S = 3,
    /// It will be read, and parts of it will be locked in `X`.
    Six = 4,
    /// It will be written.
    X = 5,
}

impl Mode {
    /// All of them, from weak to strong.
    pub const ALL: [Self; 5] = [Self::Is, Self::Ix, Self::S, Self::Six, Self::X];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Is => "IS",
            Self::Ix => "IX",
            Self::S => "S",
            Self::Six => "SIX",
            Self::X => "X",
        }
    }

    /// Whether it says something about parts only.
    #[must_use]
    pub const fn is_intention(self) -> bool {
        matches!(self, Self::Is | Self::Ix)
    }

    /// Whether another transaction may hold `other` of the same thing.
    #[must_use]
    pub const fn is_compatible(self, other: Self) -> bool {
        !self.conflicts().contains(other)
    }

    /// Whether a holder of this mode needs no `other` besides.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.join(other) as u8 == self as u8
    }

    /// The weakest mode that covers both.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ix, Self::S) | (Self::S, Self::Ix) => Self::Six,
            _ if self as u8 >= other as u8 => self,
            _ => other,
        }
    }

    /// The modes that exclude this one.
    #[must_use]
    pub(crate) const fn conflicts(self) -> Modes {
        let bits = match self {
            Self::Is => 0b10_0000,
            Self::Ix => 0b11_1000,
            Self::S => 0b11_0100,
            Self::Six => 0b11_1100,
            Self::X => 0b11_1110,
        };
        Modes(bits)
    }
}

/// Some of the modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Modes(u8);

impl Modes {
    /// None of them.
    pub const NONE: Self = Self(0);

    pub const fn contains(self, mode: Mode) -> bool {
        self.0 & 1 << mode as u8 != 0
    }

    pub const fn with(self, mode: Mode) -> Self {
        Self(self.0 | 1 << mode as u8)
    }

    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether one of these excludes one of the others.
    pub const fn meets(self, conflicts: Self) -> bool {
        self.0 & conflicts.0 != 0
    }
}

/// The tables above fit each other.
const _: () = {
    let mut pair = 0;
    while pair < Mode::ALL.len() * Mode::ALL.len() {
        let (one, other) = (Mode::ALL[pair / Mode::ALL.len()], Mode::ALL[pair % Mode::ALL.len()]);
        let both = one.join(other);
        assert!(one.is_compatible(other) == other.is_compatible(one), "exclusion is mutual");
        assert!(both.covers(one) && both.covers(other), "both at once are both");
        assert!(both as u8 == other.join(one) as u8, "in either order");
        assert!(both.conflicts().0 & one.conflicts().0 == one.conflicts().0, "and exclude as much");
        pair += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds() {
        let table = ["++++-", "++---", "+-+--", "+----", "-----"];
        for (mode, row) in Mode::ALL.into_iter().zip(table) {
            for (other, sign) in Mode::ALL.into_iter().zip(row.chars()) {
                assert_eq!(mode.is_compatible(other), sign == '+', "{mode:?} {other:?}");
                assert_eq!(mode.is_compatible(other), other.is_compatible(mode));
            }
        }
    }

    /// What is joined excludes what either excludes, and nothing weaker does.
    #[test]
    fn joins_are_least_upper_bounds() {
        for a in Mode::ALL {
            for b in Mode::ALL {
                let join = a.join(b);
                assert!(join.covers(a) && join.covers(b));
                assert_eq!(join, b.join(a));
                let both = a.conflicts().and(b.conflicts());
                assert!(both.0 & !join.conflicts().0 == 0, "{a:?} {b:?}");
                for upper in Mode::ALL.into_iter().filter(|it| it.covers(a) && it.covers(b)) {
                    assert!(upper.covers(join));
                }
            }
        }
    }
}
