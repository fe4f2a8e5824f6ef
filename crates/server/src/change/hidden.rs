//! Tables that no session sees yet but the one whose transaction has made them.

use super::names::hidden_name;
use crate::shared::Shared;
use chiliad::Sequence;
use chiliad::raw::{TableId, TableSpec};
use chiliad_sql::SqlError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A table that is dropped with its last owner, unless it is shown before.
pub(crate) struct Hidden {
    server: Arc<Shared>,
    pub id: TableId,
    name: String,
    is_shown: AtomicBool,
}

/// A table or a sequence that [`build`] makes.
pub(crate) enum Build {
    /// A table as this says, but for its name.
    Table(TableSpec),
    Sequence,
}

/// A table that [`build`] has made.
pub(crate) struct Built {
    pub table: Arc<Hidden>,
    /// The positions of its indexes, in the order of their declarations.
    pub positions: Vec<usize>,
    pub sequence: Option<Sequence>,
}

/// Makes tables that nobody sees.
///
/// # Errors
/// Those of the database; what was made before is dropped.
pub(crate) fn build(server: &Arc<Shared>, builds: Vec<Build>) -> Result<Vec<Built>, SqlError> {
    builds.into_iter().map(|it| one(server, it)).collect()
}

fn one(server: &Arc<Shared>, build: Build) -> Result<Built, SqlError> {
    let database = server.catalog.database();
    let name = hidden_name();
    let sequence = match build {
        Build::Table(spec) => {
            database.create_table_raw(TableSpec { name: name.clone(), ..spec })?;
            None
        }
        Build::Sequence => Some(database.sequence(&name)?),
    };
    let (id, spec) = database.table_raw(&name)?;
    let is_shown = AtomicBool::new(false);
    let table = Arc::new(Hidden { server: Arc::clone(server), id, name, is_shown });
    let names = spec.secondary.iter().map(|index| &index.name);
    let positions =
        names.map(|index| database.index_position_raw(id, index)).collect::<Result<_, _>>()?;
    Ok(Built { table, positions, sequence })
}

impl Hidden {
    /// It has its name: it stays.
    pub fn show(&self) {
        // Relaxed: the owner who asks comes by way of the counter of owners.
        self.is_shown.store(true, Ordering::Relaxed);
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if *self.is_shown.get_mut() {
            return;
        }
        let (server, name) = (Arc::clone(&self.server), std::mem::take(&mut self.name));
        let (of_job, its_name) = (Arc::clone(&server), name.clone());
        // It may wait for the disk, which a thread that serves must not.
        let started = server.jobs.start(false, move || {
            drop_table(&of_job, &its_name);
            Ok(())
        });
        if started.is_err() {
            drop_table(&server, &name);
        }
    }
}

fn drop_table(server: &Shared, name: &str) {
    // Should the log have failed, the next opening drops it.
    _ = server.catalog.database().drop_table(name);
}
