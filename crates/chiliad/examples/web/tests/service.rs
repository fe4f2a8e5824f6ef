//! The service as its clients meet it: under load, closed by Ctrl-C, and started again.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::thread;

struct Service {
    child: Child,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Service {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_chiliad-web-example"))
            .arg(directory)
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().parse().unwrap();
        Self { child, output, address }
    }

    /// Ctrl-C.
    fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    fn last_words(mut self) -> String {
        let mut words = String::new();
        self.output.read_to_string(&mut words).unwrap();
        assert!(self.child.wait().unwrap().success());
        words
    }
}

/// A connection that is kept.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: SocketAddr) -> std::io::Result<Self> {
        Ok(Self(BufReader::new(TcpStream::connect(address)?)))
    }

    /// Status and body of an answer.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: notes\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut status, mut length) = (String::new(), 0, 0);
        loop {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim().to_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse().unwrap();
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body).unwrap()))
    }
}

fn id_of(answer: &str) -> u64 {
    answer.strip_prefix("{\"id\":").unwrap().strip_suffix('}').unwrap().parse().unwrap()
}

fn scratch() -> PathBuf {
    let path = std::env::temp_dir().join(format!("chiliad-web-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn what_was_answered_is_there_after_ctrl_c_under_load() {
    let directory = scratch();
    let told = Mutex::new(BTreeSet::new());
    for round in 0..2 {
        let service = Service::start(&directory);
        thread::scope(|scope| {
            for client in 0..16 {
                let (told, address) = (&told, service.address);
                scope.spawn(move || {
                    let mut connection = Client::connect(address).unwrap();
                    // Until the service ends.
                    while let Ok((status, answer)) =
                        connection.ask("POST", "/notes", &format!("{round} of {client}"))
                    {
                        assert_eq!(status, 200, "{answer}");
                        let id = id_of(&answer);
                        assert!(told.lock().unwrap().insert(id), "{id} was given out twice");
                        match connection.ask("GET", &format!("/notes/{id}"), "") {
                            Ok((status, answer)) => {
                                assert_eq!(status, 200, "{answer}");
                                assert!(answer.contains("\"reads\":1"), "{answer}");
                            }
                            Err(_) => break,
                        }
                    }
                });
            }
            while told.lock().unwrap().len() < (round + 1) * 500 {
                thread::yield_now();
            }
            service.interrupt();
        });
        assert_eq!(service.last_words(), "closed as it should be\n");
    }
    let service = Service::start(&directory);
    let mut connection = Client::connect(service.address).unwrap();
    for id in told.into_inner().unwrap() {
        let (status, answer) = connection.ask("GET", &format!("/notes/{id}"), "").unwrap();
        assert_eq!(status, 200, "{answer}");
    }
    let (status, answer) = connection.ask("GET", "/notes?limit=2", "").unwrap();
    assert_eq!((status, answer.matches("\"id\"").count()), (200, 2));
    let missing = connection.ask("GET", "/notes/0", "").unwrap();
    assert_eq!(missing, (404, "there is no note 0\n".to_owned()));
    let large = "x".repeat(1 << 20);
    assert_eq!(connection.ask("POST", "/notes", &large).unwrap().0, 413);
    drop(connection);
    service.interrupt();
    assert_eq!(service.last_words(), "closed as it should be\n");
    std::fs::remove_dir_all(&directory).unwrap();
}
