use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use crate::anchor::{follow, AnchorError, Choices, SignedTransaction, Signer, State, Status};
use crate::chain::{AgentReader, AtBlock};
use crate::digest::Sha256Digest;
use crate::fetch::{CardFetcher, Origin};
use crate::identity::{Badge, TokenId};
use crate::registry::MetadataEntry;

use super::progress::Progress;
use super::served::{fetch, require_same};
use super::{
    anchor, fill, register, AnchorRequest, Anchored, Attendant, Card, CardValues, Context, FlowError, RegisterRequest, Step,
    UriChoice,
};

/// How often the URI is asked at first whether it serves the card.
const FIRST_INTERVAL: Duration = Duration::from_millis(500);
/// The longest pause between two questions.
const LONGEST_INTERVAL: Duration = Duration::from_secs(15);

/// A new agent whose card must hold its own token address, which exists only after the registration.
#[derive(Debug, Clone)]
pub struct TwoStepRequest {
    /// The card with placeholders (see [`super::PLACEHOLDERS`]).
    pub template: Vec<u8>,
    /// Where the filled card will be hosted.
    pub uri: String,
    /// Keys and values to store with the agent.
    pub metadata: Vec<MetadataEntry>,
    /// Whether the sender may have an agent with this URI already.
    pub allow_duplicate: bool,
    /// Where to write the filled card; `None` for a name made of `name_for_output` and the token id.
    pub out: Option<PathBuf>,
    /// The path that the name of the filled card is made of when `out` is not given: `card.json` gives `card.287.json`.
    pub name_for_output: PathBuf,
    /// How long to wait until the URI serves the filled card.
    pub host_wait: Duration,
}

/// A two-step registration that is done.
#[derive(Debug, Clone)]
pub struct TwoStep {
    /// The new agent.
    pub token_id: TokenId,
    /// Where the filled card is.
    pub file: PathBuf,
    /// The second transaction.
    pub anchored: Anchored,
}

/// Registers without a digest, fills the token address into the card, waits until its URI serves it, and anchors it.
///
/// How far it came is on disk at every point, under `two-step/` in the state folder, by network, sender, URI and template: calling it
/// again goes on where it stopped, and sends nothing that may still be on its way.
///
/// # Errors
/// [`AnchorError`]; with [`FlowError::StillPending`] and [`FlowError::NotHosted`] it is only a matter of time.
pub async fn two_step<F: CardFetcher, S: Signer>(
    context: &Context<'_, F>,
    request: &TwoStepRequest,
    signer: &S,
    attendant: &mut dyn Attendant,
) -> Result<TwoStep, AnchorError> {
    let network = &context.chain.settings().network;
    let mut progress = Progress::load(context.state_folder, network, signer.address(), &request.uri, &request.template)?;
    // Before any money is spent: a card that cannot be filled, or not be written, ends here.
    let registry = context.chain.settings().registry;
    let values = |token_id| CardValues {
        genesis: network.genesis,
        badge: Badge { contract: registry, token_id },
        owner: signer.address(),
    };
    attendant.step(&Step::Card(fill(&request.template, &values(TokenId(0)))?));
    let token_id = match progress.token_id() {
        Some(token_id) => {
            // A node that lags does not know it yet, so nothing is registered a second time.
            let block = context.chain.pin(AtBlock::LastFinalized).await?;
            if context.chain.read(&block, token_id).await?.record.is_none() {
                return Err(FlowError::Gone { token_id, path: progress.path().to_owned() }.into());
            }
            token_id
        }
        None => {
            require_writable(request.out.as_deref(), &request.name_for_output)?;
            registered(context, request, signer, attendant, &mut progress).await?
        }
    };
    let card = fill(&request.template, &values(token_id))?;
    let file = request.out.clone().unwrap_or_else(|| named(&request.name_for_output, token_id));
    let not_written = |cause| FlowError::NotWritten { token_id, path: file.clone(), cause };
    if write_once(&file, &card).map_err(not_written)? {
        attendant.step(&Step::Written(file.clone()));
    }
    hosted(context, request, &card, &file, attendant).await?;
    let anchored = anchored(context, request, token_id, card, signer, attendant).await?;
    if let Err(error) = progress.remove() {
        attendant.step(&Step::Note(format!("it is done, and what remembers how far it came stays: {error}")));
    }
    Ok(TwoStep { token_id, file, anchored })
}

