use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{oneshot, Semaphore};

use super::address::{AddressClass, AddressPolicy};

/// The answer of a look-up, when it comes.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of a name. Tests bring their own; [`SystemResolver`] asks the system.
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of `name`, which is a host name in punycode. Never asked about a literal address.
    fn lookup(&self, name: &str) -> Lookup;
}

/// The system's resolver.
///
/// It blocks, for as long as it likes, so each look-up has a thread of its own that nobody waits for: dropping the look-up
/// ends it for the caller, and the end of the program does not wait either.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    threads: Arc<Semaphore>,
}

impl SystemResolver {
    /// How many look-ups may block at once.
    const THREADS: usize = 64;
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { threads: Arc::new(Semaphore::new(Self::THREADS)) }
    }
}

impl Resolve for SystemResolver {
    fn lookup(&self, name: &str) -> Lookup {
        let (threads, name) = (Arc::clone(&self.threads), name.to_owned());
        Box::pin(async move {
            let slot = threads.acquire_owned().await.map_err(io::Error::other)?;
            let (answer, asked) = oneshot::channel();
            std::thread::Builder::new().name("name look-up".to_owned()).spawn(move || {
                let found = (name.as_str(), 0).to_socket_addrs().map(|found| found.map(|found| found.ip()).collect());
                drop(slot);
                // Nobody listens any more when the deadline has passed.
                let _ = answer.send(found);
            })?;
            asked.await.map_err(io::Error::other)?
        })
    }
}

/// Stands between the HTTP client and a resolver: what it lets through is what the client connects to, so a name cannot
/// change its addresses between the check and the connection.
pub(super) struct Guard {
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) policy: AddressPolicy,
    /// Host names, normalised by [`plain_name`], that may be private.
    pub(super) allow_hosts: Arc<[String]>,
}

/// Why a name leads nowhere.
#[derive(Debug, thiserror::Error)]
pub(super) enum NameError {
    #[error("the name cannot be resolved: {0}")]
    Lookup(io::Error),
    #[error("the name has no address")]
    Empty,
    #[error("one of its addresses is {ip}: {class}")]
    Refused { ip: IpAddr, class: AddressClass },
}

impl Guard {
    /// The policy for `host`, a name or a literal address.
    pub(super) fn policy_for(&self, host: &str) -> AddressPolicy {
        if self.allow_hosts.iter().any(|allowed| *allowed == plain_name(host)) {
            AddressPolicy::with_private()
        } else {
            self.policy
        }
    }

    fn admit(policy: AddressPolicy, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, NameError> {
        if found.is_empty() {
            return Err(NameError::Empty);
        }
        for ip in &found {
            policy.check(*ip).map_err(|class| NameError::Refused { ip: *ip, class })?;
        }
        Ok(found)
    }
}

impl reqwest::dns::Resolve for Guard {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let policy = self.policy_for(name.as_str());
        let lookup = self.resolver.lookup(name.as_str());
        Box::pin(async move {
            let found = lookup.await.map_err(NameError::Lookup)?;
            let admitted = Self::admit(policy, found)?;
            // Port 0 stands for the port of the URL.
            let addresses = admitted.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(addresses) as reqwest::dns::Addrs)
        })
    }
}

/// Resolves the name of a proxy, which the user chose and which may live anywhere.
pub(super) struct ProxyNames(pub(super) Arc<dyn Resolve>);

impl reqwest::dns::Resolve for ProxyNames {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let lookup = self.0.lookup(name.as_str());
        Box::pin(async move {
            let found = lookup.await.map_err(NameError::Lookup)?;
            Ok(Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0))) as reqwest::dns::Addrs)
        })
    }
}

/// A host name for comparing: lower case, without the final dot, an IPv6 literal without its brackets.
pub(super) fn plain_name(host: &str) -> String {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn c_46_one_refused_address_refuses_the_name() {
        let public = AddressPolicy::public_only();
        assert!(Guard::admit(public, ips(&["8.8.8.8", "2606:4700::1111"])).is_ok());
        assert!(matches!(Guard::admit(public, ips(&["8.8.8.8", "127.0.0.1"])), Err(NameError::Refused { .. })));
        assert!(matches!(Guard::admit(public, Vec::new()), Err(NameError::Empty)));
    }

    #[tokio::test]
    async fn the_system_resolver_reads_an_address_without_asking_anybody() {
        let found = SystemResolver::default().lookup("192.0.2.7").await.unwrap();
        assert_eq!(found, ips(&["192.0.2.7"]));
    }
}
