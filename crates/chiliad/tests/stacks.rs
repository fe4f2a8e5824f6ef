//! Where there is no room for stacks, calls that want several transactions in flight are refused, and all else goes
//! on. By itself, since it takes all the stacks that a process can have.
#![cfg(all(target_arch = "x86_64", not(miri)))]

use chiliad::{Database, Error, Result, RunOptions, Table};
use chiliad_machine::{MEMBERS_MAX, interleave, stacks_max};
use std::cell::Cell;
use std::sync::Barrier;

#[test]
fn calls_without_room_are_refused_and_the_database_goes_on() -> Result<()> {
    let db = Database::in_memory()?;
    let table: Table<u64, u64> = db.create_table("numbers")?;
    let each = || db.run_each(0..20, |tx, number| tx.get(&table, number));
    let queue = db.queue(10)?;
    let holders = stacks_max() / MEMBERS_MAX;
    let (taken, tried) = (Barrier::new(holders + 1), Barrier::new(holders + 1));
    std::thread::scope(|scope| {
        for _ in 0..holders {
            scope.spawn(|| {
                let first = Cell::new(true);
                let held = interleave(MEMBERS_MAX, |_| {
                    if first.replace(false) {
                        taken.wait();
                        tried.wait();
                    }
                });
                assert!(held.is_ok());
            });
        }
        taken.wait();
        // The address space that is left does not hold this many stacks.
        let many = RunOptions::default().in_flight(MEMBERS_MAX);
        let refused = db.run_each_with(&many, 0..1000, |tx, number| tx.get(&table, number));
        let served = queue.serve(MEMBERS_MAX);
        let alone = db.run(|tx| tx.insert(&table, &1, &1));
        tried.wait();
        assert!(
            matches!(&refused, Err(Error::HostExhausted(why)) if why.contains("stack")),
            "{refused:?}"
        );
        assert!(matches!(&served, Err(Error::HostExhausted(_))), "{served:?}");
        assert_eq!(alone, Ok(()));
    });
    assert_eq!(each()?[1], Ok(Some(1)));
    Ok(())
}
