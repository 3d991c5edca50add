//! The cache of model answers.

use crate::Request;
use calipers_core::ModelOutput;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};

/// Stores answers, never errors.
///
/// A cache that cannot read an answer returns none, and one that cannot write it ignores that: neither stops a run.
pub trait AnswerCache: Send + Sync {
    /// The answer under a key.
    fn get(&self, key: &str) -> Option<ModelOutput>;

    /// Keeps an answer under a key.
    fn put(&self, key: &str, output: &ModelOutput);
}

/// What an answer is kept under: a SHA-256 over all that decides it, in hexadecimal digits.
///
/// It includes the address, because two servers answer to one name, and the attempt and the number of the call, so that
/// attempts at one question still differ.
pub(crate) fn key(model: &str, address: Option<&str>, request: &Request) -> String {
    let mut digest = HashWriter(Sha256::new());
    // Debug output quotes strings and prints floats exactly, so that different requests never collide.
    write!(digest, "{:?}", (model, address, &request.messages, &request.config, request.epoch, request.call))
        .expect("a hash takes any text");
    let mut key = String::with_capacity(64);
    for byte in digest.0.finalize() {
        write!(key, "{byte:02x}").expect("a string takes any text");
    }
    key
}

/// A hash that can be written to.
struct HashWriter(Sha256);

impl fmt::Write for HashWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_core::{GenerateConfig, Message};

    fn request() -> Request {
        Request {
            messages: vec![Message::user("2 + 2?")],
            config: GenerateConfig::default(),
            sample: 1.into(),
            epoch: 1,
            call: 0,
        }
    }

    #[test]
    fn whatever_decides_an_answer_changes_the_key() {
        let key = |model: &str, request: &Request| super::key(model, Some("http://a/v1"), request);
        let mut keys = vec![key("m", &request()), key("n", &request())];
        keys.extend([super::key("m", None, &request()), super::key("m", Some("http://b/v1"), &request())]);
        keys.push(key("m", &Request { epoch: 2, ..request() }));
        keys.push(key("m", &Request { call: 1, ..request() }));
        keys.push(key("m", &Request { messages: vec![Message::system("2 + 2?")], ..request() }));
        keys.push(key("m", &Request { messages: vec![Message::user("2 + "), Message::user("2?")], ..request() }));
        let config = GenerateConfig { temperature: Some(0.5), ..GenerateConfig::default() };
        keys.push(key("m", &Request { config, ..request() }));
        let different: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
        assert_eq!(key("m", &Request { sample: 2.into(), ..request() }), keys[0]);
        assert!(keys.iter().all(|key| key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit())));
    }
}
