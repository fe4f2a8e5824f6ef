//! Changes for those who follow them: read from the files of the log, of this incarnation and of those before.

use crate::contract::Scheme;
use crate::database::Database;
use crate::durable::Durable;
use chiliad_api::{Error, PassedPosition, Result};
use chiliad_log::{ChangeReader, EpochChanges, Position, Readable, Stopped};
use chiliad_machine::Machine;

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// The next epoch with changes behind those that the reader was given; `None`: nothing more is durable yet.
    ///
    /// # Errors
    /// [`Error::PositionPassed`], [`Error::UnknownPosition`], [`Error::Data`]: the reader stays where it is.
    /// [`Error::InvalidOption`] for a database without a directory to write to.
    pub fn read_changes(&self, reader: &mut ChangeReader<M>) -> Result<Option<EpochChanges>> {
        let durable = self.inner.base().durable()?;
        reader.next_epoch(&*durable.disk, || durable.readable()).map_err(|stopped| match stopped {
            Stopped::Passed { position, oldest } => {
                Error::PositionPassed(Box::new(PassedPosition::new(position, oldest)))
            }
            Stopped::Unknown(position) => Error::UnknownPosition(Box::new(position)),
            Stopped::Log(error) => Error::Data(error),
        })
    }

    /// The oldest position from which all changes are there, and the one after all that is durable.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a database without a directory to write to.
    pub fn change_positions(&self) -> Result<(Position, Position)> {
        let readable = self.inner.base().durable()?.readable();
        debug_assert!(readable.oldest() <= readable.newest(), "what is dropped is durable");
        Ok((readable.oldest(), readable.newest()))
    }
}

impl<M: Machine> Durable<M> {
    fn readable(&self) -> Readable {
        // Held, so that no segment is on its way from the log to what is kept.
        self.log.readable(&self.kept.lock())
    }
}
