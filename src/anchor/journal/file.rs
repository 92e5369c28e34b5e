use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs4::{FileExt, TryLockError};
use serde_json::Value;

use crate::anchor::SignedTransaction;
use crate::chain::TransactionHash;
use crate::identity::{AccountAddress, GenesisHash};
use crate::registry::Timestamp;

use super::{Entry, JournalError, JournalState};

/// How often a lock that somebody holds is tried again.
const RETRY: Duration = Duration::from_millis(50);

/// The journal of one account on one network.
#[derive(Debug, Clone)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// The journal of `account` under the state folder. Nothing is created yet.
    pub fn of(state_folder: &Path, genesis: &GenesisHash, account: AccountAddress) -> Self {
        let mut canonical = *account.bytes();
        canonical[29..].fill(0);
        let network: String = genesis.to_string().chars().take(16).collect();
        let folder = state_folder.join("transactions").join(network);
        Self { path: folder.join(format!("{}.jsonl", AccountAddress(canonical))) }
    }

    /// The journals of all accounts of a network that have one, in the order of their files' names.
    ///
    /// # Errors
    /// [`JournalError::Disk`] when their folder cannot be read.
    pub fn all(state_folder: &Path, genesis: &GenesisHash) -> Result<Vec<Self>, JournalError> {
        let network: String = genesis.to_string().chars().take(16).collect();
        let folder = state_folder.join("transactions").join(network);
        let disk = |cause| JournalError::Disk { path: folder.clone(), cause };
        let files = match fs::read_dir(&folder) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(disk(error)),
        };
        let paths: Result<Vec<PathBuf>, _> = files.map(|file| file.map(|file| file.path())).collect();
        let mut paths = paths.map_err(disk)?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        paths.sort();
        Ok(paths.into_iter().map(|path| Self { path }).collect())
    }

    /// Looks for a transaction in the journals of all accounts of a network.
    ///
    /// # Errors
    /// [`JournalError`] when a journal cannot be read.
    pub fn find(
        state_folder: &Path,
        genesis: &GenesisHash,
        hash: TransactionHash,
    ) -> Result<Option<(Self, Entry)>, JournalError> {
        for journal in Self::all(state_folder, genesis)? {
            if let Some(entry) = journal.entries()?.into_iter().rev().find(|entry| entry.hash() == hash) {
                return Ok(Some((journal, entry)));
            }
        }
        Ok(None)
    }

    /// Where it is on disk.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All transactions in it, oldest first, each with its last known state. Empty when there is no file.
    ///
    /// A line that breaks off was being written when the machine stopped; what it announces was not done, so it does not count.
    ///
    /// # Errors
    /// [`JournalError`] when the file cannot be read or a whole line of it cannot be understood.
    pub fn entries(&self) -> Result<Vec<Entry>, JournalError> {
        let read = || {
            let mut file = File::open(&self.path)?;
            // Who may only read it, or on a disk that cannot be written, still learns what is in it.
            let _ = close_to_others(&file);
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map(|_| bytes)
        };
        let bytes = match read() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(self.disk(cause)),
        };
        let mut entries = Vec::new();
        for (at, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
            let (line, is_whole) = line.strip_suffix(b"\n").map_or((line, false), |line| (line, true));
            if !is_whole && breaks_off(line) {
                break;
            }
            let damaged = |why| JournalError::Damaged { path: self.path.clone(), line: at + 1, why };
            let text = std::str::from_utf8(line).map_err(|_| damaged("it is not text in UTF-8".into()))?;
            Entry::apply(text, &mut entries).map_err(damaged)?;
        }
        Ok(entries)
    }

    /// Waits until no other run holds the account, at most for `patience`, and holds it.
    ///
    /// # Errors
    /// [`JournalError::Busy`] when the other run does not let go in time.
    pub async fn lock(&self, patience: Duration) -> Result<JournalLock, JournalError> {
        self.lock_telling(patience, &mut |_| {}).await
    }

    /// As [`Journal::lock`], and tells once, before it waits, that it does: for which process, if that one could say so.
    ///
    /// # Errors
    /// [`JournalError::Busy`] when the other run does not let go in time.
    pub async fn lock_telling(
        &self,
        patience: Duration,
        waiting: &mut (dyn FnMut(Option<u32>) + Send),
    ) -> Result<JournalLock, JournalError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|cause| JournalError::Disk { path: folder.to_owned(), cause })?;
        let path = self.path.with_extension("lock");
        let disk = |cause| JournalError::Disk { path: path.clone(), cause };
        let mut lock = private(OpenOptions::new().create(true).truncate(false).write(true), &path).map_err(disk)?;
        let give_up = tokio::time::Instant::now() + patience;
        let mut is_told = false;
        loop {
            // Through the trait: the standard library has a method of the same name in later versions.
            match FileExt::try_lock(&lock) {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tokio::time::Instant::now() < give_up => {
                    if !std::mem::replace(&mut is_told, true) {
                        waiting(fs::read_to_string(&path).ok().and_then(|holder| holder.trim().parse().ok()));
                    }
                    tokio::time::sleep(RETRY).await;
                }
                Err(TryLockError::WouldBlock) => return Err(JournalError::Busy(patience.as_secs())),
                Err(TryLockError::Error(cause)) => return Err(disk(cause)),
            }
        }
        // Only for whoever waits: that it is held does not hang on it.
        let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
        if self.path.exists() {
            private(OpenOptions::new().read(true), &self.path).map_err(|cause| self.disk(cause))?;
        }
        Ok(JournalLock { journal: self.clone(), _lock: lock })
    }

    fn disk(&self, cause: io::Error) -> JournalError {
        JournalError::Disk { path: self.path.clone(), cause }
    }

    /// Appends one line and waits until it is on the disk.
    fn append(&self, line: &Value) -> Result<(), JournalError> {
        let write = || -> io::Result<()> {
            let is_new = !self.path.exists();
            let mut file = private(OpenOptions::new().read(true).write(true).create(true).truncate(false), &self.path)?;
            let bytes = fs::read(&self.path)?;
            let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let (_, tail) = bytes.split_at(end);
            // A torn line is written over; a whole one whose end is missing gets it.
            let start = if breaks_off(tail) { end } else { bytes.len() };
            file.set_len(start as u64)?;
            file.seek(SeekFrom::Start(start as u64))?;
            let missing = if start > end { "\n" } else { "" };
            file.write_all(format!("{missing}{line}\n").as_bytes())?;
            file.sync_all()?;
            if is_new {
                // The name of a new file is on the disk only when its folder is.
                self.path.parent().map_or(Ok(()), sync_folder)?;
            }
            Ok(())
        };
        write().map_err(|cause| self.disk(cause))
    }
}

