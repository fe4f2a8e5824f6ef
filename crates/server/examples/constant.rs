//! The floor of the server: it logs clients in and answers every statement with a constant. What a statement of
//! `chiliad serve` takes beyond this is the work of SQL and of the engine.
//!
//! `cargo run --release -p chiliad-server --example constant -- DIRECTORY [ADDRESS:PORT [THREADS]]` listens on that address,
//! and on the Unix socket `.s.PGSQL.PORT`, or `.s.PGSQL.5432`, in that directory, until its input ends:
//! `pgbench -h DIRECTORY -n -S -s 1 -M prepared -c 8 postgres`.

use chiliad::Database;
use chiliad_server::Server;
use std::io::Read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let directory = words.next().ok_or("the directory of the socket is missing")?;
    let mut server = Server::builder(Database::in_memory()?)
        .answer_constants()
        .socket(directory)
        .max_connections(10_000);
    if let Some(address) = words.next() {
        server = server.listen(address.parse()?);
    }
    if let Some(threads) = words.next() {
        server = server.threads(threads.parse()?);
    }
    let running = server.start()?;
    for path in running.socket_paths() {
        println!("listening on {}", path.display());
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    running.shutdown();
    Ok(())
}
