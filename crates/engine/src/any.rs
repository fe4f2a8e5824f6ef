//! Databases whose scheme is chosen by name at run time: one instance of the engine for each machine and
//! scheme, which the facade, the drivers and the rigs share.

use crate::contract::Scheme;
use crate::database::Database;
use crate::durable::{DurableOptions, LogRunner, Mode, Opened};
use crate::options::Options;
use crate::scheme::SchemeName;
use crate::scheme::names::{NativeScheme, UnderNativeScheme, UnderScheme, under, under_native};
use chiliad_api::{
    Checkpointed, Copied, Error, Host, Info, LogTask, NativeSession, NativeStore, OpenedNatively,
    OpenedOn, OpenedStore, Result, Rewrite, SecondarySpec, Session, Stats, Store, TableChange,
    TableId, TableLayout, TableMemory, TableSpec,
};
use chiliad_log::{ChangeReader, EpochChanges, Position, Stepped};
use chiliad_machine::disk::Disk;
use chiliad_machine::{Interleaved, Machine};
use std::sync::Arc;

/// A directory to open, and how.
pub struct Place<'a, M: Machine> {
    /// The disk that it lies on.
    pub disk: Arc<dyn Disk>,
    /// The purpose of the opening.
    pub mode: Mode,
    /// How it is used.
    pub durable: DurableOptions,
    /// Runs what opening has to do.
    pub host: &'a dyn Host<M>,
}

/// Opens a database that threads share, under the scheme called `name`: in memory, or in a directory.
///
/// # Errors
/// [`Error::InvalidOption`] for a name that no scheme has, [`Error::SchemeNotCompiledIn`]; those of [`Database::open`] and
/// [`Database::open_on`].
pub fn open_native(
    name: &str,
    options: Options,
    place: Option<Place<'_, Interleaved>>,
) -> Result<OpenedNatively> {
    under_native(name, Open { options, place }).unwrap_or_else(|| Err(missing(name)))
}

/// Opens a database on machine `M` under the scheme called `name`: in memory, or in a directory.
///
/// # Errors
/// As for [`open_native`].
pub fn open<M: Machine>(
    name: &str,
    options: Options,
    place: Option<Place<'_, M>>,
) -> Result<OpenedOn<M>> {
    under::<M, _>(name, Open { options, place }).unwrap_or_else(|| Err(missing(name)))
}

/// Why no database can be opened under the scheme called `name`.
fn missing(name: &str) -> Error {
    match name.parse::<SchemeName>() {
        Ok(scheme) => scheme.not_compiled_in(),
        Err(unknown) => unknown,
    }
}

struct Open<'a, M: Machine> {
    options: Options,
    place: Option<Place<'a, M>>,
}

impl<M: Machine> Open<'_, M> {
    fn open<S: Scheme<M>>(self) -> Result<Opened<M, S>> {
        match self.place {
            None => Ok(Opened {
                database: Database::open(self.options)?,
                runners: Vec::new(),
                recovered: Default::default(),
            }),
            Some(Place { disk, mode, durable, host }) => {
                Database::open_on(disk, mode, self.options, durable, host)
            }
        }
    }
}

impl UnderNativeScheme for Open<'_, Interleaved> {
    type Output = Result<OpenedNatively>;

    fn run<S: NativeScheme>(self) -> Self::Output {
        let Opened { database, runners, recovered } = self.open::<S>()?;
        let mut log_tasks: Vec<Box<dyn LogTask<Interleaved> + Send>> = Vec::new();
        for runner in runners {
            log_tasks.push(Box::new(runner));
        }
        Ok(OpenedStore { store: Box::new(database), log_tasks, recovered })
    }
}

impl<M: Machine> UnderScheme<M> for Open<'_, M> {
    type Output = Result<OpenedOn<M>>;

    fn run<S: Scheme<M>>(self) -> Self::Output {
        let Opened { database, runners, recovered } = self.open::<S>()?;
        let mut log_tasks: Vec<Box<dyn LogTask<M>>> = Vec::new();
        for runner in runners {
            log_tasks.push(Box::new(runner));
        }
        Ok(OpenedStore { store: Box::new(database), log_tasks, recovered })
    }
}

impl<S: NativeScheme> NativeStore for Database<Interleaved, S> {
    fn native_session(&self) -> Result<Box<NativeSession>> {
        Ok(Box::new(self.worker()?))
    }
}

impl<M: Machine, S: Scheme<M>> Store<M> for Database<M, S> {
    fn info(&self) -> Info {
        S::INFO
    }

    fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        Self::create_table(self, spec)
    }

    fn change_layout(&self, table: TableId, layout: TableLayout) -> Result<()> {
        Self::change_layout(self, table, layout)
    }

    fn tables_after(&self, changes: &[TableChange]) -> Result<Vec<(TableId, TableSpec)>> {
        Ok(self.inner.words.catalog.draft_with(changes)?.tables())
    }

    fn applied(&self) -> Vec<(u32, String)> {
        self.inner.words.catalog.blob().applied
    }

    fn change_tables(&self, changes: &[TableChange]) -> Result<()> {
        self.inner.base().change_tables(changes)
    }

    fn fill_index(
        &self,
        after: &[TableChange],
        table: TableId,
        index: SecondarySpec,
    ) -> Result<()> {
        self.inner.base().fill_index(after, table, index, &mut self.worker()?)
    }

    fn position_of_index(&self, table: TableId, index: &str) -> Result<usize> {
        self.inner.words.catalog.declared(table)?.0.position_of_index(index)
    }

    fn build_table(&self, spec: TableSpec) -> Result<TableId> {
        self.inner.base().build_table(spec)
    }

    fn rewrite_rows(&self, tables: [TableId; 2], rewrite: &mut Rewrite<'_>) -> Result<()> {
        self.inner.base().rewrite_rows(tables, rewrite, &mut self.worker()?)
    }

    fn take_back_changes(&self) -> Result<()> {
        self.inner.base().take_back_changes()
    }

    fn seal(&self, name: &str) -> Result<()> {
        Self::seal(self, name)
    }

    fn tables(&self) -> Vec<(TableId, TableSpec)> {
        Self::tables(self)
    }

    fn table(&self, name: &str) -> Result<TableId> {
        Self::table(self, name)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        Self::drop_table(self, name)
    }

    fn session(&self) -> Result<Box<dyn Session<M>>> {
        Ok(Box::new(self.worker()?))
    }

    fn tick(&self) {
        Self::tick(self);
    }

    fn epoch(&self) -> u64 {
        Self::epoch(self)
    }

    fn reach_snapshot(&self) {
        Self::reach_snapshot(self);
    }

    fn prepare_memory(&self) -> Result<()> {
        Self::prepare_memory(self)
    }

    fn tidy(&self) -> u64 {
        Self::tidy(self)
    }

    fn stats(&self) -> Stats {
        Self::stats(self)
    }

    fn count_versions(&self) -> Result<Vec<u64>> {
        Self::count_versions(self)
    }

    fn measure_tables(&self, over: &dyn Fn() -> bool) -> Result<Vec<TableMemory>> {
        Self::measure_tables(self, over)
    }

    fn durable_epoch(&self) -> u64 {
        Self::durable_epoch(self)
    }

    fn hurry(&self, epoch: u64) {
        Self::hurry(self, epoch);
    }

    fn transaction_opened(&self) {
        Self::transaction_opened(self);
    }

    fn transaction_closed(&self) {
        Self::transaction_closed(self);
    }

    fn log_failure(&self) -> Option<Error> {
        Self::log_failure(self)
    }

    fn log_bytes(&self) -> u64 {
        Self::log_bytes(self)
    }

    fn is_hidden(&self, table: TableId) -> bool {
        self.inner.words.catalog.is_hidden(table)
    }

    fn read_changes(&self, reader: &mut ChangeReader<M>) -> Result<Option<EpochChanges>> {
        Self::read_changes(self, reader)
    }

    fn change_positions(&self) -> Result<(Position, Position)> {
        Self::change_positions(self)
    }

    fn prepare_log(&self) -> Result<bool> {
        Self::prepare_log(self)
    }

    fn checkpoint_is_due(&self) -> bool {
        Self::checkpoint_is_due(self)
    }

    fn checkpoint(&self, host: &dyn Host<M>) -> Result<Checkpointed> {
        Self::checkpoint(self, host)
    }

    fn cancel_checkpoints(&self) {
        Self::cancel_checkpoints(self);
    }

    fn backup(&self, to: &dyn Disk) -> Result<Copied> {
        Self::backup(self, to)
    }

    fn export(&self, to: &dyn Disk, host: &dyn Host<M>) -> Result<Checkpointed> {
        Self::export(self, to, host)
    }
}

impl<M: Machine, S: Scheme<M>> LogTask<M> for LogRunner<M, S> {
    fn run(self: Box<Self>, over: &dyn Fn() -> bool, claimed: &dyn Fn()) {
        Self::run(*self, over, claimed);
    }

    fn step(&mut self) -> Stepped {
        Self::step(self)
    }

    fn finish(self: Box<Self>) -> Stepped {
        Self::finish(*self)
    }
}
