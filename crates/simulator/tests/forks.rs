//! Child processes: what they see, send and lose. A program of its own: the only thread of a process forks,
//! and a test harness has several.

use chiliad_simulator::fork::{Heard, Lost, in_children};
use std::convert::Infallible;

/// What is heard of each child, in its order: its messages, and its end as it is shown.
fn heard(
    count: usize,
    at_once: usize,
    mut work: impl FnMut(usize) -> Vec<Vec<u8>>,
) -> Vec<(Vec<Vec<u8>>, Option<String>)> {
    let mut all = vec![(Vec::new(), None); count];
    let result = in_children(
        (count, at_once),
        || Ok(()),
        |number, sender| work(number).iter().for_each(|message| sender.send(message)),
        |number, heard| {
            match heard {
                Heard::Message(message) => all[number].0.push(message),
                Heard::End(end) => {
                    let end = end.err().map_or(String::new(), |lost| lost.to_string());
                    assert_eq!(all[number].1.replace(end), None, "one end of each");
                }
            }
            Ok::<(), Infallible>(())
        },
    );
    assert!(result.is_ok());
    all
}

fn a_child_has_its_parents_memory_and_writes_to_its_own() {
    let mut shared = vec![1_u8; 100_000];
    for at_once in [1, 3, 20] {
        let all = heard(10, at_once, |number| {
            shared[number] += number as u8;
            vec![vec![number as u8], shared.clone(), Vec::new()]
        });
        for (number, (messages, end)) in all.into_iter().enumerate() {
            let mut expected = vec![1_u8; 100_000];
            expected[number] += number as u8;
            assert_eq!(messages, [vec![number as u8], expected, Vec::new()]);
            assert_eq!(end.as_deref(), Some(""));
        }
        assert_eq!(shared, vec![1_u8; 100_000]);
    }
}

fn a_lost_child_is_said() {
    let all = heard(4, 2, |number| match number {
        0 => std::process::exit(7),
        1 => std::process::abort(),
        2 => panic!("on purpose"),
        _ => vec![b"here".to_vec()],
    });
    let ends: Vec<&str> = all.iter().filter_map(|(_, end)| end.as_deref()).collect();
    let [exited, aborted] = ["its process ended with status 7", "its process died by signal 6"];
    assert_eq!(ends, [exited, aborted, "its process panicked", ""]);
    assert_eq!(all[3].0, [b"here".to_vec()]);
}

fn who_gives_up_leaves_no_child() {
    let mut ended = 0;
    let result = in_children(
        (3, 3),
        || Ok(()),
        |number, sender| {
            sender.send(&std::process::id().to_le_bytes());
            if number > 0 {
                loop {
                    std::thread::park();
                }
            }
        },
        |_, heard| match heard {
            Heard::End(Ok(())) => {
                ended += 1;
                Err("enough")
            }
            Heard::End(Err(Lost::Host(error))) => panic!("{error}"),
            _ => Ok(()),
        },
    );
    assert_eq!((result, ended), (Err("enough"), 1));
    assert_eq!(std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default(), "");
}

fn main() {
    a_child_has_its_parents_memory_and_writes_to_its_own();
    a_lost_child_is_said();
    who_gives_up_leaves_no_child();
}
