//! A client that sends messages of the protocol as they are told, and hears all that is said.

use chiliad_server::Running;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// No answer takes longer, on a loaded machine either.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection.
pub struct Raw {
    stream: TcpStream,
    unsent: Vec<u8>,
}

/// A message of the server: its type and its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    pub kind: u8,
    pub body: Vec<u8>,
}

impl Raw {
    /// One that is let in.
    pub fn connect(running: &Running) -> Self {
        Self::login(running.addresses()[0])
    }

    /// One that is let in by the server at this address.
    pub fn login(address: SocketAddr) -> Self {
        let mut raw = Self::silent(address);
        raw.startup("ann").hear();
        raw
    }

    /// One that has said nothing yet.
    pub fn silent(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connects");
        stream.set_nodelay(true).expect("set");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        Self { stream, unsent: Vec::new() }
    }

    /// The startup packet.
    pub fn startup(&mut self, user: &str) -> &mut Self {
        let parameters = format!("\0\x03\0\0user\0{user}\0database\0test\0\0");
        self.bytes(&(parameters.len() as u32 + 4).to_be_bytes()).bytes(parameters.as_bytes())
    }

    /// Bytes as they are, sent with the next [`Raw::hear`] or [`Raw::send`].
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.unsent.extend(bytes);
        self
    }

    /// A message of this type, sent with the next [`Raw::hear`].
    pub fn message(&mut self, kind: u8, body: &[u8]) -> &mut Self {
        self.unsent.push(kind);
        self.unsent.extend((body.len() as u32 + 4).to_be_bytes());
        self.unsent.extend(body);
        self
    }

    /// Query.
    pub fn query(&mut self, text: &str) -> &mut Self {
        self.message(b'Q', &[text.as_bytes(), b"\0"].concat())
    }

    /// Parse without a name, and Bind of no parameters to a portal; results are binary or text.
    pub fn bind(&mut self, portal: &str, text: &str, binary: bool) -> &mut Self {
        self.message(b'P', &[b"\0", text.as_bytes(), b"\0\0\0"].concat());
        let format = [0, 1, 0, u8::from(binary)];
        self.message(b'B', &[portal.as_bytes(), b"\0\0\0\0\0\0", &format].concat())
    }

    /// Execute of a portal for so many rows, 0 for all.
    pub fn execute(&mut self, portal: &str, rows_max: i32) -> &mut Self {
        self.message(b'E', &[portal.as_bytes(), b"\0", &rows_max.to_be_bytes()].concat())
    }

    pub fn sync(&mut self) -> &mut Self {
        self.message(b'S', &[])
    }

    /// Sends what is not sent.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(&std::mem::take(&mut self.unsent))
    }

    /// The next message.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn next(&mut self) -> io::Result<Said> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body)?;
        Ok(Said { kind: head[0], body })
    }

    /// Whether the server says something within this time, which stays to be heard.
    pub fn has_heard(&self, within: Duration) -> bool {
        self.stream.set_read_timeout(Some(within)).expect("set");
        let heard = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(PATIENCE)).expect("set");
        matches!(heard, Ok(1..))
    }

    /// Sends what is not sent and hears all up to the next ReadyForQuery, without that.
    pub fn hear(&mut self) -> Vec<Said> {
        self.send().expect("sent");
        let mut heard = Vec::new();
        loop {
            let said = self.next().expect("an answer");
            if said.kind == b'Z' {
                return heard;
            }
            heard.push(said);
        }
    }

    /// Sends what is not sent and hears all until the server closes the connection, each message as a short text. A server
    /// that closes it before it has read everything may take back what it has said: the socket's way, and no error.
    pub fn last_words(&mut self) -> Vec<String> {
        _ = self.send();
        let mut heard = Vec::new();
        loop {
            match self.next() {
                Ok(said) => heard.push(said.short()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    panic!("the server says nothing and does not close: {heard:?}")
                }
                Err(_) => return heard,
            }
        }
    }

    /// As [`Raw::told`]; `None` where the server has gone before it has said everything, and has not said why.
    pub fn hear_all(&mut self) -> Option<Vec<String>> {
        self.send().ok()?;
        let mut heard: Vec<String> = Vec::new();
        loop {
            match self.next() {
                Ok(said) if said.kind == b'Z' => return Some(heard),
                Ok(said) => heard.push(said.short()),
                Err(_) => return heard.last()?.starts_with('E').then_some(heard),
            }
        }
    }

    /// As [`Raw::told`]; up to the end of the connection, where the server ends it.
    pub fn told_all(&mut self) -> Vec<String> {
        self.send().expect("sent");
        let mut heard = Vec::new();
        while let Ok(said) = self.next()
            && said.kind != b'Z'
        {
            heard.push(said.short());
        }
        heard
    }

    /// As [`Raw::hear`], each message as a short text.
    pub fn told(&mut self) -> Vec<String> {
        self.hear().iter().map(Said::short).collect()
    }
}

impl Said {
    /// The code of an error.
    pub fn sqlstate(&self) -> Option<String> {
        let fields = (self.kind == b'E').then(|| self.body.split(|byte| *byte == 0))?;
        let code = fields.into_iter().find_map(|field| field.strip_prefix(b"C"))?;
        Some(String::from_utf8_lossy(code).into())
    }

    /// The type of the message, and what matters of its body: the tag, the code of an error, the values of a row.
    pub fn short(&self) -> String {
        let kind = char::from(self.kind);
        match self.kind {
            b'C' => {
                format!("C {}", String::from_utf8_lossy(&self.body).trim_end_matches('\0'))
            }
            b'E' => format!("E {}", self.sqlstate().unwrap_or_default()),
            b'D' => format!("D {}", self.values().join(",")),
            b'T' => format!("T {}", u16::from_be_bytes([self.body[0], self.body[1]])),
            _ => kind.into(),
        }
    }

    fn values(&self) -> Vec<String> {
        let mut rest = &self.body[2..];
        let mut values = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk() {
            let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
                values.push("NULL".into());
                rest = after;
                continue;
            };
            let (value, after) = after.split_at(length);
            let is_text = value.iter().all(|byte| (b' '..0x7f).contains(byte));
            values.push(match is_text {
                true => String::from_utf8_lossy(value).into(),
                false => format!("{value:02x?}"),
            });
            rest = after;
        }
        values
    }
}
