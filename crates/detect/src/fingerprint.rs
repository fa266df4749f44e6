//! What is compared between two looks: a hash of the canonical text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// BLAKE3 of a canonical text, or of the bytes of what is not text. Written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// What was meant to be a fingerprint and is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no fingerprint; it must have 64 hexadecimal digits")]
pub struct NoFingerprint(String);

impl Fingerprint {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// As it was stored.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// To be stored.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    fn from_str(text: &str) -> Result<Self, NoFingerprint> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| NoFingerprint(text.to_owned()))?;
        Ok(Self(*hash.as_bytes()))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the BLAKE3 paper's reference implementation: the hash of nothing.
    const NOTHING: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

    #[test]
    fn it_is_blake3_and_survives_writing() {
        let nothing = Fingerprint::of(b"");
        assert_eq!(nothing.to_string(), NOTHING);
        assert_eq!(NOTHING.parse(), Ok(nothing));
        let json = serde_json::to_string(&nothing).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), nothing);
        assert_eq!(Fingerprint::from_bytes(*nothing.as_bytes()), nothing);
    }

    #[test]
    fn what_is_no_fingerprint_says_so() {
        assert!("af13".parse::<Fingerprint>().unwrap_err().to_string().contains("64 hex"));
        assert!(serde_json::from_str::<Fingerprint>("\"zz\"").is_err());
    }
}
