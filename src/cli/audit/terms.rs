//! What a run is judged by: the options that decide a verdict, written down with the run, so that all who work on it judge alike.

use std::time::Duration;

use cardproof::audit::{AuditSettings, RunInfo};
use cardproof::chain::ChainSettings;
use cardproof::digest::Sha256Digest;
use cardproof::fetch::FetchSettings;
use serde::{Deserialize, Serialize};

use crate::cli::exit::CliError;

/// The options that decide a verdict. How much is done at once is none of them, and nothing here is a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Terms {
    allow_http: bool,
    allow_private: bool,
    allow_host: Vec<String>,
    max_bytes: u64,
    timeout_ms: u64,
    ipfs_gateway: Vec<String>,
    /// Whether there is one; which one is each machine's own business, and may hold a password.
    proxy: bool,
    /// Of the certificate authorities that are trusted besides, wherever their files are.
    ca_sha256: Option<String>,
    native_roots: bool,
    quorum: Option<usize>,
    fetch_unanchored: bool,
    confirm: u32,
    min_consecutive: u64,
}

impl Terms {
    pub(super) fn of(
        chain: &ChainSettings,
        fetch: &FetchSettings,
        audit: &AuditSettings,
        min_consecutive: u64,
    ) -> Result<Self, CliError> {
        let mut allow_host: Vec<_> = fetch.allow_hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        allow_host.sort_unstable();
        allow_host.dedup();
        Ok(Self {
            allow_http: fetch.allow_http,
            allow_private: fetch.allow_private,
            allow_host,
            max_bytes: fetch.max_bytes,
            timeout_ms: u64::try_from(fetch.deadline.as_millis()).unwrap_or(u64::MAX),
            ipfs_gateway: fetch.ipfs_gateways.clone(),
            proxy: fetch.proxy.is_some(),
            ca_sha256: authorities(fetch)?,
            native_roots: fetch.native_roots,
            quorum: chain.quorum.map(usize::from),
            fetch_unanchored: audit.verify.fetch_unanchored,
            confirm: audit.confirm,
            min_consecutive,
        })
    }

    /// Makes the settings those of these terms.
    pub(super) fn apply(&self, fetch: &mut FetchSettings, audit: &mut AuditSettings) {
        (fetch.allow_http, fetch.allow_private) = (self.allow_http, self.allow_private);
        fetch.allow_hosts.clone_from(&self.allow_host);
        fetch.max_bytes = self.max_bytes;
        fetch.deadline = Duration::from_millis(self.timeout_ms);
        audit.verify.fetch_unanchored = self.fetch_unanchored;
        audit.confirm = self.confirm;
    }

    /// See `--min-consecutive`.
    pub(super) fn min_consecutive(&self) -> u64 {
        self.min_consecutive
    }

    /// As it is written down with a run.
    pub(super) fn to_json(&self) -> Result<String, CliError> {
        serde_json::to_string(self).map_err(|error| CliError::internal(format!("the options cannot be written down: {error}")))
    }

    /// The terms of a run for a process that has these itself, and what that takes over, in words.
    ///
    /// Whatever only measures is taken over, and what forbids as well. What would open a machine's network, or is there on one
    /// machine and not on another, is not: a row in a database is no permission.
    pub(super) fn join(self, run: &RunInfo) -> Result<(Self, Option<String>), CliError> {
        // An older version wrote down none; what a newer one wrote may be more than is known here.
        let Some(text) = &run.terms else { return Ok((self, None)) };
        let theirs: Self = serde_json::from_str(text).map_err(|_| {
            CliError::refused("other_options", format!("the options of run {} were written down by another version", run.id))
                .hint("use the version that began the run")
        })?;
        if let Some(differs) = self.refusal(&theirs) {
            let message = format!("run {} is judged by other options than these: {differs}", run.id);
            return Err(CliError::refused("other_options", message).hint("give the options that the run was begun with"));
        }
        let taken = self.differences(&theirs);
        let taken = (!taken.is_empty()).then(|| format!("taken over from run {}: {}", run.id, taken.join(", ")));
        Ok((theirs, taken))
    }

