use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::super::genesis::Genesis;
use super::super::history::{Block, Hash};
use super::super::DevnetError;

/// The first bytes of a log.
const MAGIC: &[u8] = b"cardproof devnet log 1\n";
/// Length (u32 LE) and the first 4 bytes of its hash, so that a damaged length is not taken for an unfinished record.
const HEAD: usize = 8;
/// The first bytes of the SHA-256 of a record's body, after the body.
const CHECKSUM: usize = 8;
/// No record is longer: a block's transactions are limited by its energy, of which each byte costs 1.
const MAX_BODY: usize = 16 << 20;

/// What one record holds of a block: what is needed to make it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::devnet) struct Record {
    pub(in crate::devnet) height: u64,
    /// Milliseconds since 1970.
    pub(in crate::devnet) time: u64,
    pub(in crate::devnet) hash: Hash,
    /// The block items, each with its version byte.
    pub(in crate::devnet) transactions: Vec<Vec<u8>>,
}

impl Record {
    fn of(block: &Block) -> Self {
        let transactions = block.transactions.iter().map(|(transaction, _)| transaction.bytes()).collect();
        Self { height: block.height, time: block.time, hash: block.hash, transactions }
    }

    /// Height u64 LE, time u64 LE, hash, then each transaction with its length as u32 LE before it.
    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(self.height.to_le_bytes());
        body.extend(self.time.to_le_bytes());
        body.extend(self.hash);
        for transaction in &self.transactions {
            body.extend(u32::try_from(transaction.len()).unwrap_or(u32::MAX).to_le_bytes());
            body.extend(transaction);
        }
        body
    }

    fn decode(mut body: &[u8]) -> Option<Self> {
        let height = u64::from_le_bytes(take(&mut body)?);
        let time = u64::from_le_bytes(take(&mut body)?);
        let hash = take(&mut body)?;
        let mut transactions = Vec::new();
        while !body.is_empty() {
            let length = usize::try_from(u32::from_le_bytes(take(&mut body)?)).ok()?;
            let (transaction, rest) = body.split_at_checked(length)?;
            transactions.push(transaction.to_vec());
            body = rest;
        }
        Some(Self { height, time, hash, transactions })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

/// The log of a chain, open for appending.
#[derive(Debug)]
pub(in crate::devnet) struct Log {
    path: PathBuf,
    file: File,
    /// Where the last whole record ends.
    end: u64,
}

impl Log {
    /// Opens the log, or gives `None` when there is none yet (or one that was not finished when it was begun).
    ///
    /// An unfinished last record is cut off. Nothing else is ever changed.
    pub(in crate::devnet) fn open(path: &Path) -> Result<Option<(Self, Genesis, Vec<Record>)>, DevnetError> {
        let failed = |cause| DevnetError::File { action: "read", path: path.to_owned(), cause };
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let damaged =
            |offset: usize, why: &str| DevnetError::Damaged { path: path.to_owned(), offset: offset as u64, why: why.into() };
        if bytes.len() < MAGIC.len() && MAGIC.starts_with(&bytes) {
            return Ok(None);
        }
        if !bytes.starts_with(MAGIC) {
            return Err(damaged(0, "it is not the log of a devnet"));
        }
        let mut offset = MAGIC.len();
        let mut genesis = None;
        let mut records = Vec::new();
        loop {
            let rest = bytes.get(offset..).unwrap_or_default();
            let body = match next(rest) {
                Next::End => break,
                Next::Unfinished => break,
                Next::Damaged(why) => return Err(damaged(offset, why)),
                Next::Body(body) => body,
            };
            if genesis.is_none() {
                let read = serde_json::from_slice::<Genesis>(body);
                genesis = Some(read.map_err(|error| damaged(offset, &format!("the genesis record cannot be read: {error}")))?);
            } else {
                records.push(Record::decode(body).ok_or_else(|| damaged(offset, "a block record has a wrong length"))?);
            }
            offset += HEAD + body.len() + CHECKSUM;
        }
        let Some(genesis) = genesis else { return Ok(None) };
        let end = offset as u64;
        if offset < bytes.len() {
            let failed = |cause| DevnetError::File { action: "cut the unfinished record off", path: path.to_owned(), cause };
            file.set_len(end).and_then(|()| file.sync_data()).map_err(failed)?;
        }
        file.seek(SeekFrom::Start(end)).map_err(failed)?;
        Ok(Some((Self { path: path.to_owned(), file, end }, genesis, records)))
    }

    /// Begins a log. Only called when [`open`](Self::open) found none.
    pub(in crate::devnet) fn begin(path: &Path, genesis: &Genesis) -> Result<Self, DevnetError> {
        let failed = |cause| DevnetError::File { action: "write", path: path.to_owned(), cause };
        let body = serde_json::to_vec(genesis).map_err(|error| DevnetError::Internal(error.to_string()))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(frame(&body));
        let mut file = OpenOptions::new().create(true).truncate(true).read(true).write(true).open(path).map_err(failed)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(failed)?;
        // The folder's entry must be on disk too, or the file could be gone after a power failure.
        if let Some(folder) = path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        Ok(Self { path: path.to_owned(), file, end: bytes.len() as u64 })
    }

    /// Appends a block and returns when it is on disk. After a failure the log is as before.
    pub(in crate::devnet) fn append(&mut self, block: &Block) -> Result<(), DevnetError> {
        self.append_record(&Record::of(block))
    }

    fn append_record(&mut self, record: &Record) -> Result<(), DevnetError> {
        let bytes = frame(&record.encode());
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if let Err(cause) = written {
            // Best effort: what remains of a half-written record is cut off by the next start in any case.
            let _ = self.file.set_len(self.end).and_then(|()| self.file.seek(SeekFrom::Start(self.end)));
            return Err(DevnetError::File { action: "write", path: self.path.clone(), cause });
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Where a replay that came to another result says so.
    pub(in crate::devnet) fn replay_differs(&self, height: u64) -> DevnetError {
        DevnetError::Damaged {
            path: self.path.clone(),
            offset: self.end,
            why: format!("replaying block {height} gives another result than it had; the folder is of another version"),
        }
    }
}

fn frame(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = length.to_vec();
    bytes.extend(Sha256::digest(length).iter().take(HEAD - 4));
    bytes.extend(body);
    bytes.extend(Sha256::digest(body).iter().take(CHECKSUM));
    bytes
}

enum Next<'a> {
    End,
    Body(&'a [u8]),
    /// The process was killed, or the machine lost power, while this was written.
    Unfinished,
    Damaged(&'static str),
}

fn next(rest: &[u8]) -> Next<'_> {
    if rest.is_empty() {
        return Next::End;
    }
    // A file system may have grown the file before it wrote the bytes.
    if rest.len() < HEAD || rest.iter().all(|byte| *byte == 0) {
        return Next::Unfinished;
    }
    let (head, rest) = rest.split_at(HEAD);
    let (length, check) = head.split_at(4);
    if Sha256::digest(length).get(..HEAD - 4) != Some(check) {
        return Next::Damaged("the length of a record is not what was written");
    }
    let length = length.try_into().map(u32::from_le_bytes).ok().and_then(|length| usize::try_from(length).ok());
    let Some(length) = length.filter(|length| *length <= MAX_BODY) else {
        return Next::Damaged("a record is longer than any can be");
    };
    let Some((body, checksum)) = rest.get(..length + CHECKSUM).map(|record| record.split_at(length)) else {
        return Next::Unfinished;
    };
    if Sha256::digest(body).get(..CHECKSUM) == Some(checksum) {
        return Next::Body(body);
    }
    if checksum.iter().all(|byte| *byte == 0) && rest.get(length + CHECKSUM..).unwrap_or_default().iter().all(|byte| *byte == 0) {
        return Next::Unfinished;
    }
    Next::Damaged("a record's bytes are not what was written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devnet::{AccountSpec, Preset};

    fn genesis() -> Genesis {
        Genesis::new(Preset::Default, "a".into(), 7, vec![AccountSpec::simple(1)]).unwrap()
    }

    fn record(height: u64) -> Record {
        Record { height, time: height * 10, hash: [height as u8; 32], transactions: vec![vec![1, 2, 3], vec![]] }
    }

    /// A log of three blocks, its bytes, and where each record begins.
    fn three() -> (tempfile::TempDir, PathBuf, Vec<u8>, Vec<u64>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain.log");
        let mut log = Log::begin(&path, &genesis()).unwrap();
        let mut starts = Vec::new();
        for height in 1..=3 {
            starts.push(log.end);
            log.append_record(&record(height)).unwrap();
        }
        starts.push(log.end);
        drop(log);
        let bytes = std::fs::read(&path).unwrap();
        (folder, path, bytes, starts)
    }

    fn heights(path: &Path) -> Vec<u64> {
        let (_, read, records) = Log::open(path).unwrap().unwrap();
        assert_eq!(read, genesis());
        records.iter().for_each(|found| assert_eq!(*found, record(found.height)));
        records.iter().map(|record| record.height).collect()
    }

    #[test]
    fn what_was_appended_is_read_back() {
        let (_folder, path, _, _) = three();
        assert_eq!(heights(&path), [1, 2, 3]);
    }

    #[test]
    fn a_torn_tail_is_cut_wherever_it_tore() {
        let (_folder, path, bytes, starts) = three();
        for cut in starts[2]..starts[3] {
            std::fs::write(&path, &bytes[..cut as usize]).unwrap();
            assert_eq!(heights(&path), [1, 2], "cut at {cut}");
            assert_eq!(std::fs::metadata(&path).unwrap().len(), starts[2]);
        }
    }

    #[test]
    fn a_tail_of_zeros_is_cut() {
        let (_folder, path, bytes, starts) = three();
        let mut grown = bytes[..starts[2] as usize].to_vec();
        grown.resize(bytes.len() + 4096, 0);
        std::fs::write(&path, grown).unwrap();
        assert_eq!(heights(&path), [1, 2]);
    }

    #[test]
    fn a_log_goes_on_after_a_cut() {
        let (_folder, path, bytes, starts) = three();
        std::fs::write(&path, &bytes[..starts[3] as usize - 1]).unwrap();
        let (mut log, _, _) = Log::open(&path).unwrap().unwrap();
        log.append_record(&record(3)).unwrap();
        drop(log);
        assert_eq!(heights(&path), [1, 2, 3]);
    }

    #[test]
    fn any_other_changed_byte_is_damage_and_nothing_is_overwritten() {
        let (_folder, path, bytes, starts) = three();
        let genesis = (0..MAGIC.len() + HEAD).chain((0..starts[0] as usize).step_by(9973));
        for at in genesis.chain(starts[0] as usize..bytes.len()) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            let error = Log::open(&path).err().unwrap_or_else(|| panic!("byte {at} was not noticed"));
            assert!(matches!(error, DevnetError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains("chain.log"), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), damaged, "byte {at}");
        }
    }

    #[test]
    fn a_foreign_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain.log");
        std::fs::write(&path, "my diary").unwrap();
        assert!(matches!(Log::open(&path), Err(DevnetError::Damaged { offset: 0, .. })));
        assert_eq!(std::fs::read(&path).unwrap(), b"my diary");
    }

    #[test]
    fn a_log_that_was_only_begun_is_none() {
        let (_folder, path, bytes, _) = three();
        for cut in [0, 1, MAGIC.len(), MAGIC.len() + 3, MAGIC.len() + 100] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert!(Log::open(&path).unwrap().is_none(), "cut at {cut}");
        }
    }
}
