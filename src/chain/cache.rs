use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::ModuleRef;
use crate::digest::Sha256Digest;

/// No module on the chain is larger; a larger file is not one.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A folder of module sources, each in a file named by its reference, which is the SHA-256 of the file's content.
#[derive(Debug, Clone)]
pub(super) struct ModuleCache {
    folder: PathBuf,
}

impl ModuleCache {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The source of a module. Whatever does not hash to the reference is deleted, and then not there.
    pub(super) fn load(&self, reference: ModuleRef) -> io::Result<Option<Vec<u8>>> {
        let file = self.file(reference);
        let source = match read_capped(&file) {
            Ok(source) => source,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if Sha256Digest::of(&source).0 == reference.0 {
            return Ok(Some(source));
        }
        std::fs::remove_file(&file)?;
        Ok(None)
    }

    /// Keeps a source that hashes to its reference. A reader never sees half of it.
    pub(super) fn store(&self, reference: ModuleRef, source: &[u8]) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(source)?;
        file.persist(self.file(reference)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Whether a file can be made in the folder.
    pub(super) fn probe(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        tempfile::NamedTempFile::new_in(&self.folder).map(drop)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, reference: ModuleRef) -> PathBuf {
        self.folder.join(format!("{reference}.module"))
    }
}

fn read_capped(file: &Path) -> io::Result<Vec<u8>> {
    // Opening anything else, such as a pipe, may wait for ever.
    if !std::fs::metadata(file)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("{} is not a file", file.display())));
    }
    let mut source = Vec::new();
    let mut reader = io::Read::take(std::fs::File::open(file)?, MAX_BYTES + 1);
    io::Read::read_to_end(&mut reader, &mut source)?;
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(source: &[u8]) -> ModuleRef {
        ModuleRef(Sha256Digest::of(source).0)
    }

    #[test]
    fn what_was_stored_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ModuleCache::new(folder.path().join("made/on/demand"));
        assert_eq!(cache.load(reference(b"module")).unwrap(), None);
        cache.store(reference(b"module"), b"module").unwrap();
        assert_eq!(cache.load(reference(b"module")).unwrap().as_deref(), Some(&b"module"[..]));
    }

    #[test]
    fn a_changed_file_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ModuleCache::new(folder.path().to_owned());
        cache.store(reference(b"module"), b"module").unwrap();
        let file = cache.file(reference(b"module"));
        std::fs::write(&file, b"modulo").unwrap();
        assert_eq!(cache.load(reference(b"module")).unwrap(), None);
        assert!(!file.exists());
    }

    #[test]
    fn a_huge_file_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ModuleCache::new(folder.path().to_owned());
        let file = cache.file(reference(b"module"));
        std::fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(cache.load(reference(b"module")).unwrap(), None);
    }
}
