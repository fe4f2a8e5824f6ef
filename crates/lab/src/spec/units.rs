//! The ways in which transactions are ordered tasks, as results have them.

use chiliad_driver::Form;
use chiliad_simulator::{Aborts, Canary, CommitEntry, Place, SetKind, TaskOptions};

/// The name of a form in results.
pub(super) fn form_name(form: Form) -> &'static str {
    match form {
        Form::One => "one",
        Form::Fine => "fine",
    }
}

/// How task units work, by the names of their switches.
pub(super) fn unit_names(units: &TaskOptions) -> [(&'static str, &'static str); 5] {
    let sets = match units.sets {
        SetKind::Bloom => "bloom",
        SetKind::Precise => "precise",
    };
    let aborts = match units.aborts {
        Aborts::Selective => "selective",
        Aborts::All => "all",
    };
    let place = match units.place {
        Place::Random => "random",
        Place::Hint => "hint",
    };
    let canary = match units.canary {
        Canary::Set => "set",
        Canary::Line => "line",
    };
    let commit_entry = match units.commit_entry {
        CommitEntry::Finish => "finish",
        CommitEntry::Dequeue => "dequeue",
    };
    [
        ("sets", sets),
        ("aborts", aborts),
        ("place", place),
        ("canary", canary),
        ("commit_entry", commit_entry),
    ]
}
