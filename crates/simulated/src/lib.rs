//! The engine on the simulated machine: each scheme compiled once.
//!
//! A crate of its own, so that a change of the drivers does not compile the schemes again, and that after a change of a
//! scheme the drivers are compiled beside it.

#![forbid(unsafe_code)]

use chiliad_engine::any::{self, Place};
use chiliad_engine::{OpenedOn, Options, Result};
use chiliad_simulator::Sim;

/// Opens a database under the engine's scheme named `scheme` on the current simulated run, in memory or at `place`. All
/// schemes are compiled for the simulator here and nowhere else: a caller that names the generic function compiles them again.
///
/// # Errors
/// Those of [`any::open`].
pub fn open_on_simulator(
    scheme: &str,
    options: Options,
    place: Option<Place<'_, Sim>>,
) -> Result<OpenedOn<Sim>> {
    any::open(scheme, options, place)
}
