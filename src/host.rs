//! What a result says about the build and the computer it was measured on.

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

/// The processor's name; empty where the system does not tell.
pub fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    model
        .and_then(|line| line.split_once(':'))
        .map_or(String::new(), |(_, name)| name.trim().into())
}

/// The cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
