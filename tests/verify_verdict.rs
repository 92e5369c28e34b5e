//! The four steps of a verdict, with a scripted chain and a scripted host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::VecDeque;
use std::sync::Mutex;

use cardproof::chain::{
    AgentReader, AtBlock, Block, BlockHash, ChainError, ChainErrorKind, ChainSettings, DecodedWith, ModuleRef, Reading,
};
use cardproof::digest::Sha256Digest;
use cardproof::fetch::{Body, CardFetcher, FailureKind, FetchFailure, FetchTrace, Fetched, Origin};
use cardproof::identity::{AccountAddress, TokenId, TESTNET};
use cardproof::registry::{AgentRecord, AgentStatus, Timestamp};
use cardproof::verify::{Class, NoteCode, OncePerUrl, Reason, Verdict, Verifier, VerifySettings};

const CARD: &[u8] = include_bytes!("vectors/card-testnet-287.json");
const URI: &str = "https://cards.example/agent-card.json";

/// A chain that answers from a script: one entry a block, each with the record at that block.
struct Chain {
    blocks: Mutex<VecDeque<Result<Option<AgentRecord>, ChainErrorKind>>>,
    at: Mutex<Option<(u64, Option<AgentRecord>)>>,
    pins: Mutex<u64>,
}

impl Chain {
    fn of(blocks: impl IntoIterator<Item = Result<Option<AgentRecord>, ChainErrorKind>>) -> Self {
        Self { blocks: Mutex::new(blocks.into_iter().collect()), at: Mutex::default(), pins: Mutex::default() }
    }
}

fn block(height: u64) -> Block {
    Block { hash: BlockHash([height as u8; 32]), height, time: Timestamp(1_785_771_369_045) }
}

impl AgentReader for Chain {
    async fn pin(&self, _: AtBlock) -> Result<Block, ChainError> {
        let mut at = self.at.lock().unwrap();
        *self.pins.lock().unwrap() += 1;
        match self.blocks.lock().unwrap().pop_front() {
            Some(Ok(record)) => *at = Some((at.as_ref().map_or(1, |(height, _)| height + 1), record)),
            Some(Err(kind)) => return Err(ChainError { kind, message: "the node said no".into() }),
            None => {}
        }
        Ok(block(at.as_ref().unwrap().0))
    }

    async fn read(&self, _: &Block, _: TokenId) -> Result<Reading, ChainError> {
        let record = self.at.lock().unwrap().as_ref().unwrap().1.clone();
        Ok(Reading { record, decoded_with: Some(DecodedWith::Layout), schema_problem: None, module_ref: ModuleRef([7; 32]) })
    }
}

/// A host that serves one answer after the other, the last one for ever.
struct Host {
    answers: Mutex<VecDeque<Result<Fetched, FetchFailure>>>,
    asked: Mutex<Vec<String>>,
}

impl Host {
    fn of(answers: impl IntoIterator<Item = Result<Fetched, FetchFailure>>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() }
    }
}

impl CardFetcher for Host {
    async fn fetch(&self, uri: &str, origin: Origin) -> Result<Fetched, FetchFailure> {
        assert_eq!(origin, Origin::Untrusted, "a URI from a chain is never trusted");
        self.asked.lock().unwrap().push(uri.to_owned());
        let mut answers = self.answers.lock().unwrap();
        if answers.len() > 1 {
            answers.pop_front().unwrap()
        } else {
            answers.front().unwrap().clone()
        }
    }
}

fn record(uri: Option<&str>, anchored: Option<&[u8]>) -> AgentRecord {
    AgentRecord {
        token_id: TokenId(287),
        owner_account: AccountAddress([1; 32]),
        agent_uri: uri.map(str::to_owned),
        metadata_hash: anchored.map(Sha256Digest::of),
        external_reference: None,
        agent_wallet: None,
        status: AgentStatus::Active,
        registered_at: Timestamp(1),
        revoked_at: None,
        revocation_reason: None,
        on_chain_metadata: Vec::new(),
    }
}

