//! Account keys: reading the files that wallets and tools write, and signing with what they hold.
//!
//! Secrets live in memory that is erased when it is dropped, have no printable form, and never become part of an error: a
//! parser's own message may quote its input, so those messages are not used.

mod encrypted;
mod error;
mod format;
mod json;
mod signer;
mod source;

pub use error::KeyError;
pub use format::KeyFile;
pub use signer::{AccountSigner, KeySelection};
pub use source::{read_secret, FileModes, SecretSource};

use zeroize::Zeroizing;

/// Asks for the password of an encrypted key file. It is called at most once for one file.
pub type AskPassword<'a> = &'a mut dyn FnMut() -> Result<Zeroizing<String>, KeyError>;
