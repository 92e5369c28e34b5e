use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{HeaderValue, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, TRANSFER_ENCODING};
use reqwest::{Client, Response, Version};
use url::Url;

use super::address::AddressPolicy;
use super::answer::{is_stale, judge, Head};
use super::client::GuardedClient;
use super::data_uri::{self, DataUriError};
use super::deadline::Deadline;
use super::explain::no_answer;
use super::ipfs;
use super::limits::HostLimits;
use super::outcome::{FailureKind, FetchFailure, FetchTrace, Fetched, Hop};
use super::receive::{content_length, receive, values, Card};
use super::resolve::{Resolve, SystemResolver};
use super::retry::pause;
use super::settings::{FetchSettings, FetchSetupError};
use super::stop::Stop;
use super::surplus::{may_be_cut, FirstAnswer, SurplusProbe};
use super::target::{check_hop, check_uri, host_of, invalid, redirect_target, Target};
use super::trust::TrustRoots;
use super::{CardFetcher, Origin};
use crate::digest::Sha256Digest;

/// How many redirects are followed.
const REDIRECTS: usize = 5;

/// Fetches cards over the network, guarded as the settings say. Cheap to clone; clones share connections and limits.
#[derive(Debug, Clone)]
pub struct Fetcher {
    parts: Arc<Parts>,
}

#[derive(Debug)]
pub(super) struct Parts {
    pub(super) settings: FetchSettings,
    gateways: Vec<Url>,
    roots: usize,
    /// For what strangers wrote.
    strict: GuardedClient,
    /// For the first hop of what the user typed.
    pub(super) typed: GuardedClient,
    pub(super) limits: HostLimits,
    surplus: SurplusProbe,
}

impl Fetcher {
    /// A fetcher that asks the system for addresses.
    ///
    /// # Errors
    /// [`FetchSetupError`] if a setting is unusable or a certificate file cannot be read.
    pub fn new(settings: FetchSettings) -> Result<Self, FetchSetupError> {
        Self::with_resolver(settings, Arc::new(SystemResolver::default()))
    }

    /// A fetcher that asks `resolver` for addresses. What it answers is checked like any other answer.
    ///
    /// # Errors
    /// As [`Fetcher::new`].
    pub fn with_resolver(settings: FetchSettings, resolver: Arc<dyn Resolve>) -> Result<Self, FetchSetupError> {
        let roots = TrustRoots::load(&settings)?;
        let tls = roots.client_config()?;
        let policy = |private| if private { AddressPolicy::with_private() } else { AddressPolicy::public_only() };
        let strict = policy(settings.allow_private);
        let typed = policy(settings.allow_private || settings.typed_private);
        let parts = Parts {
            gateways: ipfs::gateways(&settings.ipfs_gateways)?,
            roots: roots.count(),
            surplus: SurplusProbe::new(tls.clone(), &settings.user_agent),
            strict: GuardedClient::new(&settings, &tls, Arc::clone(&resolver), strict)?,
            typed: GuardedClient::new(&settings, &tls, resolver, typed)?,
            limits: HostLimits::new(settings.per_host_concurrency, settings.per_host_rate),
            settings,
        };
        Ok(Self { parts: Arc::new(parts) })
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Judges a URI that a stranger wrote without asking anyone, a resolver included: by its text, and by what these settings keep from
    /// being fetched. An `ipfs:` URI is good for whoever has a gateway.
    ///
    /// # Errors
    /// [`FetchFailure`], as fetching it would end.
    pub fn judge(&self, uri: &str) -> Result<(), FetchFailure> {
        check_uri(uri)?;
        match Target::of(uri, &self.parts.settings) {
            Ok(Target::Http(url)) => check_hop(&url, Origin::Untrusted, &self.parts.strict.guard, &self.parts.settings)
                .map_err(|stop| stop.with(FetchTrace::default())),
            _ => Ok(()),
        }
    }

    /// How many certificate authorities are trusted.
    pub fn trusted_roots(&self) -> usize {
        self.parts.roots
    }
}

impl CardFetcher for Fetcher {
    async fn fetch(&self, uri: &str, origin: Origin) -> Result<Fetched, FetchFailure> {
        let started = Instant::now();
        let mut trace = FetchTrace::default();
        let outcome = self.parts.fetch(uri, origin, &mut trace).await;
        trace.elapsed = started.elapsed();
        match outcome {
            Ok(card) => Ok(card.fetched(trace)),
            Err(stop) => Err(stop.with(trace)),
        }
    }

