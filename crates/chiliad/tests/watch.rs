//! What a database tells a subscriber and a recorder: the features `tracing` and `metrics`.

use chiliad::{Database, Durability, Error, Options, RunOptions, Scheme, Table};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};

/// Keeps the value of each counter and gauge, and counts what histograms are given.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<BTreeMap<String, Arc<Value>>>>);

#[derive(Default)]
struct Value(AtomicU64);

impl Kept {
    fn of(&self, key: &Key) -> Arc<Value> {
        let labels = key.labels().filter(|label| label.key() != "database");
        let labels = labels.map(|label| format!(" {}={}", label.key(), label.value()));
        let name = key.name().to_owned() + &labels.collect::<String>();
        Arc::clone(self.0.lock().unwrap().entry(name).or_default())
    }

    fn value(&self, name: &str) -> u64 {
        let kept = self.0.lock().unwrap();
        let known = || kept.keys().cloned().collect::<Vec<_>>();
        kept.get(name)
            .unwrap_or_else(|| panic!("{name} of {:?}", known()))
            .0
            .load(Ordering::Relaxed)
    }
}

impl CounterFn for Value {
    fn increment(&self, value: u64) {
        self.0.fetch_add(value, Ordering::Relaxed);
    }
    fn absolute(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

impl GaugeFn for Value {
    fn increment(&self, _: f64) {}
    fn decrement(&self, _: f64) {}
    fn set(&self, value: f64) {
        self.0.store(value as u64, Ordering::Relaxed);
    }
}

impl HistogramFn for Value {
    fn record(&self, seconds: f64) {
        assert!((0.0..60.0).contains(&seconds), "{seconds}");
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Recorder for Kept {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.of(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.of(key))
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.of(key))
    }
}

/// Keeps the names of spans and the texts of events, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        *self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl Subscriber for Told {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("chiliad")
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut told = self.0.lock().unwrap();
        told.push(span.metadata().name().to_owned());
        Id::from_u64(told.len() as u64)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut text = event.metadata().level().to_string();
        event.record(&mut Text(&mut text));
        self.0.lock().unwrap().push(text);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// One after the other: what a subscriber on one thread wants to hear is remembered for all of them.
#[test]
fn a_database_is_watched() {
    a_subscriber_hears_of_what_a_database_does();
    a_recorder_has_the_numbers();
}

fn a_subscriber_hears_of_what_a_database_does() {
    let path = std::env::temp_dir().join(format!("chiliad-watch-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let told = Told::default();
    tracing::subscriber::with_default(told.clone(), || {
        let db = Database::open(&path).unwrap();
        let table: Table<u64, u64> = db.create_table("rows").unwrap();
        db.run(|tx| tx.insert(&table, &1, &1)).unwrap();
        db.checkpoint().unwrap();
        let once = RunOptions::default().retries_max(0);
        let refused = db.run_with(&once, |tx| {
            tx.get(&table, &1)?;
            std::thread::scope(|scope| {
                scope.spawn(|| db.run(|tx| tx.put(&table, &1, &2)).unwrap());
            });
            tx.put(&table, &2, &3)
        });
        assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
        db.close().unwrap();
    });
    std::fs::remove_dir_all(&path).unwrap();
    let told = told.0.lock().unwrap();
    let spans = ["chiliad.open", "chiliad.recovery", "chiliad.checkpoint", "chiliad.close"];
    let heard: Vec<&str> =
        told.iter().map(String::as_str).filter(|it| spans.contains(it)).collect();
    assert_eq!(heard, spans, "{told:?}");
    assert!(told.iter().any(|it| it.starts_with("INFO") && it.contains("recovered")), "{told:?}");
    let warned = told.iter().find(|it| it.starts_with("WARN")).expect("a warning");
    assert!(warned.contains("ran out of retries") && warned.contains("read_changed"), "{warned}");
}

fn a_recorder_has_the_numbers() {
    let path = std::env::temp_dir().join(format!("chiliad-recorder-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let kept = Kept::default();
    metrics::with_local_recorder(&kept.clone(), || {
        let options = Options::default().scheme(Scheme::default()).durability(Durability::Sync);
        let db = Database::open_with(&path, options).unwrap();
        let table: Table<u64, u64> = db.create_table("rows").unwrap();
        // A thread hands its workers' counts over when it ends.
        std::thread::scope(|scope| scope.spawn(|| conflict_once(&db, table)).join().unwrap());
        db.publish_metrics();
        assert!(kept.value("chiliad_committed") >= 22);
        assert_eq!(kept.value("chiliad_aborts reason=read_changed"), 1);
        assert_eq!(kept.value("chiliad_table_aborts table=rows reason=read_changed"), 1);
        assert!(kept.value("chiliad_commit_seconds") >= 21);
        assert!(kept.value("chiliad_durable_wait_seconds") >= 21);
        assert!(kept.value("chiliad_log_bytes") > 0);
        assert!(kept.value("chiliad_memory_reserved_bytes") > 0);
        assert_eq!(kept.value("chiliad_log_failed"), 0);
        let snapshot = db.snapshot(|snapshot| {
            snapshot.get(&table, &1)?;
            db.publish_metrics();
            Ok(kept.value("chiliad_snapshot_lag_epochs"))
        });
        assert!(snapshot.is_ok());
        assert_eq!(kept.value("chiliad_snapshot_age_seconds"), 0, "none was open");
        let mut old = db.open_snapshot(&RunOptions::default()).unwrap();
        old.with(|tx| tx.get(&table, &1)).unwrap();
        std::thread::sleep(Duration::from_millis(1100));
        db.publish_metrics();
        let age = kept.value("chiliad_snapshot_age_seconds");
        assert!((1..5).contains(&age), "{age} seconds");
        old.rollback();
        let memory = &db.table_memory().unwrap()[0];
        assert_eq!(kept.value("chiliad_table_records table=rows"), 20);
        for (name, bytes) in [
            ("record_bytes", memory.rows.record_bytes),
            ("node_bytes", memory.rows.node_bytes),
            ("key_bytes", memory.rows.key_bytes),
            ("bytes", memory.bytes()),
        ] {
            assert_eq!(kept.value(&format!("chiliad_table_{name} table=rows")), bytes, "{name}");
        }
        db.close().unwrap();
    });
    std::fs::remove_dir_all(&path).unwrap();
}

/// Twenty-two transactions that write, of which one is run twice.
fn conflict_once(db: &Database, table: Table<u64, u64>) {
    for key in 0..20 {
        db.run(|tx| tx.insert(&table, &key, &key)).unwrap();
    }
    let mut attempts = 0;
    db.run(|tx| {
        attempts += 1;
        let read = tx.get(&table, &1)?;
        if attempts == 1 {
            std::thread::scope(|scope| {
                scope.spawn(|| db.run(|tx| tx.put(&table, &1, &100)).unwrap());
            });
        }
        tx.put(&table, &2, &read.unwrap_or(0))
    })
    .unwrap();
    assert_eq!(attempts, 2);
}
