use std::fmt;
use std::str::FromStr;

use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::NotifyError;

/// The secret that a webhook's messages are signed with. It cannot be printed.
#[derive(Clone)]
pub struct WebhookSecret(Hmac<Sha256>);

impl WebhookSecret {
    /// The signature of a message as its header holds it: `v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64
    /// (Standard Webhooks, "Signature scheme").
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let mut mac = self.0.clone();
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl FromStr for WebhookSecret {
    type Err = NotifyError;

    /// Reads `whsec_<base64>`, with white space around it as a file may have it.
    ///
    /// # Errors
    /// [`NotifyError::Secret`] when it is anything else, or does not hold 24 to 64 bytes.
    fn from_str(text: &str) -> Result<Self, NotifyError> {
        let key = text.trim().strip_prefix("whsec_").ok_or(NotifyError::Secret)?;
        let key = STANDARD.decode(key).map_err(|_| NotifyError::Secret)?;
        if !(24..=64).contains(&key.len()) {
            return Err(NotifyError::Secret);
        }
        Hmac::new_from_slice(&key).map(Self).map_err(|_| NotifyError::Secret)
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn the_published_example_has_the_published_signature() {
        // From the test suite of the Standard Webhooks libraries.
        let secret: WebhookSecret = format!("{SECRET}\n").parse().unwrap();
        let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_never_printed() {
        let secret: WebhookSecret = SECRET.parse().unwrap();
        assert_eq!(format!("{secret:?}"), "WebhookSecret(hidden)");
        for wrong in ["", "geheim", "whsec_", "whsec_geheim", "whsec_Z2VoZWlt", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
            let error = wrong.parse::<WebhookSecret>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("geheim"));
        }
    }
}