    async fn look_again(&self, uri: &str, fetched: Fetched, expected: Sha256Digest) -> Fetched {
        let parts = &self.parts;
        match Target::of(uri, &parts.settings) {
            Ok(Target::Http(_)) if may_be_cut(&fetched.body, expected) => parts.check_length(fetched).await,
            Ok(Target::Ipfs(path)) if parts.gateways.len() > 1 => {
                let left = parts.settings.deadline.saturating_sub(fetched.trace.elapsed);
                parts.ask_other_gateways(path, expected, left).await.unwrap_or(fetched)
            }
            _ => fetched,
        }
    }
}

impl Parts {
    async fn fetch(&self, uri: &str, origin: Origin, trace: &mut FetchTrace) -> Result<Card, Stop> {
        let target = Target::of(uri, &self.settings)?;
        let mut deadline = Deadline::after(self.settings.deadline);
        match target {
            Target::Data(uri) => self.decode_data(uri, trace),
            Target::Http(url) => self.persist(&url, origin, self.settings.retries, &mut deadline, trace).await,
            Target::Ipfs(path) => self.ask_gateways(path, &mut deadline, trace).await,
        }
    }

    fn decode_data(&self, uri: &str, trace: &mut FetchTrace) -> Result<Card, Stop> {
        let data = data_uri::decode(uri, self.settings.max_bytes).map_err(|error| match error {
            DataUriError::TooLarge(_) => Stop::new(FailureKind::TooLarge, format!("{error} (--max-bytes)")),
            _ => invalid(error.to_string()),
        })?;
        trace.content_type = Some(data.content_type);
        Ok(Card { wire_sha256: data.body.sha256, body: data.body, looks_like_bot_wall: false, length_verified: true })
    }

    /// Asks each gateway in turn, each with a fair share of the time. The user chose them, so they may be local.
    async fn ask_gateways(&self, path: &str, deadline: &mut Deadline, trace: &mut FetchTrace) -> Result<Card, Stop> {
        let count = self.gateways.len();
        let retries = if count == 1 { self.settings.retries } else { 0 };
        let mut stops = Vec::new();
        for (index, gateway) in self.gateways.iter().enumerate() {
            let url = ipfs::url_at(gateway, path)?;
            let mut share = deadline.share(count - index);
            match self.persist(&url, Origin::User, retries, &mut share, trace).await {
                Ok(card) => return Ok(card),
                Err(stop) => stops.push(stop),
            }
        }
        let causes = stops.iter().map(|stop| stop.message.as_str()).collect::<Vec<_>>().join("; ");
        let retryable = stops.iter().any(|stop| stop.retryable);
        match stops.pop() {
            Some(last) if count > 1 => {
                Err(Stop { retryable, message: format!("none of {count} IPFS gateways has it: {causes}"), ..last })
            }
            Some(last) => Err(last),
            None => Err(invalid("no IPFS gateway is configured")),
        }
    }

    /// The first gateway whose bytes are the `expected` ones: none is trusted, so one that sends others decides nothing while another
    /// has the right ones.
    async fn ask_other_gateways(&self, path: &str, expected: Sha256Digest, left: Duration) -> Option<Fetched> {
        let deadline = Deadline::after(left);
        // Those that were not asked yet are the last, and have the best chance.
        for (index, gateway) in self.gateways.iter().rev().enumerate() {
            let (started, mut trace) = (Instant::now(), FetchTrace::default());
            let url = ipfs::url_at(gateway, path).ok()?;
            let mut share = deadline.share(self.gateways.len() - index);
            let card = self.persist(&url, Origin::User, 0, &mut share, &mut trace).await;
            trace.elapsed = started.elapsed();
            match card {
                Ok(card) if card.body.sha256 == expected => return Some(card.fetched(trace)),
                _ => {}
            }
        }
        None
    }

