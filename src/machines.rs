//! `chiliad machines`: lists the simulated machines, shows one, or measures what stands in their files.

use crate::args::{CalibrateChildFlags, MachinesCommand, MachinesFlags};
use crate::jobs;
use chiliad_host::output::print;
use chiliad_host::{Sink, Stop};
use chiliad_lab::calibrate::{self, Priced};
use chiliad_lab::machines;

/// Runs `chiliad machines`.
pub fn run(flags: &MachinesFlags) -> Result<(), Stop> {
    if let Some(MachinesCommand::Calibrate(flags)) = &flags.command {
        let words = |case: usize, transactions: u64, drawn: bool| {
            let drawn = if drawn { " --drawn" } else { "" };
            let line =
                format!("calibrate-child --case {case} --transactions {transactions}{drawn}");
            line.split(' ').map(str::to_owned).collect()
        };
        let runner = calibrate::Runner { parse: &jobs::parse, child: &words };
        let priced = match flags.tasks {
            true => Priced::Tasks,
            false => Priced::Transactions,
        };
        return calibrate::run(priced, flags.out.as_deref(), runner);
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

/// The process whose instructions are counted.
pub fn child(flags: &CalibrateChildFlags) -> Result<(), Stop> {
    let result = calibrate::run_case(&jobs::parse, flags.case, flags.transactions, flags.drawn)?;
    print(&format!("{result}\n"))
}
