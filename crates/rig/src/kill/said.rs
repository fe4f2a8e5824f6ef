//! The messages of the child, line by line.

use std::io::{self, Write};

/// One line of the child. Lines about rows are sent when their transaction may be given out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// The database is open; it took so many microseconds.
    Opened(u64),
    /// The database is being replaced by a new load.
    Resets,
    /// The load is there, durable, and clients start.
    Ready,
    /// A checkpoint begins.
    CheckpointBegins,
    /// It has ended.
    CheckpointEnds,
    /// Its clients have ended.
    Stopped,
    /// The fingerprint of a server of a shared log, when all clients of all servers have ended.
    Has {
        /// Which server.
        server: u32,
        /// The same of all servers that have the same.
        text: String,
    },
    /// Bank: a transfer by `client`, its `number`, between two accounts.
    Moved {
        /// Whose transfer it is.
        client: u32,
        /// The client's number of it.
        number: u64,
        /// The account that pays.
        from: u32,
        /// The account that is paid.
        to: u32,
        /// How much.
        amount: i64,
    },
    /// TPC-C: an order, and the number of its lines.
    Ordered {
        /// Warehouse, district, number.
        order: (u16, u8, u32),
        /// How many lines it has.
        lines: u8,
    },
    /// TPC-C: an order was delivered.
    Delivered {
        /// Warehouse, district, number.
        order: (u16, u8, u32),
    },
    /// TPC-C: a row of HISTORY, by writer and number, and its amount.
    Paid {
        /// The client that wrote it.
        writer: u32,
        /// The client's number of it.
        number: u32,
        /// How much, in cents.
        amount: u32,
    },
}

impl Said {
    /// As a line.
    pub fn write(&self, out: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = match self {
            Self::Opened(time) => writeln!(out, "opened {time}"),
            Self::Resets => writeln!(out, "resets"),
            Self::Ready => writeln!(out, "ready"),
            Self::CheckpointBegins => writeln!(out, "checkpoint-begins"),
            Self::CheckpointEnds => writeln!(out, "checkpoint-ends"),
            Self::Stopped => writeln!(out, "stopped"),
            Self::Has { server, text } => writeln!(out, "has {server} {text}"),
            Self::Moved { client, number, from, to, amount } => {
                writeln!(out, "moved {client} {number} {from} {to} {amount}")
            }
            Self::Ordered { order: (w, d, o), lines } => {
                writeln!(out, "ordered {w} {d} {o} {lines}")
            }
            Self::Delivered { order: (w, d, o) } => writeln!(out, "delivered {w} {d} {o}"),
            Self::Paid { writer, number, amount } => {
                writeln!(out, "paid {writer} {number} {amount}")
            }
        };
    }

    /// Reads a line; `None` if it is none of ours.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        if what == "has" {
            let (server, text) = rest.split_once(' ')?;
            return Some(Self::Has { server: server.parse().ok()?, text: text.into() });
        }
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let order = |words: &[&str; 3]| -> Option<(u16, u8, u32)> {
            Some((words[0].parse().ok()?, words[1].parse().ok()?, words[2].parse().ok()?))
        };
        Some(match (what, &words[..]) {
            ("opened", [time]) => Self::Opened(time.parse().ok()?),
            ("resets", []) => Self::Resets,
            ("ready", []) => Self::Ready,
            ("checkpoint-begins", []) => Self::CheckpointBegins,
            ("checkpoint-ends", []) => Self::CheckpointEnds,
            ("stopped", []) => Self::Stopped,
            ("moved", [client, number, from, to, amount]) => Self::Moved {
                client: client.parse().ok()?,
                number: number.parse().ok()?,
                from: from.parse().ok()?,
                to: to.parse().ok()?,
                amount: amount.parse().ok()?,
            },
            ("ordered", &[w, d, o, lines]) => {
                Self::Ordered { order: order(&[w, d, o])?, lines: lines.parse().ok()? }
            }
            ("delivered", &[w, d, o]) => Self::Delivered { order: order(&[w, d, o])? },
            ("paid", [writer, number, amount]) => Self::Paid {
                writer: writer.parse().ok()?,
                number: number.parse().ok()?,
                amount: amount.parse().ok()?,
            },
            _ => return None,
        })
    }
}

/// Sends whole lines to the parent.
pub fn send(lines: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(lines)?;
    out.flush()
}

/// Sends one line.
pub fn say(said: &Said) -> io::Result<()> {
    let mut line = Vec::new();
    said.write(&mut line);
    send(&line)
}

#[cfg(test)]
mod tests {
    use super::Said;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let all = [
            Said::Opened(1234),
            Said::Resets,
            Said::Ready,
            Said::CheckpointBegins,
            Said::CheckpointEnds,
            Said::Stopped,
            Said::Has { server: 3, text: "label 7, 8 rows".into() },
            Said::Moved { client: 1, number: 1 << 40, from: 2, to: 3, amount: -4 },
            Said::Ordered { order: (1, 2, 3), lines: 4 },
            Said::Delivered { order: (5, 6, 7) },
            Said::Paid { writer: 8, number: 9, amount: 10 },
        ];
        for said in all {
            let mut line = Vec::new();
            said.write(&mut line);
            let line = String::from_utf8(line).expect("UTF-8");
            assert_eq!(Said::read(line.trim_end()), Some(said));
        }
        assert_eq!(Said::read("moved 1 2 3"), None);
        assert_eq!(Said::read("thread panicked"), None);
    }
}
