//! Prepared statements that all sessions share, by their text and the types that the client has declared.

use crate::catalog::{Tables, shared_version};
use crate::lift::{Lifted, Literal, lift};
use chiliad_sql::{Kind, OwnedDatum, Prepared, SqlError, Statement, Type, codec, parse, prepare};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Parts of the cache, each with a lock of its own.
const SHARDS: usize = 16;
/// Plans of one part at most; then it begins anew.
const SHARD_PLANS_MAX: usize = 512;
/// A text that begins or ends a transaction is no longer, or few clients send it twice.
const CONTROL_BYTES_MAX: usize = 100;
/// Longer texts are not kept.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// A statement that was prepared for one version of the catalog. `None`: the text has no statement.
pub(crate) struct Plan {
    /// To be prepared again for another version.
    statement: Statement,
    declared: Vec<Option<Type>>,
    pub prepared: Prepared,
    /// The message that describes its rows as text, once it was asked for.
    description: OnceLock<Box<[u8]>>,
}

/// The plans of a server.
#[derive(Default)]
pub(crate) struct Plans {
    hasher: RandomState,
    shards: [Mutex<HashMap<Key, Arc<Plan>>>; SHARDS],
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    text: Box<str>,
    declared: Vec<Option<Type>>,
}

impl Plan {
    fn new(
        tables: Tables<'_>,
        statement: Statement,
        declared: Vec<Option<Type>>,
    ) -> Result<Self, SqlError> {
        let prepared = tables.newest(|view| prepare(&statement, view, &declared))?;
        Ok(Self { statement, declared, prepared, description: OnceLock::new() })
    }

    /// Of one statement of a string.
    pub fn of_statement(tables: Tables<'_>, statement: &Statement) -> Result<Arc<Self>, SqlError> {
        Self::new(tables, statement.clone(), Vec::new()).map(Arc::new)
    }

    /// Whether it holds for the newest version of the catalog.
    pub fn is_current(&self, tables: Tables<'_>) -> bool {
        // What names no table is never out of date, but that is not told apart.
        self.prepared.catalog_version() == tables.version()
    }

    /// This plan, for the newest version of the catalog.
    pub fn renewed(self: &Arc<Self>, tables: Tables<'_>) -> Result<Arc<Self>, SqlError> {
        if self.is_current(tables) {
            return Ok(Arc::clone(self));
        }
        // The client has been told of these types.
        let declared = match self.prepared.parameters() {
            [] => self.declared.clone(),
            told => told.iter().map(|of| Some(*of)).collect(),
        };
        Self::new(tables, self.statement.clone(), declared).map(Arc::new)
    }

    /// The message that describes its rows where all their values are text: `make` makes it the first time.
    pub fn description(&self, make: impl FnOnce() -> Vec<u8>) -> &[u8] {
        self.description.get_or_init(|| make().into())
    }

    /// The version of the catalog of all that it was made for; `None`: of one that a transaction has for itself.
    pub fn shared_version(&self) -> Option<u64> {
        shared_version(self.prepared.catalog_version())
    }

    /// Whether a transaction that has failed may run it.
    pub fn ends_transaction(&self) -> bool {
        matches!(self.prepared.kind(), Kind::Transaction(control) if control.ends_failed())
    }
}

/// Of [`chiliad_sql::TransactionControl`]: which of them a failed transaction obeys.
pub(crate) trait EndsFailed {
    fn ends_failed(&self) -> bool;
}

impl EndsFailed for chiliad_sql::TransactionControl {
    fn ends_failed(&self) -> bool {
        matches!(self, Self::Commit { .. } | Self::Rollback { .. } | Self::RollbackTo(_))
    }
}

/// Whether a text begins or ends a transaction, as far as can be told at a glance: clients send few such texts, and each of
/// them often.
fn controls_transaction(text: &str) -> bool {
    const WORDS: [&str; 6] = ["begin", "commit", "rollback", "end", "abort", "start"];
    let word = text.split(|it: char| !it.is_ascii_alphabetic()).next().unwrap_or_default();
    text.len() <= CONTROL_BYTES_MAX
        && WORDS.iter().any(|it| it.eq_ignore_ascii_case(word))
        && !text.trim_end_matches(';').contains(';')
}

impl Plans {
    /// The plan of a string of one statement whose literals are parameters, and their values; `None` for a string that is to
    /// be taken as it is.
    pub fn of_string(
        &self,
        tables: Tables<'_>,
        text: &str,
    ) -> Option<(Arc<Plan>, Vec<OwnedDatum>)> {
        if controls_transaction(text) {
            return self.get(tables, text, &[]).ok()?.map(|plan| (plan, Vec::new()));
        }
        let Lifted { text, types, literals } = lift(text)?;
        // What is wrong with it is told of the text that the client has sent, with positions in that.
        let plan = self.get(tables, &text, &types).ok()??;
        let types = plan.prepared.parameters();
        if types.len() != literals.len() {
            return None;
        }
        let value = |(literal, of): (Literal, &Type)| match literal {
            Literal::Value(value) => Some(value),
            Literal::Text(text) => {
                codec::from_text(*of, &text).ok().map(chiliad_sql::Datum::into_owned)
            }
        };
        let values = literals.into_iter().zip(types).map(value).collect::<Option<_>>()?;
        Some((plan, values))
    }

    /// The plan of a text of one statement; `None` for a text without one.
    ///
    /// # Errors
    /// Those of parsing and preparing; 42601 for a text of several statements.
    pub fn get(
        &self,
        tables: Tables<'_>,
        text: &str,
        declared: &[Option<Type>],
    ) -> Result<Option<Arc<Plan>>, SqlError> {
        let key = Key { text: text.into(), declared: declared.to_vec() };
        let shard = &self.shards[self.hasher.hash_one(&key) as usize % SHARDS];
        let lock = || shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = lock().get(&key).filter(|plan| plan.is_current(tables)) {
            return Ok(Some(Arc::clone(plan)));
        }
        let mut statements = parse(text)?;
        let Some(statement) = statements.pop() else { return Ok(None) };
        if !statements.is_empty() {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(SqlError::syntax_error(message));
        }
        let plan = Arc::new(Plan::new(tables, statement, declared.to_vec())?);
        // What one transaction sees is for nobody else.
        if text.len() <= TEXT_BYTES_MAX && !tables.are_own() {
            let mut plans = lock();
            if plans.len() >= SHARD_PLANS_MAX {
                plans.clear();
            }
            plans.insert(key, Arc::clone(&plan));
        }
        Ok(Some(plan))
    }
}
