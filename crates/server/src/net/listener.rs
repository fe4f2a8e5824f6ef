//! Sockets that connections come to.

use super::stream::Stream;
use crate::session::Origin;
use mio::event::Source;
use mio::net::{TcpListener, UnixListener};
use mio::{Interest, Registry, Token};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A socket that connections come to.
pub(crate) enum Listener {
    Tcp(TcpListener),
    /// Its file is removed when it is dropped.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens on an address.
    pub fn tcp(address: SocketAddr) -> io::Result<Self> {
        TcpListener::bind(address).map(Self::Tcp)
    }

    /// Listens on a file. One that a process left that has ended is replaced; one that is in use is not.
    pub fn unix(path: &Path) -> io::Result<Self> {
        let bind = || UnixListener::bind(path).map(|it| Self::Unix(it, path.to_owned()));
        match bind() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if std::os::unix::net::UnixStream::connect(path).is_ok() {
                    return Err(error);
                }
                std::fs::remove_file(path)?;
                bind()
            }
            bound => bound,
        }
    }

    /// The address that it has got, of TCP.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(..) => None,
        }
    }

    /// The file that it is, of Unix sockets.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(_, path) => Some(path),
        }
    }

    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => listener.register(registry, token, Interest::READABLE),
            Self::Unix(listener, _) => listener.register(registry, token, Interest::READABLE),
        }
    }

    /// The next connection, and where its client is.
    pub fn accept(&self) -> io::Result<(Stream, Origin)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                // Answers are small, and each is waited for.
                _ = stream.set_nodelay(true);
                let here = peer.ip().to_canonical().is_loopback();
                let origin = if here { Origin::Here } else { Origin::Elsewhere };
                Ok((Stream::Tcp(stream), origin))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                Ok((Stream::Unix(stream), Origin::Here))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // It may have been removed by hand.
            _ = std::fs::remove_file(path);
        }
    }
}
