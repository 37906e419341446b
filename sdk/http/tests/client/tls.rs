//! HTTPS, with certificates of our own. Which ones are trusted is read once in a process, so the test starts itself
//! once more with those that it made.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use trunkline_http::client::{Proxies, Remote};

use crate::wire::Wire;

const FOLDER: &str = "TRUNKLINE_TEST_CERTIFICATES";

fn make_certificates(folder: &Path) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &issuer).unwrap();
    std::fs::write(folder.join("authority.pem"), authority_certificate.pem()).unwrap();
    std::fs::write(folder.join("server.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
}

#[test]
fn a_server_is_believed_by_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tls::inside", "--ignored", "--nocapture"])
        .env("SSL_CERT_FILE", folder.path().join("authority.pem"))
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Answers every request, over TLS.
async fn serve(socket: TcpListener, acceptor: TlsAcceptor) {
    while let Ok((stream, _)) = socket.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                return;
            };
            let mut read = Vec::new();
            while let Ok(count) = stream.read_buf(&mut read).await {
                let text = String::from_utf8_lossy(&read).into_owned();
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
                let Some(message) = body.and_then(|body| serde_json::from_str::<Value>(&body).ok()) else {
                    if count == 0 {
                        return;
                    }
                    continue;
                };
                read.clear();
                let answer = if message["method"] == "tools/call" {
                    "HTTP/1.1 307 X\r\nLocation: http://localhost:9/mcp\r\nContent-Length: 0\r\n\r\n".to_owned()
                } else {
                    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} }).to_string();
                    let length = body.len();
                    format!(
                        "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
                    )
                };
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
            }
        });
    }
}

#[tokio::test]
#[ignore = "its neighbour starts it, with certificates"]
async fn inside() {
    let folder = std::env::var_os(FOLDER).unwrap();
    let file = |name: &str| Path::new(&folder).join(name);
    let chain = CertificateDer::pem_file_iter(file("server.pem"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_file(file("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    tokio::spawn(serve(socket, TlsAcceptor::from(Arc::new(config))));

    let mut wire = Wire::open(&Remote::new(format!("https://localhost:{port}/mcp")));
    for id in 1..3 {
        wire.ask(id, "tools/list", json!({}));
        assert_eq!(wire.message().await["id"], id);
    }
    wire.ask(3, "tools/call", json!({ "name": "x" }));
    let failed = wire.failed().await;
    assert!(
        !failed.may_have_run && failed.why.contains("in the clear"),
        "{failed:?}"
    );

    // The certificate is for the name, not for the address.
    let mut wire = Wire::open(&Remote::new(format!("https://127.0.0.1:{port}/mcp")).proxies(Proxies::Direct));
    wire.ask(1, "tools/list", json!({}));
    let failed = wire.failed().await;
    assert!(!failed.may_have_run && failed.why.contains("certificate"), "{failed:?}");
}
