//! A socket, with or without TLS: bytes in and out without waiting.

use super::stream::Stream;
use mio::{Registry, Token};
use rustls::{ServerConfig, ServerConnection};
use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

/// Bytes that are read at a time.
const PIECE: usize = 32 << 10;
/// Bytes of one socket that are read before others have their turn.
const TURN: usize = 256 << 10;

/// A socket, with or without TLS.
pub(crate) struct Channel {
    stream: Stream,
    tls: Option<Box<ServerConnection>>,
    /// The system may have more for us.
    pub readable: bool,
    /// The system may take more from us.
    pub writable: bool,
    /// The poll tells when it does again.
    tells_of_room: bool,
    /// The peer sends nothing more than what has come.
    pub hung_up: bool,
}

/// How reading has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// There is no more now.
    Empty,
    /// There may be more: its turn is over.
    More,
    /// The peer has closed it.
    Closed,
}

impl Channel {
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            tls: None,
            readable: true,
            writable: true,
            tells_of_room: false,
            hung_up: false,
        }
    }

    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.readable = true;
        self.writable = true;
        self.stream.register(registry, token)
    }

    /// Has the poll tell of room to write while there is none, and at no other time.
    pub fn watch_room(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let tells = !self.writable;
        if self.tells_of_room != tells {
            self.stream.tell_of_room(registry, token, tells)?;
            self.tells_of_room = tells;
        }
        Ok(())
    }

    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.stream.deregister(registry)
    }

    /// The peer speaks TLS from the next byte on.
    pub fn start_tls(&mut self, config: &Arc<ServerConfig>) -> Result<(), rustls::Error> {
        self.tls = Some(Box::new(ServerConnection::new(Arc::clone(config))?));
        Ok(())
    }

    /// Appends what has come to `into`.
    pub fn read(&mut self, into: &mut Vec<u8>) -> io::Result<Reading> {
        match &mut self.tls {
            None => {
                let reading = read_plain(&mut self.stream, &mut self.readable, into);
                // The poll reports a hang-up once: go on reading until the end has been read.
                self.readable |= self.hung_up && !matches!(reading, Ok(Reading::Closed));
                reading
            }
            Some(tls) => {
                let mut taken = 0;
                loop {
                    let reading = match tls.read_tls(&mut self.stream) {
                        Ok(0) => Reading::Closed,
                        Ok(count) => {
                            taken += count;
                            Reading::More
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            self.readable = false;
                            Reading::Empty
                        }
                        Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                        Err(error) => return Err(error),
                    };
                    let state = tls.process_new_packets().map_err(|error| {
                        // The peer is told why, as far as its socket takes it.
                        _ = tls.write_tls(&mut self.stream);
                        io::Error::new(ErrorKind::InvalidData, error)
                    })?;
                    let start = into.len();
                    into.resize(start + state.plaintext_bytes_to_read(), 0);
                    tls.reader().read_exact(&mut into[start..])?;
                    if reading != Reading::More || taken > TURN {
                        return Ok(reading);
                    }
                }
            }
        }
    }

    /// Writes some of these bytes: how many it has taken.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self { stream, tls, writable, .. } = self;
        let Some(tls) = tls else { return write_plain(stream, writable, bytes) };
        let mut taken = 0;
        loop {
            while tls.wants_write() {
                match tls.write_tls(stream) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        *writable = false;
                        return Ok(taken);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            if taken == bytes.len() || tls.is_handshaking() {
                return Ok(taken);
            }
            taken += tls.writer().write(&bytes[taken..])?;
        }
    }

    /// Nothing more is written: the peer gets what was, although it may have sent what nobody reads.
    pub fn finish(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            _ = tls.write_tls(&mut self.stream);
        }
        // It may be closed already.
        _ = self.stream.shutdown();
        let mut nothing = [0; 4096];
        for _ in 0..64 {
            if !matches!(self.stream.read(&mut nothing), Ok(1..)) {
                break;
            }
        }
    }

    /// Whether bytes that were taken are not with the system yet.
    pub fn is_behind(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }
}

thread_local! {
    /// What is read into, so that no connection has room for a piece while nothing comes.
    static PIECE_READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; PIECE].into());
}

fn read_plain(stream: &mut Stream, readable: &mut bool, into: &mut Vec<u8>) -> io::Result<Reading> {
    PIECE_READ.with_borrow_mut(|piece| read_pieces(stream, readable, piece, into))
}

fn read_pieces(
    stream: &mut Stream,
    readable: &mut bool,
    piece: &mut [u8],
    into: &mut Vec<u8>,
) -> io::Result<Reading> {
    let start = into.len();
    loop {
        let read = stream.read(piece);
        into.extend_from_slice(&piece[..*read.as_ref().unwrap_or(&0)]);
        match read {
            Ok(0) => return Ok(Reading::Closed),
            // Less than there was room for: that was all. The system tells when more has come.
            Ok(count) if count < PIECE => {
                *readable = false;
                return Ok(Reading::Empty);
            }
            Ok(_) if into.len() - start >= TURN => return Ok(Reading::More),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                *readable = false;
                return Ok(Reading::Empty);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn write_plain(stream: &mut Stream, writable: &mut bool, bytes: &[u8]) -> io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        match stream.write(&bytes[taken..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => taken += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                *writable = false;
                break;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}
