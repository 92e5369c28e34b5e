use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::mem;

use url::Url;

use crate::digest::Sha256Digest;
use crate::fetch::{asked_url, Body, FailureKind, FetchFailure, FetchTrace, Fetched};
use crate::verify::{Note, Reason};

/// A URL by its hash. The hash is keyed anew for each run, so nobody can make two URLs that share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct UrlKey([u64; 2]);

/// What a URL brought: enough to judge every other agent that names it. Bodies are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    digest: Sha256Digest,
    bytes: u32,
    status: u16,
    /// `None` when the body came whole.
    failure: Option<FailureKind>,
    flags: u8,
}

const LENGTH_VERIFIED: u8 = 1;
const BOT_WALL: u8 = 2;
const RETRYABLE: u8 = 4;
const CONFIRMED: u8 = 8;
const UNSTABLE: u8 = 16;

impl Known {
    /// What to remember; `None` for a body that is too large for its length to be.
    pub(super) fn of(outcome: &Result<Fetched, FetchFailure>) -> Option<Self> {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        Some(match outcome {
            Ok(fetched) => Self {
                digest: fetched.body.sha256,
                bytes: u32::try_from(fetched.body.bytes).ok()?,
                status: fetched.trace.status.unwrap_or_default(),
                failure: None,
                flags: flag(fetched.length_verified, LENGTH_VERIFIED) | flag(fetched.looks_like_bot_wall, BOT_WALL),
            },
            Err(failure) => Self {
                digest: Sha256Digest([0; 32]),
                bytes: 0,
                status: failure.trace.status.unwrap_or_default(),
                failure: Some(failure.kind),
                flags: flag(failure.retryable, RETRYABLE),
            },
        })
    }

    /// The digest of the body that came.
    pub(super) fn digest(&self) -> Option<Sha256Digest> {
        self.failure.is_none().then_some(self.digest)
    }

    /// Remembers that further fetches brought the same, or did not.
    pub(super) fn confirm(&mut self, stable: bool) {
        self.flags |= CONFIRMED | if stable { 0 } else { UNSTABLE };
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.flags & CONFIRMED != 0
    }

    pub(super) fn is_unstable(&self) -> bool {
        self.flags & UNSTABLE != 0
    }

    /// The outcome of the fetch as far as it is remembered.
    pub(super) fn outcome(&self) -> Result<Fetched, FetchFailure> {
        let trace = FetchTrace { status: (self.status != 0).then_some(self.status), ..FetchTrace::default() };
        match self.failure {
            None => Ok(Fetched {
                trace,
                body: Body { sha256: self.digest, bytes: self.bytes.into(), kept: None },
                wire_sha256: self.digest,
                looks_like_bot_wall: self.flags & BOT_WALL != 0,
                length_verified: self.flags & LENGTH_VERIFIED != 0,
            }),
            Some(kind) => {
                let message = format!("{} It was fetched for another agent of this run.", Reason::from(kind).sentence());
                Err(FetchFailure { kind, message, retryable: self.flags & RETRYABLE != 0, trace })
            }
        }
    }
}

type Entry = (UrlKey, Known);

const SHARDS: usize = 256;

/// What every URL of a run brought, in at most 64 bytes for each.
///
/// A hash table doubles, and is half empty afterwards. These are sorted vectors that grow by an eighth instead; by the
/// random first byte of the key there are 256 of them, so that an insertion moves little.
pub(super) struct UrlTable {
    keys: RandomState,
    shards: Vec<Vec<Entry>>,
    /// The notes on mismatches whose body was at hand, by URL and anchor. Kept for a bounded number, whatever the run's size.
    notes: HashMap<(UrlKey, Sha256Digest), Vec<Note>>,
}

/// How many notes are kept. More are more hosts that went wrong than agents that share one.
const NOTES: usize = 1024;

impl UrlTable {
    pub(super) fn new() -> Self {
        Self { keys: RandomState::new(), shards: vec![Vec::new(); SHARDS], notes: HashMap::new() }
    }

    /// The key of a URL, however it is spelled: host and scheme in capitals, `127.1`, a fragment all ask a host for the same thing.
    pub(super) fn key(&self, url: &str) -> UrlKey {
        let asked = asked_url(url);
        let url = asked.as_ref().map_or(url, Url::as_str);
        UrlKey([self.keys.hash_one((0_u8, url)), self.keys.hash_one((1_u8, url))])
    }