    /// What cannot be taken over.
    fn refusal(&self, theirs: &Self) -> Option<String> {
        let is = |option: &str, theirs: &str, ours: &str| Some(format!("{option} is {theirs} there, and {ours} here"));
        let set = |set: bool| if set { "set" } else { "not set" };
        let list = |list: &[String]| if list.is_empty() { "not set".to_owned() } else { list.join(",") };
        let host = theirs.allow_host.iter().find(|host| !self.allow_private && !self.allow_host.contains(host));
        if theirs.allow_http && !self.allow_http {
            is("--allow-http", "set", "not set")
        } else if theirs.allow_private && !self.allow_private {
            is("--allow-private", "set", "not set")
        } else if let Some(host) = host {
            is(&format!("--allow-host {host}"), "set", "not set")
        } else if theirs.ipfs_gateway != self.ipfs_gateway {
            is("--ipfs-gateway", &list(&theirs.ipfs_gateway), &list(&self.ipfs_gateway))
        } else if theirs.proxy != self.proxy {
            is("--proxy", set(theirs.proxy), set(self.proxy))
        } else if theirs.native_roots != self.native_roots {
            is("--native-roots", set(theirs.native_roots), set(self.native_roots))
        } else if theirs.ca_sha256 != self.ca_sha256 {
            Some("--ca-file holds other certificates there than here".into())
        } else if theirs.quorum != self.quorum {
            let quorum = |quorum: Option<usize>| quorum.map_or("not set".to_owned(), |quorum| quorum.to_string());
            is("--quorum", &quorum(theirs.quorum), &quorum(self.quorum))
        } else {
            None
        }
    }

    /// What is taken over, each as an option with its value.
    fn differences(&self, theirs: &Self) -> Vec<String> {
        let mut taken = Vec::new();
        let mut note = |differs: bool, text: String| {
            if differs {
                taken.push(text);
            }
        };
        let without = |option: &str| format!("no {option}");
        note(theirs.allow_http != self.allow_http, without("--allow-http"));
        note(theirs.allow_private != self.allow_private, without("--allow-private"));
        let hosts = format!("--allow-host {}", theirs.allow_host.join(","));
        let hosts = if theirs.allow_host.is_empty() { without("--allow-host") } else { hosts };
        note(theirs.allow_host != self.allow_host, hosts);
        note(theirs.max_bytes != self.max_bytes, format!("--max-bytes {}", theirs.max_bytes));
        let timeout = humantime::format_duration(Duration::from_millis(theirs.timeout_ms));
        note(theirs.timeout_ms != self.timeout_ms, format!("--timeout {timeout}"));
        let unanchored = if theirs.fetch_unanchored { "--fetch-unanchored".to_owned() } else { without("--fetch-unanchored") };
        note(theirs.fetch_unanchored != self.fetch_unanchored, unanchored);
        note(theirs.confirm != self.confirm, format!("--confirm {}", theirs.confirm));
        note(theirs.min_consecutive != self.min_consecutive, format!("--min-consecutive {}", theirs.min_consecutive));
        taken
    }
}

/// The digest of what the files of certificate authorities hold, in whichever order they are named.
fn authorities(fetch: &FetchSettings) -> Result<Option<String>, CliError> {
    let mut digests = Vec::new();
    for path in &fetch.extra_roots {
        let bytes = std::fs::read(path).map_err(|error| {
            CliError::refused("configuration", format!("the certificate file {} cannot be read: {error}", path.display()))
        })?;
        digests.push(Sha256Digest::of(&bytes).0);
    }
    digests.sort_unstable();
    digests.dedup();
    Ok((!digests.is_empty()).then(|| Sha256Digest::of(&digests.concat()).to_string()))
}