fn served(bytes: &[u8]) -> Result<Fetched, FetchFailure> {
    let sha256 = Sha256Digest::of(bytes);
    Ok(Fetched {
        trace: FetchTrace { status: Some(200), ..FetchTrace::default() },
        body: Body { sha256, bytes: bytes.len() as u64, kept: Some(bytes.to_vec().into()) },
        wire_sha256: sha256,
        looks_like_bot_wall: false,
        length_verified: true,
    })
}

fn failed(kind: FailureKind) -> Result<Fetched, FetchFailure> {
    Err(FetchFailure { kind, message: "the host said no".into(), retryable: false, trace: FetchTrace::default() })
}

fn settings(at: AtBlock) -> VerifySettings {
    VerifySettings { at, ..VerifySettings::new(&ChainSettings::new(TESTNET.network())) }
}

async fn verdict(chain: Chain, host: Host) -> Verdict {
    Verifier::new(chain, host, settings(AtBlock::LastFinalized)).verify(TokenId(287)).await.unwrap()
}

fn anchored() -> AgentRecord {
    record(Some(URI), Some(CARD))
}

#[tokio::test]
async fn the_anchored_bytes_match() {
    let verdict = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([served(CARD)])).await;
    assert_eq!((verdict.reason, verdict.matches()), (Reason::Match, Some(true)));
    assert_eq!(verdict.block, Some(block(1)));
    assert_eq!(verdict.evidence.unwrap().sha256, verdict.anchored_sha256);
}

#[tokio::test]
async fn other_bytes_are_a_hash_mismatch_and_the_message_names_both_digests() {
    let verdict = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([served(b"{}")])).await;
    assert_eq!((verdict.reason, verdict.matches()), (Reason::HashMismatch, Some(false)));
    for word in ["hash", "expected", "got", &Sha256Digest::of(CARD).to_string(), &Sha256Digest::of(b"{}").to_string()] {
        assert!(verdict.message.contains(word), "c_28: {word} is missing in {}", verdict.message);
    }
}

#[tokio::test]
async fn c_02_an_appended_newline_is_false_with_a_note() {
    let verdict = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([served(&[CARD, b"\n"].concat())])).await;
    assert_eq!(verdict.matches(), Some(false));
    assert_eq!(verdict.notes[0].code, NoteCode::MatchesWithoutFinalNewline);
}

#[tokio::test]
async fn c_06_crlf_is_false_with_a_note() {
    let crlf = String::from_utf8(CARD.to_vec()).unwrap().replace('\n', "\r\n");
    let verdict = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([served(crlf.as_bytes())])).await;
    assert_eq!(verdict.matches(), Some(false));
    assert_eq!(verdict.notes[0].code, NoteCode::MatchesWithLf);
}

#[tokio::test]
async fn c_21_gzip_without_a_header_is_false_with_a_note() {
    let verdict = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([served(&[0x1f, 0x8b, 8, 0])])).await;
    assert_eq!(verdict.matches(), Some(false));
    assert_eq!(verdict.notes[0].code, NoteCode::BodyLooksCompressed);
}

#[tokio::test]
async fn c_23_rewritten_bytes_are_false_and_both_digests_are_shown() {
    let rewritten = String::from_utf8(CARD.to_vec()).unwrap().replacen("  ", " \t", 1);
    let verdict = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([served(rewritten.as_bytes())])).await;
    assert_eq!(verdict.matches(), Some(false));
    assert!(!verdict.message.contains("offset"), "there is no original to compare with");
}

#[tokio::test]
async fn c_51_a_200_challenge_page_is_judged_by_its_bytes() {
    let mut page = served(b"<!DOCTYPE html><title>Just a moment...</title>").unwrap();
    page.looks_like_bot_wall = true;
    page.trace.content_type = Some("text/html; charset=UTF-8".into());
    let verdict = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([Ok(page)])).await;
    assert_eq!(verdict.reason, Reason::HashMismatch);
    let codes: Vec<_> = verdict.notes.iter().map(|note| note.code).collect();
    assert_eq!(codes, [NoteCode::LooksLikeBotWall, NoteCode::ContentTypeHtml]);
}

