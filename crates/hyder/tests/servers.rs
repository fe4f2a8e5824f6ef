//! Servers of one log from outside: what they refuse and accept.

use chiliad_api::{Error, Intent, Result, Store, TableId, TableSpec};
use chiliad_hyder::{Certifier, Group, Hyder, Level, RollOptions, ServerOptions};
use chiliad_machine::Interleaved;
use chiliad_machine::shared_log::SharedLog;
use chiliad_simulator::{FaultyLog, LogFaults};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

type Server = Hyder<Interleaved>;

fn join(log: &FaultyLog, server: u32, roll: RollOptions) -> Result<Server> {
    let log: Arc<dyn SharedLog> = log.server(server);
    Server::join(log, ServerOptions { roll, ..ServerOptions::default() })
}

fn small_records() -> FaultyLog {
    FaultyLog::new(1, LogFaults { record_bytes_max: 300, ..LogFaults::default() })
}

fn insert(server: &Server, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
    let mut session = server.session()?;
    session.start(&Intent::default())?;
    session.insert(table, key, value)?;
    session.commit().map(|_| ())
}

fn value(server: &Server, table: TableId, key: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut session = server.session()?;
    session.start(&Intent { read_only: true, ..Intent::default() })?;
    let row = session.get(table, key)?;
    let value = row.map(|row| session.bytes(row).map(<[u8]>::to_vec)).transpose()?;
    session.commit()?;
    Ok(value)
}

#[test]
fn one_that_would_judge_otherwise_is_refused_before_it_appends() {
    let log = FaultyLog::new(1, LogFaults::default());
    let first = join(&log, 0, RollOptions::default()).expect("a server");
    first.create_table(TableSpec::ordered("rows")).expect("a table");
    let other_level = RollOptions { level: Level::Snapshot, ..RollOptions::default() };
    let other_window = RollOptions { window: 7, ..RollOptions::default() };
    let records = log.contents().len();
    for roll in [other_level, other_window] {
        let Err(refused) = join(&log, 1, roll).map(|_| ()) else { panic!("{roll:?} is taken") };
        assert!(matches!(refused, Error::LogRefused { .. }), "{refused}");
        let told = refused.to_string();
        assert!(told.contains("its servers judge by isolation serializable"), "{told}");
        assert_eq!(log.contents().len(), records, "something was appended");
    }
    join(&log, 2, RollOptions { pipeline: 3, ..RollOptions::default() }).expect("the same rules");
}

#[test]
fn one_whose_verdicts_depend_on_pairs_is_refused() {
    let log = FaultyLog::new(1, LogFaults::default());
    let roll = RollOptions { certifier: Certifier::Meld, group: Group::Fate, ..Default::default() };
    let Err(refused) = join(&log, 0, roll).map(|_| ()) else { panic!("it is taken") };
    assert!(matches!(refused, Error::InvalidOption(_)), "{refused}");
    assert!(log.contents().is_empty(), "something was appended");
}

#[test]
fn a_transaction_larger_than_a_record_commits_on_all_servers() {
    let log = small_records();
    let one = join(&log, 0, RollOptions::default()).expect("a server");
    let other = join(&log, 1, RollOptions::default()).expect("a server");
    let table = one.create_table(TableSpec::ordered("rows")).expect("a table");
    for bytes in [1, 200, 283, 284, 5_000, 100_000] {
        let (key, large) = (format!("{bytes}").into_bytes(), vec![bytes as u8; bytes]);
        insert(&one, table, &key, &large).expect("a commit");
        assert_eq!(value(&other, table, &key).expect("a look"), Some(large), "{bytes} bytes");
    }
    assert_eq!(one.digest(), other.digest());
    assert!(log.contents().iter().all(|(_, record)| record.len() <= 300));
}

#[test]
fn one_that_no_server_decodes_is_refused_before_the_append() {
    let log = small_records();
    let server = join(&log, 0, RollOptions::default()).expect("a server");
    let table = server.create_table(TableSpec::ordered("rows")).expect("a table");
    let records = log.contents().len();
    let mut session = server.session().expect("a session");
    session.start(&Intent::default()).expect("begun");
    let large = vec![7; 1 << 20];
    for key in 0..17_u8 {
        session.insert(table, &[key], &large).expect("in memory");
    }
    let Err(refused) = session.commit() else { panic!("17 MiB are taken") };
    assert!(matches!(refused, Error::TransactionTooLarge { .. }), "{refused}");
    assert_eq!(log.contents().len(), records, "something was appended");
    drop(session);
    insert(&server, table, b"next", b"1").expect("the server goes on");
}

#[test]
fn a_catalog_that_fits_into_no_record_is_refused() {
    let log = small_records();
    let server = join(&log, 0, RollOptions::default()).expect("a server");
    let refused = server.create_table(TableSpec::ordered(&"t".repeat(250)));
    assert!(matches!(refused, Err(Error::TransactionTooLarge { .. })), "{refused:?}");
    server.create_table(TableSpec::ordered("rows")).expect("a table");
}

#[test]
fn threads_play_the_stages() {
    for pipeline in 1..=4 {
        let log = FaultyLog::new(1, LogFaults::default());
        let roll = RollOptions { pipeline, ..RollOptions::default() };
        let server = join(&log, 0, roll).expect("a server");
        let table = server.create_table(TableSpec::ordered("rows")).expect("a table");
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let tasks = server.tasks();
            assert_eq!(tasks.len(), 1 + pipeline as usize);
            for task in tasks {
                let over = &over;
                scope.spawn(move || {
                    let task: Box<dyn chiliad_api::LogTask<Interleaved>> = Box::new(task);
                    task.run(&|| over.load(Ordering::Acquire), &|| {});
                });
            }
            let clients: Vec<_> = (0..3_u8)
                .map(|client| {
                    let server = server.clone();
                    scope.spawn(move || {
                        for number in 0..100_u8 {
                            insert(&server, table, &[client, number], &[number]).expect("a commit");
                        }
                    })
                })
                .collect();
            clients.into_iter().for_each(|client| client.join().expect("a client"));
            over.store(true, Ordering::Release);
        });
        // Sessions do the work from here on.
        insert(&server, table, b"last", b"").expect("a commit");
        let other = join(&log, 1, RollOptions::default()).expect("a server");
        assert_eq!(value(&other, table, &[2, 99]).expect("a look"), Some(vec![99]));
        assert_eq!(value(&other, table, b"last").expect("a look"), Some(Vec::new()));
        assert_eq!(value(&server, table, &[0, 0]).expect("a look"), Some(vec![0]));
    }
}
