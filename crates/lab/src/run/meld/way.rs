//! The ways to decide intentions that are measured side by side.

use chiliad_driver::{Certifier, Group, Level, MeldSetting, Premeld, RollOptions};

/// A way to decide intentions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Overlays built on the state that was read, and melded with the newest.
    Base,
    /// With group meld.
    Group,
    /// With premeld.
    Premeld,
    /// With both.
    Both,
    /// With group meld of intentions that share their fate, as in the paper: other verdicts than those of the other ways.
    Fate,
    /// With premeld, and then with group meld of intentions that share their fate.
    PremeldFate,
    /// Overlays built on the newest state at once.
    Fused,
    /// The same, descents overlapped.
    FusedOverlapped,
    /// No overlays: keys looked up and written in the newest state.
    Plain,
    /// The same, descents overlapped.
    Overlapped,
    /// Keys looked up in a table of the last writers, writes applied to the newest state.
    Window,
    /// The same, descents overlapped.
    WindowOverlapped,
}

impl Way {
    /// The name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Group => "group",
            Self::Premeld => "premeld",
            Self::Both => "both",
            Self::Fate => "fate",
            Self::PremeldFate => "premeld-fate",
            Self::Fused => "fused",
            Self::FusedOverlapped => "fused-overlapped",
            Self::Plain => "plain",
            Self::Overlapped => "overlapped",
            Self::Window => "window",
            Self::WindowOverlapped => "window-overlapped",
        }
    }

    /// Whether it comes to the verdicts that a serial order of the intentions has. Those that share their fate have
    /// verdicts of their own.
    #[must_use]
    pub fn is_exact(self) -> bool {
        !matches!(self, Self::Fate | Self::PremeldFate)
    }

    /// The setting, where intentions depend on what `level` says and premeld has so many threads at such a distance.
    pub(super) fn setting(self, level: Level, (threads, distance): (u32, u32)) -> MeldSetting {
        let fixed = Premeld::Fixed { threads, distance };
        let plain = RollOptions { level, overlap: false, ..RollOptions::default() };
        let meld = RollOptions { certifier: Certifier::Meld, ..plain };
        let window = RollOptions { certifier: Certifier::Window, ..plain };
        let roll = match self {
            Self::Base | Self::Fused => meld,
            Self::Group => RollOptions { group: Group::Exact, ..meld },
            Self::Premeld => RollOptions { premeld: fixed, ..meld },
            Self::Both => RollOptions { premeld: fixed, group: Group::Exact, ..meld },
            Self::Fate => RollOptions { group: Group::Fate, ..meld },
            Self::PremeldFate => RollOptions { premeld: fixed, group: Group::Fate, ..meld },
            Self::FusedOverlapped => RollOptions { overlap: true, ..meld },
            Self::Plain => plain,
            Self::Overlapped => RollOptions { overlap: true, ..plain },
            Self::Window => window,
            Self::WindowOverlapped => RollOptions { overlap: true, ..window },
        };
        MeldSetting { roll, fused: matches!(self, Self::Fused | Self::FusedOverlapped) }
    }
}
