//! The servers: each in a directory of its own beneath a temporary one, by a Unix socket and a port of this computer, until
//! this is dropped.

pub mod cpu;

use crate::compare::output;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where PostgreSQL's programs lie that are not on the path.
const PROGRAMS: [&str; 2] = ["/usr/lib/postgresql/15/bin", "/usr/local/bin"];
/// The user that PostgreSQL runs as where this is the superuser, whom it refuses.
const UNPRIVILEGED: &str = "nobody";
/// How long a server may take to begin.
const BEGINS_IN: Duration = Duration::from_secs(60);

/// A server by what it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    Postgres,
    /// Answers every statement with a constant.
    Floor,
    /// Has the transaction of TPC-B as a procedure, and its own tables.
    Call,
    Ours {
        scheme: String,
        durability: &'static str,
    },
}

impl Kind {
    pub fn ours(scheme: &str, durability: &'static str) -> Self {
        Self::Ours { scheme: scheme.into(), durability }
    }

    /// Whether it is ours under the default scheme.
    pub fn is_default(&self) -> bool {
        matches!(self, Self::Ours { scheme, .. } if scheme == "silo")
    }
}

/// The directory of PostgreSQL's programs, if they are installed, and pgbench with them.
pub fn find_postgres() -> Option<PathBuf> {
    let has =
        |directory: &Path| ["initdb", "postgres"].iter().all(|name| directory.join(name).exists());
    let found = PROGRAMS.iter().map(PathBuf::from).find(|it| has(it));
    found.filter(|_| has_pgbench())
}

/// Whether pgbench is installed.
pub fn has_pgbench() -> bool {
    let pgbench = Command::new("pgbench").arg("--version").stdout(Stdio::null()).status();
    pgbench.is_ok_and(|status| status.success())
}

/// What servers are made of, and where.
pub struct Place {
    directory: PathBuf,
    postgres: PathBuf,
    binary: PathBuf,
    examples: PathBuf,
    scale: u32,
}

