//! A card against what the chain says about its agent: each check by its own name.

use cardproof::card::{lint, ChainFacts, Code, Document, LintContext};
use cardproof::identity::{ContractAddress, Network, TokenId};
use cardproof::registry::{AgentRecord, AgentStatus, Timestamp};

use super::{replaced, sample, told};

const OWNER: &str = "37hX814Yz3zbehHMgxowiXoW7cez8Rh54ghNbbCveoKMfbm7Fh";
const OTHER: &str = "4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7";
const URI: &str = "https://agents.example.com/market-data/card.json";

/// The agent that the samples describe: mainnet 484.
fn facts() -> ChainFacts {
    let mainnet = Network::built_in("mainnet").unwrap();
    ChainFacts {
        chain: mainnet.caip2(),
        registry: mainnet.registry,
        cis8: Some(mainnet.cis8),
        record: AgentRecord {
            token_id: TokenId(484),
            owner_account: OWNER.parse().unwrap(),
            agent_uri: Some(URI.into()),
            metadata_hash: None,
            external_reference: None,
            agent_wallet: None,
            status: AgentStatus::Active,
            registered_at: Timestamp(0),
            revoked_at: None,
            revocation_reason: None,
            on_chain_metadata: Vec::new(),
        },
    }
}

pub(crate) struct Case {
    sample: &'static str,
    change: fn(&mut ChainFacts),
    pub(crate) code: Code,
    /// One finding for each place that says it.
    pointers: &'static [&'static str],
}

const PARAMS: &str = "/capabilities/extensions/0/params";

pub(crate) const CASES: &[Case] = &[
    Case {
        sample: "concordium-legacy",
        change: |facts| facts.record.agent_uri = Some("https://elsewhere.example/card.json".into()),
        code: Code::UrlNotAgentUri,
        pointers: &["/url"],
    },
    Case {
        sample: "concordium-legacy",
        change: |facts| facts.record.token_id = TokenId(485),
        code: Code::TokenAddressMismatch,
        pointers: &["/concordium/token_address"],
    },
    Case {
        sample: "concordium-legacy",
        change: |facts| facts.record.owner_account = OTHER.parse().unwrap(),
        code: Code::OwnerMismatch,
        pointers: &["/concordium/owner"],
    },
    Case {
        sample: "concordium-legacy",
        change: |facts| facts.cis8 = Some(ContractAddress::new(7, 0)),
        code: Code::ContractMismatch,
        pointers: &["/concordium/cis8_contract"],
    },
    Case {
        sample: "concordium-legacy",
        change: |facts| facts.chain = Network::built_in("testnet").unwrap().caip2(),
        code: Code::ChainMismatch,
        pointers: &["/concordium/chain_id"],
    },
    Case {
        sample: "concordium-badge-2026-07",
        change: |facts| facts.record.token_id = TokenId(0),
        code: Code::TokenAddressMismatch,
        pointers: &["/concordium/tokenAddress", "/concordium/tokenAddressBase58"],
    },
    Case {
        sample: "concordium-badge-2026-07",
        change: |facts| facts.record.owner_account = OTHER.parse().unwrap(),
        code: Code::OwnerMismatch,
        pointers: &["/concordium/owner/account", "/concordium/owner/caip10"],
    },
    Case {
        sample: "combined",
        change: |facts| facts.record.owner_account = OTHER.parse().unwrap(),
        code: Code::OwnerMismatch,
        pointers: &["PARAMS/owner/account"],
    },
    Case {
        sample: "combined",
        change: |facts| facts.cis8 = Some(ContractAddress::new(10081, 1)),
        code: Code::ContractMismatch,
        pointers: &["PARAMS/contracts/cis8"],
    },
    Case {
        sample: "erc8004",
        change: |facts| facts.record.token_id = TokenId(485),
        code: Code::RegistrationMismatch,
        pointers: &["/registrations/1/agentId"],
    },
    Case {
        sample: "erc8004",
        change: |facts| facts.registry = ContractAddress::new(9, 0),
        code: Code::RegistrationMismatch,
        pointers: &["/registrations"],
    },
    Case {
        sample: "concordium-badge-2026-07",
        change: |facts| {
            facts.record.status = AgentStatus::Revoked;
            facts.record.revocation_reason = Some("sold".into());
        },
        code: Code::AgentNotActive,
        pointers: &[""],
    },
    Case {
        sample: "../vectors/card-testnet-287",
        change: |_| {},
        code: Code::RegistrationMissing,
        pointers: &["/registrations"],
    },
];

fn findings(card: &str, facts: ChainFacts) -> Vec<String> {
    let report = lint(&Document::parse(card.as_bytes()), &LintContext { agent_uri: None, chain: Some(facts) });
    // What the real card lacks has its own test.
    told(&report.findings).into_iter().filter(|line| !line.starts_with("missing_expected_field")).collect()
}

#[test]
fn a_card_that_agrees_with_the_chain_has_no_finding() {
    for name in ["concordium-legacy", "concordium-badge-2026-07", "combined", "erc8004", "a2a-1.0", "society-ai"] {
        assert_eq!(findings(&sample(name), facts()), [] as [String; 0], "{name}");
    }
}

