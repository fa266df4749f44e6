//! Secure connections: with a certificate of our own making, right and wrong, over HTTP/2 and 1.1.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::Request as Asked;
use axum::routing::get;
use fetch::{Client, Settings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::server::TlsStream;

use crate::server::{body, check, poll, settings};

/// A certificate authority of one test.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A listener that shakes hands with every connection; those that fail are dropped.
struct Secure {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Secure {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, peer) = self.listener.accept().await.unwrap();
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Serves the HTTP version it was asked in, with a certificate for `params` signed by `issuer`.
async fn serve(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    params: CertificateParams,
    protocols: &[&str],
) -> u16 {
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    let private = PrivatePkcs8KeyDer::from(key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private.into())
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let secure = Secure { listener, acceptor: TlsAcceptor::from(Arc::new(config)) };
    let version = |asked: Asked<axum::body::Body>| async move { format!("{:?}", asked.version()) };
    let router = Router::new().route("/", get(version));
    tokio::spawn(async move { axum::serve(secure, router).await });
    port
}

fn named(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

fn trusting(issuer: &CertifiedIssuer<'static, KeyPair>) -> Settings {
    Settings { ca_pem: Some(issuer.pem().into_bytes()), ..settings() }
}

fn url(port: u16) -> url::Url {
    format!("https://good.test:{port}/").parse().unwrap()
}

#[tokio::test]
async fn the_best_version_both_speak() {
    let issuer = authority();
    for (protocols, version) in
        [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let port = serve(&issuer, named("good.test"), protocols).await;
        let answer = poll(trusting(&issuer), url(port)).await;
        check(&answer, "fetched");
        assert_eq!(body(&answer), version.as_bytes());
    }
}

#[tokio::test]
async fn a_certificate_nobody_vouches_for_is_not_trusted() {
    let issuer = authority();
    let port = serve(&issuer, named("good.test"), &[]).await;
    check(&poll(settings(), url(port)).await, "tls");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_trusted() {
    let issuer = authority();
    let port = serve(&issuer, named("other.test"), &[]).await;
    check(&poll(trusting(&issuer), url(port)).await, "tls");
}

#[tokio::test]
async fn a_certificate_of_the_past_is_not_trusted() {
    let issuer = authority();
    let mut params = named("good.test");
    params.not_after = date_time_ymd(2020, 1, 1);
    let port = serve(&issuer, params, &[]).await;
    check(&poll(trusting(&issuer), url(port)).await, "tls");
}

#[tokio::test]
async fn something_else_on_the_secure_port() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(crate::server::say(stream, b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()));
        }
    });
    check(&poll(settings(), url(port)).await, "tls");
}

#[tokio::test]
async fn certificates_that_are_none_are_refused_at_the_door() {
    for pem in
        ["", "not a certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
    {
        let ca_pem = Some(pem.as_bytes().to_vec());
        assert!(Client::new(Settings { ca_pem, ..settings() }).is_err(), "{pem}");
    }
}
