//! The certificate of a server.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// The configuration for a chain of certificates and its key, both in PEM.
///
/// # Errors
/// A text about what is wrong with them.
pub(crate) fn server_config(certificates: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, String> {
    let chain = CertificateDer::pem_slice_iter(certificates).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| format!("the certificate: {error}"))?;
    if chain.is_empty() {
        return Err("the certificate: no CERTIFICATE in PEM".into());
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("the key: {error}"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(Arc::new(config))
}
