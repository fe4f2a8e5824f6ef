//! Hyder II: servers that scale out by rolling one shared log forward (Bernstein et al., 2015).
//!
//! Each server has a full copy of the database, as immutable trees. A transaction runs where it arrives, on the state
//! that is published there. If it writes, it appends one *intention* to the log that all servers share: what it read,
//! and what it writes. Every server reads the log and decides each intention in its order: it commits if nothing that it
//! depends on was written since the state that it has read. So all servers come to the same verdicts and the same states,
//! without partitions, a primary or a two-phase commit.
//!
//! | to see | look into |
//! | --- | --- |
//! | the trees, and what makes and frees them | `node`, `blocks`, `maker`, `join`, `cursor`, `collector` |
//! | states, and which of them readers look at | `state` |
//! | what goes through the log | `record`, `intention`, `parts`, `catalog`, `rules`, `seen` |
//! | how an intention is decided | `judge`, `item`; `apply`, `over`, `overlay` (meld), `group`, `pair` (group meld), `window`, `ranges`; `warm` |
//! | a server's way to the log | `desk`, `pending`; `appender` |
//! | and back: the stages | `batch`, `known`, `front`, `build`, `recent`, `last`; on one thread `roller`, on several `pipeline`, `stages`; `server` |
//! | checkpoints: how they are made, and begun with | `capture`, `checkpoint_state`, `checkpointing`, `checkpoint_file`, `checkpoints`; `opening`, `restore` |
//! | what keeps memory bounded and servers alike; what tables take | `tombstones`, `digests`; `measure` |
//! | transactions | `attempt`, `write`, `changes`, `session`, `store` |
//! | several servers as one database, for the drivers; whether they have the same | `cluster`, `audit` |
//! | what must come of a log, for those who compare | `oracle`, `validator` |

mod appender;
mod apply;
mod attempt;
mod audit;
mod batch;
mod bench;
mod blocks;
mod build;
mod capture;
mod catalog;
mod changes;
mod checkpoint_file;
mod checkpoint_state;
mod checkpointing;
mod checkpoints;
mod cluster;
mod collector;
mod cursor;
mod desk;
mod digests;
mod faults;
mod front;
mod group;
mod intention;
mod item;
mod join;
mod judge;
mod known;
mod last;
#[cfg(test)]
mod long_life;
mod maker;
mod measure;
mod nap;
mod node;
mod opening;
mod options;
mod oracle;
mod over;
mod overlay;
mod pair;
mod parts;
mod pending;
mod pipeline;
mod progress;
mod ranges;
mod recent;
mod record;
mod restore;
mod roller;
mod rules;
mod seen;
mod server;
mod session;
mod stages;
mod state;
mod store;
mod tombstones;
#[cfg(test)]
mod trial;
mod validator;
mod warm;
mod window;
mod write;

pub use audit::Deviation;
pub use bench::{MeldPlan, MeldReport, MeldSetting, Stage, run_meld};
pub use checkpoints::PREFIX as CHECKPOINT_PREFIX;
pub use cluster::{Cluster, Hosts};
pub use faults::FAULTS;
pub use options::{
    Certifier, Group, INFO, Level, PIPELINE_MAX, Premeld, RollOptions, ServerOptions, WINDOW,
};
pub use oracle::{Decided, Oracle};
pub use store::{Hyder, HyderTask};
pub use validator::{Version, WrittenRow};
