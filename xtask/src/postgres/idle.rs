//! Thousands of connections that say nothing, and some among them that do.

use super::cases::{Case, SELECT, Side};
use super::pgbench;
use super::servers::{Kind, Servers};
use crate::compare::median;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Idle connections, and busy ones.
const IDLE: u32 = 5_000;
const BUSY: u32 = 64;

/// Measures what an idle connection takes of the process's memory, and what busy ones lose beside them.
pub fn run(servers: &mut Servers<'_>, rounds: u32, seconds: u32) -> Result<(), String> {
    let kind = Kind::ours("silo", "sync");
    let server = servers.get(&kind)?;
    let side =
        || Side { label: String::new(), kind: kind.clone(), options: "", is_optional: false };
    let (flags, script) = (&["-M", "prepared"], Some(SELECT));
    let case = Case { name: "idle", clients: BUSY, flags, script, tcp: false, sides: vec![side()] };
    let run = || pgbench::run(server, &case, &side(), seconds).map(|sample| sample.rate);
    // What busy connections have used the server has by now.
    run()?;
    let before = server.resident_bytes()?;
    let connected = (0..IDLE).map(|_| connect(&server.socket())).collect::<Result<Vec<_>, _>>();
    let connected = connected.map_err(|error| format!("an idle connection: {error}"))?;
    let each = server.resident_bytes()?.saturating_sub(before) / u64::from(IDLE);
    println!("\n{IDLE} idle connections: {:.1} KiB each", each as f64 / 1024.0);
    let among = (0..rounds).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    drop(connected);
    let alone = (0..rounds).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    let (among, alone) = (median(among.into_iter()), median(alone.into_iter()));
    let share = among / alone;
    println!("{BUSY} clients among them: {among:.0} tx/s, alone {alone:.0}: {share:.2}");
    Ok(())
}

/// A connection that has logged in.
fn connect(socket: &Path) -> std::io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket)?;
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    stream.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
    stream.write_all(body)?;
    // Messages until ReadyForQuery.
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; (length as usize).saturating_sub(4)];
        stream.read_exact(&mut body)?;
        match head[0] {
            b'Z' => return Ok(stream),
            b'E' => return Err(std::io::Error::other(String::from_utf8_lossy(&body).into_owned())),
            _ => {}
        }
    }
}