async fn registered<F: CardFetcher, S: Signer>(
    context: &Context<'_, F>,
    request: &TwoStepRequest,
    signer: &S,
    attendant: &mut dyn Attendant,
    progress: &mut Progress,
) -> Result<TokenId, AnchorError> {
    if let Some((hash, expiry)) = progress.registration() {
        attendant.step(&Step::Note(format!("going on with the registration {hash}")));
        let mut on_change = |state| attendant.step(&Step::State(hash, state));
        let status = follow(context.chain, context.state_folder, hash, Some(expiry), context.wait, &mut on_change).await?;
        if status.state != State::Expired {
            return token_of(&status, progress, attendant);
        }
        progress.forget_registration()?;
    }
    let bare = RegisterRequest {
        card: None,
        uri: request.uri.clone(),
        metadata: request.metadata.clone(),
        check_url: false,
        allow_duplicate: request.allow_duplicate,
    };
    let mut remember = |signed: &SignedTransaction| progress.remember_registration(signed.hash(), signed.transaction.expiry());
    let executed = register(context, &bare, signer, attendant, &mut remember).await?;
    token_of(&executed.status, progress, attendant)
}

/// The token of a registration that is over, remembered; a rejected one is forgotten, because another may be tried.
fn token_of(status: &Status, progress: &mut Progress, attendant: &mut dyn Attendant) -> Result<TokenId, AnchorError> {
    let hash = status.hash;
    if let Some(reason) = status.rejection_words().filter(|_| status.state == State::Finalized) {
        progress.forget_registration()?;
        return Err(FlowError::Rejected { hash, reason }.into());
    }
    if status.state != State::Finalized {
        return Err(FlowError::StillPending { hash, state: status.state.as_str() }.into());
    }
    let token_id = status.token_id.ok_or(FlowError::NoTokenId(hash))?;
    // The registration is remembered since before it was sent, so the token is found again.
    if let Err(error) = progress.remember_token(token_id) {
        attendant.step(&Step::Note(format!("agent {token_id} is registered, and that could not be written down: {error}")));
    }
    Ok(token_id)
}

/// Waits until the URI serves exactly the filled card.
async fn hosted<F: CardFetcher>(
    context: &Context<'_, F>,
    request: &TwoStepRequest,
    card: &[u8],
    file: &Path,
    attendant: &mut dyn Attendant,
) -> Result<(), FlowError> {
    let give_up = Instant::now() + request.host_wait;
    let (mut interval, mut said) = (FIRST_INTERVAL, String::new());
    let wanted = Some(Sha256Digest::of(card));
    loop {
        let now = match fetch(context.fetcher, &request.uri, Origin::Untrusted, wanted).await {
            Ok(served) => match require_same(card, &served) {
                Ok(()) => return Ok(()),
                Err(differs) => differs.to_string(),
            },
            Err(FlowError::Fetch { failure, .. }) => failure.message,
            Err(other) => other.to_string(),
        };
        if Instant::now() >= give_up {
            return Err(FlowError::NotHosted { uri: request.uri.clone(), file: file.to_owned(), why: now });
        }
        if now != said {
            attendant.step(&Step::WaitingForHost { uri: request.uri.clone(), file: file.to_owned(), now: now.clone() });
            said = now;
        }
        tokio::time::sleep(interval.min(give_up.saturating_duration_since(Instant::now()))).await;
        interval = (interval * 3 / 2).min(LONGEST_INTERVAL);
    }
}

