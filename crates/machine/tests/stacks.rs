//! Stacks are what a process can run out of: then groups are refused, and nothing else is harmed. By itself, since
//! it takes all that there are.
#![cfg(all(target_arch = "x86_64", not(miri)))]

use chiliad_machine::{MEMBERS_MAX, interleave};
use std::cell::Cell;

#[test]
fn threads_share_what_room_there_is_for_stacks() {
    // More than a process can have: some are refused, those that are not run to their end.
    let threads = chiliad_machine::stacks_max() / MEMBERS_MAX + 2;
    let barrier = std::sync::Barrier::new(threads);
    let ran: Vec<bool> = std::thread::scope(|scope| {
        let group = || {
            let first = Cell::new(true);
            let ran = interleave(MEMBERS_MAX, |_| {
                if first.replace(false) {
                    barrier.wait();
                }
            });
            if let Err(refused) = &ran {
                assert!(refused.to_string().contains("vm.max_map_count"), "{refused}");
                barrier.wait();
            }
            ran.is_ok()
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(group)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(ran.contains(&true) && ran.contains(&false), "{ran:?}");
    // What was given back is there again.
    assert!(interleave(4, |_| ()).is_ok());
}
