//! TLS, from outside: a client that trusts the certificate, one that does not, and bytes that are no TLS.

use crate::common::{connect_as, local, run_for};
use chiliad::Database;
use chiliad_server::{Running, Server, Users};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Client;
use tokio_postgres_rustls::MakeRustlsConnect;

/// A request for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// A server that offers TLS, and its certificate.
fn serve() -> (Running, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".into()]).expect("a certificate");
    let users = Users::parse("ann:pencil\n").expect("users");
    let server = Server::builder(Database::in_memory().expect("opens")).users(users);
    let server = server.tls(cert.pem().as_bytes(), signing_key.serialize_pem().as_bytes());
    (server.listen(local()).threads(2).start().expect("it starts"), cert.der().clone())
}

/// A client that trusts this certificate alone.
async fn connect(
    running: &Running,
    trusted: CertificateDer<'static>,
    more: &str,
) -> Result<Client, tokio_postgres::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions");
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let port = running.addresses()[0].port();
    let text = format!(
        "host=localhost hostaddr=127.0.0.1 port={port} dbname=test user=ann sslmode=require {more}"
    );
    let (client, connection) =
        tokio_postgres::connect(&text, MakeRustlsConnect::new(config)).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[test]
fn a_client_is_served_over_tls() {
    run_for(60, async {
        let (running, certificate) = serve();
        let client = connect(&running, certificate, "password=pencil").await.expect("it lets in");
        // Results and rows of more than one record of TLS.
        client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v text)").await.expect("made");
        let long = "x".repeat(100_000);
        client.execute("INSERT INTO t VALUES (1, $1)", &[&long]).await.expect("inserted");
        let row = client.query_one("SELECT v FROM t WHERE id = 1", &[]).await.expect("a row");
        assert_eq!(row.get::<_, &str>(0), long);
        let token = client.cancel_token();
        drop(token);
        // Who does not ask for it is served without.
        let plain = connect_as(&running, "user=ann password=pencil").await.expect("it lets in");
        plain.batch_execute("SELECT 1").await.expect("it answers");
    });
}

#[test]
fn a_wrong_password_and_an_unknown_certificate_are_refused() {
    run_for(60, async {
        let (running, certificate) = serve();
        let wrong = connect(&running, certificate, "password=wrong").await.expect_err("refused");
        assert_eq!(wrong.code().map(|it| it.code()), Some("28P01"));
        let (_other, unknown) = serve();
        let refused = connect(&running, unknown, "password=pencil").await;
        assert!(refused.is_err_and(|error| error.code().is_none()), "the client ends it");
        for _ in 0..200 {
            if running.connections() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("those that have gone hold no place");
    });
}

/// Bytes in place of a handshake end their connection, at once or cut anywhere, and no other.
#[test]
fn garbage_in_place_of_a_handshake_ends_its_connection() {
    run_for(60, async {
        let (running, certificate) = serve();
        let client_hello = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];
        let startup = b"\0\0\0\x11\0\x03\0\0user\0ann\0\0";
        for garbage in [
            &[0xff; 64][..],
            b"GET / HTTP/1.1\r\n\r\n",
            &client_hello,
            &[0x16, 0x03, 0x01, 0xff, 0xff, 0x00],
            // What follows S in plain text: the login is to come within TLS.
            startup,
            &SSL_REQUEST,
            &[],
        ] {
            let mut stream = TcpStream::connect(running.addresses()[0]).expect("connects");
            stream.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
            stream.write_all(&SSL_REQUEST).expect("sent");
            let mut answer = [0];
            stream.read_exact(&mut answer).expect("an answer");
            assert_eq!(answer, *b"S");
            stream.write_all(garbage).expect("sent");
            stream.shutdown(std::net::Shutdown::Write).expect("shut");
            // An alert of TLS may come before the end, and nothing of the protocol within.
            let mut rest = Vec::new();
            _ = stream.read_to_end(&mut rest);
            assert!(rest.is_empty() || rest[0] == 0x15, "{garbage:?}: {rest:?}");
        }
        // Bytes that came together with the request were sent by somebody in between: they are not taken for TLS's.
        let mut stream = TcpStream::connect(running.addresses()[0]).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        stream.write_all(&[&SSL_REQUEST[..], startup].concat()).expect("sent");
        let mut rest = Vec::new();
        _ = stream.read_to_end(&mut rest);
        assert!(rest.first() != Some(&b'R'), "no login in plain text: {rest:?}");
        let client = connect(&running, certificate, "password=pencil").await.expect("it lets in");
        client.batch_execute("SELECT 1").await.expect("it answers");
    });
}

#[test]
fn what_is_no_certificate_is_refused_with_one_line() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".into()]).expect("a certificate");
    let (cert, key) = (cert.pem(), signing_key.serialize_pem());
    let other = generate_simple_self_signed(["localhost".into()]).expect("a certificate");
    let other = other.signing_key.serialize_pem();
    let begun = "-----BEGIN CERTIFICATE-----\nAAAA";
    let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (certificates, key) in [
        ("", &*key),
        ("nonsense", &key),
        (begun, &key),
        (empty, &key),
        (&*key, &key),
        (&cert, ""),
        (&cert, "nonsense"),
        (&cert, &cert),
        (&cert, &other),
    ] {
        let server = Server::builder(Database::in_memory().expect("opens")).listen(local());
        let server = server.tls(certificates.as_bytes(), key.as_bytes());
        let refused = server.start().expect_err(certificates).to_string();
        assert!(!refused.is_empty() && !refused.contains('\n'), "{refused}");
    }
}