#[cfg(test)]
mod tests {
    use cardproof::audit::RunScope;
    use cardproof::identity::{ContractAddress, GenesisHash};
    use cardproof::registry::Timestamp;
    use cardproof::verify::Summary;

    use super::*;

    type Change = fn(&mut Terms);

    fn terms() -> Terms {
        Terms {
            allow_http: false,
            allow_private: false,
            allow_host: Vec::new(),
            max_bytes: 1000,
            timeout_ms: 20_000,
            ipfs_gateway: Vec::new(),
            proxy: false,
            ca_sha256: None,
            native_roots: false,
            quorum: None,
            fetch_unanchored: false,
            confirm: 0,
            min_consecutive: 1,
        }
    }

    fn run(terms: Option<String>) -> RunInfo {
        RunInfo {
            id: 5,
            scope: RunScope { network: "devnet".into(), genesis: GenesisHash([7; 32]), contract: ContractAddress::new(1, 0) },
            block: None,
            started_at: Timestamp(0),
            finished_at: None,
            selection: String::new(),
            covers: None,
            daemon: false,
            terms,
            summary: Summary::default(),
        }
    }

    fn join(ours: Terms, theirs: &Terms) -> Result<(Terms, Option<String>), CliError> {
        ours.join(&run(Some(theirs.to_json().unwrap())))
    }

    #[test]
    fn what_measures_or_forbids_is_taken_over_and_said() {
        assert_eq!(join(terms(), &terms()).unwrap(), (terms(), None));
        let theirs = Terms { max_bytes: 10, timeout_ms: 6500, confirm: 2, min_consecutive: 3, fetch_unanchored: true, ..terms() };
        let ours = Terms { allow_http: true, allow_private: true, allow_host: vec!["a.example".into()], ..terms() };
        let (joined, taken) = join(ours, &theirs).unwrap();
        assert_eq!(joined, theirs);
        assert_eq!(
            taken.unwrap(),
            "taken over from run 5: no --allow-http, no --allow-private, no --allow-host, --max-bytes 10, --timeout 6s 500ms, \
             --fetch-unanchored, --confirm 2, --min-consecutive 3"
        );
    }

    #[test]
    fn what_opens_the_network_or_is_a_machine_s_own_is_refused_by_its_name() {
        let other = |change: Change| {
            let mut theirs = terms();
            change(&mut theirs);
            join(terms(), &theirs).unwrap_err().message
        };
        let changes: [(Change, &str); 8] = [
            (|t| t.allow_http = true, "--allow-http is set there, and not set here"),
            (|t| t.allow_private = true, "--allow-private is set there, and not set here"),
            (|t| t.allow_host = vec!["b.example".into()], "--allow-host b.example is set there, and not set here"),
            (|t| t.ipfs_gateway = vec!["https://ipfs.io".into()], "--ipfs-gateway is https://ipfs.io there, and not set here"),
            (|t| t.proxy = true, "--proxy is set there, and not set here"),
            (|t| t.native_roots = true, "--native-roots is set there, and not set here"),
            (|t| t.ca_sha256 = Some("ab".into()), "--ca-file holds other certificates there than here"),
            (|t| t.quorum = Some(2), "--quorum is 2 there, and not set here"),
        ];
        for (change, why) in changes {
            assert_eq!(other(change), format!("run 5 is judged by other options than these: {why}"));
        }
        let private = Terms { allow_private: true, ..terms() };
        let host = Terms { allow_host: vec!["b.example".into()], ..terms() };
        assert_eq!(join(private, &host).unwrap().0, host, "one host is less than all");
    }

    #[test]
    fn a_run_of_an_older_version_is_judged_by_the_worker_s_own_and_one_of_a_newer_is_refused() {
        assert_eq!(terms().join(&run(None)).unwrap(), (terms(), None));
        assert_eq!(terms().join(&run(Some("{\"a\":1}".into()))).unwrap_err().code, "other_options");
    }
}
