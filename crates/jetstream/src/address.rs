//! Where a log is: the servers of a URL, and the name of the stream.

/// The port that NATS servers listen on for clients.
const PORT: u16 = 4222;
/// The most characters of a stream's name: servers make a directory of it.
const NAME_CHARACTERS_MAX: usize = 64;

/// `nats://a:4222,b:4222,c:4222/name`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// `host:port` of each server.
    pub servers: Vec<String>,
    /// The name of the stream.
    pub stream: String,
}

impl Address {
    /// Takes a URL apart; says what is wrong with it.
    pub fn parse(url: &str) -> Result<Self, String> {
        let form = || format!("`{url}` is not of the form nats://HOST:PORT,HOST:PORT,.../NAME");
        let rest = url.strip_prefix("nats://").ok_or_else(form)?;
        let (servers, stream) = rest.split_once('/').ok_or_else(form)?;
        if servers.contains('@') {
            return Err(format!("`{url}` has credentials, which are not supported yet"));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if stream.is_empty() || stream.len() > NAME_CHARACTERS_MAX || !stream.chars().all(is_name) {
            return Err(format!(
                "`{stream}` in `{url}` is no name of a log: it has 1 to {NAME_CHARACTERS_MAX} letters, digits, \
                 hyphens and underscores"
            ));
        }
        let servers = servers.split(',').map(|server| with_port(server).ok_or_else(form));
        Ok(Self { servers: servers.collect::<Result<_, _>>()?, stream: stream.into() })
    }

    /// The URL of the log.
    pub fn url(&self) -> String {
        format!("nats://{}/{}", self.servers.join(","), self.stream)
    }

    /// The servers, for messages.
    pub fn tried(&self) -> String {
        self.servers.join(", ")
    }
}

/// `host:port` of a server whose port may be left out. An IPv6 address stands in brackets.
fn with_port(server: &str) -> Option<String> {
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (server, PORT),
    };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let is_host = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_';
    (bracketed || (!host.is_empty() && host.chars().all(is_host))).then(|| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let address = Address::parse("nats://a:1,b.example,[::1]:3/bank_1").unwrap();
        assert_eq!(address.servers, ["a:1", "b.example:4222", "[::1]:3"]);
        assert_eq!(address.stream, "bank_1");
        assert_eq!(address.url(), "nats://a:1,b.example:4222,[::1]:3/bank_1");
    }

    #[test]
    fn other_urls_are_refused() {
        let bad = [
            "a:4222/bank",
            "http://a/bank",
            "nats://a",
            "nats://a/",
            "nats:///bank",
            "nats://a,,b/bank",
            "nats://a:x/bank",
            "nats://a:70000/bank",
            "nats://a/bank.1",
            "nats://a/bank/2",
            "nats://a/bank?x",
            "nats://user:secret@a/bank",
        ];
        for url in bad {
            let complaint = Address::parse(url).expect_err(url);
            assert!(complaint.contains(url), "{complaint}");
        }
        assert!(Address::parse(&format!("nats://a/{}", "x".repeat(65))).is_err());
    }
}
