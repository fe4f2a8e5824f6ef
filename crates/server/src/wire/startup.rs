//! The first packet of a connection.

use super::{BadMessage, Cursor};

const CANCEL: u32 = 80_877_102;
const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// What a client sends first.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Packet<'a> {
    /// It asks for TLS.
    Ssl,
    /// It asks for encryption by GSSAPI.
    Gss,
    /// It asks that a statement of another connection be ended.
    Cancel { id: u32, key: &'a [u8] },
    /// It begins a session.
    Startup(Startup<'a>),
}

/// The begin of a session.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Startup<'a> {
    /// The minor version of protocol 3 that it speaks.
    pub minor: u16,
    /// Names and values.
    pub parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Packet<'a> {
    pub fn parse(body: &'a [u8]) -> Result<Self, BadMessage> {
        let mut cursor = Cursor::new(body);
        match cursor.u32()? {
            CANCEL => Ok(Self::Cancel { id: cursor.u32()?, key: cursor.rest() }),
            SSL => Ok(Self::Ssl),
            GSS => Ok(Self::Gss),
            version if version >> 16 == 3 => {
                let minor = (version & 0xffff) as u16;
                Ok(Self::Startup(Startup { minor, parameters: parameters(&mut cursor)? }))
            }
            version => Err(BadMessage::new(format!(
                "unsupported frontend protocol {}.{}: server supports 3.0",
                version >> 16,
                version & 0xffff
            ))),
        }
    }
}

fn parameters<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<(&'a str, &'a str)>, BadMessage> {
    let mut parameters = Vec::new();
    loop {
        match cursor.text()? {
            "" => {
                cursor.end().map_err(|_| {
                    BadMessage::new(
                        "invalid startup packet layout: expected terminator as last byte",
                    )
                })?;
                return Ok(parameters);
            }
            name => parameters.push((name, cursor.text()?)),
        }
    }
}

impl<'a> Startup<'a> {
    /// The value of a parameter, unless it is empty.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.parameters.iter().find(|(given, _)| *given == name);
        found.map(|(_, value)| *value).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_told_apart() {
        let mut body = 0x0003_0000_u32.to_be_bytes().to_vec();
        body.extend(b"user\0ann\0database\0d\0\0");
        let parameters = vec![("user", "ann"), ("database", "d")];
        let startup = Startup { minor: 0, parameters };
        assert_eq!(startup.get("user"), Some("ann"));
        assert_eq!(Packet::parse(&body), Ok(Packet::Startup(startup)));
        assert_eq!(Packet::parse(&SSL.to_be_bytes()), Ok(Packet::Ssl));
        assert_eq!(Packet::parse(&GSS.to_be_bytes()), Ok(Packet::Gss));
        let mut cancel = CANCEL.to_be_bytes().to_vec();
        cancel.extend([0, 0, 0, 7, 1, 2, 3, 4]);
        assert_eq!(Packet::parse(&cancel), Ok(Packet::Cancel { id: 7, key: &[1, 2, 3, 4] }));
        body.pop();
        for bad in [&body[..], &[0, 2, 0, 0], &[0, 3], &[0, 3, 0, 0, b'a']] {
            assert!(Packet::parse(bad).is_err(), "{bad:?}");
        }
    }
}
