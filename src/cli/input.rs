//! What a command reads: a file, or standard input where `-` is named.

use std::io::{self, Read};
use std::path::Path;

use super::exit::CliError;

/// The largest document that is read: far more than any card or parameter has, and little enough to hold in memory.
const LARGEST: u64 = 64 << 20;

/// Standard input, for reading.
///
/// Where it was closed, the runtime has opened the null device in its place before the program began: reading that would bring
/// an empty document that nobody gave.
///
/// # Errors
/// When it is closed.
pub(crate) fn stdin() -> io::Result<io::StdinLock<'static>> {
    if is_closed() {
        return Err(io::Error::other("standard input is closed"));
    }
    Ok(io::stdin().lock())
}

/// What the runtime opens in place of a closed input is open for reading and writing; what a user redirects is for reading alone.
#[cfg(unix)]
fn is_closed() -> bool {
    use std::os::unix::fs::MetadataExt;

    let stdin = io::stdin();
    let stands_in =
        rustix::fs::fcntl_getfl(&stdin).is_ok_and(|flags| flags & rustix::fs::OFlags::ACCMODE == rustix::fs::OFlags::RDWR);
    let device = std::fs::metadata("/dev/null").map(|null| null.rdev());
    stands_in && rustix::fs::fstat(&stdin).is_ok_and(|input| device.is_ok_and(|null| input.st_rdev == null && null != 0))
}

#[cfg(not(unix))]
fn is_closed() -> bool {
    false
}

/// Opens a file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if path == Path::new("-") { Box::new(stdin()?) } else { Box::new(std::fs::File::open(path)?) })
}

/// Reads a file, or standard input for `-`, as far as a document may go: either may have no end.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = open(path).and_then(|input| input.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > LARGEST {
        let message = format!("{} is larger than a document may be ({} MiB)", path.display(), LARGEST >> 20);
        return Err(CliError::usage(message));
    }
    Ok(bytes)
}

/// Reads text, as [`bytes`] does.
pub(crate) fn text(path: &Path) -> Result<String, CliError> {
    let shown = path.display();
    String::from_utf8(bytes(path)?).map_err(|_| CliError::usage(format!("{shown} cannot be read: it is not text in UTF-8")))
}

/// A file that cannot be read is refused before any work.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> CliError {
    CliError::usage(format!("{} cannot be read: {error}", path.display()))
}
