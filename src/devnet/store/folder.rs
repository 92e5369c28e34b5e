use std::fs::File;
use std::path::{Path, PathBuf};

use fs4::{FileExt, TryLockError};

use super::super::DevnetError;

/// A data folder that this process alone uses, until the value is dropped.
#[derive(Debug)]
pub(in crate::devnet) struct DataFolder {
    path: PathBuf,
    /// The operating system releases the lock with the file, also when the process is killed.
    _lock: File,
}

impl DataFolder {
    /// Makes the folder if it is missing, and locks it.
    pub(in crate::devnet) fn open(path: &Path) -> Result<Self, DevnetError> {
        let failed = |action| move |cause| DevnetError::File { action, path: path.to_owned(), cause };
        std::fs::create_dir_all(path).map_err(failed("make the folder"))?;
        let lock = File::options().create(true).truncate(false).write(true).open(path.join("lock"));
        let lock = lock.map_err(failed("lock"))?;
        match FileExt::try_lock(&lock) {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DevnetError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(cause)) => Err(failed("lock")(cause)),
        }
    }

    /// The log of blocks.
    pub(in crate::devnet) fn log(&self) -> PathBuf {
        self.path.join("chain.log")
    }

    /// Whether the folder of the wallet files is there: a chain was begun here before.
    pub(in crate::devnet) fn holds_accounts(&self) -> bool {
        self.path.join("accounts").exists()
    }

    /// The folder of the wallet files, made if it is missing.
    pub(in crate::devnet) fn accounts(&self) -> Result<PathBuf, DevnetError> {
        let path = self.path.join("accounts");
        std::fs::create_dir_all(&path).map_err(|cause| DevnetError::File {
            action: "make the folder",
            path: path.clone(),
            cause,
        })?;
        Ok(path)
    }
}
