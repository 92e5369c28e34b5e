use std::io;

use crate::identity::AccountAddress;

/// Why account keys could not be read or used. No message holds a byte of a key file.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A key was given where the name of its file belongs.
    #[error(
        "a key may not stand on the command line, where every user of the machine can read it: put it into a file and name that"
    )]
    OnCommandLine,
    /// The file could not be read.
    #[error("the key file {name} cannot be read: {cause}")]
    Unreadable {
        /// What the user called it.
        name: String,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Other accounts of this machine may read the file.
    #[error(
        "{name} can be read or changed by other users of this machine (mode {mode:03o}): run `chmod 600 {name}`, or pass \
         --allow-open-key-file when its protection lies elsewhere"
    )]
    OpenToOthers {
        /// What the user called it.
        name: String,
        /// The permission bits.
        mode: u32,
    },
    /// The file is longer than any key file.
    #[error("{name} is not a key file: it is larger than {limit} bytes")]
    TooLarge {
        /// What the user called it.
        name: String,
        /// The limit.
        limit: usize,
    },
    /// The file is not JSON.
    #[error("the key file is not valid JSON (line {line}, column {column})")]
    NotJson {
        /// Where the reader stopped.
        line: usize,
        /// Where the reader stopped.
        column: usize,
    },
    /// An object of the file has the same field twice.
    #[error("the key file has the same field twice (line {line}, column {column}), so it is not clear which key counts")]
    FieldTwice {
        /// Where the second one is.
        line: usize,
        /// Where the second one is.
        column: usize,
    },
    /// A known format with something missing or misplaced.
    #[error("the key file ({format}) cannot be used: {what}")]
    Malformed {
        /// Which format it was read as.
        format: &'static str,
        /// Which field is wrong, and how.
        what: String,
    },
    /// A format that is known but not read, or not known at all.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The file is encrypted and there is nobody to ask.
    #[error(
        "the key file ({0}) is encrypted: give its password with --password-file <path> or --password-file fd:<number>, or run \
         in a terminal to be asked for it"
    )]
    PasswordNeeded(&'static str),
    /// The file does not decrypt.
    #[error("the key file ({0}) could not be decrypted: the password is wrong, or the file is damaged")]
    WrongPassword(&'static str),
    /// The file does not say whose keys it holds.
    #[error("the key file does not name the account its keys belong to: name it with --sender <address>")]
    SenderNeeded,
    /// The file holds several accounts.
    #[error("the key file holds the keys of {0} accounts: choose one with --sender <address>")]
    SeveralAccounts(usize),
    /// The file holds other accounts.
    #[error("the key file does not hold the keys of account {0}")]
    OtherAccount(AccountAddress),
    /// A selected key is not in the file.
    #[error("the key file has no key {key} of credential {credential}, which --signers asks for")]
    NoSuchKey {
        /// The credential's index.
        credential: u8,
        /// The key's index.
        key: u8,
    },
    /// Not a selection of keys.
    #[error("--signers is a list of credential:key pairs, each a number from 0 to 255, for example 0:0,0:1,2:0")]
    Selection,
    /// Not a place to read secrets from.
    #[error(
        "a secret is read from a file's path, from - (standard input), or from fd:<number> (an open file descriptor, on Unix)"
    )]
    Source,
}