/// Opens a file that only its owner may read, for it holds transactions that whoever has them can send. One that others may open,
/// from before or by other means, is closed to them.
#[cfg(unix)]
fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    let file = options.mode(0o600).open(path)?;
    close_to_others(&file)?;
    Ok(file)
}

#[cfg(unix)]
fn close_to_others(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(mode & 0o700))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    // Other systems cannot open a folder to sync it, and write its entries through.
    Ok(())
}

/// Whether this is the beginning of a line that was not written to its end: a JSON object that breaks off, and nothing else.
fn breaks_off(tail: &[u8]) -> bool {
    tail.is_empty() || (tail.starts_with(b"{") && serde_json::from_slice::<Value>(tail).is_err_and(|error| error.is_eof()))
}

/// Holds an account: no other run takes a nonce of it or sends for it meanwhile. Let go when dropped, or when the process
/// ends in whatever way.
#[derive(Debug)]
pub struct JournalLock {
    journal: Journal,
    _lock: File,
}

impl JournalLock {
    /// The journal that is held.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Writes down a signed transaction, before it is sent. It is on the disk when this returns.
    ///
    /// # Errors
    /// [`JournalError::Disk`]; the transaction must not be sent then.
    pub fn record(&self, signed: &SignedTransaction, now: Timestamp) -> Result<(), JournalError> {
        let entry = Entry { state: JournalState::Signed, time: now, signed: signed.clone() };
        self.journal.append(&entry.to_json())
    }

