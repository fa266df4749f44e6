//! Encoded bodies: every coding we offer reads back, and none can cost more than it may.

use std::io::Write;

use fetch::Outcome;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use crate::server::{Server, body, check, fetch, line, ok, poll, settings};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bare_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    let params = brotli::enc::BrotliEncoderParams { quality: 5, ..Default::default() };
    brotli::BrotliCompress(&mut &*bytes, &mut encoded, &params).unwrap();
    encoded
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// A word of a text that shrinks as texts do.
fn scattered(n: u32) -> Vec<u8> {
    format!("{} ", n.wrapping_mul(2_654_435_761)).into_bytes()
}

async fn encoded(coding: &str, bytes: Vec<u8>) -> Server {
    Server::saying(ok(&format!("content-encoding: {coding}\r\n"), bytes)).await
}

#[tokio::test]
async fn every_coding_we_offer_reads_back() {
    let text: Vec<u8> = (0..200_000u32).flat_map(scattered).collect();
    for (coding, wire) in [
        ("gzip", gzip(&text)),
        ("x-gzip", gzip(&text)),
        ("gzip", [gzip(&text[..1000]), gzip(&text[1000..])].concat()),
        ("br", brotli(&text)),
        ("zstd", zstd(&text)),
        ("zstd", [zstd(&text[..1000]), zstd(&text[1000..])].concat()),
        ("deflate", zlib(&text)),
        ("deflate", bare_deflate(&text)),
        ("identity", text.clone()),
        ("gzip, gzip", gzip(&gzip(&text))),
        ("br, gzip", gzip(&brotli(&text))),
    ] {
        let size = wire.len() as u64;
        let server = encoded(coding, wire).await;
        let answer = fetch(server.url("/")).await;
        check(&answer, "fetched");
        assert!(body(&answer) == text, "{coding}");
        let Outcome::Fetched(response) = &answer.outcome else { unreachable!() };
        assert_eq!(response.wire_bytes, size);
        let offered = line(&server.heads()[0], "accept-encoding").unwrap().to_owned();
        assert_eq!(offered, "gzip, br, zstd, deflate");
    }
}

#[tokio::test]
async fn nothing_encoded_is_nothing() {
    for coding in ["gzip", "br", "zstd", "deflate", "gzip, gzip"] {
        let answer = fetch(encoded(coding, Vec::new()).await.url("/")).await;
        check(&answer, "fetched");
        assert!(body(&answer).is_empty());
    }
}

#[tokio::test]
async fn bombs_are_defused() {
    let zeros = vec![0; 50 << 20];
    for (coding, wire) in [
        ("gzip", gzip(&zeros)),
        ("br", brotli(&zeros)),
        ("zstd", zstd(&zeros)),
        ("deflate", zlib(&zeros)),
        ("gzip, gzip", gzip(&gzip(&zeros))),
    ] {
        let answer = fetch(encoded(coding, wire).await.url("/")).await;
        check(&answer, "bomb");
    }
}

/// The outer layer yields 20 MiB of empty files, the inner one nothing at all.
#[tokio::test]
async fn a_bomb_between_two_layers_is_defused() {
    let empty = gzip(b"").repeat(1 << 20);
    let answer = fetch(encoded("gzip, gzip", gzip(&empty)).await.url("/")).await;
    check(&answer, "bomb");
}

#[tokio::test]
async fn an_honest_body_over_the_limit_is_too_big_once_decoded() {
    let text: Vec<u8> = (0..400_000u32).flat_map(scattered).collect();
    let wire = gzip(&text);
    let mut settings = settings();
    settings.limits.max_body = 2 << 20;
    assert!(wire.len() < 2 << 20 && text.len() > 2 << 20);
    let server = encoded("gzip", wire).await;
    check(&poll(settings, server.url("/")).await, "too_big");
}

#[tokio::test]
async fn a_window_no_server_may_ask_for_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(b"small, but decoded in 128 MiB").unwrap();
    let server = encoded("zstd", encoder.finish().unwrap()).await;
    check(&fetch(server.url("/")).await, "bad_encoding");
}

#[tokio::test]
async fn what_ends_early_is_no_version() {
    let text = "the whole text ".repeat(1000);
    for (coding, mut wire) in [
        ("gzip", gzip(text.as_bytes())),
        ("br", brotli(text.as_bytes())),
        ("zstd", zstd(text.as_bytes())),
        ("deflate", zlib(text.as_bytes())),
        ("deflate", bare_deflate(text.as_bytes())),
    ] {
        wire.truncate(wire.len() - 5);
        check(&fetch(encoded(coding, wire).await.url("/")).await, "bad_encoding");
    }
}

#[tokio::test]
async fn what_is_not_encoded_as_it_says_is_no_version() {
    for coding in ["gzip", "br", "zstd", "deflate"] {
        let server = encoded(coding, b"\xffplain text, whatever the header says".to_vec()).await;
        check(&fetch(server.url("/")).await, "bad_encoding");
    }
}

#[tokio::test]
async fn an_encoding_we_did_not_offer_is_unknown() {
    for coding in ["compress", "exi", "gzip, gzip, gzip", "aws-chunked"] {
        check(&fetch(encoded(coding, b"x".to_vec()).await.url("/")).await, "unknown_encoding");
    }
}