#[tokio::test]
async fn a_body_of_unproven_length_matches_or_is_truncated_but_never_a_mismatch() {
    let unproven = |bytes: &[u8]| {
        let mut fetched = served(bytes).unwrap();
        fetched.length_verified = false;
        Ok(fetched)
    };
    let whole = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([unproven(CARD)])).await;
    assert_eq!((whole.reason, whole.notes[0].code), (Reason::Match, NoteCode::LengthUnverified));
    let cut = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([unproven(&CARD[..100])])).await;
    assert_eq!((cut.reason, cut.matches()), (Reason::Truncated, None));
}

#[tokio::test]
async fn a_missing_agent_is_absent() {
    let host = Host::of([served(CARD)]);
    let verdict = verdict(Chain::of([Ok(None)]), host).await;
    assert_eq!((verdict.reason, verdict.class()), (Reason::AgentNotFound, Class::Absent));
    assert_eq!(verdict.evidence, None);
}

#[tokio::test]
async fn c_37_no_uri_is_absent() {
    let verdict = verdict(Chain::of([Ok(Some(record(None, None)))]), Host::of([served(CARD)])).await;
    assert_eq!((verdict.reason, verdict.matches()), (Reason::NoUriOnChain, None));
}

#[tokio::test]
async fn c_29_no_hash_is_absent_and_nothing_is_fetched_unless_asked_for() {
    let unanchored = || Chain::of([Ok(Some(record(Some(URI), None)))]);
    let verifier = Verifier::new(unanchored(), Host::of([served(CARD)]), settings(AtBlock::LastFinalized));
    let verdict = verifier.verify(TokenId(287)).await.unwrap();
    assert_eq!((verdict.reason, verdict.matches(), verdict.evidence), (Reason::NoHashOnChain, None, None));

    let asked = VerifySettings { fetch_unanchored: true, ..settings(AtBlock::LastFinalized) };
    let verdict = Verifier::new(unanchored(), Host::of([served(CARD)]), asked).verify(TokenId(287)).await.unwrap();
    assert_eq!((verdict.reason, verdict.matches()), (Reason::NoHashOnChain, None));
    assert_eq!(verdict.evidence.unwrap().sha256, Some(Sha256Digest::of(CARD)));
}

#[tokio::test]
async fn every_failure_of_a_fetch_is_undecided_under_its_own_name() {
    use FailureKind as F;
    for (kind, reason) in [
        (F::InvalidUri, "invalid_uri"),
        (F::UnsupportedScheme, "unsupported_scheme"),
        (F::BlockedAddress, "blocked_address"),
        (F::BlockedPort, "blocked_port"),
        (F::RedirectLimit, "redirect_limit"),
        (F::RedirectDowngrade, "redirect_downgrade"),
        (F::RedirectInvalid, "redirect_invalid"),
        (F::DnsFailure, "dns_failure"),
        (F::ConnectFailure, "connect_failure"),
        (F::TlsFailure, "tls_failure"),
        (F::Timeout, "timeout"),
        (F::NotFound, "not_found"),
        (F::RateLimited, "rate_limited"),
        (F::HttpStatus, "http_status"),
        (F::BlockedByBotWall, "blocked_by_bot_wall"),
        (F::TooLarge, "too_large"),
        (F::Truncated, "truncated"),
        (F::BadContentCoding, "bad_content_coding"),
        (F::ProtocolError, "protocol_error"),
    ] {
        let verdict = verdict(Chain::of([Ok(Some(anchored()))]), Host::of([failed(kind)])).await;
        assert_eq!((verdict.reason.as_str(), verdict.matches(), verdict.class()), (reason, None, Class::Undecided));
        assert_eq!(verdict.message, "the host said no", "the cause is kept");
        assert!(verdict.evidence.is_some());
    }
}