    /// Sees whether a server sends more bytes than it declares.
    async fn check_length(&self, mut fetched: Fetched) -> Fetched {
        let FetchTrace { final_url: Some(url), ip: Some(ip), content_length: Some(length), .. } = &fetched.trace else {
            return fetched;
        };
        let Ok(url) = Url::parse(url) else { return fetched };
        let _turn = self.limits.turn(host_of(&url)).await;
        let first = FirstAnswer { url: &url, ip: *ip, wire_sha256: fetched.wire_sha256, length: *length };
        let left = self.settings.deadline.saturating_sub(fetched.trace.elapsed);
        fetched.length_verified &= !self.surplus.sends_more(&first, left).await;
        fetched
    }

    /// Fetches `url`, trying again what may pass while the deadline allows.
    async fn persist(
        &self,
        url: &Url,
        origin: Origin,
        retries: u32,
        deadline: &mut Deadline,
        trace: &mut FetchTrace,
    ) -> Result<Card, Stop> {
        let mut attempt = 0;
        loop {
            *trace = FetchTrace::default();
            let stop = match self.follow(url, origin, attempt > 0, deadline, trace).await {
                Ok(card) => return Ok(card),
                Err(stop) => stop,
            };
            let Some(pause) = pause(&stop, attempt, retries, deadline) else {
                let tries = attempt + 1;
                let message = if tries > 1 { format!("{} (tried {tries} times)", stop.message) } else { stop.message };
                return Err(Stop { message, ..stop });
            };
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// Follows `start` and its redirects to a card. Each hop is a new URL that gets every check.
    async fn follow(
        &self,
        start: &Url,
        origin: Origin,
        fresh: bool,
        deadline: &mut Deadline,
        trace: &mut FetchTrace,
    ) -> Result<Card, Stop> {
        let (mut url, mut origin) = (start.clone(), origin);
        loop {
            let client = match origin {
                Origin::User => &self.typed,
                Origin::Untrusted => &self.strict,
            };
            check_hop(&url, origin, &client.guard, &self.settings)?;
            let _turn = deadline.paused(self.limits.turn(host_of(&url))).await;
            let step = deadline.within(host_of(&url), self.exchange(client, &url, fresh, trace)).await?;
            match step {
                Step::Card(card) => return Ok(card),
                Step::Redirect(_) if trace.hops.len() > REDIRECTS => {
                    let message = format!("more than {REDIRECTS} redirects, the last from {}", host_of(&url));
                    return Err(Stop::new(FailureKind::RedirectLimit, message));
                }
                Step::Redirect(location) => url = redirect_target(&url, &location, &self.settings)?,
            }
            origin = Origin::Untrusted;
        }
    }

    /// One request and its answer.
    async fn exchange(&self, client: &GuardedClient, url: &Url, fresh: bool, trace: &mut FetchTrace) -> Result<Step, Stop> {
        let request = |http: &Client| match fresh {
            true => http.get(url.clone()).header(CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            false => http.get(url.clone()),
        };
        let proxied = self.settings.proxy.is_some();
        let response = client.get(request).await.map_err(|error| no_answer(&error, url, proxied))?;
        self.note(&response, url, trace);
        let head = judge(url, response.status(), response.headers()).map_err(|stop| {
            let again = stop.again || !fresh && is_stale(&stop, response.headers());
            Stop { again, ..stop }
        });
        match head? {
            Head::Card => receive(response, url, self.settings.max_bytes).await.map(Step::Card),
            Head::Redirect(location) => {
                trace.hops.push(Hop { url: url.to_string(), status: response.status().as_u16() });
                Ok(Step::Redirect(location))
            }
        }
    }

    fn note(&self, response: &Response, url: &Url, trace: &mut FetchTrace) {
        let joined = |name| Some(values(response.headers(), &name)).filter(|values| !values.is_empty()).map(|all| all.join(", "));
        trace.final_url = Some(url.to_string());
        trace.status = Some(response.status().as_u16());
        trace.content_type = joined(CONTENT_TYPE);
        trace.content_encoding = joined(CONTENT_ENCODING);
        let chunked = response.headers().contains_key(TRANSFER_ENCODING);
        let framed = response.version() >= Version::HTTP_2 || chunked;
        trace.content_length = if framed { None } else { content_length(response.headers()) };
        // Behind a proxy this would be the proxy's address.
        trace.ip = response.remote_addr().map(|address| address.ip()).filter(|_| self.settings.proxy.is_none());
    }
}

/// What one request led to.
enum Step {
    Card(Card),
    Redirect(Vec<u8>),
}
