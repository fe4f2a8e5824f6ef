//! The server's half of SCRAM-SHA-256 (RFC 5802 and RFC 7677).

use super::verifier::{Verifier, hmac_sha256, sha256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The mechanism's name.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";

/// An exchange in progress: which message is next, and what was said so far.
pub(crate) enum Exchange {
    /// The client's first message is next.
    First { verifier: Verifier, nonce: String },
    /// The client's proof is next.
    Proof { verifier: Verifier, nonce: String, gs2: String, said: String },
}

/// An answer of the server.
pub(crate) enum Answer {
    /// The server's first message: the exchange goes on.
    Continue(String),
    /// The server's last message: the password is right.
    Final(String),
}

/// Why an exchange ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// A message that is none of SCRAM.
    Malformed(&'static str),
    /// The password is wrong, or there is no such user: nobody is told which.
    WrongPassword,
}

impl Exchange {
    /// `nonce` is the server's part: printable, without commas, and never the same twice.
    pub fn new(verifier: Verifier, nonce: String) -> Self {
        Self::First { verifier, nonce }
    }

    /// Takes the client's next message.
    pub fn take(&mut self, message: &[u8]) -> Result<Answer, Refusal> {
        let message = str::from_utf8(message).map_err(|_| Refusal::Malformed("not UTF-8"))?;
        match self {
            Self::First { verifier, nonce } => {
                let first = ClientFirst::parse(message)?;
                let nonce = format!("{}{nonce}", first.nonce);
                let salt = STANDARD.encode(&verifier.salt);
                let answer = format!("r={nonce},s={salt},i={}", verifier.iterations);
                let said = format!("{},{answer}", first.bare);
                let (verifier, gs2) = (verifier.clone(), first.gs2.to_owned());
                *self = Self::Proof { verifier, nonce, gs2, said };
                Ok(Answer::Continue(answer))
            }
            Self::Proof { verifier, nonce, gs2, said } => {
                let (without_proof, proof) =
                    message.rsplit_once(",p=").ok_or(Refusal::Malformed("no proof"))?;
                let expected = format!("c={},r={nonce}", STANDARD.encode(gs2.as_bytes()));
                if without_proof != expected {
                    return Err(Refusal::Malformed("nonce or channel binding differs"));
                }
                let proof = STANDARD.decode(proof);
                let proof: [u8; 32] = proof
                    .ok()
                    .and_then(|proof| proof.try_into().ok())
                    .ok_or(Refusal::Malformed("a proof of another length"))?;
                let said = format!("{said},{without_proof}");
                check(verifier, said.as_bytes(), &proof)?;
                let signature = hmac_sha256(&verifier.server_key, said.as_bytes());
                Ok(Answer::Final(format!("v={}", STANDARD.encode(signature))))
            }
        }
    }
}

/// Whether the proof is that of the password.
fn check(verifier: &Verifier, said: &[u8], proof: &[u8; 32]) -> Result<(), Refusal> {
    let mut client_key = hmac_sha256(&verifier.stored_key, said);
    client_key.iter_mut().zip(proof).for_each(|(byte, proof)| *byte ^= proof);
    let stored = sha256(&client_key);
    // All bytes are looked at, so the time tells nothing.
    let differs = stored.iter().zip(&verifier.stored_key).fold(0, |all, (a, b)| all | (a ^ b));
    if differs == 0 { Ok(()) } else { Err(Refusal::WrongPassword) }
}

/// The client's first message.
struct ClientFirst<'a> {
    gs2: &'a str,
    bare: &'a str,
    nonce: &'a str,
}

impl<'a> ClientFirst<'a> {
    fn parse(message: &'a str) -> Result<Self, Refusal> {
        let malformed = Refusal::Malformed("a first message of another form");
        let mut parts = message.splitn(3, ',');
        let (Some(binding), Some(_identity), Some(bare)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed);
        };
        if !matches!(binding, "n" | "y") {
            return Err(Refusal::Malformed("channel binding was not offered"));
        }
        let gs2 = &message[..message.len() - bare.len()];
        // The user is that of the startup packet; the name here is ignored, as PostgreSQL does.
        let mut fields = bare.split(',');
        let user = fields.next().filter(|field| field.starts_with("n="));
        let nonce = fields.next().and_then(|field| field.strip_prefix("r="));
        match (user, nonce) {
            (Some(_), Some(nonce)) if !nonce.is_empty() => Ok(Self { gs2, bare, nonce }),
            _ => Err(malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn the_exchange_of_the_standard_succeeds() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::of_password("pencil", &salt);
        let mut exchange = Exchange::new(verifier, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0".into());
        let first = exchange.take(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let Ok(Answer::Continue(first)) = first else { panic!("refused") };
        assert_eq!(
            first,
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let proof = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        let Ok(Answer::Final(last)) = exchange.take(proof) else { panic!("refused") };
        assert_eq!(last, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn wrong_passwords_and_messages_are_refused() {
        let start = || {
            let mut exchange = Exchange::new(Verifier::mock(&[7; 32], "ann"), "server".into());
            assert!(exchange.take(b"n,,n=,r=client").is_ok());
            exchange
        };
        let proof = format!("c=biws,r=clientserver,p={}", STANDARD.encode([0; 32]));
        assert_eq!(start().take(proof.as_bytes()).err(), Some(Refusal::WrongPassword));
        for bad in ["", "c=biws,r=client,p=AA==", "c=biws,r=clientserver,p=AA==", "c=biws"] {
            let refused = start().take(bad.as_bytes()).err();
            assert!(matches!(refused, Some(Refusal::Malformed(_))), "{bad}");
        }
        for bad in ["", "n", "n,,", "p=tls-unique,,n=,r=a", "n,,r=a", "n,,n=,r="] {
            let verifier = Verifier::mock(&[7; 32], "ann");
            let refused = Exchange::new(verifier, "server".into()).take(bad.as_bytes()).err();
            assert!(matches!(refused, Some(Refusal::Malformed(_))), "{bad}");
        }
    }
}
