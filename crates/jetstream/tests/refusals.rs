//! Logs that are not opened: what is wrong is named. And a log that is made anew under those who have it open.

mod common;

use async_nats::jetstream;
use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, RetentionPolicy, StorageType};
use chiliad_jetstream::{JetStream, OpenError, Options};
use chiliad_machine::shared_log::{SharedLog, SharedLogError};
use common::Servers;
use std::future::Future;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What a client of the servers that is not ours does.
fn foreign<T, F: Future<Output = T>>(
    servers: &Servers,
    work: impl FnOnce(jetstream::Context) -> F,
) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = servers.url("x");
    let first = url.trim_start_matches("nats://").split(',').next().unwrap().to_owned();
    runtime.block_on(async {
        let client = async_nats::connect(first).await.unwrap();
        work(jetstream::new(client)).await
    })
}

/// The settings of the log `name`, as they were made.
fn settings(servers: &Servers, name: &str) -> Info {
    foreign(servers, async |context| context.get_stream(name).await.unwrap().cached_info().clone())
}

/// Removes the stream, and makes it with other settings.
fn make_anew(servers: &Servers, config: Config) {
    foreign(servers, async |context| {
        // It is not there at first.
        let _ = context.delete_stream(&config.name).await;
        context.create_stream(config).await.unwrap();
    });
}

#[test]
fn streams_with_other_settings_are_refused() {
    let Some(servers) = Servers::start("settings", 3) else { return };
    drop(servers.open("log"));
    let good = settings(&servers, "log").config;
    let change = |name: &'static str, change: fn(&mut Config)| {
        let mut config = good.clone();
        change(&mut config);
        (name, config)
    };
    let cases = [
        change("num_replicas is 1, needed is 3 or more", |it| it.num_replicas = 1),
        change("storage is Memory", |it| it.storage = StorageType::Memory),
        change("discard is Old", |it| it.discard = DiscardPolicy::Old),
        change("max_age is", |it| {
            it.max_age = Duration::from_secs(3600);
        }),
        change("retention is WorkQueue", |it| it.retention = RetentionPolicy::WorkQueue),
        change("max_msgs is 1000", |it| it.max_messages = 1000),
        change("max_msgs_per_subject is 1", |it| it.max_messages_per_subject = 1),
        change("max_consumers is 2", |it| it.max_consumers = 2),
        change("deny_delete is false", |it| it.deny_delete = false),
        change("deny_purge is true", |it| it.deny_purge = true),
        change("allow_rollup_hdrs is true", |it| it.allow_rollup = true),
        change("allow_msg_ttl is true", |it| it.allow_message_ttl = true),
        change("no_ack is true", |it| it.no_ack = true),
        change("first_seq is 5", |it| it.first_sequence = Some(5)),
        change("subjects is", |it| it.subjects = vec!["other".into()]),
        change("subjects is", |it| it.subjects.push("other".into())),
        change("metadata chiliad-format is \"\"", |it| it.metadata.clear()),
        change("metadata chiliad-format is \"2\"", |it| {
            it.metadata.insert("chiliad-format".into(), "2".into());
        }),
        change("metadata chiliad-identity is", |it| {
            it.metadata.insert("chiliad-identity".into(), "x".into());
        }),
    ];
    for (expected, config) in cases {
        make_anew(&servers, config);
        let error = JetStream::open(&servers.url("log"), Options::default()).unwrap_err();
        let line = error.to_string();
        assert!(matches!(error, OpenError::Refused { .. }), "{line}");
        assert!(line.contains("stream log") && line.contains(expected), "{line}\n{expected}");
        assert!(line.lines().count() == 1, "{line}");
    }
    make_anew(&servers, good);
    servers.open("log").append(&[b"good"]).unwrap();
}

#[test]
fn a_log_that_is_made_anew_is_another() {
    let Some(servers) = Servers::start("anew", 3) else { return };
    let options = || Options::default().deadline(Duration::from_secs(5));
    let open = || JetStream::open(&servers.url("log"), options()).unwrap();
    let (log, other) = (open(), open());
    let identity = log.identity().unwrap();
    assert_eq!(other.identity().unwrap(), identity);
    assert_ne!(servers.open("log-2").identity().unwrap(), identity);
    log.append(&[b"old"]).unwrap();
    // With the very same settings, the number that was drawn among them.
    let good = settings(&servers, "log").config;
    make_anew(&servers, good.clone());
    let damaged = |result: Result<(), SharedLogError>| {
        assert!(matches!(&result, Err(SharedLogError::Damaged(_))), "{result:?}");
    };
    damaged(log.bounds().map(|_| ()));
    damaged(log.identity().map(|_| ()));
    damaged(log.read(1, 1, Duration::ZERO, &mut |_, _| {}).map(|_| ()));
    assert_ne!(servers.open("log").identity().unwrap(), identity);
    // By opening it: what goes to the old one does not arrive in the new one.
    foreign(&servers, async |context| context.delete_stream("log").await.unwrap());
    let new = open();
    assert_ne!(new.identity().unwrap(), identity);
    damaged(log.append(&[b"late"]));
    assert_eq!(new.bounds().unwrap(), 1..1);
}