#[test]
fn each_disagreement_with_the_chain_has_exactly_its_finding() {
    for case in CASES {
        let mut facts = facts();
        (case.change)(&mut facts);
        let expected: Vec<String> =
            case.pointers.iter().map(|pointer| format!("{} {}", case.code, pointer.replace("PARAMS", PARAMS))).collect();
        assert_eq!(findings(&sample(case.sample), facts), expected, "{}", case.sample);
    }
}

#[test]
fn an_alias_of_the_owner_is_the_owner() {
    let mut facts = facts();
    facts.record.owner_account.0[31] ^= 0x55;
    assert_eq!(findings(&sample("combined"), facts), [] as [String; 0]);
}

#[test]
fn an_a2a_url_is_the_service_and_not_the_place_of_the_card() {
    let mut facts = facts();
    facts.record.agent_uri = Some("https://elsewhere.example/card.json".into());
    for name in ["concordium-badge-2026-07", "a2a-0.3", "uumit"] {
        assert_eq!(findings(&sample(name), facts.clone()), [] as [String; 0], "{name}");
    }
}

#[test]
fn the_uri_that_is_about_to_be_anchored_counts_before_the_one_on_chain() {
    let context = LintContext { agent_uri: Some("https://new.example/card.json".into()), chain: Some(facts()) };
    let report = lint(&Document::parse(sample("concordium-legacy").as_bytes()), &context);
    assert_eq!(told(&report.findings), ["url_not_agent_uri /url"]);
}

/// Doubles cannot tell 2^53 from 2^53 + 1: what another tool rounded must not pass, and what is exact must.
#[test]
fn an_agent_id_above_two_to_the_53_is_compared_digit_by_digit() {
    let mut facts = facts();
    facts.record.token_id = TokenId(9_007_199_254_740_993);
    let with_id = |id: &str| replaced(&sample("erc8004"), "\"agentId\": 484", &format!("\"agentId\": {id}"));
    let warning = "number_beyond_2_53 /registrations/1/agentId";
    assert_eq!(findings(&with_id("9007199254740993"), facts.clone()), [warning]);
    let card = with_id("9007199254740992");
    assert_eq!(findings(&card, facts.clone()), [warning, "registration_mismatch /registrations/1/agentId"]);
    let report = lint(&Document::parse(card.as_bytes()), &LintContext { agent_uri: None, chain: Some(facts) });
    assert!(report.findings.iter().any(|finding| finding.message.contains("rounded")), "{:#?}", report.findings);
}

#[test]
fn an_integral_number_is_no_way_around_the_checks_of_contracts_and_ids() {
    let legacy = |index: &str| {
        let card = sample("concordium-legacy");
        let at = card.find("\"cis8004_contract\"").unwrap();
        let start = at + card[at..].find("\"index\": ").unwrap() + "\"index\": ".len();
        let end = start + card[start..].find(|c: char| !c.is_ascii_digit()).unwrap();
        format!("{}{index}{}", &card[..start], &card[end..])
    };
    let told = findings(&legacy("99999.0"), facts());
    assert!(told.iter().any(|line| line.starts_with("contract_mismatch")), "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("conflicting_contract")), "{told:?}");
    let told = findings(&legacy("18446744073709551616"), facts());
    assert!(told.contains(&"invalid_contract /concordium/cis8004_contract/index".to_owned()), "{told:?}");
    let id = |id: &str| replaced(&sample("erc8004"), "\"agentId\": 484", &format!("\"agentId\": {id}"));
    assert_eq!(findings(&id("484.0"), facts()), [] as [String; 0]);
    let mut zero = facts();
    zero.record.token_id = TokenId(0);
    assert_eq!(findings(&id("0.0"), zero), [] as [String; 0]);
    let told = findings(&id("1e40"), facts());
    assert!(told.contains(&"invalid_token_address /registrations/1/agentId".to_owned()), "{told:?}");
}

#[test]
fn a_registration_on_the_chain_of_the_badge_names_its_token() {
    let card = sample("combined");
    let at = card.find("\"agentId\": ").unwrap() + "\"agentId\": ".len();
    let end = at + card[at..].find(|c: char| !c.is_ascii_digit()).unwrap();
    let other = format!("{}7{}", &card[..at], &card[end..]);
    assert_eq!(
        super::told(&super::lint_alone(other.as_bytes()).findings),
        ["conflicting_token_address /registrations/0/agentId"]
    );
    // On another chain the agent has another id.
    let registry = card[end..].find("\"ccd:").unwrap() + end + 1;
    let chain = &card[registry..registry + "ccd:9dd9ca4d19e9393877d2c44b70f89acb".len()];
    let elsewhere =
        format!("{}{}", &other[..registry - (end - at - 1)], other[registry - (end - at - 1)..].replacen(chain, "eip155:1", 1));
    let told = super::told(&super::lint_alone(elsewhere.as_bytes()).findings);
    assert!(!told.iter().any(|line| line.starts_with("conflicting")), "{told:?}");
}
