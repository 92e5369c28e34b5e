use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};

use super::{AgentList, ListError};

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the name of a new file starts with, behind the name of the list, until it takes the list's place.
const NEW: &str = ".new-";

/// Writes a file in one step: whoever reads it finds the old bytes or the new ones. Its mode stays, and a symbolic link to it.
///
/// # Errors
/// When the folder cannot be written, or the disk is full; the file is as it was then.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = follow_links(path)?;
    let mode = match fs::metadata(&path) {
        // A pipe or a device is written to; taking its place would remove it.
        Ok(found) if !found.is_file() => return fs::write(&path, bytes),
        Ok(found) => Some(found.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    new_file(&path, ".", bytes, mode)?.persist(&path).map_err(|error| error.error)?;
    sync_folder(&path)
}

/// The file that a path leads to, which need not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..40 {
        match fs::symlink_metadata(&target) {
            Ok(found) if found.file_type().is_symlink() => {
                let link = fs::read_link(&target)?;
                target = target.parent().unwrap_or(Path::new("")).join(link);
            }
            _ => return Ok(target),
        }
    }
    Err(io::Error::other("its symbolic links form a circle"))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Without this a new name may be lost with the machine's power, though never half written.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder(path))?.sync_all()?;
    }
    Ok(())
}

/// A new file beside `path`, with everything in it on the disk.
fn new_file(path: &Path, prefix: &str, bytes: &[u8], mode: Option<fs::Permissions>) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a new file gets elsewhere: everything that the user's mask leaves.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder(path))?;
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        file.as_file().set_permissions(mode)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

/// The file of an agent list.
///
/// A change is made under a lock on a sibling (`.<name>.lock`), on the list as it is then, and written to a new file that takes
/// the old one's place in one step. So a writer that is killed leaves the old list or the new one, and of two writers none loses
/// what the other did. Readers need no lock.
#[derive(Debug, Clone)]
pub struct ListFile {
    path: PathBuf,
}

impl ListFile {
    /// The list at a path, which need not exist.
    ///
    /// A symbolic link is followed, so that a change goes to the file it points to and the link stays.
    ///
    /// # Errors
    /// [`ListError::Read`] when links form a circle or cannot be read.
    pub fn at(path: &Path) -> Result<Self, ListError> {
        let followed = follow_links(path).map_err(|source| ListError::Read { path: path.to_owned(), source })?;
        Ok(Self { path: followed })
    }

    /// Where the list really is, links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the list.
    ///
    /// # Errors
    /// [`ListError::Read`] when there is no such file or it cannot be read, [`ListError::Corrupt`] when it is not a list.
    pub fn read(&self) -> Result<AgentList, ListError> {
        let bytes = read_limited(&self.path).map_err(|source| ListError::Read { path: self.path.clone(), source })?;
        let corrupt = |why: String| ListError::Corrupt { path: self.path.clone(), why };
        let text = String::from_utf8(bytes).map_err(|_| corrupt("it is not UTF-8".into()))?;
        AgentList::parse(&text).map_err(|error| corrupt(error.to_string()))
    }

    /// Reads the list, and makes an empty one first when there is none.
    ///
    /// # Errors
    /// See [`ListFile::read`]; [`ListError::Create`] when an empty one cannot be made.
    pub fn read_or_create(&self) -> Result<AgentList, ListError> {
        match self.read() {
            Err(error) if is_missing(&error) => self.update(|list| Ok(list.clone())),
            other => other,
        }
    }

    /// Makes an empty list, unless a program that knows no lock was faster. Only under the lock.
    fn create(&self) -> Result<(), ListError> {
        let made = new_file(&self.path, &self.sibling(NEW), AgentList::EMPTY.as_bytes(), None).and_then(|file| {
            match file.persist_noclobber(&self.path) {
                Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
                _ => Ok(()),
            }
        });
        made.map_err(|source| ListError::Create { path: self.path.clone(), source })
    }

    /// Changes the list: reads it under the lock, lets `change` work on it, and writes it when it changed.
    ///
    /// # Errors
    /// What `change` returns, and then nothing is written; [`ListError::Locked`] when others write for half a minute;
    /// [`ListError::Corrupt`] when what is there is no list, and it is left alone.
    pub fn update<T>(&self, change: impl FnOnce(&mut AgentList) -> Result<T, ListError>) -> Result<T, ListError> {
        let _lock = self.lock()?;
        let mut list = match self.read() {
            Err(error) if is_missing(&error) => {
                self.create()?;
                self.read()?
            }
            read => read?,
        };
        let result = change(&mut list)?;
        if !list.is_unchanged() {
            self.replace(list.to_text().as_bytes()).map_err(|source| self.write_error(source))?;
        }
        Ok(result)
    }

