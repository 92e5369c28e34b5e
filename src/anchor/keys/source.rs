use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::str::FromStr;

use zeroize::Zeroizing;

use super::KeyError;

/// The largest secret that is read: wallet exports with many identities stay far below.
const LIMIT: usize = 4 << 20;

/// Where a secret comes from. Never an argument: other processes can read those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// A file.
    File(PathBuf),
    /// A file descriptor that the caller has opened (Unix).
    Descriptor(u32),
    /// Standard input.
    Stdin,
}

impl FromStr for SecretSource {
    type Err = KeyError;

    /// Reads `-` (standard input), `fd:<number>`, or a path.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        match (text, text.strip_prefix("fd:")) {
            ("", _) => Err(KeyError::Source),
            ("-", _) => Ok(Self::Stdin),
            (_, Some(number)) if number.bytes().all(|b| b.is_ascii_digit()) => {
                number.parse().map(Self::Descriptor).map_err(|_| KeyError::Source)
            }
            _ => Ok(Self::File(text.into())),
        }
    }
}

impl SecretSource {
    /// Reads what stands on a command line: as text is read, or a path that need not be text.
    ///
    /// # Errors
    /// [`KeyError`] as for text.
    pub fn from_argument(argument: &OsStr) -> Result<Self, KeyError> {
        argument.to_str().map_or_else(|| Ok(Self::File(argument.into())), str::parse)
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Descriptor(number) => write!(f, "fd:{number}"),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}

/// What to do with a secret file that other users of the machine may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileModes {
    /// Refuse it (Unix; other systems keep no such bits).
    Checked,
    /// Read it all the same.
    Unchecked,
}

/// Reads all of a secret into memory that is erased when dropped.
///
/// # Errors
/// [`KeyError`] when it cannot be read, is larger than 4 MiB, or is a file open to others.
pub fn read_secret(source: &SecretSource, modes: FileModes) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    if let SecretSource::File(path) = source {
        if is_secret(&path.to_string_lossy()) {
            return Err(KeyError::OnCommandLine);
        }
    }
    let unreadable = |cause| KeyError::Unreadable { name: source.to_string(), cause };
    let bytes = match source {
        SecretSource::Stdin => read_all(io::stdin().lock()),
        SecretSource::Descriptor(number) => open_descriptor(*number).and_then(read_all),
        SecretSource::File(path) => {
            let file = File::open(path).map_err(unreadable)?;
            if modes == FileModes::Checked {
                check_mode(&file, source)?;
            }
            read_all(file)
        }
    }
    .map_err(unreadable)?;
    if bytes.len() > LIMIT {
        return Err(KeyError::TooLarge { name: source.to_string(), limit: LIMIT });
    }
    Ok(bytes)
}

/// Whether this is no name of a file but a key, or what a key file holds: repeating it would spread it further.
fn is_secret(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_key = digits.len() >= 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_key || text.trim_start().starts_with(['{', '['])
}

/// One allocation of the largest size: a growing buffer would leave copies of the secret behind.
fn read_all(reader: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(LIMIT + 64));
    reader.take(LIMIT as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
fn open_descriptor(number: u32) -> io::Result<File> {
    File::open(format!("/dev/fd/{number}"))
}

#[cfg(not(unix))]
fn open_descriptor(_: u32) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no numbered file descriptors; use a file or standard input"))
}

/// Looks at the file that is open, not at its name, which may have changed hands since.
#[cfg(unix)]
fn check_mode(file: &File, source: &SecretSource) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt;

    let metadata = file.metadata().map_err(|cause| KeyError::Unreadable { name: source.to_string(), cause })?;
    let mode = metadata.permissions().mode() & 0o777;
    if metadata.is_file() && mode & 0o077 != 0 {
        return Err(KeyError::OpenToOthers { name: source.to_string(), mode });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &File, _: &SecretSource) -> Result<(), KeyError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_path_a_descriptor_or_standard_input() {
        assert_eq!("-".parse::<SecretSource>().unwrap(), SecretSource::Stdin);
        assert_eq!("fd:3".parse::<SecretSource>().unwrap(), SecretSource::Descriptor(3));
        assert_eq!("fd:x".parse::<SecretSource>().unwrap(), SecretSource::File("fd:x".into()));
        assert_eq!("keys/a.json".parse::<SecretSource>().unwrap(), SecretSource::File("keys/a.json".into()));
        assert!("".parse::<SecretSource>().is_err());
        assert!("fd:99999999999".parse::<SecretSource>().is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused_with_the_remedy() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        std::fs::write(&path, b"{}").unwrap();
        let source = SecretSource::File(path.clone());
        for mode in [0o644, 0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = read_secret(&source, FileModes::Checked).unwrap_err();
            assert!(error.to_string().contains("chmod 600"), "{error}");
            assert!(read_secret(&source, FileModes::Unchecked).is_ok());
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read_secret(&source, FileModes::Checked).unwrap().as_slice(), b"{}");
    }

    #[test]
    fn a_file_that_is_missing_or_huge_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = SecretSource::File(folder.path().join("none.json"));
        assert!(read_secret(&missing, FileModes::Checked).unwrap_err().to_string().contains("none.json"));
        let path = folder.path().join("huge.json");
        std::fs::write(&path, vec![b' '; LIMIT + 1]).unwrap();
        let error = read_secret(&SecretSource::File(path), FileModes::Unchecked).unwrap_err();
        assert!(matches!(error, KeyError::TooLarge { .. }));
    }
}
