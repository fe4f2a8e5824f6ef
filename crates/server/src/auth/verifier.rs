//! What is kept of a password, in PostgreSQL's format: `SCRAM-SHA-256$4096:salt$stored key:server key`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use core::num::NonZeroU32;
use ring::{digest, hmac, pbkdf2};

const PREFIX: &str = "SCRAM-SHA-256$";
/// Iterations of new verifiers, as PostgreSQL has by default.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).unwrap();

/// What is kept of a password: enough to check it, too little to log in with.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Verifier {
    pub iterations: NonZeroU32,
    pub salt: Vec<u8>,
    pub stored_key: [u8; 32],
    pub server_key: [u8; 32],
}

impl Verifier {
    /// Of a password, with a salt that is new.
    pub fn of_password(password: &str, salt: &[u8]) -> Self {
        let prepared = stringprep::saslprep(password);
        // As PostgreSQL does: a password that cannot be prepared counts as it is.
        let password = prepared.as_deref().unwrap_or(password);
        let mut salted = [0; 32];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, ITERATIONS, salt, password.as_bytes(), &mut salted);
        let stored_key = sha256(&hmac_sha256(&salted, b"Client Key"));
        let server_key = hmac_sha256(&salted, b"Server Key");
        Self { iterations: ITERATIONS, salt: salt.to_vec(), stored_key, server_key }
    }

    /// Of a user that is not there: looks like one, always the same for a name, and no password is right.
    pub fn mock(secret: &[u8; 32], user: &str) -> Self {
        let salt = hmac_sha256(secret, user.as_bytes())[..16].to_vec();
        let stored_key = hmac_sha256(secret, &salt);
        Self { iterations: ITERATIONS, salt, stored_key, server_key: stored_key }
    }

    /// A stored one; `None` for a text that is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (head, keys) = text.strip_prefix(PREFIX)?.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let key = |text| <[u8; 32]>::try_from(STANDARD.decode(text).ok()?).ok();
        Some(Self {
            iterations: iterations.parse().ok()?,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }

    /// Whether a text is to be one.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// As it is stored.
    #[cfg(test)]
    pub fn to_text(&self) -> String {
        let [salt, stored, server] = [&self.salt[..], &self.stored_key, &self.server_key]
            .map(|bytes| STANDARD.encode(bytes));
        format!("{PREFIX}{}:{salt}${stored}:{server}", self.iterations)
    }
}

pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    out
}

pub(super) fn hmac_sha256(key: &[u8], bytes: &[u8]) -> [u8; 32] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let mut out = [0; 32];
    out.copy_from_slice(hmac::sign(&key, bytes).as_ref());
    out
}

#[cfg(test)]
mod tests {
    use super::Verifier;

    #[test]
    fn a_verifier_of_postgresql_is_read_and_computed() {
        // Of PostgreSQL 15: CREATE USER .. PASSWORD 'pencil' with this salt; also the example of RFC 7677.
        let salt = [
            0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36,
            0xfa, 0x81,
        ];
        let verifier = Verifier::of_password("pencil", &salt);
        let text = verifier.to_text();
        assert_eq!(
            text,
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
             WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
        assert!(Verifier::parse(&text) == Some(verifier));
        for bad in ["", "md5abc", "SCRAM-SHA-256$0:AA==$AA==:AA==", &text[..text.len() - 1]] {
            assert!(Verifier::parse(bad).is_none(), "{bad}");
        }
    }
}