impl Place {
    /// A temporary directory for servers of these programs.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(
        postgres: PathBuf,
        binary: PathBuf,
        examples: PathBuf,
        scale: u32,
    ) -> Result<Self, String> {
        let name = format!("chiliad-postgres-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        make(&directory)?;
        Ok(Self { directory, postgres, binary, examples, scale })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // It is a temporary one: what stays is found there.
        _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn make(directory: &Path) -> Result<(), String> {
    let made = std::fs::create_dir_all(directory);
    made.map_err(|error| format!("{}: {error}", directory.display()))
}

/// Servers that are started when they are asked for.
pub struct Servers<'p> {
    place: &'p Place,
    started: HashMap<Kind, Server>,
}

impl<'p> Servers<'p> {
    pub fn new(place: &'p Place) -> Self {
        Self { place, started: HashMap::new() }
    }

    /// The server of this kind, with its data.
    ///
    /// # Errors
    /// When it does not begin, or cannot be loaded.
    pub fn get(&mut self, kind: &Kind) -> Result<&Server, String> {
        if !self.started.contains_key(kind) {
            let server = start(self.place, kind, self.started.len())?;
            if !matches!(kind, Kind::Floor | Kind::Call) {
                server.load()?;
            }
            self.started.insert(kind.clone(), server);
        }
        Ok(&self.started[kind])
    }

    /// Ends servers that are not to be kept.
    pub fn stop_unless(&mut self, keeps: impl Fn(&Kind) -> bool) {
        self.started.retain(|kind, _| keeps(kind));
    }
}

/// A server that runs.
pub struct Server {
    directory: PathBuf,
    port: u16,
    process: Child,
    pub scale: u32,
    is_postgres: bool,
}

impl Server {
    /// The file of its socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(format!(".s.PGSQL.{}", self.port))
    }

    /// Its port on this computer.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A client of it, by its program's name.
    pub fn client(&self, program: &str) -> Command {
        self.client_by(program, false)
    }

    /// As [`Server::client`], by TCP if that is meant.
    pub fn client_by(&self, program: &str, tcp: bool) -> Command {
        let mut command = Command::new(program);
        let port = self.port.to_string();
        command.arg("-h").arg(self.host(tcp)).args(["-p", &port, "-U", "postgres"]);
        command
    }

    /// The host that clients are given: an address, or the directory of its socket.
    pub fn host(&self, tcp: bool) -> &Path {
        if tcp { Path::new("127.0.0.1") } else { &self.directory }
    }

    /// A file of this text for its clients.
    ///
    /// # Errors
    /// Those of the system.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.directory.join(name);
        let written = std::fs::write(&path, text);
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Loads the tables of pgbench, in place of those that are there.
    ///
    /// # Errors
    /// When pgbench fails.
    pub fn load(&self) -> Result<(), String> {
        let mut command = self.client("pgbench");
        command.args(["-i", "-q", "-s", &self.scale.to_string(), "postgres"]);
        output(&mut command).map(|_| ())
    }

    /// The processor time of all its processes so far.
    pub fn cpu(&self) -> cpu::Cpu {
        cpu::of_server(self.process.id())
    }

    /// The memory of its process that is resident.
    ///
    /// # Errors
    /// Those of the system.
    pub fn resident_bytes(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/statm", self.process.id());
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let pages = text.split_whitespace().nth(1).and_then(|it| it.parse::<u64>().ok());
        pages.map(|pages| pages * 4096).ok_or_else(|| format!("{path}: no number of pages"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // PostgreSQL ends its clients and itself by SIGINT. Ours do so by SIGTERM, too, which is heeded where this process runs
        // in the background. One that has gone needs nothing.
        let process = self.process.id().to_string();
        let signal = if self.is_postgres { "-INT" } else { "-TERM" };
        _ = Command::new("kill").args([signal, &process]).status();
        _ = self.process.wait();
        _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn start(place: &Place, kind: &Kind, number: usize) -> Result<Server, String> {
    let directory = place.directory.join(number.to_string());
    make(&directory)?;
    let port = if *kind == Kind::Call { 5432 } else { free_port()? };
    let address = format!("127.0.0.1:{port}");
    let mut command = match kind {
        Kind::Postgres => postgres(place, &directory, port)?,
        Kind::Floor => {
            let mut command = Command::new(place.examples.join("constant"));
            command.arg(&directory).arg(&address);
            command
        }
        Kind::Call => {
            let mut command = Command::new(place.examples.join("tpcb_call"));
            command.arg(&directory).arg(directory.join("data")).arg(place.scale.to_string());
            command
        }
        Kind::Ours { scheme, durability } => {
            let mut command = Command::new(&place.binary);
            command.args(["serve", "--scheme", scheme, "--durability", durability]);
            command.args(["--max-connections", "10000", "--listen", &address]);
            command.arg("--socket").arg(&directory);
            command.arg("--data").arg(directory.join("data"));
            command
        }
    };
    // The floor serves until its input ends, which is when it is killed or this process goes.
    let spawned =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let process = spawned.map_err(|error| format!("{kind:?}: {error}"))?;
    let is_postgres = *kind == Kind::Postgres;
    let mut server = Server { directory, port, process, scale: place.scale, is_postgres };
    wait_for(&mut server, kind)?;
    Ok(server)
}

/// A port that nobody listens on now.
fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    bound.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

/// Waits until a client is answered.
fn wait_for(server: &mut Server, kind: &Kind) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < BEGINS_IN {
        let mut command = server.client("psql");
        if output(command.args(["-c", "SELECT 1", "postgres"])).is_ok() {
            // What it says from now on nobody reads; it must not wait for that.
            server.process.stderr = None;
            return Ok(());
        }
        if !matches!(server.process.try_wait(), Ok(None)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let said = server.process.stderr.take().map(BufReader::new);
    let last = said.and_then(|said| said.lines().map_while(Result::ok).last());
    Err(format!("{kind:?} does not begin: {}", last.unwrap_or_default()))
}

/// PostgreSQL on a new cluster, as installed, with all data in its buffers.
fn postgres(place: &Place, directory: &Path, port: u16) -> Result<Command, String> {
    let data = directory.join("data");
    make(&data)?;
    if is_superuser() {
        let mut chown = Command::new("chown");
        output(chown.arg(UNPRIVILEGED).arg(directory).arg(&data))?;
    }
    let mut initdb = unprivileged(&place.postgres.join("initdb"));
    initdb.args(["-U", "postgres", "-A", "trust", "--no-sync", "--locale=C", "-D"]).arg(&data);
    output(&mut initdb)?;
    let mut command = unprivileged(&place.postgres.join("postgres"));
    command.arg("-D").arg(&data).arg("-k").arg(directory);
    let buffers = format!("shared_buffers={}MB", 1024.max(place.scale * 40));
    let port = format!("port={port}");
    let address = "listen_addresses=127.0.0.1";
    for setting in [&buffers, &port, address, "max_wal_size=16GB", "max_connections=200"] {
        command.args(["-c", setting]);
    }
    Ok(command)
}

fn is_superuser() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// A program that does not run as the superuser.
fn unprivileged(program: &Path) -> Command {
    if !is_superuser() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={UNPRIVILEGED}")).args(["--clear-groups", "--"]).arg(program);
    command
}
