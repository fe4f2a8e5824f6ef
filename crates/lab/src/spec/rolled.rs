//! The names of the ways to roll a shared log forward, as results and command lines have them.

use chiliad_driver::{Certifier, Group, Level, Premeld};

/// How the verdict on an intention is found.
#[must_use]
pub fn certifier_name(certifier: Certifier) -> &'static str {
    match certifier {
        Certifier::Plain => "plain",
        Certifier::Meld => "meld",
        Certifier::Window => "window",
    }
}

/// The premeld setting, as results have it.
#[must_use]
pub fn premeld_name(premeld: Premeld) -> String {
    match premeld {
        Premeld::Off => "off".into(),
        Premeld::Newest => "newest".into(),
        Premeld::Fixed { threads, distance } => format!("{threads},{distance}"),
    }
}

/// Whether two intentions are melded into one first.
#[must_use]
pub fn group_name(group: Group) -> &'static str {
    match group {
        Group::Off => "off",
        Group::Exact => "exact",
        Group::Fate => "fate",
    }
}

/// The isolation level, as results have it.
#[must_use]
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::Serializable => "serializable",
        Level::Snapshot => "snapshot",
    }
}
