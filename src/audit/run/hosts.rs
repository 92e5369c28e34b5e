use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use url::Url;

use crate::identity::TokenId;

/// A host, by the hash of its name.
pub(super) type HostKey = u64;

/// How busy each host is, and who waits for it.
///
/// A fetch that only waits for its host's turn must not take up a place that a fetch from another host could use. So an
/// agent whose host is busy waits here, as its token id alone: its record is read again when its turn comes.
pub(super) struct Hosts {
    names: RandomState,
    most: usize,
    busy: HashMap<HostKey, Host>,
}

#[derive(Default)]
struct Host {
    running: usize,
    waiting: VecDeque<TokenId>,
}

impl Hosts {
    /// At most `most` fetches from one host at once.
    pub(super) fn new(most: usize) -> Self {
        Self { names: RandomState::new(), most: most.max(1), busy: HashMap::new() }
    }

    /// The host of a URI; of one without a host, its scheme.
    pub(super) fn key(&self, uri: &str) -> HostKey {
        match Url::parse(uri) {
            Ok(url) => self.names.hash_one(url.host_str().unwrap_or(url.scheme())),
            // It fails before any request is made.
            Err(_) => self.names.hash_one(""),
        }
    }

    /// Takes a place at the host, or makes the agent wait for one.
    pub(super) fn take(&mut self, key: HostKey, agent: TokenId) -> bool {
        let host = self.busy.entry(key).or_default();
        if host.running >= self.most {
            host.waiting.push_back(agent);
            return false;
        }
        host.running += 1;
        true
    }

    /// Gives a place back. It goes to the agent that waited longest, which is returned.
    pub(super) fn give_back(&mut self, key: HostKey) -> Option<TokenId> {
        let host = self.busy.get_mut(&key)?;
        let next = host.waiting.pop_front();
        if next.is_none() {
            host.running = host.running.saturating_sub(1);
            if host.running == 0 {
                self.busy.remove(&key);
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_host_makes_its_own_agents_wait_and_no_others() {
        let mut hosts = Hosts::new(2);
        let (a, b) = (hosts.key("https://a.example:8443/x"), hosts.key("https://b.example/x"));
        assert_eq!(a, hosts.key("https://A.example/y"), "the port and the path do not make a host");
        assert_ne!(a, b);
        assert!(hosts.take(a, TokenId(1)) && hosts.take(a, TokenId(2)));
        assert!(!hosts.take(a, TokenId(3)) && !hosts.take(a, TokenId(4)));
        assert!(hosts.take(b, TokenId(5)));
        assert_eq!([hosts.give_back(a), hosts.give_back(a)], [Some(TokenId(3)), Some(TokenId(4))], "first come, first served");
        assert_eq!([hosts.give_back(a), hosts.give_back(a), hosts.give_back(b)], [None; 3]);
        assert!(hosts.busy.is_empty(), "idle hosts are forgotten");
    }
}
