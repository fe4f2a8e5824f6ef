//! What connections take of the process's memory while their clients say nothing.

use chiliad::Database;
use chiliad_server::Server;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Connections, where the system lets a process have so many files.
const MOST: u64 = 3_000;
/// Bytes of memory that an idle connection may take.
const BYTES_MAX: u64 = 16 << 10;

/// Sends a message and reads up to ReadyForQuery.
fn ask(stream: &mut UnixStream, message: &[u8]) {
    stream.write_all(message).expect("sent");
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).expect("a message");
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; length as usize - 4];
        stream.read_exact(&mut body).expect("its body");
        match head[0] {
            b'Z' => return,
            kind => assert!(kind != b'E', "{}", String::from_utf8_lossy(&body)),
        }
    }
}

/// A client that has run a large statement and says nothing from then on.
fn idle(path: &Path) -> UnixStream {
    let mut stream = UnixStream::connect(path).expect("connected");
    ask(&mut stream, b"\0\0\0\x12\0\x03\0\0user\0ann\0\0");
    let query = format!("SELECT '{}' FROM generate_series(1, 3)\0", "x".repeat(50_000));
    let mut message = vec![b'Q'];
    message.extend((query.len() as u32 + 4).to_be_bytes());
    message.extend(query.bytes());
    ask(&mut stream, &message);
    stream
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
    let pages = text.split_whitespace().nth(1).expect("the second number");
    pages.parse::<u64>().expect("a number") * 4096
}

/// Files that this process may have open.
fn files_max() -> u64 {
    let text = std::fs::read_to_string("/proc/self/limits").expect("Linux tells");
    let line = text.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    line.split_whitespace().nth(3).and_then(|it| it.parse().ok()).unwrap_or(u64::MAX)
}

#[test]
fn idle_connections_take_little_memory() {
    let name = format!("chiliad-idle-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory).expect("made");
    let server = Server::builder(Database::in_memory().expect("opens")).socket(&directory);
    let running = server.threads(2).max_connections(10_000).start().expect("it starts");
    let path = &running.socket_paths()[0];
    // Two files for each: the client is in this process, too.
    let count = MOST.min((files_max() - 64) / 2 - 100);
    // What is allocated once is there by now.
    let first: Vec<_> = (0..100).map(|_| idle(path)).collect();
    let before = resident_bytes();
    let connected: Vec<_> = (0..count).map(|_| idle(path)).collect();
    assert_eq!(running.connections() as u64, count + first.len() as u64);
    let each = resident_bytes().saturating_sub(before) / count;
    assert!(each <= BYTES_MAX, "{each} bytes for each of {count}");
    drop((first, connected));
    running.shutdown();
    std::fs::remove_dir_all(&directory).expect("removed");
}
