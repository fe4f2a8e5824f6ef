//! `chiliad machines`: lists the simulated machines, shows one, or measures what stands in their files.

mod calibrate;

use crate::args::{MachinesCommand, MachinesFlags};
use chiliad_host::{Sink, Stop};
use chiliad_lab::machines;

/// Runs `chiliad machines`.
pub fn run(flags: &MachinesFlags) -> Result<(), Stop> {
    if let Some(MachinesCommand::Calibrate(flags)) = &flags.command {
        return calibrate::run(flags);
    }
    let mut sink = Sink::new(flags.json.as_deref(), false)?;
    let (text, json) = match &flags.machine {
        Some(machine) => {
            let machine = machines::named(machine)?;
            (machines::file::write(&machine), machines::as_json(&machine))
        }
        None => machines::list()?,
    };
    sink.say(&text)?;
    sink.json(&json)?;
    sink.finish()
}
