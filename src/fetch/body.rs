use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;

use crate::digest::{Sha256Digest, Sha256Stream};

/// The bytes of a body, or only their digest when they are many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// SHA-256 of the whole body.
    pub sha256: Sha256Digest,
    /// How many bytes it has.
    pub bytes: u64,
    /// The bytes themselves, up to [`Body::KEPT`]; `None` for a larger body.
    pub kept: Option<Bytes>,
}

impl Body {
    /// The largest body that is kept for near-miss notes and checks: 1 MiB. A larger one is only hashed.
    pub const KEPT: u64 = 1 << 20;

    /// Hashes everything that `reader` has, keeping it under the rule of [`Body::KEPT`].
    ///
    /// `cap` is the largest number of bytes to accept; `u64::MAX` for no limit.
    ///
    /// # Errors
    /// What the reader reports, and [`io::ErrorKind::FileTooLarge`] once more than `cap` bytes came.
    pub fn read(reader: impl Read, cap: u64) -> io::Result<Self> {
        Self::read_expecting(reader, cap, None)
    }

    /// Hashes a local file like [`Body::read`]. Of a large one nothing is kept from the start.
    ///
    /// # Errors
    /// As [`Body::read`], and why the file cannot be opened.
    pub fn read_file(path: &Path, cap: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        // Files that are not regular have no length worth the name.
        let expected = file.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len());
        Self::read_expecting(file, cap, expected)
    }

    fn read_expecting(mut reader: impl Read, cap: u64, expected: Option<u64>) -> io::Result<Self> {
        let mut stream = BodyStream::new(cap, expected);
        let mut buffer = vec![0; FIRST_PIECE];
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => return Ok(stream.finish()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let piece = buffer.get(..read).unwrap_or_default();
            stream.push(piece).map_err(|over| io::Error::new(io::ErrorKind::FileTooLarge, over))?;
            if read == buffer.len() && read < PIECE {
                buffer.resize(PIECE, 0);
            }
        }
    }
}

/// How many bytes are read and hashed at once: few enough to be in the processor's cache when they are hashed.
const PIECE: usize = 16 << 10;

/// How many are read at first: most cards are smaller, and a buffer costs time to make.
const FIRST_PIECE: usize = 4 << 10;

/// A body has more bytes than were to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it has more than {cap} bytes")]
pub struct OverCap {
    /// The limit, in bytes.
    pub cap: u64,
}

/// Hashes a body while it passes, counts it against a cap, and keeps it while it is small.
///
/// The memory it takes is bounded by [`Body::KEPT`], whatever the size of the body.
pub struct BodyStream {
    hash: Sha256Stream,
    cap: u64,
    kept: Option<Vec<u8>>,
}

impl BodyStream {
    /// A body of at most `cap` bytes. If its length is `expected` to be above [`Body::KEPT`], nothing is kept from the start.
    pub fn new(cap: u64, expected: Option<u64>) -> Self {
        let kept = match expected {
            Some(bytes) if bytes > Body::KEPT => None,
            Some(bytes) => Some(Vec::with_capacity(usize::try_from(bytes).unwrap_or_default())),
            None => Some(Vec::new()),
        };
        Self { hash: Sha256Stream::new(), cap, kept }
    }

    /// Adds the next bytes.
    ///
    /// # Errors
    /// [`OverCap`] if there are more than the cap now. Nothing of the chunk has been added then.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), OverCap> {
        let total = self.hash.bytes().saturating_add(chunk.len() as u64);
        if total > self.cap {
            return Err(OverCap { cap: self.cap });
        }
        self.hash.update(chunk);
        if total > Body::KEPT {
            self.kept = None;
        } else if let Some(kept) = &mut self.kept {
            make_room(kept, chunk.len());
            kept.extend_from_slice(chunk);
        }
        Ok(())
    }

    /// The body, now that it is complete.
    pub fn finish(self) -> Body {
        let bytes = self.hash.bytes();
        Body { sha256: self.hash.finish(), bytes, kept: self.kept.map(packed) }
    }
}

fn packed(mut bytes: Vec<u8>) -> Bytes {
    bytes.shrink_to_fit();
    Bytes::from(bytes)
}

/// Grows in few steps: each copies little, and none reaches far beyond the limit, as doubling would.
fn make_room(kept: &mut Vec<u8>, more: usize) {
    const SMALL: usize = 32 << 10;
    let needed = kept.len() + more;
    if needed > kept.capacity() {
        let target = needed.max((8 * kept.capacity()).clamp(SMALL, Body::KEPT as usize));
        kept.reserve_exact(target - kept.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], cap: u64) -> io::Result<Body> {
        Body::read(bytes, cap)
    }

    #[test]
    fn a_small_body_is_hashed_and_kept() {
        let body = read(b"abc", 3).unwrap();
        assert_eq!((body.sha256, body.bytes), (Sha256Digest::of(b"abc"), 3));
        assert_eq!(body.kept.as_deref(), Some(b"abc".as_slice()));
        assert_eq!(read(b"", 0).unwrap().kept.as_deref(), Some(b"".as_slice()));
    }

    #[test]
    fn one_byte_above_the_limit_of_keeping_only_hashes() {
        let limit = vec![7; Body::KEPT as usize];
        assert_eq!(read(&limit, u64::MAX).unwrap().kept.as_deref(), Some(limit.as_slice()));
        let above = vec![7; Body::KEPT as usize + 1];
        let body = read(&above, u64::MAX).unwrap();
        assert_eq!((body.sha256, body.bytes, body.kept), (Sha256Digest::of(&above), Body::KEPT + 1, None));
    }

    #[test]
    fn one_byte_above_the_cap_has_no_digest() {
        assert_eq!(read(b"abcd", 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_file_is_hashed_like_its_bytes() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(Body::read_file(path, u64::MAX).unwrap(), read(&bytes, u64::MAX).unwrap());
        assert_eq!(Body::read_file(path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(Body::read_file(Path::new("no such file"), 3).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_body_announced_as_large_keeps_nothing() {
        let mut stream = BodyStream::new(u64::MAX, Some(Body::KEPT + 1));
        stream.push(b"abc").unwrap();
        assert_eq!(stream.finish().kept, None);
    }

    #[test]
    fn room_is_made_without_doubling_past_the_limit() {
        let mut kept = Vec::new();
        for _ in 0..1024 {
            make_room(&mut kept, 1024);
            kept.extend_from_slice(&[0; 1024]);
        }
        assert!(kept.capacity() <= Body::KEPT as usize);
    }
}
