//! A web service that keeps notes in a directory.
//!
//! ```text
//! cargo run --manifest-path crates/chiliad/examples/web/Cargo.toml -- notes 127.0.0.1:8080
//! curl -d 'buy milk' 127.0.0.1:8080/notes        # {"id":1}
//! curl 127.0.0.1:8080/notes/1                    # {"id":1,"text":"buy milk","reads":1}
//! curl '127.0.0.1:8080/notes?limit=10'           # the newest
//! ```
//!
//! Handlers await transactions, which threads of the database run, so the threads of the runtime never wait. A note
//! is on the disk before its number is told. Ctrl-C ends the requests in hand, and then closes the database.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chiliad::{Database, Error, Row, Sequence, Table};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use tokio::net::TcpListener;

/// A row of the table `notes`, whose key is a number.
#[derive(Row)]
struct Note {
    text: String,
    reads: u64,
}

/// State that the handlers share.
#[derive(Clone)]
struct App {
    db: Database,
    notes: Table<u64, Note>,
    numbers: Sequence,
}

impl App {
    fn open(directory: &str) -> chiliad::Result<Self> {
        let db = Database::open(directory)?;
        let notes = db.open_or_create_table("notes")?;
        Ok(Self { notes, numbers: db.sequence("note numbers")?, db })
    }

    fn close(self) -> chiliad::Result<()> {
        // It has a handle of the database, too.
        drop(self.numbers);
        self.db.close()
    }
}

/// A note, as clients see it.
#[derive(Serialize)]
struct Shown {
    id: u64,
    text: String,
    reads: u64,
}

#[derive(Serialize)]
struct Created {
    id: u64,
}

#[derive(Deserialize)]
struct Newest {
    limit: Option<usize>,
}

/// Why there is no answer.
enum Failed {
    NoSuchNote(u64),
    Database(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let (status, why) = match self {
            Self::NoSuchNote(id) => (StatusCode::NOT_FOUND, format!("there is no note {id}")),
            Self::Database(error @ Error::ValueSize { .. }) => {
                (StatusCode::PAYLOAD_TOO_LARGE, error.to_string())
            }
            // Such as a full disk: reads go on.
            Self::Database(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
        };
        (status, why + "\n").into_response()
    }
}

async fn create(State(app): State<App>, text: String) -> Result<Json<Created>, Failed> {
    let App { db, notes, numbers } = app;
    let note = Note { text, reads: 0 };
    let id = db.run_async(move |tx| tx.insert_next(&notes, &numbers, &note)).await?;
    Ok(Json(Created { id }))
}

/// A read is counted, so this is a transaction that writes.
async fn read(State(app): State<App>, Path(id): Path<u64>) -> Result<Json<Shown>, Failed> {
    let App { db, notes, .. } = app;
    let show = move |note: &mut Note| {
        note.reads += 1;
        Shown { id, text: note.text.clone(), reads: note.reads }
    };
    let shown = db.run_async(move |tx| tx.update(&notes, &id, show)).await?;
    shown.map(Json).ok_or(Failed::NoSuchNote(id))
}

async fn newest(
    State(app): State<App>,
    Query(Newest { limit }): Query<Newest>,
) -> Result<Json<Vec<Shown>>, Failed> {
    let App { db, notes, .. } = app;
    let limit = limit.unwrap_or(20).min(1_000);
    let rows = db.run_async(move |tx| tx.scan(&notes, ..).rev().limit(limit).rows()).await?;
    let shown = rows.into_iter().map(|(id, Note { text, reads })| Shown { id, text, reads });
    Ok(Json(shown.collect()))
}

async fn serve(directory: &str, address: &str) -> Result<(), Box<dyn std::error::Error>> {
    let app = App::open(directory)?;
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let routes = Router::new()
        .route("/notes", post(create).get(newest))
        .route("/notes/{id}", get(read))
        .with_state(app.clone());
    let interrupted = async { _ = tokio::signal::ctrl_c().await };
    axum::serve(listener, routes).with_graceful_shutdown(interrupted).await?;
    app.close()?;
    println!("closed as it should be");
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, address] = &arguments[..] else {
        eprintln!("usage: chiliad-web-example DIR ADDRESS, such as notes 127.0.0.1:8080");
        return ExitCode::from(2);
    };
    match serve(directory, address).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
