use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use fs4::{FileExt, TryLockError};
use serde_json::{json, Value};

use crate::anchor::json::{fault, read_json};
use crate::anchor::AnchorError;
use crate::chain::TransactionHash;
use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, Network, TokenId};

use super::FlowError;

/// How far a two-step registration came: a JSON file (`cardproof.two-step/1`) that is replaced as a whole.
#[derive(Debug)]
pub(super) struct Progress {
    path: PathBuf,
    uri: String,
    registration: Option<(TransactionHash, u64)>,
    token_id: Option<TokenId>,
    /// Held until it is dropped: two runs of the same registration would each make an agent.
    _lock: File,
}

impl Progress {
    /// Reads the file of this network, sender, URI and template, if there is one.
    pub(super) fn load(
        state_folder: &Path,
        network: &Network,
        sender: AccountAddress,
        uri: &str,
        template: &[u8],
    ) -> Result<Self, FlowError> {
        let what = Sha256Digest::of(&[uri.as_bytes(), b"\0", template].concat());
        let name = format!("{sender}-{}.json", short(what.to_string()));
        let path = folder(state_folder, network).join(name);
        let lock = lock(&path)?;
        let mut progress = Self { path, uri: uri.to_owned(), registration: None, token_id: None, _lock: lock };
        match fs::read(&progress.path) {
            Ok(bytes) => progress.apply(&bytes)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(cause) => return Err(FlowError::File { path: progress.path, cause }),
        }
        Ok(progress)
    }

    fn apply(&mut self, bytes: &[u8]) -> Result<(), FlowError> {
        let wrong = |why: &str| FlowError::State { path: self.path.clone(), why: why.into() };
        let json = read_json(bytes).map_err(|error| wrong(&fault(&error)))?;
        let text = |field: &str| json.get(field).and_then(Value::as_str);
        if text("schema") != Some("cardproof.two-step/1") {
            return Err(wrong("it is not of the schema cardproof.two-step/1"));
        }
        if let Some(hash) = text("registration") {
            let hash = hash.parse().map_err(|_| wrong("it names no transaction"))?;
            let expiry = json.get("expiry").and_then(Value::as_u64).ok_or_else(|| wrong("it has no expiry"))?;
            self.registration = Some((hash, expiry));
        }
        if let Some(token_id) = text("token_id") {
            self.token_id = Some(token_id.parse().map_err(|_| wrong("its token id is none"))?);
        }
        Ok(())
    }

    /// The registration that was signed, and when it expires in seconds since 1970.
    pub(super) fn registration(&self) -> Option<(TransactionHash, u64)> {
        self.registration
    }

    /// The file itself.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The new agent, once its registration is finalized.
    pub(super) fn token_id(&self) -> Option<TokenId> {
        self.token_id
    }

    pub(super) fn remember_registration(&mut self, hash: TransactionHash, expiry: u64) -> Result<(), AnchorError> {
        self.registration = Some((hash, expiry));
        self.save()
    }

    pub(super) fn forget_registration(&mut self) -> Result<(), AnchorError> {
        self.registration = None;
        self.save()
    }

    pub(super) fn remember_token(&mut self, token_id: TokenId) -> Result<(), AnchorError> {
        self.token_id = Some(token_id);
        self.save()
    }

    /// Removes the file: there is nothing left to go on with.
    pub(super) fn remove(self) -> Result<(), AnchorError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(FlowError::File { path: self.path, cause: error }.into()),
            _ => Ok(()),
        }
    }

    fn save(&self) -> Result<(), AnchorError> {
        let json = json!({
            "schema": "cardproof.two-step/1",
            "uri": self.uri,
            "registration": self.registration.map(|(hash, _)| hash.to_string()),
            "expiry": self.registration.map(|(_, expiry)| expiry),
            "token_id": self.token_id.map(|token_id| token_id.to_string()),
        });
        let write = || {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(format!("{json:#}\n").as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&self.path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|cause| FlowError::File { path: self.path.clone(), cause }.into())
    }
}

