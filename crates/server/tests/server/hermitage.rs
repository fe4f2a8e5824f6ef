//! The anomalies of Hermitage (Kleppmann, 2014, after Adya, 1999) between two or three clients: no serializable scheme has
//! any of them, neither in what commits nor in what a client saw before its transaction was refused.
//!
//! The cases are data (`hermitage/cases.rs`). They have one judge (`hermitage/judge.rs`), which knows none of them: what
//! the clients saw and what is left must be that of a serial execution.

mod cases;
mod judge;

use crate::common::{connect, run_for, serve, state};
use cases::{CASES, Case, Step};
use chiliad::{Database, Options, Scheme};
use chiliad_server::Running;
use judge::{Ending, Rows, Seen, Story, judge};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_postgres::{Client, SimpleQueryMessage};

/// How long the next client waits for a step: the step may wait for a lock that the next client's holds.
const STEP: Duration = Duration::from_millis(60);
/// How long a scheme that locks has a transaction wait.
const LOCK: Duration = Duration::from_millis(300);

#[test]
fn no_scheme_has_an_anomaly() {
    run_for(300, async {
        let mut tasks = tokio::task::JoinSet::new();
        for scheme in Scheme::ALL {
            let info = scheme.info();
            if !info.has_transactions() || !info.is_serializable() {
                continue;
            }
            tasks.spawn(async move {
                let options = Options::default().scheme(scheme).wait_timeout(LOCK);
                let db = Database::in_memory_with(options).expect("opens");
                let running = serve(&db);
                for case in &CASES {
                    play(&running, scheme, case).await;
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("no anomaly");
        }
    });
}

/// Has clients run the steps of a case, and its judge say what they may have seen.
async fn play(running: &Running, scheme: Scheme, case: &Case) {
    let setup = connect(running).await;
    let text = "DROP TABLE IF EXISTS test; CREATE TABLE test (id int PRIMARY KEY, value int); \
                INSERT INTO test VALUES (1, 10), (2, 20)";
    setup.batch_execute(text).await.expect("made");
    let count = case.steps.iter().map(|(client, _)| *client).max().unwrap_or(0);
    let mut clients = Vec::new();
    for _ in 0..count {
        clients.push(Player::start(connect(running).await).await);
    }
    for (client, step) in case.steps {
        // Whether it ends in time or goes on waiting beside the next ones is the scheme's.
        _ = tokio::time::timeout(STEP, clients[client - 1].send(*step)).await;
    }
    let mut stories = Vec::new();
    for client in clients {
        stories.push(client.end().await);
    }
    let left = read(&setup, Step::ReadAll).await.expect("read").0;
    let verdict = judge(&stories, &left);
    assert!(verdict.is_ok(), "{scheme}, {}: {verdict:?}\n{stories:#?}\nleft: {left:?}", case.name);
}

/// A client that runs its steps one after the other, whether anybody waits for them or not.
struct Player {
    steps: mpsc::UnboundedSender<(Step, oneshot::Sender<()>)>,
    story: Arc<Mutex<Story>>,
    task: tokio::task::JoinHandle<()>,
}

impl Player {
    async fn start(client: Client) -> Self {
        client.batch_execute("BEGIN").await.expect("begins");
        let (steps, mut told) = mpsc::unbounded_channel::<(Step, oneshot::Sender<()>)>();
        let story = Arc::new(Mutex::new(Story::default()));
        let of_task = Arc::clone(&story);
        let task = tokio::spawn(async move {
            let mut story = of_task.lock().await;
            while let Some((step, done)) = told.recv().await {
                if story.ending == Ending::Open {
                    tell(&client, step, &mut story).await;
                }
                // The one who waits may have had enough.
                _ = done.send(());
            }
        });
        Self { steps, story, task }
    }

    async fn send(&self, step: Step) {
        let (done, is_done) = oneshot::channel();
        self.steps.send((step, done)).expect("it listens");
        is_done.await.expect("it answers");
    }

    async fn end(self) -> Story {
        drop(self.steps);
        self.task.await.expect("no panic");
        let story = self.story.lock().await;
        assert!(story.ending != Ending::Open, "a case ends all transactions");
        story.clone()
    }
}

/// Runs a step, and writes down what the client saw.
async fn tell(client: &Client, step: Step, story: &mut Story) {
    let done = read(client, step).await;
    match (done, step) {
        (Ok(_), Step::Commit) => story.ending = Ending::Committed,
        (Ok(_), Step::Rollback) => story.ending = Ending::RolledBack,
        (Ok((rows, count)), _) => story.seen.push(Seen { step, rows, count }),
        (Err(error), _) => {
            let code = state(&error);
            let is_refusal = matches!(&*code, "40001" | "40P01" | "55P03" | "57014");
            assert!(is_refusal, "{step:?}: {code} {error}");
            story.ending = Ending::RolledBack;
            client.batch_execute("ROLLBACK").await.expect("it ends");
        }
    }
}

/// The rows that a statement returns, or how many it has changed.
async fn read(client: &Client, step: Step) -> Result<(Rows, u64), tokio_postgres::Error> {
    let (mut rows, mut count) = (Rows::new(), 0);
    for message in client.simple_query(&step.sql()).await? {
        match message {
            SimpleQueryMessage::Row(row) => {
                let number = |at| row.get(at).and_then(|it| it.parse().ok()).expect("a number");
                rows.insert(number(0), number(1));
            }
            SimpleQueryMessage::CommandComplete(changed) => count = changed,
            _ => {}
        }
    }
    Ok((rows, count))
}
