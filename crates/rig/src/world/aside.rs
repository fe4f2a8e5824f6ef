//! A table that any server creates and drops while all run, and clients that write to it meanwhile.

use chiliad_api::{Error, Result, Store, TableId, TableSpec, Transaction};
use chiliad_hyder::Hyder;
use chiliad_machine::Machine;
use chiliad_simulator::Sim;
use chiliad_workload::random::Random;

/// The name of the table.
const NAME: &str = "aside";

/// Its keys.
const KEYS: u32 = 6;

/// One visit in so many drops it.
const DROPPED_ONE_IN: u32 = 5;

/// The purpose of a transaction.
pub(super) type Body<'b> = dyn FnMut(&mut dyn Transaction) -> Result<()> + 'b;

/// Runs a transaction once.
type RunOnce<'r> = dyn FnMut(&mut Body<'_>) -> Result<()> + 'r;

/// Creates the table, writes to it, or drops it. Others may do the same, or the opposite.
pub(super) fn visit(hyder: &Hyder<Sim>, random: &mut Random, run: &mut RunOnce<'_>) -> Result<()> {
    let done = match hyder.table(NAME) {
        Err(Error::UnknownTable(_)) => hyder.create_table(TableSpec::ordered(NAME)).map(|_| ()),
        Ok(_) if random.below(DROPPED_ONE_IN) == 0 => {
            Sim::mark("table dropped beside writers");
            hyder.drop_table(NAME)
        }
        Ok(table) => write(table, random, run),
        Err(error) => Err(error),
    };
    match done {
        Err(Error::UnknownTable(_) | Error::TableExists(_)) => Ok(()),
        Err(error) if error.is_retryable() => Ok(()),
        done => done,
    }
}

fn write(table: TableId, random: &mut Random, run: &mut RunOnce<'_>) -> Result<()> {
    let [one, other] = [random.below(KEYS), random.below(KEYS)];
    let value = random.bits().to_be_bytes();
    run(&mut |tx| {
        let is_there = tx.get(table, &one.to_be_bytes())?.is_some();
        match tx.get(table, &other.to_be_bytes())? {
            Some(row) if is_there => tx.remove_row(row),
            _ => tx.put(table, &other.to_be_bytes(), &value),
        }
    })
}