    pub(super) fn get(&self, key: UrlKey) -> Option<Known> {
        let shard = self.shards.get(shard_of(key))?;
        let at = shard.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        shard.get(at).map(|(_, known)| *known)
    }

    /// Remembers an outcome in place of an earlier one.
    pub(super) fn insert(&mut self, key: UrlKey, known: Known) {
        let Some(shard) = self.shards.get_mut(shard_of(key)) else { return };
        match shard.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => {
                if let Some(entry) = shard.get_mut(at) {
                    entry.1 = known;
                }
            }
            Err(at) => {
                if shard.len() == shard.capacity() {
                    shard.reserve_exact(1 + shard.len() / 8);
                }
                shard.insert(at, (key, known));
            }
        }
    }

    /// Remembers what was noted on the mismatch of a body with an anchor: other agents often have both in common.
    pub(super) fn note(&mut self, key: UrlKey, anchor: Sha256Digest, notes: &[Note]) {
        if self.notes.len() >= NOTES {
            self.notes.clear();
        }
        self.notes.insert((key, anchor), notes.to_vec());
    }

    /// What was noted on the same mismatch, if that is remembered.
    pub(super) fn noted(&self, key: UrlKey, anchor: Sha256Digest) -> Option<&[Note]> {
        self.notes.get(&(key, anchor)).map(Vec::as_slice)
    }

    /// How many bytes it takes beyond itself for the URLs.
    pub(super) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.capacity() * mem::size_of::<Entry>()).sum()
    }
}

fn shard_of(UrlKey([first, _]): UrlKey) -> usize {
    // The lowest byte: the order within a shard comes from the highest.
    usize::from(first.to_le_bytes()[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(number: u32) -> Known {
        Known { digest: Sha256Digest::of(&number.to_le_bytes()), bytes: number, status: 200, failure: None, flags: 0 }
    }

    #[test]
    fn a_distinct_url_takes_at_most_64_bytes() {
        let mut table = UrlTable::new();
        for number in 0..100_000 {
            table.insert(table.key(&format!("https://cards.example/{number}.json")), known(number));
            if number % 10_000 == 9_999 {
                let each = table.bytes() as f64 / f64::from(number + 1);
                assert!(each <= 64.0, "{each} bytes for each of {number}");
            }
        }
        for number in (0..100_000).step_by(977) {
            assert_eq!(table.get(table.key(&format!("https://cards.example/{number}.json"))), Some(known(number)));
        }
        assert_eq!(table.get(table.key("https://cards.example/none.json")), None);
    }

    /// Otherwise anybody could have one card fetched as often as there are spellings of its URL (C-57).
    #[test]
    fn c_57_a_url_is_the_same_however_it_is_spelled() {
        let table = UrlTable::new();
        let same = ["http://127.0.0.1/card", "HTTP://127.1/card", "http://2130706433:80/card#part", "http://127.0.0.1/./card"];
        assert!(same.iter().all(|url| table.key(url) == table.key(same[0])));
        // What is not fetched must not be judged by what is.
        let others = ["http:127.0.0.1/card", "http://127.0.0.1\\card", " http://127.0.0.1/card", "http://u@127.0.0.1/card"];
        let others = others.iter().chain(&["http://127.0.0.1/Card", "http://127.0.0.1/card?", "https://127.0.0.1/card"]);
        let keys: std::collections::HashSet<_> = others.chain(&same[..1]).map(|url| table.key(url)).collect();
        assert_eq!(keys.len(), 8);
    }

    #[test]
    fn keys_differ_from_run_to_run() {
        assert_ne!(UrlTable::new().key("https://a.example"), UrlTable::new().key("https://a.example"));
    }

    #[test]
    fn what_is_remembered_is_judged_the_same() {
        let trace = FetchTrace { status: Some(404), ..FetchTrace::default() };
        let failure = FetchFailure { kind: FailureKind::NotFound, message: "gone".into(), retryable: true, trace };
        let again = Known::of(&Err(failure)).unwrap().outcome().unwrap_err();
        assert_eq!((again.kind, again.retryable, again.trace.status), (FailureKind::NotFound, true, Some(404)));
        let fetched = known(7).outcome().unwrap();
        assert_eq!((fetched.body.sha256, fetched.body.bytes, fetched.length_verified), (known(7).digest, 7, false));
    }
}
