//! HTTPS, with certificates of our own. Which ones are trusted is read once in a process, so the test makes them and
//! starts itself once more with them.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use trunkline_client::types::Revision;
use trunkline_client::{Client, Proxies, Remote};

const FOLDER: &str = "TRUNKLINE_TEST_CERTIFICATES";

fn main() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        return runtime
            .unwrap()
            .block_on(a_server_is_believed_by_its_certificate(Path::new(&folder)));
    }
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let output = Command::new(std::env::current_exe().unwrap())
        .env("SSL_CERT_FILE", folder.path().join("authority.pem"))
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

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

async fn a_server_is_believed_by_its_certificate(folder: &Path) {
    let port = serve(folder).await;
    let client = Client::http(format!("https://localhost:{port}/mcp"))
        .connect()
        .await
        .unwrap();
    client.ping().await.unwrap();

    // It sends calls elsewhere, where they would not be encrypted.
    let refused = client.call("x", &json!({})).await.unwrap_err();
    assert!(
        !refused.may_have_run() && refused.to_string().contains("in the clear"),
        "{refused}"
    );

    // The certificate is for the name, not for the address.
    let remote = Remote::new(format!("https://127.0.0.1:{port}/mcp")).proxies(Proxies::Direct);
    let error = Client::remote(remote).connect().await.unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
}

/// Serves until the process ends.
async fn serve(folder: &Path) -> u16 {
    let chain = CertificateDer::pem_file_iter(folder.join("server.pem"))
        .unwrap()
        .map(Result::unwrap);
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect(), key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = socket.accept().await {
            tokio::spawn(answer_all(stream, acceptor.clone()));
        }
    });
    port
}

/// Answers every request of one connection; calls are redirected.
async fn answer_all(stream: TcpStream, acceptor: TlsAcceptor) {
    let Ok(mut stream) = acceptor.accept(stream).await else {
        return;
    };
    let mut read = Vec::new();
    while matches!(stream.read_buf(&mut read).await, Ok(count) if count > 0) {
        let text = String::from_utf8_lossy(&read).into_owned();
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        let Some(message) = body.and_then(|body| serde_json::from_str::<Value>(body).ok()) else {
            continue;
        };
        read.clear();
        let answer = if message["method"] == "tools/call" {
            "HTTP/1.1 307 X\r\nLocation: http://localhost:9/mcp\r\nContent-Length: 0\r\n\r\n".to_owned()
        } else {
            let versions = [Revision::LATEST.name()];
            let result =
                json!({ "resultType": "complete", "supportedVersions": versions, "capabilities": { "tools": {} } });
            let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
            let length = body.len();
            format!("HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        };
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    }
}
