//! `chiliad recover`: what a directory holds, whether it is sound, and what can be saved of it.

use crate::args::RecoverFlags;
use chiliad::{Database, Options, Phase, Recovered};
use chiliad_host::{Sink, Stop, limit};
use chiliad_rig::directory::{Bar, Inspected, Salvaged, refusal, whole_or_not_at_all};

/// Inspects a directory, or salvages it.
pub fn run(flags: &RecoverFlags) -> Result<(), Stop> {
    let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
    let directory = &flags.directory;
    let bar = Bar::new(flags.quiet);
    let show = |phase, done, of| bar.show(phase, done, of);
    let refuse = |error| refusal(directory, &error);
    let (text, json) = match &flags.salvage {
        None => {
            let contents = &chiliad::directory::inspect(directory, &show).map_err(refuse)?;
            let rebuilt = flags.rebuild.then(|| rebuild(flags, &show)).transpose()?;
            let inspected = Inspected { directory, contents, rebuilt: rebuilt.as_ref() };
            (inspected.text(), inspected.json())
        }
        Some(to) => {
            let salvage = || chiliad::directory::salvage(directory, to, &show);
            let saved = &whole_or_not_at_all(to, salvage).map_err(refuse)?;
            let salvaged = Salvaged { from: directory, to, saved };
            (salvaged.text(), salvaged.json())
        }
    };
    drop(bar);
    sink.say(&text)?;
    sink.json(&json)?;
    sink.finish()
}

/// Opens the directory for reading and says what that took.
fn rebuild(
    flags: &RecoverFlags,
    show: &(dyn Fn(Phase, u64, u64) + Sync),
) -> Result<Recovered, Stop> {
    let ready = flags.memory_ready.unwrap_or(0);
    limit::check_memory("--memory-ready", ready)?;
    let options = Options::default()
        .read_only(true)
        .recovery_threads(flags.threads.unwrap_or(0))
        .memory_bytes_ready(ready);
    let opened = Database::open_watched(&flags.directory, options, show)
        .map_err(|error| refusal(&flags.directory, &error))?;
    Ok(opened.recovered().expect("it was opened from a directory").clone())
}
