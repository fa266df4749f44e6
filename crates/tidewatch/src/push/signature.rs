//! Signatures by the Standard Webhooks rules, so that a receiver knows who called.
//!
//! ```text
//! webhook-signature = "v1," + base64( HMAC-SHA256( key, id + "." + timestamp + "." + body ) )
//! ```
//!
//! A secret is written `whsec_` and base64; without the prefix its bytes are the key.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fetch::Secret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The key in a secret.
pub fn key(secret: &Secret) -> Result<Vec<u8>, String> {
    let text = secret.reveal().trim();
    let bytes = match text.strip_prefix("whsec_") {
        None => text.as_bytes().to_vec(),
        Some(encoded) => STANDARD
            .decode(encoded)
            .map_err(|_| "the secret after `whsec_` must be base64".to_owned())?,
    };
    if bytes.len() < 16 {
        return Err(
            "a secret needs at least 16 bytes; make one with `openssl rand -base64 24`".to_owned()
        );
    }
    Ok(bytes)
}

/// The signature of a call.
pub fn sign(key: &[u8], id: &str, timestamp: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification.
    #[test]
    fn the_specifications_example() {
        let key = key(&Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
        let signature =
            sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_too_short_to_be_one_is_refused() {
        assert!(key(&Secret::new("hunter2")).is_err());
        assert!(key(&Secret::new("whsec_%%%")).is_err());
    }
}