#[tokio::test]
async fn every_failure_of_a_node_is_undecided_under_its_own_name_or_refuses_the_run() {
    use ChainErrorKind as K;
    for (kind, reason) in [
        (K::RegistryNotFound, "registry_not_found"),
        (K::NodeUnavailable, "node_unavailable"),
        (K::NodeError, "node_error"),
        (K::NodeBehind, "node_behind"),
        (K::NodesDisagree, "nodes_disagree"),
        (K::RecordUndecodable, "record_undecodable"),
    ] {
        let verdict = verdict(Chain::of([Err(kind)]), Host::of([served(CARD)])).await;
        assert_eq!((verdict.reason.as_str(), verdict.matches(), verdict.class()), (reason, None, Class::Undecided));
        assert_eq!(verdict.message, "the node said no");
    }
    for kind in [K::WrongNetwork, K::BlockNotFound, K::Configuration] {
        let verifier = Verifier::new(Chain::of([Err(kind)]), Host::of([served(CARD)]), settings(AtBlock::Height(7)));
        assert_eq!(verifier.verify(TokenId(287)).await.unwrap_err().kind, kind);
    }
    let lost = verdict(Chain::of([Err(K::BlockNotFound)]), Host::of([served(CARD)])).await;
    assert_eq!(lost.reason, Reason::NodeError, "nobody named a block, so nobody is refused for it");
    let chain = Chain::of([Ok(Some(anchored())), Err(K::WrongNetwork)]);
    let later = verdict(chain, Host::of([served(b"{}")])).await;
    assert_eq!((later.reason, later.matches()), (Reason::NodeError, None), "a run that has begun is not thrown away");
}

#[tokio::test]
async fn c_07_an_anchor_that_changed_meanwhile_is_checked_anew_at_the_newest_block() {
    let chain = Chain::of([Ok(Some(record(Some(URI), Some(b"old")))), Ok(Some(anchored()))]);
    let verdict = verdict(chain, Host::of([served(CARD)])).await;
    assert_eq!((verdict.reason, verdict.block), (Reason::Match, Some(block(2))));
    assert_eq!(verdict.anchored_sha256, Some(Sha256Digest::of(CARD)));
}

#[tokio::test]
async fn c_08_a_changed_url_with_the_same_hash_is_fetched_again() {
    let moved = "https://cards.example/moved.json";
    let chain = Chain::of([Ok(Some(anchored())), Ok(Some(record(Some(moved), Some(CARD))))]);
    let verifier = Verifier::new(chain, Host::of([served(b"stale"), served(CARD)]), settings(AtBlock::LastFinalized));
    let verdict = verifier.verify(TokenId(287)).await.unwrap();
    assert_eq!((verdict.reason, verdict.agent_uri.as_deref()), (Reason::Match, Some(moved)));
}

#[tokio::test]
async fn c_09_no_remembered_body_is_used_after_the_anchor_changed() {
    let chain = Chain::of([Ok(Some(record(Some(URI), Some(b"other")))), Ok(Some(anchored()))]);
    let verdict = verdict(chain, Host::of([served(b"stale"), served(CARD)])).await;
    assert_eq!(verdict.reason, Reason::Match, "the second look fetches the same URL again");
}

#[tokio::test]
async fn an_anchor_that_changes_twice_is_changed_during_check() {
    let versions: [&[u8]; 3] = [b"one", b"two", b"three"];
    let chain = Chain::of(versions.map(|bytes| Ok(Some(record(Some(URI), Some(bytes))))));
    let verdict = verdict(chain, Host::of([served(CARD)])).await;
    assert_eq!((verdict.reason, verdict.matches(), verdict.block), (Reason::ChangedDuringCheck, None, Some(block(3))));
}

#[tokio::test]
async fn a_mismatch_that_stands_at_a_newer_block_names_that_block() {
    let chain = Chain::of([Ok(Some(anchored())), Ok(Some(anchored()))]);
    let verdict = verdict(chain, Host::of([served(b"{}")])).await;
    assert_eq!((verdict.reason, verdict.block), (Reason::HashMismatch, Some(block(2))));
}

#[tokio::test]
async fn a_mismatch_at_a_block_of_the_past_is_not_looked_at_again() {
    let chain = Chain::of([Ok(Some(record(Some(URI), Some(b"old")))), Ok(Some(anchored()))]);
    let verifier = Verifier::new(chain, Host::of([served(CARD)]), settings(AtBlock::Height(1)));
    let verdict = verifier.verify(TokenId(287)).await.unwrap();
    assert_eq!((verdict.reason, verdict.block), (Reason::HashMismatch, Some(block(1))));
}

#[tokio::test]
async fn an_agent_that_vanished_meanwhile_is_absent() {
    let verdict = verdict(Chain::of([Ok(Some(anchored())), Ok(None)]), Host::of([served(b"{}")])).await;
    assert_eq!((verdict.reason, verdict.agent_uri), (Reason::AgentNotFound, None));
}

