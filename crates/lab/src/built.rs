//! The build that a result names.

use serde::Serialize;

/// The build.
#[derive(Serialize)]
pub struct Build {
    /// The version of the command.
    pub version: &'static str,
    /// The commit that it was built from; empty where that is unknown.
    pub commit: &'static str,
    /// The compiler.
    pub compiler: &'static str,
}

/// This build.
pub const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: env!("CHILIAD_COMMIT"),
    compiler: env!("CHILIAD_COMPILER"),
};
