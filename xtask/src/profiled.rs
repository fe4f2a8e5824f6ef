//! `cargo xtask profiled`: the command, compiled by what runs of it have shown.
//!
//! A first build counts which way each of its branches goes. Runs of loads under every scheme fill in the counts. A second
//! build follows them: what is taken often lies together and in line, the rest apart. The compiler takes code that no run has
//! reached for code that never matters, so the runs go wherever speed does.

use crate::compare::{self, output};
use crate::nightly::target_dir;
use crate::postgres::servers::{Kind, Place, Servers, has_pgbench};
use crate::programs::compilers_libraries;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Loads that run under each scheme which has what they need.
const LOADS: [&str; 8] = [
    "tpcc --warehouses 2",
    "ycsb --records 200000",
    "ycsb --records 200000 --ops 16 --read-ratio 50 --theta 0.6",
    "smallbank",
    "tatp",
    "bank",
    "tpcb-sql",
    "tpcc-sql --warehouses 2",
];
/// How long each of them runs: most of it is spent in what is taken often, however short.
const FLAGS: &str = "--threads 2 --duration 400ms --warmup 50ms --quiet";
/// Whatever else is measured of the command.
const OTHERS: [&str; 7] = [
    "bench index --records 200000 --threads 2 --duration 400ms --quiet",
    "bench locks --threads 2 --duration 400ms --quiet",
    "bench tpcc --threads 2 --duration 400ms --verify --quiet",
    "simulate tpcc --scale micro --cores 8 --warmup 0s --duration 500us --quiet",
    "simulate ycsb --cores 16 --scheme dl-detect --warmup 0s --duration 500us --quiet",
    "simulate scan --schedule random --verify --transactions 200 --quiet",
    "campaign --seeds 0..5 --workload tpcc --threads 2 --quiet",
];
/// Clients of the server.
const CLIENTS: [&str; 4] =
    ["-S -M prepared", "-S -M simple", "-N -M prepared", "-b tpcb -M prepared"];
/// The exit status of a command line that is refused.
const REFUSED: i32 = 2;

/// Builds, runs, and builds again; prints where the command lies.
///
/// # Errors
/// When the compiler's tool for counts is missing, a build or a run fails.
pub fn run(root: &Path) -> Result<(), String> {
    let merge = find_merge()?;
    let folder = PathBuf::from(target_dir(root, "profiled"));
    let counts = folder.join("counts");
    if counts.exists() {
        std::fs::remove_dir_all(&counts)
            .map_err(|error| format!("{}: {error}", counts.display()))?;
    }
    let counting =
        build(root, &folder.join("counting"), &format!("-Cprofile-generate={}", counts.display()))?;
    Runs { binary: counting, scratch: folder.join("scratch") }.all()?;
    let merged = folder.join("counts.profdata");
    output(Command::new(merge).arg("merge").arg("-o").arg(&merged).arg(&counts))?;
    let binary = build(root, &folder, &format!("-Cprofile-use={}", merged.display()))?;
    println!("{}", binary.display());
    Ok(())
}

/// The program that adds counts up, a component of the toolchain.
fn find_merge() -> Result<PathBuf, String> {
    let libraries = compilers_libraries()?;
    let program = Path::new(&libraries).with_file_name("bin").join("llvm-profdata");
    match program.exists() {
        true => Ok(program),
        false => Err("llvm-profdata is missing: rustup component add llvm-tools".into()),
    }
}

/// Builds the command with these flags, but what runs in the build itself without; where it lies.
fn build(root: &Path, target: &Path, flags: &str) -> Result<PathBuf, String> {
    let version = output(Command::new("rustc").arg("-vV"))?.0;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc -vV names no host")?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--release",
        "--package",
        "chiliad-cli",
        "--target",
        host,
        "--target-dir",
    ]);
    let built = cargo.arg(target).env("RUSTFLAGS", flags).current_dir(root).status();
    match built.map_err(|error| format!("cargo build: {error}"))?.success() {
        true => Ok(target.join(host).join("release/chiliad")),
        false => Err(format!("the build with {flags} failed")),
    }
}

/// The build that counts, each of whose processes adds its counts to those that are there, and a directory for a database.
struct Runs {
    binary: PathBuf,
    scratch: PathBuf,
}

impl Runs {
    fn all(&self) -> Result<(), String> {
        let schemes = compare::schemes(&self.binary)?;
        for load in LOADS {
            let mut ran = false;
            for scheme in &schemes {
                ran |= self.is_accepted(&format!("bench {load} --scheme {scheme} {FLAGS}"))?;
            }
            if !ran {
                return Err(format!("no scheme runs bench {load}"));
            }
        }
        OTHERS.into_iter().try_for_each(|line| self.one(line))?;
        _ = std::fs::remove_dir_all(&self.scratch);
        std::fs::create_dir_all(&self.scratch)
            .map_err(|error| format!("{}: {error}", self.scratch.display()))?;
        let data = self.scratch.join("data");
        let data = data.to_str().ok_or("the path of the target directory is no text")?;
        self.one(&format!("bench tpcc --warehouses 2 --durability epoch --data {data} {FLAGS}"))?;
        self.one(&format!("recover {data} --quiet"))?;
        _ = std::fs::remove_dir_all(&self.scratch);
        self.server()
    }

    fn one(&self, line: &str) -> Result<(), String> {
        match self.is_accepted(line)? {
            true => Ok(()),
            false => Err(format!("chiliad {line}: refused")),
        }
    }

    /// Runs a line. A scheme refuses a load that it does not have.
    fn is_accepted(&self, line: &str) -> Result<bool, String> {
        println!("chiliad {line}");
        let mut command = Command::new(&self.binary);
        let status =
            command.args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let status = status.map_err(|error| format!("chiliad {line}: {error}"))?;
        match status.code() {
            Some(0) => Ok(true),
            Some(REFUSED) => Ok(false),
            _ => Err(format!("chiliad {line}: {status}")),
        }
    }

    /// Serves clients, where there are any.
    fn server(&self) -> Result<(), String> {
        if !has_pgbench() {
            println!("skipped: pgbench is not installed: the server is made small, not fast");
            return Ok(());
        }
        println!("chiliad serve");
        let nothing = PathBuf::new();
        let place = Place::new(nothing.clone(), self.binary.clone(), nothing, 1)?;
        let mut servers = Servers::new(&place);
        let server = servers.get(&Kind::ours("silo", "epoch"))?;
        for flags in CLIENTS {
            println!("pgbench {flags}");
            let mut pgbench = server.client("pgbench");
            pgbench.args(["-n", "-c", "8", "-T", "2"]).args(flags.split(' ')).arg("postgres");
            output(&mut pgbench)?;
        }
        // Asked to end, it takes note of its counts.
        Ok(())
    }
}
