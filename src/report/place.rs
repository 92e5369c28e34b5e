use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

/// How many links are followed, as on Linux.
const LINKS: usize = 40;

/// The place of a report in a file. The file is replaced as a whole, or not at all.
///
/// A link is followed: the file that it leads to is replaced, beside that file. Only a regular file is replaced; what else
/// there may be (a device, a pipe, a folder) would be destroyed by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportPlace {
    folder: PathBuf,
    file: PathBuf,
    mode: Option<Permissions>,
}

/// A report cannot be written there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// There is something that is no regular file.
    #[error("{path} is {what}, and a report replaces a regular file")]
    NotAFile {
        /// The path as it was named.
        path: String,
        /// What is there.
        what: &'static str,
    },
    /// Its links lead nowhere.
    #[error("the link {path} cannot be followed")]
    Links {
        /// The path as it was named.
        path: String,
    },
    /// The folder does not exist, or nothing can be written into it.
    #[error("the report {path} cannot be written: its folder {folder} {why}")]
    Folder {
        /// The path as it was named.
        path: String,
        /// The folder.
        folder: String,
        /// What is wrong with it.
        why: String,
    },
}

impl ReportPlace {
    /// Looks at the place, and tries whether its folder can be written to.
    ///
    /// # Errors
    /// [`PlaceError`] when no report can be written there. Nothing was changed.
    pub fn at(path: impl AsRef<Path>) -> Result<Self, PlaceError> {
        let path = path.as_ref();
        let named = || path.display().to_string();
        let is = |what| PlaceError::NotAFile { path: named(), what };
        let end = followed(path).ok_or_else(|| PlaceError::Links { path: named() })?;
        // Before the links themselves: those of /proc lead to what has no name, such as a pipe.
        let found = fs::metadata(path);
        if let Ok(found) = &found {
            if found.is_dir() {
                return Err(is("a folder"));
            }
            if !found.is_file() {
                return Err(is("a device, a pipe or a socket"));
            }
        }
        let Some(name) = end.file_name().filter(|_| !path.as_os_str().as_encoded_bytes().ends_with(b"/")) else {
            return Err(is("a folder"));
        };
        if end.starts_with("/proc") {
            return Err(is("an open file of a process"));
        }
        let parent = end.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let refused = |why: String| PlaceError::Folder { path: named(), folder: parent.display().to_string(), why };
        let folder = fs::canonicalize(parent).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused("does not exist".into()),
            _ => refused(format!("cannot be looked into ({})", error.kind())),
        })?;
        // The kind alone: the error names a file that nobody has asked for.
        tempfile::tempfile_in(&folder).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => refused("is not writable".into()),
            io::ErrorKind::NotADirectory => refused("is no folder".into()),
            kind => refused(format!("takes no file ({kind})")),
        })?;
        let file = folder.join(name);
        Ok(Self { folder, file, mode: found.ok().map(|found| found.permissions()) })
    }

    /// The file itself, by the one path that has no link in it.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// A file without a name for a report that is being written: when the process is killed, nothing of it is left.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn draft(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.folder).map_err(unnamed)
    }

    /// Puts what is in a draft into the place.
    ///
    /// # Errors
    /// When the system refuses. What was there before is there still.
    pub fn publish(&self, draft: &mut File) -> io::Result<()> {
        draft.rewind()?;
        self.put(draft)
    }

    /// Replaces the file. It has the permissions of the one that was there, or else those that any new file has.
    pub(super) fn put(&self, content: &mut impl Read) -> io::Result<()> {
        let mut unfinished = tempfile::Builder::new();
        // Some collectors read every name with their ending, so the unfinished file must not have it.
        unfinished.prefix(".cardproof").suffix(".tmp");
        // Less what the umask takes away.
        #[cfg(unix)]
        unfinished.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = unfinished.tempfile_in(&self.folder).map_err(unnamed)?;
        io::copy(content, file.as_file_mut())?;
        if let Some(mode) = &self.mode {
            file.as_file().set_permissions(mode.clone())?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.file).map(drop).map_err(|failure| failure.error)
    }
}

/// The path behind the links; `None` when they never end.
fn followed(path: &Path) -> Option<PathBuf> {
    let mut end = path.to_owned();
    for _ in 0..LINKS {
        let Ok(next) = fs::read_link(&end) else { return Some(end) };
        end = end.parent().unwrap_or(Path::new("")).join(next);
    }
    None
}

fn unnamed(error: io::Error) -> io::Error {
    error.kind().into()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{symlink, PermissionsExt};

    use super::*;

    fn write(path: &Path) {
        let place = ReportPlace::at(path).unwrap();
        let mut draft = place.draft().unwrap();
        draft.write_all(b"new").unwrap();
        place.publish(&mut draft).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_link_is_followed_and_stays_one() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (link, target) = (folder.path().join("latest"), other.path().join("report"));
        symlink(&target, &link).unwrap();
        write(&link);
        assert_eq!(fs::read(&target).unwrap(), b"new", "a link to nothing yet is one, too");
        let plain = other.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&target), mode(&plain), "a new file is as the umask has it");
        fs::remove_file(&plain).unwrap();
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
        let relative = folder.path().join("relative");
        symlink("latest", &relative).unwrap();
        write(&relative);
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && fs::symlink_metadata(&relative).unwrap().is_symlink());
        assert_eq!(
            (names(folder.path()), names(other.path())),
            (vec!["latest".into(), "relative".into()], vec!["report".into()])
        );
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        assert!(matches!(ReportPlace::at(folder.path().join("a")), Err(PlaceError::Links { .. })));
    }

    #[test]
    fn only_a_regular_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let device = folder.path().join("device");
        symlink("/dev/null", &device).unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [&pipe, &device, &socket] {
            let error = ReportPlace::at(path).unwrap_err().to_string();
            assert!(error.contains("is a device, a pipe or a socket"), "{error}");
        }
        for path in [folder.path().to_owned(), "/".into(), folder.path().join("x/.."), folder.path().join("x/")] {
            assert!(matches!(ReportPlace::at(&path), Err(PlaceError::NotAFile { what: "a folder", .. })), "{}", path.display());
        }
        let missing = ReportPlace::at(folder.path().join("missing/report")).unwrap_err().to_string();
        assert!(missing.ends_with("/missing does not exist") && !missing.contains("at path"), "{missing}");
        let beneath = folder.path().join("file");
        fs::write(&beneath, "").unwrap();
        assert!(matches!(ReportPlace::at(beneath.join("report")), Err(PlaceError::Folder { .. })));
        assert_eq!(names(folder.path()), ["device", "file", "pipe", "socket"]);
    }
}
