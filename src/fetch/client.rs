use std::sync::Arc;
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
#[derive(Debug, Clone)]
pub(super) struct GuardedClient {
    pub(super) http: Client,
    /// The same without a pool: each of its requests gets a connection of its own.
    pub(super) unpooled: Client,
    /// Which connections of `http` have served before.
    pub(super) answered: Arc<Answered>,
    pub(super) guard: Arc<Guard>,
}

/// Builds the clients of a fetcher. This is the only place in the program that builds an HTTP client.
///
/// The policy belongs to the client: connections are pooled, and one that the user's own URL may use must not serve a
/// stranger's.
pub(super) fn build(
    settings: &FetchSettings,
    tls: &ClientConfig,
    resolver: Arc<dyn Resolve>,
    policy: AddressPolicy,
) -> Result<GuardedClient, FetchSetupError> {
    let allow_hosts: Arc<[String]> = settings.allow_hosts.iter().map(|host| plain_host(host)).collect::<Result<_, _>>()?;
    let guard = Arc::new(Guard { resolver: Arc::clone(&resolver), policy, allow_hosts });
    let agent = HeaderValue::from_str(&settings.user_agent).map_err(|_| FetchSetupError::UserAgent)?;
    let proxy = settings.proxy.as_ref().map(|proxy| Proxy::all(proxy.url().clone())).transpose();
    let proxy = proxy.map_err(|_| FetchSetupError::Proxy)?;
    let client = |idle: usize| {
        let builder = no_automatisms(Client::builder())
            .use_preconfigured_tls(tls.clone())
            .user_agent(agent.clone())
            .default_headers(HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]))
            .connect_timeout(CONNECT.min(settings.deadline / 2))
            .pool_idle_timeout(Duration::from_secs(10))
            .pool_max_idle_per_host(idle)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(2 * STREAM_WINDOW);
        let builder = match &proxy {
            Some(proxy) => builder.proxy(proxy.clone()).dns_resolver(Arc::new(ProxyNames(Arc::clone(&resolver)))),
            None => builder.dns_resolver(Arc::clone(&guard)),
        };
        builder.build().map_err(FetchSetupError::Client)
    };
    let (http, unpooled) = (client(settings.per_host_concurrency.max(1))?, client(0)?);
    Ok(GuardedClient { http, unpooled, answered: Arc::default(), guard })
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
