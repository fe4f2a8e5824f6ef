//! The part of `crash` that databases in directories and servers of a shared log have in common: the words of a process
//! that is killed, and the report.

use crate::args::{CRASH_PLANTS, CrashFlags, typed};
use chiliad::Error;
use chiliad_host::output::complain;
use chiliad_host::{Sink, Stop, threads};
use chiliad_lab::BUILD;
use chiliad_rig::kill::Trouble;
use serde_json::{Value, json};
use std::ffi::OsString;

/// The words of a process of a cycle: `line`, the words that all have, and then `rest`.
pub fn words(
    flags: &CrashFlags,
    line: &str,
    (threads, cycle, checkpoints): (usize, u64, bool),
    rest: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let line = format!("{line} --threads {threads} --seed {} --cycle {cycle}", flags.seed);
    let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    words.extend(rest);
    if checkpoints {
        words.push("--checkpoints".into());
    }
    if let Some(plant) = &flags.plant {
        words.extend(["--plant".into(), typed(CRASH_PLANTS, plant).into()]);
    }
    words
}

/// The results of the cycles.
pub struct Told {
    pub text: String,
    pub json: Value,
    /// Something was found amiss, or the cycles could not be run to their end.
    pub failed: bool,
    pub failure: Option<Stop>,
    /// Where what was found amiss can be looked at.
    pub kept: String,
}

/// Reports it.
pub fn tell(mut sink: Sink, told: Told) -> Result<(), Stop> {
    match told.failed {
        true => complain(&told.text),
        false => sink.say(&told.text)?,
    }
    let mut json = told.json;
    json["build"] = json!(BUILD);
    sink.json(&json)?;
    sink.finish()?;
    match told.failure {
        None => Ok(()),
        Some(Stop::Failed(text)) => Err(Stop::Failed(format!("{text}\n{}", told.kept))),
        Some(other) => Err(other),
    }
}

/// Why a process that is killed has ended by itself; `refusal` says it of the database.
pub fn ended(trouble: Trouble, refusal: impl FnOnce(&Error) -> Stop) -> Stop {
    match trouble {
        Trouble::Database(error) => refusal(&error),
        Trouble::Pipe(error) => Stop::bad("standard output", error),
        Trouble::NoThread(error) => threads::refused(error),
    }
}
