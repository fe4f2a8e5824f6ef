//! The servers' monitoring pages: only there does a server say whether it syncs appends before it acknowledges them.

use crate::error::OpenError;
use chiliad_machine::shared_log::SharedLogError;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks every server of `monitors`, `host:port` each.
///
/// # Errors
/// [`OpenError::Refused`] if one does not sync always; [`SharedLogError::Unavailable`] if one does not answer.
pub fn check(monitors: &[String]) -> Result<(), OpenError> {
    for monitor in monitors {
        let page = page(monitor)
            .map_err(|error| SharedLogError::Unavailable(format!("monitor {monitor}: {error}")))?;
        if !syncs_always(&page) {
            return Err(OpenError::Refused {
                of: format!("the server with the monitor {monitor}"),
                setting: "jetstream sync_interval",
                is: "a time".into(),
                needed: "always".into(),
            });
        }
    }
    Ok(())
}

/// Whether the page of JetStream says so. Servers leave the word out where it is false.
fn syncs_always(page: &str) -> bool {
    let letters: String = page.chars().filter(|c| !c.is_whitespace()).collect();
    letters.contains("\"sync_always\":true")
}

fn page(monitor: &str) -> std::io::Result<String> {
    let address = monitor.to_socket_addrs()?.next().ok_or(std::io::ErrorKind::AddrNotAvailable)?;
    let mut connection = TcpStream::connect_timeout(&address, PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    // In one piece: a server may answer, and close, once it has seen the first.
    let request = format!("GET /jsz HTTP/1.0\r\nHost: {monitor}\r\n\r\n");
    connection.write_all(request.as_bytes())?;
    let mut text = String::new();
    connection.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_the_word_does_not_say_so() {
        assert!(syncs_always(
            "{\"config\": {\n \"sync_interval\": 120000000000,\n \"sync_always\": true}}"
        ));
        assert!(!syncs_always("{\"config\": {\"sync_interval\": 120000000000}}"));
    }
}