    /// Writes down what became of a transaction.
    ///
    /// # Errors
    /// [`JournalError::Disk`].
    pub fn change(&self, hash: TransactionHash, state: JournalState, now: Timestamp) -> Result<(), JournalError> {
        self.journal.append(&Entry::change_to_json(hash, state, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::{Call, Energy, Signatures, Transaction};
    use crate::identity::{ContractAddress, TESTNET};

    const NOW: Timestamp = Timestamp(1_785_771_369_045);

    fn signed(nonce: u64) -> SignedTransaction {
        let call =
            Call { contract: ContractAddress::new(1, 0), receive_name: "CIS-8004.revoke".into(), parameter: vec![1, 2, 3] };
        let transaction = Transaction::new(call, account(0), nonce, 1_798_761_600, Energy::Execution(1000), 1).unwrap();
        SignedTransaction { transaction, signatures: Signatures([(0, [(0, [9; 64])].into())].into()) }
    }

    fn account(alias: u8) -> AccountAddress {
        let mut bytes = [7; 32];
        bytes[31] = alias;
        AccountAddress(bytes)
    }

    fn journal(folder: &tempfile::TempDir) -> Journal {
        Journal::of(folder.path(), &TESTNET.genesis, account(0))
    }

    #[test]
    fn all_aliases_of_an_account_share_a_journal() {
        let of = |alias| Journal::of(Path::new("state"), &TESTNET.genesis, account(alias)).path;
        assert_eq!(of(0), of(9));
    }

    #[tokio::test]
    async fn the_last_line_about_a_transaction_counts() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(&folder);
        assert!(journal.entries().unwrap().is_empty());
        let lock = journal.lock(Duration::ZERO).await.unwrap();
        for nonce in 1..=3 {
            lock.record(&signed(nonce), NOW).unwrap();
        }
        lock.change(signed(1).hash(), JournalState::Finalized, NOW).unwrap();
        lock.change(signed(2).hash(), JournalState::Sent, NOW).unwrap();
        let entries = journal.entries().unwrap();
        let states: Vec<_> = entries.iter().map(|entry| entry.state).collect();
        assert_eq!(states, [JournalState::Finalized, JournalState::Sent, JournalState::Signed]);
        assert_eq!(entries[2].signed, signed(3));
        let found = Journal::find(folder.path(), &TESTNET.genesis, signed(2).hash()).unwrap().unwrap();
        assert_eq!(found.1.state, JournalState::Sent);
        assert!(Journal::find(folder.path(), &TESTNET.genesis, signed(9).hash()).unwrap().is_none());
    }

    #[tokio::test]
    async fn two_runs_do_not_hold_one_account() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(&folder);
        let first = journal.lock(Duration::ZERO).await.unwrap();
        assert!(matches!(journal.lock(Duration::ZERO).await, Err(JournalError::Busy(_))));
        let waiting = tokio::spawn({
            let journal = journal.clone();
            async move { journal.lock(Duration::from_secs(20)).await.map(drop) }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(first);
        waiting.await.unwrap().unwrap();
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn only_its_owner_may_read_a_journal() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let journal = journal(&folder);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let lock = journal.lock(Duration::ZERO).await.unwrap();
        lock.record(&signed(1), NOW).unwrap();
        assert_eq!((mode(&journal.path), mode(&journal.path.with_extension("lock"))), (0o600, 0o600));
        drop(lock);
        // One from before.
        fs::set_permissions(&journal.path, fs::Permissions::from_mode(0o644)).unwrap();
        drop(journal.lock(Duration::ZERO).await.unwrap());
        assert_eq!(mode(&journal.path), 0o600);
    }

    #[tokio::test]
    async fn a_torn_line_does_not_count_and_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(&folder);
        let lock = journal.lock(Duration::ZERO).await.unwrap();
        lock.record(&signed(1), NOW).unwrap();
        let whole = fs::read(&journal.path).unwrap();
        lock.record(&signed(2), NOW).unwrap();
        let both = fs::read(&journal.path).unwrap();
        for cut in [whole.len() + 1, whole.len() + 40, both.len() - 2] {
            fs::write(&journal.path, &both[..cut]).unwrap();
            assert_eq!(journal.entries().unwrap().len(), 1, "cut at {cut}");
            lock.record(&signed(3), NOW).unwrap();
            let entries = journal.entries().unwrap();
            assert_eq!(entries.iter().map(|entry| entry.signed.transaction.nonce()).collect::<Vec<_>>(), [1, 3]);
        }
    }

    #[tokio::test]
    async fn only_what_breaks_off_is_cut_from_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(&folder);
        let lock = journal.lock(Duration::ZERO).await.unwrap();
        lock.record(&signed(1), NOW).unwrap();
        let whole = fs::read(&journal.path).unwrap();
        // A whole line whose end is missing counts, and stays.
        fs::write(&journal.path, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(journal.entries().unwrap().len(), 1);
        lock.record(&signed(2), NOW).unwrap();
        assert_eq!(journal.entries().unwrap().len(), 2);
        for tail in [&b"JUNK"[..], b"\0\0\0\0", b"{}\r{}", b"\xff\xfe", b"{\"schema\":\xff"] {
            let damaged = [&whole[..], tail].concat();
            fs::write(&journal.path, &damaged).unwrap();
            assert!(matches!(journal.entries(), Err(JournalError::Damaged { line: 2, .. })), "{tail:?}");
            // Even who does not look first destroys nothing.
            lock.record(&signed(2), NOW).unwrap();
            assert!(fs::read(&journal.path).unwrap().starts_with(&damaged), "{tail:?}");
        }
    }

    #[test]
    fn a_damaged_line_stops_everything() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(&folder);
        fs::create_dir_all(journal.path.parent().unwrap()).unwrap();
        for line in [
            "not json",
            "{}",
            "{\"schema\":\"cardproof.journal/1\",\"state\":\"sent\",\"time_ms\":1,\"transaction_hash\":\"00\"}",
        ] {
            fs::write(&journal.path, format!("{line}\n")).unwrap();
            assert!(matches!(journal.entries(), Err(JournalError::Damaged { line: 1, .. })), "{line}");
        }
    }
}