#[test]
fn those_who_open_at_once_make_one_log() {
    let Some(servers) = Servers::start("at-once", 3) else { return };
    let identities = std::thread::scope(|scope| {
        let open = || servers.open("log").identity().unwrap();
        let opening: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
        opening.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(identities.iter().all(|identity| *identity == identities[0]), "{identities:?}");
}

#[test]
fn a_log_that_was_rolled_back_is_damaged() {
    let Some(servers) = Servers::start("rolled-back", 1) else { return };
    let options = Options::default().replicas(1);
    let log = JetStream::open(&servers.url("log"), options).unwrap();
    log.append(&[b"one", b"two"]).unwrap();
    servers.script(&["stop"]);
    let copy = servers.directory.join("copy");
    let copy_tree = |from: &Path, to: &Path| {
        let done = Command::new("cp").arg("-R").args([from, to]).status().unwrap();
        assert!(done.success());
    };
    copy_tree(&servers.directory.join("n1"), &copy);
    servers.script(&["start", "1"]);
    log.append(&[b"three", b"four"]).unwrap();
    assert_eq!(log.bounds().unwrap(), 1..5);
    servers.script(&["kill", "1"]);
    std::fs::remove_dir_all(servers.directory.join("n1")).unwrap();
    copy_tree(&copy, &servers.directory.join("n1"));
    servers.script(&["start", "1"]);
    // At first it may be late; it says so in the end.
    let error = loop {
        if let Err(error) = log.bounds() {
            break error;
        }
    };
    assert!(matches!(&error, SharedLogError::Damaged(line) if line.contains("up to 4")), "{error}");
    let error = log.append(&[b"five"]).unwrap_err();
    assert!(
        matches!(&error, SharedLogError::Damaged(line) if line.contains("position 3")),
        "{error}"
    );
}

#[test]
fn servers_that_are_not_there_are_named() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = JetStream::open(&format!("nats://{closed}/log"), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Log(SharedLogError::Unavailable(_))), "{error}");
    assert!(error.to_string().contains(&closed.to_string()), "{error}");
    let error = JetStream::open("nats://a", Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Invalid(_)), "{error}");
    let long = Options::default().deadline(Duration::from_secs(600));
    let error = JetStream::open("nats://a/log", long).unwrap_err();
    assert!(matches!(error, OpenError::Invalid(_)), "{error}");
}

#[test]
fn a_minority_is_not_enough() {
    let Some(servers) = Servers::start("minority", 3) else { return };
    let options = || Options::default().deadline(Duration::from_secs(4));
    let log = JetStream::open(&servers.url("log"), options()).unwrap();
    log.append(&[b"one"]).unwrap();
    let url = servers.url("log");
    servers.script(&["kill", "1"]);
    servers.script(&["kill", "2"]);
    let error = log.append(&[b"two"]).unwrap_err();
    assert!(error.may_pass(), "{error}");
    // A leader without followers takes a while to notice.
    let error = loop {
        if let Err(error) = JetStream::open(&url, options()) {
            break error;
        }
    };
    let line = error.to_string();
    assert!(matches!(error, OpenError::Log(SharedLogError::Unavailable(_))), "{line}");
    let servers_named = url.trim_start_matches("nats://").split(['/', ',']).take(3);
    for server in servers_named {
        assert!(line.contains(server), "{line}: {server}");
    }
    servers.script(&["start", "3"]);
    let log = JetStream::open(&url, Options::default()).unwrap();
    log.append(&[b"three"]).unwrap();
    assert_eq!(common::read_all(&log, 1, 1).last().unwrap(), b"three");
}

#[test]
fn a_server_alone_makes_no_three_replicas() {
    let Some(servers) = Servers::start("alone", 1) else { return };
    let error = JetStream::open(&servers.url("log"), Options::default()).unwrap_err();
    assert!(error.to_string().contains("num_replicas"), "{error}");
    let options = || Options::default().replicas(1);
    let log = JetStream::open(&servers.url("log"), options()).unwrap();
    log.append(&[b"one"]).unwrap();
    assert_eq!(common::read_all(&log, 1, 1), [b"one"]);
    let error = JetStream::open(&servers.url("log"), Options::default()).unwrap_err();
    assert!(error.to_string().contains("num_replicas is 1, needed is 3 or more"), "{error}");
}

#[test]
fn servers_that_sync_now_and_then_are_refused() {
    let Some(servers) = Servers::start("sync", 3) else { return };
    let monitors = (1..=3).map(|n| servers.monitor(n)).collect::<Vec<_>>();
    let with = |monitors| Options::default().monitors(monitors);
    drop(JetStream::open(&servers.url("log"), with(monitors.clone())).unwrap());
    let lax = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = lax.local_addr().unwrap().to_string();
    let answer = std::thread::spawn(move || {
        let (mut connection, _) = lax.accept().unwrap();
        let _ = connection.read(&mut [0; 1024]).unwrap();
        let page = "HTTP/1.0 200 OK\r\n\r\n{\"config\": {\"sync_interval\": 120000000000}}";
        connection.write_all(page.as_bytes()).unwrap();
    });
    let one_lax = with([monitors, vec![address.clone()]].concat());
    let error = JetStream::open(&servers.url("log"), one_lax).unwrap_err();
    let line = error.to_string();
    assert!(line.contains(&address) && line.contains("sync_interval"), "{line}");
    answer.join().unwrap();
    // The listener is gone by now.
    let error = JetStream::open(&servers.url("log"), with(vec![address])).unwrap_err();
    assert!(matches!(error, OpenError::Log(SharedLogError::Unavailable(_))), "{error}");
}