async fn anchored<F: CardFetcher, S: Signer>(
    context: &Context<'_, F>,
    request: &TwoStepRequest,
    agent: TokenId,
    card: Vec<u8>,
    signer: &S,
    attendant: &mut dyn Attendant,
) -> Result<Anchored, AnchorError> {
    // A nonce, an energy or a point in time that the user chose was for the first transaction; a lifetime is for each.
    let choices = Choices { nonce: None, energy: None, expiry: None, ..context.choices.clone() };
    let context = Context { choices, environment: context.environment, ..*context };
    let sha256 = Sha256Digest::of(&card);
    let uri = request.uri.clone();
    let request = AnchorRequest { agent, card: Card::Local(card), uri: UriChoice::Set(uri.clone()), check_url: true };
    let anchored = match anchor(&context, &request, signer, attendant, &mut |_| Ok(())).await {
        // An earlier run was stopped after signing it.
        Err(AnchorError::Repeated { hash, expiry, .. }) => {
            attendant.step(&Step::Note(format!("going on with the transaction {hash}")));
            let mut on_change = |state| attendant.step(&Step::State(hash, state));
            let expiry = Some(expiry.0 / 1000);
            let status = follow(context.chain, context.state_folder, hash, expiry, context.wait, &mut on_change).await?;
            Anchored { sha256, uri, status: Some(status) }
        }
        anchored => anchored?,
    };
    match &anchored.status {
        None => Ok(anchored),
        Some(status) if status.is_success() => Ok(anchored),
        Some(status) => {
            let hash = status.hash;
            Err(match status.rejection_words() {
                Some(reason) => FlowError::Rejected { hash, reason }.into(),
                None => FlowError::StillPending { hash, state: status.state.as_str() }.into(),
            })
        }
    }
}

/// `card.json` for agent 287 is `card.287.json`.
fn named(template: &Path, token_id: TokenId) -> PathBuf {
    let extension = template.extension().map_or_else(|| "json".into(), |extension| extension.to_string_lossy().into_owned());
    template.with_extension(format!("{token_id}.{extension}"))
}

/// Requires that the filled card will find its place: `out`, or beside the template. Nothing is left there.
///
/// # Errors
/// [`FlowError::FilledCard`].
pub fn require_writable(out: Option<&Path>, template: &Path) -> Result<(), FlowError> {
    let path = out.unwrap_or(template);
    let refused = |why: String| FlowError::FilledCard { path: path.to_owned(), why };
    if let Some(out) = out {
        let same = out.canonicalize().ok().zip(template.canonicalize().ok());
        if same.is_some_and(|(out, template)| out == template) {
            return Err(refused("it is the card with the placeholders itself".into()));
        }
        if out.is_dir() {
            return Err(refused("it is a folder".into()));
        }
        // What it should hold is not known before the agent has its token, so it cannot be the filled card.
        if out.symlink_metadata().is_ok() {
            return Err(refused("it exists already".into()));
        }
    }
    tempfile::NamedTempFile::new_in(folder_of(path))
        .map(drop)
        .map_err(|error| refused(format!("nothing can be written to its folder: {error}")))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file unless it has this content already, in which case it returns `false`. One of other content is not overwritten.
fn write_once(path: &Path, content: &[u8]) -> std::io::Result<bool> {
    use std::io::{Error, ErrorKind, Write};

    match std::fs::read(path) {
        Ok(present) if present == content => return Ok(false),
        Ok(_) => return Err(Error::new(ErrorKind::AlreadyExists, "it exists with other content")),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = tempfile::NamedTempFile::new_in(folder_of(path))?;
    file.write_all(content).and_then(|()| file.as_file().sync_all())?;
    make_readable(&file)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(true)
}

/// A temporary file is private; this one is to be published.
#[cfg(unix)]
fn make_readable(file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &tempfile::NamedTempFile) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filled_card_is_named_after_template_and_token() {
        assert_eq!(named(Path::new("cards/card.json"), TokenId(287)), Path::new("cards/card.287.json"));
        assert_eq!(named(Path::new("card"), TokenId(3)), Path::new("card.3.json"));
    }

    #[test]
    fn a_file_of_other_content_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("card.1.json");
        assert!(write_once(&path, b"one").unwrap());
        assert!(!write_once(&path, b"one").unwrap());
        assert!(write_once(&path, b"two").is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
    }
}