    /// Why the list is not changed, or, where there is none, why it stays so.
    fn write_error(&self, source: io::Error) -> ListError {
        let path = self.path.clone();
        match self.path.try_exists() {
            Ok(true) => ListError::Write { path, source },
            _ => ListError::Create { path, source },
        }
    }

    /// `.<name><suffix>` beside the list.
    fn sibling(&self, suffix: &str) -> String {
        let name = self.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        format!(".{name}{suffix}")
    }

    /// Waits for the lock. It ends with the file handle, so a killed writer holds nothing up.
    fn lock(&self) -> Result<File, ListError> {
        let path = folder(&self.path).join(self.sibling(".lock"));
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|source| self.write_error(source))?;
        let start = Instant::now();
        loop {
            match FileExt::try_lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
                Err(TryLockError::WouldBlock) => {
                    return Err(ListError::Locked { path: self.path.clone(), seconds: PATIENCE.as_secs() });
                }
                Err(TryLockError::Error(source)) => return Err(self.write_error(source)),
            }
        }
    }

    /// Puts `bytes` in the place of the list. Only under the lock.
    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        self.remove_leftovers();
        let mode = fs::metadata(&self.path)?.permissions();
        new_file(&self.path, &self.sibling(NEW), bytes, Some(mode))?.persist(&self.path).map_err(|error| error.error)?;
        sync_folder(&self.path)
    }

    /// Removes what writers left that were killed. Under the lock there is no other writer whose file it could be.
    fn remove_leftovers(&self) {
        let prefix = self.sibling(NEW);
        let Ok(siblings) = fs::read_dir(folder(&self.path)) else { return };
        for sibling in siblings.flatten().filter(|sibling| sibling.file_name().to_string_lossy().starts_with(&prefix)) {
            // One that cannot be removed costs nothing but its space.
            let _ = fs::remove_file(sibling.path());
        }
    }
}

/// The largest list that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Reads a file that may have no end.
fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it is larger than a list may be ({} MiB)", MOST_BYTES >> 20)));
    }
    Ok(bytes)
}

fn is_missing(error: &ListError) -> bool {
    matches!(error, ListError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;

    fn add(file: &ListFile, name: &str) -> Result<(), ListError> {
        file.update(|list| list.add(Entry::new(name, "http://localhost:1")?))
    }

    #[test]
    fn a_list_is_made_when_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = ListFile::at(&folder.path().join("registry.json")).unwrap();
        assert!(matches!(file.read(), Err(ListError::Read { .. })));
        let nowhere = ListFile::at(&folder.path().join("none/registry.json")).unwrap();
        assert!(matches!(nowhere.read_or_create(), Err(ListError::Create { .. })));
        assert!(file.read_or_create().unwrap().entries().is_empty());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), AgentList::EMPTY);
    }

    #[test]
    fn a_corrupt_file_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.json");
        for broken in [&b""[..], b"{\"agents\":[", b"\xff", b"[]"] {
            fs::write(&path, broken).unwrap();
            let file = ListFile::at(&path).unwrap();
            assert!(matches!(add(&file, "a"), Err(ListError::Corrupt { .. })));
            assert_eq!(fs::read(&path).unwrap(), broken);
        }
    }

    #[cfg(unix)]
    #[test]
    fn mode_and_link_survive_a_rewrite() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("real/list.json");
        fs::create_dir(folder.path().join("real")).unwrap();
        fs::write(&target, AgentList::EMPTY).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("registry.json");
        std::os::unix::fs::symlink("real/list.json", &link).unwrap();
        add(&ListFile::at(&link).unwrap(), "a").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(ListFile::at(&link).unwrap().read().unwrap().entries().len(), 1);
        std::os::unix::fs::symlink("b", folder.path().join("a")).unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("b")).unwrap();
        assert!(ListFile::at(&folder.path().join("a")).is_err());
    }

    #[test]
    fn of_many_writers_none_loses_what_another_did() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.json");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for n in 0..5 {
                        add(&ListFile::at(path).unwrap(), &format!("agent-{writer}-{n}")).unwrap();
                    }
                });
            }
        });
        assert_eq!(ListFile::at(&path).unwrap().read().unwrap().entries().len(), 40);
    }

    #[test]
    fn what_a_killed_writer_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = ListFile::at(&folder.path().join("registry.json")).unwrap();
        fs::write(folder.path().join(".registry.json.new-x7"), "half").unwrap();
        add(&file, "a").unwrap();
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|found| found.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }
}
