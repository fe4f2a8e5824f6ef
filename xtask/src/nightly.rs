//! What the nightly toolchain has, and cargo run with it.

use std::path::Path;
use std::process::{Command, Stdio};

/// The one system whose sanitizers are used.
pub const HOST: &str = "x86_64-unknown-linux-gnu";

/// Says that something is left out, and what it would take.
pub fn skip(what: &str, needs: &str) {
    println!("skipped: {what} (needs: {needs})");
}

/// Cargo as the user would call it: what our own toolchain has set must not reach another one.
pub fn clean_cargo() -> Command {
    let mut command = Command::new("cargo");
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

/// Whether cargo, called like this, succeeds; in silence.
pub fn succeeds(arguments: &[&str]) -> bool {
    let quiet = clean_cargo().args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn rustc(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("rustc");
    command.env_remove("RUSTUP_TOOLCHAIN").arg("+nightly").args(arguments);
    let output = command.stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether there is a nightly compiler for the system whose sanitizers are used.
pub fn has_sanitizers() -> bool {
    let version = rustc(&["-vV"]).unwrap_or_default();
    version.lines().filter_map(|line| line.strip_prefix("host: ")).any(|host| host == HOST)
}

/// Whether the nightly toolchain can build the standard library.
pub fn has_library_source() -> bool {
    let library = "lib/rustlib/src/rust/library/Cargo.lock";
    rustc(&["--print", "sysroot"]).is_some_and(|root| Path::new(&root).join(library).exists())
}

/// Builds with flags of their own keep to themselves, so that they do not evict the ordinary ones.
pub fn target_dir(root: &Path, name: &str) -> String {
    let base = std::env::var("CARGO_TARGET_DIR")
        .unwrap_or_else(|_| root.join("target").to_string_lossy().into_owned());
    format!("{base}/{name}")
}
