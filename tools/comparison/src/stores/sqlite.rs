//! SQLite by rusqlite, bundled, in WAL mode: one writer at a time and readers beside it.
//! Serializable, for update transactions wait for each other from their begin on.
//!
//! As a careful application has it: one connection that writes, behind a mutex, so that writers
//! queue instead of sleeping in the busy handler and the writer's page cache stays valid; a
//! connection for each client to read by; statements prepared once. `none`: `synchronous = OFF`.
//! `sync`: `synchronous = FULL`, the log synced by each commit.

use super::{ALL, CACHE_BYTES};
use crate::retry::until_accepted;
use crate::store::{
    Body, Candidate, Client, Durability, Error, Isolation, Kind, Ran, Result, Setup, Store, Table,
    Tx, accept,
};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub const CANDIDATE: Candidate = Candidate {
    name: "sqlite",
    package: "rusqlite",
    isolation: Isolation::Serializable,
    durabilities: ALL,
    open,
};

/// The page cache of a connection that reads. Other connections' commits empty it; what it misses
/// it finds in the memory map.
const READER_CACHE_BYTES: usize = 64 << 20;

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::failed(error)
    }
}

/// The statements of one table, as text: connections find the prepared ones by it.
struct Texts {
    get: String,
    put: String,
    insert: String,
    update: String,
    scan: String,
}

impl Texts {
    fn new(table: usize) -> Self {
        Self {
            get: format!("SELECT v FROM t{table} WHERE k = ?1"),
            put: format!(
                "INSERT INTO t{table} (k, v) VALUES (?1, ?2) \
                 ON CONFLICT (k) DO UPDATE SET v = excluded.v"
            ),
            insert: format!("INSERT INTO t{table} (k, v) VALUES (?1, ?2)"),
            update: format!("UPDATE t{table} SET v = ?2 WHERE k = ?1"),
            scan: format!("SELECT k, v FROM t{table} WHERE k >= ?1 AND k < ?2 ORDER BY k LIMIT ?3"),
        }
    }
}

struct File {
    path: PathBuf,
    writer: Mutex<Connection>,
    durability: Durability,
    texts: Vec<Texts>,
}

fn connect(path: &Path, durability: Durability, cache_bytes: usize) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match durability {
        Durability::None => "OFF",
        Durability::Epoch | Durability::Sync => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // Negative: in KiB.
    connection.pragma_update(None, "cache_size", -((cache_bytes >> 10) as i64))?;
    connection.pragma_update(None, "mmap_size", CACHE_BYTES as i64)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Store>> {
    let path = setup.directory.join("data.sqlite");
    let writer = connect(&path, setup.durability, CACHE_BYTES)?;
    for table in 0..setup.tables {
        writer.execute_batch(&format!(
            "CREATE TABLE t{table} (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID"
        ))?;
    }
    let texts = (0..setup.tables).map(Texts::new).collect();
    let writer = Mutex::new(writer);
    Ok(Box::new(File { path, writer, durability: setup.durability, texts }))
}

impl Store for File {
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        let reader = connect(&self.path, self.durability, READER_CACHE_BYTES)?;
        Ok(Box::new(Own { file: self, reader }))
    }

    fn settle(&self) -> Result<()> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }
}

struct Own<'s> {
    file: &'s File,
    reader: Connection,
}

impl Client for Own<'_> {
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran> {
        let texts = &self.file.texts;
        if kind == Kind::ReadOnly {
            return until_accepted(|| attempt(&self.reader, "BEGIN", texts, body));
        }
        let writer = self.file.writer.lock().unwrap_or_else(PoisonError::into_inner);
        until_accepted(|| attempt(&writer, "BEGIN IMMEDIATE", texts, body))
    }
}

fn attempt(by: &Connection, begin: &str, texts: &[Texts], body: &mut Body<'_>) -> Result<()> {
    by.prepare_cached(begin)?.execute([])?;
    match body(&mut Running { by, texts }).and_then(accept) {
        Ok(()) => {
            by.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        }
        Err(error) => {
            by.prepare_cached("ROLLBACK")?.execute([])?;
            Err(error)
        }
    }
}

struct Running<'t> {
    by: &'t Connection,
    texts: &'t [Texts],
}

impl<'t> Running<'t> {
    fn statement(&self, text: fn(&Texts) -> &str, table: Table) -> Result<CachedStatement<'t>> {
        Ok(self.by.prepare_cached(text(&self.texts[table]))?)
    }
}

impl Tx for Running<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let mut statement = self.statement(|it| &it.get, table)?;
        let found = statement.query_row([key], |row| {
            value.clear();
            value.extend_from_slice(row.get_ref(0)?.as_blob()?);
            Ok(())
        });
        Ok(found.optional()?.is_some())
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.statement(|it| &it.put, table)?.execute([key, value])?;
        Ok(())
    }

    fn insert(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.statement(|it| &it.insert, table)?.execute([key, value])?;
        Ok(())
    }

    fn update(
        &mut self,
        table: Table,
        key: &[u8],
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<bool> {
        let mut value = Vec::new();
        if !self.get(table, key, &mut value)? {
            return Ok(false);
        }
        change(&mut value);
        self.statement(|it| &it.update, table)?.execute([key, &value])?;
        Ok(true)
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let mut statement = self.statement(|it| &it.scan, table)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![low, high, limit])?;
        while let Some(row) = rows.next()? {
            visit(
                row.get_ref(0)?.as_blob().map_err(Error::failed)?,
                row.get_ref(1)?.as_blob().map_err(Error::failed)?,
            );
        }
        Ok(())
    }
}