#[tokio::test]
async fn a_node_that_fails_at_the_second_look_leaves_it_undecided() {
    let chain = Chain::of([Ok(Some(anchored())), Err(ChainErrorKind::NodeUnavailable)]);
    let verdict = verdict(chain, Host::of([served(b"{}")])).await;
    assert_eq!((verdict.reason, verdict.matches()), (Reason::NodeUnavailable, None));
}

#[tokio::test]
async fn c_57_one_url_is_fetched_once_in_a_run() {
    let host = Host::of([served(CARD)]);
    let verifier = Verifier::new(Chain::of([Ok(Some(anchored()))]), &host, settings(AtBlock::LastFinalized));
    let run = verifier.begin().await.unwrap();
    for agent in 0..20 {
        assert_eq!(run.verify(TokenId(agent)).await.reason, Reason::Match);
    }
    assert_eq!(host.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn c_57_a_url_is_one_however_it_is_spelled() {
    let host = Host::of([served(CARD)]);
    let once = OncePerUrl::new(&host);
    for uri in [URI, "https://cards.example/agent-card.json#a", "HTTPS://CARDS.example:443/agent-card.json"] {
        assert!(once.fetch(uri, Origin::Untrusted).await.is_ok());
    }
    assert_eq!(host.asked.lock().unwrap().as_slice(), [URI]);
    once.fetch("https://cards.example/agent-card.json?a", Origin::Untrusted).await.unwrap();
    assert_eq!(host.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_revoked_agents_card_is_still_judged() {
    let mut revoked = anchored();
    revoked.status = AgentStatus::Revoked;
    revoked.revoked_at = Some(Timestamp(2));
    let verdict = verdict(Chain::of([Ok(Some(revoked))]), Host::of([served(CARD)])).await;
    assert_eq!((verdict.reason, verdict.anchor.unwrap().status), (Reason::Match, AgentStatus::Revoked));
}

/// A reader that panics, as a fault of ours would.
struct Faulty;

impl AgentReader for Faulty {
    async fn pin(&self, _: AtBlock) -> Result<Block, ChainError> {
        Ok(block(1))
    }

    async fn read(&self, _: &Block, _: TokenId) -> Result<Reading, ChainError> {
        panic!("a fault of the program")
    }
}

#[tokio::test]
async fn a_panic_becomes_internal_error() {
    let verifier = Verifier::new(Faulty, Host::of([served(CARD)]), settings(AtBlock::LastFinalized));
    let verdict = verifier.verify(TokenId(287)).await.unwrap();
    assert_eq!((verdict.reason.as_str(), verdict.matches()), ("internal_error", None));
}

/// A chain whose module's schema cannot be had.
struct Schemaless(Chain);

impl AgentReader for Schemaless {
    async fn pin(&self, at: AtBlock) -> Result<Block, ChainError> {
        self.0.pin(at).await
    }

    async fn read(&self, block: &Block, agent: TokenId) -> Result<Reading, ChainError> {
        let schema_problem = Some("the node at http://node.example does not know module 07".into());
        Ok(Reading { schema_problem, ..self.0.read(block, agent).await? })
    }
}

#[tokio::test]
async fn a_record_read_without_the_schema_that_should_be_there_carries_a_check_that_says_why() {
    let chain = Schemaless(Chain::of([Ok(Some(anchored()))]));
    let verifier = Verifier::new(chain, Host::of([served(CARD)]), settings(AtBlock::LastFinalized));
    let verdict = verifier.verify(TokenId(287)).await.unwrap();
    assert_eq!((verdict.matches(), verdict.decoded_with), (Some(true), Some(DecodedWith::Layout)));
    let [check] = &verdict.checks[..] else { panic!("{:?}", verdict.checks) };
    assert_eq!((check.code.as_str(), check.severity), ("schema_unavailable", cardproof::Severity::Warning));
    assert!(check.message.ends_with("the node at http://node.example does not know module 07."), "{}", check.message);

    let plain = Verifier::new(Chain::of([Ok(Some(anchored()))]), Host::of([served(CARD)]), settings(AtBlock::LastFinalized));
    assert_eq!(plain.verify(TokenId(287)).await.unwrap().checks, []);
}
