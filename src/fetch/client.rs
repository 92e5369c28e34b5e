use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue, ACCEPT_ENCODING};
use reqwest::{redirect, retry, Client, ClientBuilder, Proxy};
use rustls::ClientConfig;

use super::address::AddressPolicy;
use super::resolve::{plain_name, Guard, ProxyNames, Resolve};
use super::reuse::Answered;
use super::settings::{FetchSettings, FetchSetupError};

/// How long one address may take to accept a connection, so that others get their turn before the deadline.
const CONNECT: Duration = Duration::from_secs(8);

/// HTTP/2 receive windows: what a server may send before we have read it counts as memory.
const STREAM_WINDOW: u32 = 256 << 10;

/// An HTTP client together with the guard that decides what it connects to.
///
/// The policy belongs to the client: connections are pooled, and one that the user's own URL may use must not serve a
/// stranger's. A client takes a while to build, so each is built when it is first needed.
pub(super) struct GuardedClient {
    pub(super) guard: Arc<Guard>,
    /// Which pooled connections have served before.
    pub(super) answered: Answered,
    recipe: Recipe,
    pooled: OnceLock<Client>,
    unpooled: OnceLock<Client>,
}

/// What a client is built from. The proxy's URL may carry credentials, so this cannot be printed.
struct Recipe {
    tls: ClientConfig,
    agent: HeaderValue,
    proxy: Option<Proxy>,
    connect: Duration,
    idle_per_host: usize,
}

impl GuardedClient {
    pub(super) fn new(
        settings: &FetchSettings,
        tls: &ClientConfig,
        resolver: Arc<dyn Resolve>,
        policy: AddressPolicy,
    ) -> Result<Self, FetchSetupError> {
        let allow_hosts: Arc<[String]> = settings.allow_hosts.iter().map(|host| plain_host(host)).collect::<Result<_, _>>()?;
        let proxy = settings.proxy.as_ref().map(|proxy| Proxy::all(proxy.url().clone())).transpose();
        let recipe = Recipe {
            tls: tls.clone(),
            agent: HeaderValue::from_str(&settings.user_agent).map_err(|_| FetchSetupError::UserAgent)?,
            proxy: proxy.map_err(|_| FetchSetupError::Proxy)?,
            connect: CONNECT.min(settings.deadline / 2),
            idle_per_host: settings.per_host_concurrency.max(1),
        };
        let guard = Arc::new(Guard { resolver, policy, allow_hosts });
        Ok(Self { guard, answered: Answered::default(), recipe, pooled: OnceLock::new(), unpooled: OnceLock::new() })
    }

    /// The client for most requests.
    pub(super) fn pooled(&self) -> reqwest::Result<&Client> {
        self.built(&self.pooled, self.recipe.idle_per_host)
    }

    /// The same without a pool: each of its requests gets a connection of its own.
    pub(super) fn unpooled(&self) -> reqwest::Result<&Client> {
        self.built(&self.unpooled, 0)
    }

    fn built<'a>(&self, place: &'a OnceLock<Client>, idle_per_host: usize) -> reqwest::Result<&'a Client> {
        match place.get() {
            Some(client) => Ok(client),
            None => {
                let client = self.build(idle_per_host)?;
                Ok(place.get_or_init(|| client))
            }
        }
    }

    /// This is the only place in the program that builds an HTTP client.
    fn build(&self, idle_per_host: usize) -> reqwest::Result<Client> {
        let Recipe { tls, agent, proxy, connect, .. } = &self.recipe;
        let builder = no_automatisms(Client::builder())
            .use_preconfigured_tls(tls.clone())
            .user_agent(agent.clone())
            .default_headers(HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]))
            .connect_timeout(*connect)
            .pool_idle_timeout(Duration::from_secs(10))
            .pool_max_idle_per_host(idle_per_host)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(2 * STREAM_WINDOW);
        let builder = match proxy {
            Some(proxy) => builder.proxy(proxy.clone()).dns_resolver(Arc::new(ProxyNames(Arc::clone(&self.guard.resolver)))),
            None => builder.dns_resolver(Arc::clone(&self.guard)),
        };
        builder.build()
    }
}

impl fmt::Debug for GuardedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedClient").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// Everything off that the client would do by itself. The decoders are off even where another crate in the build has turned
/// their features on; redirects, retries and proxies are decided here and not by the environment.
fn no_automatisms(builder: ClientBuilder) -> ClientBuilder {
    builder
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .no_proxy()
}

/// A host to allow, as it will be compared: an internationalised name in punycode, an address in its usual form.
fn plain_host(host: &str) -> Result<String, FetchSetupError> {
    let wrong = || FetchSetupError::AllowHost(host.to_owned());
    if let Ok(ip) = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>() {
        return Ok(ip.to_string());
    }
    match url::Host::parse(host).map_err(|_| wrong())? {
        // The parser takes a wildcard for a name; it would look like a pattern and match nothing.
        url::Host::Domain(name) if name.contains('*') => Err(wrong()),
        url::Host::Domain(name) => Ok(plain_name(&name)),
        url::Host::Ipv4(ip) => Ok(ip.to_string()),
        url::Host::Ipv6(ip) => Ok(ip.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_to_allow_are_compared_in_one_form() {
        for (given, plain) in [
            ("Cards.Example.", "cards.example"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("10.0.0.1", "10.0.0.1"),
            ("::1", "::1"),
            ("[0:0::1]", "::1"),
        ] {
            assert_eq!(plain_host(given).unwrap(), plain);
        }
        for wrong in ["", "https://a.example", "a.example:443", "a.example/x", "*"] {
            assert!(plain_host(wrong).is_err(), "{wrong}");
        }
    }
}
