//! The process that is killed, from its words: `chiliad crash-child`.

use crate::args::ChildFlags;
use crate::directory::refusal;
use crate::threads;
use chiliad_host::Stop;
use chiliad_rig::kill::{Trouble, Victim};

/// Runs until it is killed or asked to end.
pub fn child(flags: &ChildFlags) -> Result<(), Stop> {
    let scheme = flags.scheme.parse().map_err(|error| refusal(&flags.data, &error))?;
    let victim = Victim {
        data: &flags.data,
        work: flags.workload.work(),
        threads: flags.threads,
        scheme,
        acknowledges: flags.durability.acknowledges(flags.plant),
        seed: flags.seed,
        cycle: flags.cycle,
        checkpoints: flags.checkpoints,
    };
    victim.run().map_err(|trouble| match trouble {
        Trouble::Database(error) => refusal(&flags.data, &error),
        Trouble::Pipe(error) => Stop::bad("standard output", error),
        Trouble::NoThread(error) => threads::refused(error),
    })
}
