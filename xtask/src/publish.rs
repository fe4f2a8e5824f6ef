//! What is given to others: the crates that an application gets with the library, packed as a registry takes them, and
//! compiled by the oldest compiler and for the other platform that are promised.

use crate::nightly::{clean_cargo, skip, target_dir};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The platform that is promised beside the one that is measured.
const OTHER_TARGET: &str = "aarch64-unknown-linux-gnu";

/// Arguments of the packing.
#[derive(clap::Args)]
pub struct Arguments {
    /// Compile each crate from what was packed, which takes minutes
    #[arg(long)]
    verify: bool,
}

/// A crate that is published.
pub struct Published {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub directory: PathBuf,
    /// Its manifest.
    pub manifest: String,
}

/// All of them, by name: what lies in `crates` and does not say otherwise.
pub fn published(root: &Path) -> Vec<Published> {
    let entries = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let directory = entry.path();
        let manifest = fs::read_to_string(directory.join("Cargo.toml")).ok()?;
        let named = manifest.lines().find_map(|line| line.strip_prefix("name = "));
        let name = named?.trim_matches('"').to_owned();
        let is_published = !manifest.lines().any(|line| line == "publish = false");
        is_published.then_some(Published { name, directory, manifest })
    };
    let mut all: Vec<Published> = entries.filter_map(read).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Packs the crates, of which none has to be in a registry yet. The one outside of the workspace is packed with them: in a
/// workspace that is made for it.
///
/// # Errors
/// What failed.
pub fn package(arguments: &Arguments, root: &Path) -> Result<(), String> {
    let place = PathBuf::from(target_dir(root, "package-check"));
    let doing = |error: std::io::Error| format!("{}: {error}", place.display());
    let all = published(root);
    fs::create_dir_all(&place).map_err(doing)?;
    let crates = place.join("crates");
    if fs::symlink_metadata(&crates).is_err() {
        symlink(root.join("crates"), &crates).map_err(doing)?;
    }
    fs::copy(root.join("Cargo.lock"), place.join("Cargo.lock")).map_err(doing)?;
    let workspace = fs::read_to_string(root.join("Cargo.toml")).map_err(doing)?;
    let manifest = place.join("Cargo.toml");
    fs::write(&manifest, with_members(&workspace, &all)?).map_err(doing)?;
    let mut cargo = clean_cargo();
    cargo.args(["package", "--allow-dirty", "--manifest-path"]).arg(&manifest);
    cargo.arg("--target-dir").arg(place.join("target"));
    cargo.args(all.iter().flat_map(|it| ["-p", &it.name]));
    if !arguments.verify {
        cargo.arg("--no-verify");
    }
    run(cargo, "cargo package")
}

/// The manifest of a workspace of just these crates, with what they inherit.
fn with_members(workspace: &str, all: &[Published]) -> Result<String, String> {
    let inherited = workspace.find("[workspace.package]").zip(workspace.find("\n[package]"));
    let (start, end) = inherited.ok_or("Cargo.toml has no [workspace.package] before [package]")?;
    let directory = |it: &Published| {
        let name = it.directory.file_name().unwrap_or_default().to_string_lossy();
        format!("\"crates/{name}\"")
    };
    let members: Vec<String> = all.iter().map(directory).collect();
    let members = members.join(", ");
    let inherited = &workspace[start..end];
    Ok(format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n{inherited}"))
}

/// Compiles the library by the oldest compiler that it promises, and for the other platform, where they are installed.
///
/// # Errors
/// What failed.
pub fn platforms(root: &Path) -> Result<(), String> {
    let workspace = fs::read_to_string(root.join("Cargo.toml")).map_err(|it| it.to_string())?;
    let oldest = workspace.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let oldest = oldest.ok_or("Cargo.toml has no rust-version")?.trim_matches('"');
    let toolchains = rustup(root, &["toolchain", "list"]);
    let mut found = toolchains.lines().filter_map(|line| line.split_whitespace().next());
    let prefixes = [format!("{oldest}-"), format!("{oldest}.")];
    match found.find(|name| prefixes.iter().any(|prefix| name.starts_with(prefix))) {
        Some(toolchain) => check(root, "oldest", &[&format!("+{toolchain}"), "check"], &[])?,
        None => skip("the oldest compiler", &format!("rustup toolchain install {oldest}")),
    }
    match rustup(root, &["target", "list", "--installed"]).lines().any(|it| it == OTHER_TARGET) {
        true => check(root, "other-platform", &["check"], &["--target", OTHER_TARGET]),
        false => {
            skip(OTHER_TARGET, &format!("rustup target add {OTHER_TARGET}"));
            Ok(())
        }
    }
}

fn check(root: &Path, name: &str, command: &[&str], more: &[&str]) -> Result<(), String> {
    let mut cargo = clean_cargo();
    cargo.current_dir(root).args(command).args(["--locked", "-p", "chiliad"]).args(more);
    cargo.env("CARGO_TARGET_DIR", target_dir(root, name));
    run(cargo, &format!("{command:?} {more:?}"))
}

fn run(mut command: Command, what: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what}: {status}")),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

/// What rustup prints; nothing where it is missing.
fn rustup(root: &Path, arguments: &[&str]) -> String {
    let output =
        Command::new("rustup").args(arguments).current_dir(root).stderr(Stdio::null()).output();
    output.map_or_else(|_| String::new(), |it| String::from_utf8_lossy(&it.stdout).into_owned())
}