/// A two-step registration that was begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HalfDone {
    /// Whose it is, as its file says.
    pub sender: String,
    /// Where its card will be hosted.
    pub uri: String,
    /// Its agent, once it is registered.
    pub token_id: Option<TokenId>,
    /// The file that remembers it.
    pub path: PathBuf,
}

/// The two-step registrations of a network that can be gone on with. What cannot be read is left out: this only helps to find them.
pub fn half_done(state_folder: &Path, network: &Network) -> Vec<HalfDone> {
    let folder = folder(state_folder, network);
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<HalfDone> = files.filter_map(|path| half_done_at(&path)).collect();
    found.sort_by(|a, b| (&a.sender, &a.uri).cmp(&(&b.sender, &b.uri)));
    found
}

fn half_done_at(path: &Path) -> Option<HalfDone> {
    let (sender, _) = path.file_name()?.to_str()?.strip_suffix(".json")?.split_once('-')?;
    let json: Value = read_json(&fs::read(path).ok()?).ok()?;
    let text = |field: &str| json.get(field).and_then(Value::as_str);
    let token_id = text("token_id").and_then(|text| text.parse().ok());
    let is_begun = token_id.is_some() || text("registration").is_some();
    is_begun
        .then(|| Some(HalfDone { sender: sender.to_owned(), uri: text("uri")?.to_owned(), token_id, path: path.to_owned() }))?
}

fn folder(state_folder: &Path, network: &Network) -> PathBuf {
    state_folder.join("two-step").join(short(network.genesis.to_string()))
}

fn short(text: String) -> String {
    text.chars().take(16).collect()
}

/// Holds a two-step registration, or refuses when another run does.
fn lock(path: &Path) -> Result<File, FlowError> {
    let path = path.with_extension("lock");
    let failed = |cause| FlowError::File { path: path.clone(), cause };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    match FileExt::try_lock(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(FlowError::Busy),
        Err(TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_remembered_is_read_again_and_belongs_to_one_registration() {
        let folder = tempfile::tempdir().unwrap();
        let network = Network::built_in("testnet").unwrap();
        let sender = AccountAddress([1; 32]);
        let load = |uri: &str, template: &[u8]| Progress::load(folder.path(), &network, sender, uri, template).unwrap();
        let mut progress = load("https://a.example/card.json", b"{{badge}}");
        assert_eq!((progress.registration(), progress.token_id()), (None, None));
        let second = Progress::load(folder.path(), &network, sender, "https://a.example/card.json", b"{{badge}}");
        assert!(matches!(second, Err(FlowError::Busy)), "two runs of one registration");
        progress.remember_registration(TransactionHash([3; 32]), 1_798_761_600).unwrap();
        progress.remember_token(TokenId(u64::MAX)).unwrap();
        drop(progress);
        let again = load("https://a.example/card.json", b"{{badge}}");
        assert_eq!(again.registration(), Some((TransactionHash([3; 32]), 1_798_761_600)));
        assert_eq!(again.token_id(), Some(TokenId(u64::MAX)));
        assert_eq!(load("https://a.example/other.json", b"{{badge}}").token_id(), None);
        assert_eq!(load("https://a.example/card.json", b"{{badge}} ").token_id(), None);
        again.remove().unwrap();
        assert_eq!(load("https://a.example/card.json", b"{{badge}}").token_id(), None);
    }

    #[test]
    fn a_damaged_file_stops_everything() {
        let folder = tempfile::tempdir().unwrap();
        let network = Network::built_in("testnet").unwrap();
        let load = || Progress::load(folder.path(), &network, AccountAddress([1; 32]), "u", b"t");
        let mut progress = load().unwrap();
        progress.remember_token(TokenId(1)).unwrap();
        let path = progress.path.clone();
        drop(progress);
        let twice = r#"{"schema": "cardproof.two-step/1", "uri": "u", "token_id": "1", "token_id": "2"}"#;
        for (content, why) in [("{", "it is not JSON"), (twice, "the field token_id appears twice")] {
            fs::write(&path, content).unwrap();
            let error = load().unwrap_err();
            assert!(matches!(error, FlowError::State { .. }) && error.to_string().contains(why), "{error}");
        }
    }
}
