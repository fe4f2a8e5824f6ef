//! How the system shares cores between a server's threads and others: told by a procedure, which runs on such a thread.

use crate::common::{connect, local, run_for};
use chiliad::Database;
use chiliad_server::Server;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The policy and the niceness of the calling thread.
fn policy_and_niceness() -> [i64; 2] {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux tells");
    // The name, in parentheses, is the second field.
    let (_, rest) = stat.rsplit_once(") ").expect("a name");
    let fields: Vec<_> = rest.split(' ').collect();
    [41, 19].map(|field| fields[field - 3].parse().expect("a number"))
}

#[test]
fn threads_that_serve_wait_their_turn_and_no_others() {
    const OTHER: i64 = 0;
    const BATCH: i64 = 3;
    let before = policy_and_niceness();
    if before[0] != OTHER {
        return println!("skipped: started under policy {}", before[0]);
    }
    let asks = || chiliad_machine::set_slice(Duration::from_millis(1));
    if let Err(why) = std::thread::spawn(asks).join().expect("no panic") {
        return println!("skipped: the system says: {why}");
    }
    run_for(60, async move {
        let told = Arc::new(Mutex::new(Vec::new()));
        let tells = Arc::clone(&told);
        let db = Database::in_memory().expect("opens");
        let server = Server::builder(db).listen(local()).threads(2);
        let running = server
            .procedure("policy", move |_, (): ()| {
                tells.lock().expect("fine").push(policy_and_niceness());
                Ok(())
            })
            .start()
            .expect("it starts");
        for _ in 0..2 {
            connect(&running).await.batch_execute("CALL policy()").await.expect("called");
        }
        running.shutdown();
        let told = told.lock().expect("fine");
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|it| *it == [BATCH, before[1]]), "{told:?}");
    });
    assert_eq!(policy_and_niceness(), before, "the application's own thread");
}
