use std::ffi::{OsStr, OsString};
use std::path::Path;

use cardproof::digest::Sha256Digest;
use cardproof::fetch::{Body, CardFetcher, Origin};

use super::config::Config;
use super::connect;
use super::exit::{CliError, Exit};
use super::failure;
use super::input;
use super::options::{FetchOptions, OutputOptions, TlsOptions};
use super::shell::Shell;
use super::switch::Switch;

/// Print the SHA-256 of files or URLs, as sha256sum would (with --json, one document a line); what cannot be read costs the others nothing
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, URLs (https:, http:, data:, ipfs:), or - for standard input
    #[arg(value_name = "FILE|URL", required = true)]
    sources: Vec<OsString>,
    /// Do only what needs no network
    #[arg(long, env = "CARDPROOF_OFFLINE", value_parser = Switch, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    offline: Option<bool>,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let (mut hashed, mut failures) = (0, Vec::new());
    for source in &args.sources {
        let body = match source.to_str().filter(|source| is_url(source)) {
            Some(url) => fetch(url, args, &config),
            None => read(Path::new(source)),
        };
        let body = match body {
            Ok(body) => body,
            Err(failure) => {
                failures.push(failure);
                continue;
            }
        };
        hashed += 1;
        if output.json {
            shell.document_line(&serde_json::json!({
                "schema": "cardproof.hash/1",
                "source": source.to_string_lossy(),
                "sha256": body.sha256.to_string(),
                "bytes": body.bytes,
            }));
        } else {
            shell.bytes(&checksum_line(&body, source));
        }
    }
    let Some(first) = failures.first().map(|failure| failure.exit) else { return Ok(Exit::Ok) };
    // With --json, a failure is a document when there is no other one.
    let last = if hashed == 0 { failures.pop() } else { None };
    failures.iter().for_each(|failure| shell.complain(failure));
    last.map_or(Ok(first), |failure| Err(CliError { exit: first, ..failure }))
}

/// The line that sha256sum prints, to the byte, so that its `--check` reads it: a name with a line break or a backslash is escaped,
/// which a backslash at the line's beginning says, and every other name is as it is.
fn checksum_line(body: &Body, source: &OsStr) -> Vec<u8> {
    let mut name = Vec::new();
    for byte in source.as_encoded_bytes() {
        match byte {
            b'\\' => name.extend(b"\\\\"),
            b'\n' => name.extend(b"\\n"),
            b'\r' => name.extend(b"\\r"),
            other => name.push(*other),
        }
    }
    let mark = if name.len() > source.len() { "\\" } else { "" };
    [format!("{mark}{}  ", body.sha256).as_bytes(), &name, b"\n"].concat()
}

/// Whether a source is a URL and not a file: it starts with a scheme that is fetched.
pub(crate) fn is_url(source: &str) -> bool {
    let scheme = source.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("https" | "http" | "data" | "ipfs"))
}

/// Refuses a URL that needs the network when `--offline` forbids it.
pub(crate) fn needs_network(offline: bool, url: &str) -> Result<(), CliError> {
    let data = url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    if offline && !data {
        return Err(CliError::refused("offline", format!("fetching {url} needs the network, and --offline forbids it")));
    }
    Ok(())
}

fn fetch(url: &str, args: &Args, config: &Config) -> Result<Body, CliError> {
    needs_network(args.offline.unwrap_or(false), url)?;
    let fetcher = connect::fetcher(&args.fetch, &args.tls, config)?;
    super::block_on_here(async {
        let mut outcome = fetcher.fetch(url, Origin::User).await;
        if let Ok(fetched) = outcome {
            // No digest is expected, but that of a part would be worth nothing.
            outcome = Ok(fetcher.look_again(url, fetched, Sha256Digest([0; 32])).await);
        }
        match outcome {
            Ok(fetched) if fetched.length_verified => Ok(fetched.body),
            Ok(_) => Err(CliError::cannot_tell(
                "truncated",
                format!("{url}: nothing proves that the body is complete, so its hash would mean nothing"),
            )),
            Err(failure) => Err(failure::of_fetch(url, &failure, Origin::User)),
        }
    })
}

/// Reads a file, or standard input for `-`, and hashes it as it passes.
pub(crate) fn read(path: &Path) -> Result<Body, CliError> {
    input::open(path).and_then(|input| Body::read(input, u64::MAX)).map_err(|error| input::unreadable(path, &error))
}
