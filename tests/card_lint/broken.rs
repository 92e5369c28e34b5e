//! One broken variant for each thing that can be wrong with a card, each with exactly its finding.

use std::collections::HashSet;

use cardproof::card::Code;

use super::{chain, lint_alone, replaced, sample, told};

/// The sample, what stands in it, what stands there instead, the code and the pointer of the finding.
type Case = (&'static str, &'static str, &'static str, Code, &'static str);

const OWNER: &str = "37hX814Yz3zbehHMgxowiXoW7cez8Rh54ghNbbCveoKMfbm7Fh";
const A2A: &str = "a2a-0.3";
const A2A1: &str = "a2a-1.0";
const LEGACY: &str = "concordium-legacy";
const BADGE: &str = "concordium-badge-2026-07";
const COMBINED: &str = "combined";
const SOCIETY: &str = "society-ai";

const CASES: &[Case] = &[
    // The document.
    (A2A, "\"0.3.0\",", "\"0.3.0\"", Code::InvalidJson, ""),
    (A2A, "\"id\": \"next-high-water\",", "// the id\n\"id\": \"next-high-water\",", Code::InvalidJson, ""),
    (A2A, "\"streaming\": true", "\"streaming\": True", Code::InvalidJson, ""),
    (A2A, "\"version\": \"1.2.0\"", "\"version\": \"1.0.0\", \"version\": \"1.2.0\"", Code::DuplicateKey, "/version"),
    (A2A, "\"description\": \"Tells", "\"description\": \"Tells\t", Code::ControlCharacter, "/description"),
    (A2A, "\"description\": \"Tells", "\"description\": \"\\ud83dTells", Code::LoneSurrogate, "/description"),
    ("erc8004", "\"agentId\": 22", "\"agentId\": 9007199254740993", Code::NumberBeyond2To53, "/registrations/0/agentId"),
    ("erc8004", "[1, 2.5, null]", "[1e400]", Code::NumberBeyond2To53, "/x-notes/anything/0"),
    // The dialect.
    ("erc8004", "registration-v1", "registration-v9", Code::UnknownDialect, ""),
    ("a2a-0.1", "\"url\"", "\"uri\"", Code::UnknownDialect, ""),
    // The structure.
    ("erc8004", "\"name\": \"Weather Desk\",", "", Code::MissingField, "/name"),
    ("erc8004", "\"agentId\": 22, ", "", Code::MissingField, "/registrations/0/agentId"),
    ("erc8004", "\"agentId\": 22", "\"agentId\": \"22\"", Code::WrongType, "/registrations/0/agentId"),
    ("erc8004", "\"agentId\": 22", "\"agentId\": -22", Code::NotAllowedValue, "/registrations/0/agentId"),
    ("erc8004", "\"image\": \"ipfs", "\"picture\": \"ipfs", Code::MissingExpectedField, "/image"),
    ("erc8004", "\"x402Support\": true", "\"x402Support\": \"yes\"", Code::WrongType, "/x402Support"),
    (A2A1, "\"version\": \"2.3.1\",", "", Code::MissingField, "/version"),
    (A2A1, ", \"protocolBinding\": \"JSONRPC\"", "", Code::MissingField, "/supportedInterfaces/0/protocolBinding"),
    (A2A1, ", \"tags\": []", "", Code::MissingField, "/skills/1/tags"),
    (A2A1, "\"tags\": []", "\"tags\": [7]", Code::WrongType, "/skills/1/tags/0"),
    (A2A1, "\"streaming\": true", "\"streaming\": \"true\"", Code::WrongType, "/capabilities/streaming"),
    (
        A2A,
        "\"url\": \"https://tides.example.org/a2a/v1\",\n  \"preferred",
        "\"url\": \"\",\n  \"preferred",
        Code::EmptyValue,
        "/url",
    ),
    (A2A, "\"capabilities\": {", "\"abilities\": {", Code::MissingField, "/capabilities"),
    (A2A, "\"version\": \"1.2.0\"", "\"version\": 1.2", Code::WrongType, "/version"),
    (LEGACY, ", \"subindex\": 0},\n    \"cis8_", "},\n    \"cis8_", Code::MissingField, "/concordium/cis8004_contract/subindex"),
    (LEGACY, "\"ask in the channel\"", "[\"ask\"]", Code::WrongType, "/concordium/services/contact"),
    (BADGE, "\"account\": \"37", "\"holder\": \"37", Code::MissingField, "/concordium/owner/account"),
    (COMBINED, "\"name\": \"Market Data Agent\",", "", Code::MissingField, "/name"),
    (COMBINED, "\"tokenAddress\":", "\"token\":", Code::MissingField, "/capabilities/extensions/0/params/tokenAddress"),
    (SOCIETY, "\"visibility\": \"public\"", "\"visibility\": \"everyone\"", Code::NotAllowedValue, "/metadata/visibility"),
    (SOCIETY, "\"name\": \"research-pro\"", "\"name\": \"\"", Code::EmptyValue, "/name"),
    ("uumit", "\"schemes\": [\"apiKey\"]", "\"scheme\": \"apiKey\"", Code::MissingField, "/authentication/schemes"),
    ("erc8004", "\"name\": \"Weather Desk\"", "\"name\": \" \\u3000\"", Code::EmptyValue, "/name"),
    ("erc8004", "\"https://weather.example.com/mcp\"", "\"\"", Code::EmptyValue, "/services/1/endpoint"),
    (
        "erc8004",
        "\"services\": [",
        "\"endpoints\": [{\"name\": \"A2A\", \"endpoint\": \"\"}], \"services\": [",
        Code::EmptyValue,
        "/endpoints/0/endpoint",
    ),
    (
        "erc8004",
        "\"services\": [",
        "\"endpoints\": [{\"endpoint\": \"https://a.example.com\"}], \"services\": [",
        Code::MissingExpectedField,
        "/endpoints/0/name",
    ),
    (
        "erc8004",
        "{ \"index\": 10081, \"subindex\": 0 }",
        "{ \"index\": 10081 }",
        Code::MissingField,
        "/externalReference/contract_address/subindex",
    ),
    ("erc8004", "\"namespace\"", "\"space\"", Code::MissingField, "/externalReference/kind/payload/namespace"),
    ("erc8004", "\"variant\": \"Cis8\"", "\"variant\": \"\"", Code::EmptyValue, "/externalReference/kind/variant"),
    (BADGE, "\"verify\":", "\"check\":", Code::MissingExpectedField, "/concordium/verify"),
    (BADGE, "\"verification\":", "\"checks\":", Code::MissingExpectedField, "/concordium/verification"),
    // What a schema cannot say.
    (LEGACY, "\"Mf22soLh1NuZYFgBK8iSs\"", "\"TKN1A2B3C4...\"", Code::Placeholder, "/concordium/token_address"),
    (
        SOCIETY,
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0x1234...abcd",
        Code::Placeholder,
        "/metadata/crypto_wallet/address",
    ),
    ("erc8004", "\"Weather Desk\"", "\"Weather {{badge}}\"", Code::Placeholder, "/name"),
    (SOCIETY, "ws-agent://research-pro", "ws-agent://{name}", Code::Placeholder, "/url"),
    (
        COMBINED,
        "cis8\": \"ccd:9dd9ca4d19e9393877d2c44b70f89acb:10081.0",
        "cis8\": \"ccd:<chain>:10081.0",
        Code::Placeholder,
        "/capabilities/extensions/0/params/contracts/cis8",
    ),
    (LEGACY, "\"https://example.com\"", "\"https://...\"", Code::Placeholder, "/provider/url"),
    (LEGACY, "\"1.0.0\"", "\"1.0\"", Code::VersionNotSemver, "/version"),
    ("uumit", "\"1.0.0\"", "\"2026\"", Code::VersionUnusual, "/version"),
    (SOCIETY, "\"Deep research on any topic\"", LONG_TAGLINE, Code::TaglineLong, "/metadata/display/tagline"),
    (SOCIETY, "#eef2ff", "#eef2fg", Code::InvalidColour, "/metadata/theme/background_color"),
    (SOCIETY, "#818cf8", "red", Code::InvalidColour, "/metadata/theme/secondary_color"),
    (LEGACY, "\"id\": \"summarise-day\"", "\"id\": \"fetch-price\"", Code::DuplicateSkillId, "/skills/1/id"),
    (SOCIETY, "\"0.05\"", "\"5 cents\"", Code::InvalidPrice, "/skills/0/pricing/amount_usd"),
    ("uumit", "\"price_ut\": 3", "\"price_ut\": \"ten\"", Code::InvalidPrice, "/skills/1/pricing/price_ut"),
    ("uumit", "\"price_ut\": 3", "\"price_ut\": -1", Code::InvalidPrice, "/skills/1/pricing/price_ut"),
    (SOCIETY, "\"crypto_wallet\"", "\"purse\"", Code::WalletMissing, "/skills/0"),
    (SOCIETY, "\"0x52908400098527886E0F7030069857D2E4169EE7\"", "null", Code::WalletMissing, "/skills/0"),
    (
        SOCIETY,
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0x5290840009",
        Code::InvalidWalletAddress,
        "/metadata/crypto_wallet/address",
    ),
    (
        SOCIETY,
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "USDC",
        Code::InvalidWalletAddress,
        "/skills/0/pricing/token/address",
    ),
    (A2A, "\"https://harbour.example.org\"", "\"harbour.example.org\"", Code::InvalidUri, "/provider/url"),
    (A2A, "\"https://harbour.example.org\"", "\"https://harbour example.org\"", Code::InvalidUri, "/provider/url"),
    (A2A, "\"https://harbour.example.org\"", "\"https://harbour.example.org/%zz\"", Code::InvalidUri, "/provider/url"),
    (A2A, "\"https://harbour.example.org\"", "\"https://harbour.example.org/100%\"", Code::InvalidUri, "/provider/url"),
    ("erc8004", "https://weather.example.com/mcp", "https://weather.example.com/m cp", Code::InvalidUri, "/services/1/endpoint"),
    (A2A, "\"https://harbour.example.org\"", "\"https://harbour.example.org/\\u200b\"", Code::InvalidUri, "/provider/url"),
    (A2A, "\"https://harbour.example.org\"", "\"https://harbour.example.org/\\u202e\"", Code::InvalidUri, "/provider/url"),
    ("erc8004", "https://weather.example.com/mcp", "https://weather.example.com/>mcp", Code::InvalidUri, "/services/1/endpoint"),
    (
        A2A1,
        "https://api.ledgerworks.example/a2a/v1",
        "https://api.ledgerworks.example:port/",
        Code::InvalidUri,
        "/supportedInterfaces/0/url",
    ),
    (A2A, "\"https://harbour.example.org\"", "\"https://me:pass@harbour.example.org\"", Code::UriCredentials, "/provider/url"),
    (SOCIETY, "ws-agent://research-pro", "wss://hub.example.com/research-pro", Code::UriScheme, "/url"),
    ("uumit", "\"https://api.example.com\"", "\"mailto:a@example.com\"", Code::UriScheme, "/url"),
    (A2A1, "https://api.ledgerworks.example/a2a/v1", "javascript:alert(1)", Code::UriScheme, "/supportedInterfaces/0/url"),
    (A2A1, "https://api.ledgerworks.example/a2a/v1", "htp:/foo", Code::UriSchemeUnusual, "/supportedInterfaces/0/url"),
    ("erc8004", "https://weather.example.com/mcp", "file:///etc/passwd", Code::UriScheme, "/services/1/endpoint"),
    (COMBINED, "https://agents.example.com/market-data/icon.png", "javascript:alert(1)", Code::UriScheme, "/image"),
    (A2A, "\"https://harbour.example.org\"", "\"file:///srv/index.html\"", Code::UriScheme, "/provider/url"),
    (
        "erc8004",
        "\"services\": [",
        "\"endpoints\": [{\"name\": \"web\", \"endpoint\": \"javascript:alert(1)\"}], \"services\": [",
        Code::UriScheme,
        "/endpoints/0/endpoint",
    ),
    (A2A, "\"https://harbour.example.org\"", "\"data:text/html,<script>alert(1)</script>\"", Code::UriScheme, "/provider/url"),
    (A2A, "https://harbour.example.org/docs/tides", "data:text/plain,tides", Code::UriScheme, "/documentationUrl"),
    (COMBINED, "https://agents.example.com/market-data/icon.png", "data:text/html,<b>", Code::UriScheme, "/image"),
    ("erc8004", "https://weather.example.com/mcp", "DATA:text/html;base64,PGI+", Code::UriScheme, "/services/1/endpoint"),
    (A2A, "\"description\": \"Tells", "\"description\": \"T\\u200bells", Code::UnsafeCharacter, "/description"),
    (LEGACY, "\"name\": \"Market Data Agent\"", "\"name\": \"Market\\udb40\\udc41\"", Code::UnsafeCharacter, "/name"),
    (SOCIETY, "\"Deep research on any topic\"", "\"Deep \\u202eresearch\"", Code::UnsafeCharacter, "/metadata/display/tagline"),
    (A2A, "\"description\": \"Tells", "\"description\": \"\\u001b[2JTells", Code::UnsafeCharacter, "/description"),
    (LEGACY, "\"name\": \"Market Data Agent\"", "\"name\": \"Market\\u0000\"", Code::UnsafeCharacter, "/name"),
    (LEGACY, "\"Fetches and summarises market data on demand.\"", "\" \"", Code::EmptyDescription, "/description"),
    (SOCIETY, "ws-agent://research-pro", "ws-agent://research-amateur", Code::WsAgentName, "/url"),
    (
        A2A,
        "https://harbour.example.org/docs/tides",
        "http://harbour.example.org/docs/tides",
        Code::CardUrlInsecure,
        "/documentationUrl",
    ),
    (
        A2A1,
        "grpc.ledgerworks.example:443",
        "grpc://grpc.ledgerworks.example",
        Code::CardUrlInsecure,
        "/supportedInterfaces/1/url",
    ),
    ("erc8004", "https://weather.example.com/mcp", "https://0.0.0.0:8000/mcp", Code::CardUrlNotPublic, "/services/1/endpoint"),
    (A2A, "https://harbour.example.org/docs/tides", "https://192.168.1.7/docs", Code::CardUrlNotPublic, "/documentationUrl"),
    (
        LEGACY,
        "https://agents.example.com/market-data/mcp",
        "https://localhost:9/mcp",
        Code::CardUrlNotPublic,
        "/concordium/services/tippingMcp",
    ),
    (LEGACY, "concordium:mainnet", "eip155:1", Code::InvalidChainId, "/concordium/chain_id"),
    (BADGE, "\"ccd:9dd9ca4d19e9393877d2c44b70f89acb\"", "\"ccd:9dd9\"", Code::InvalidChainId, "/concordium/chain"),
    (
        COMBINED,
        "\"ccd:9dd9ca4d19e9393877d2c44b70f89acb:37",
        "\"ccd:9dd9ca4d19e9393877d2c44b70f89acb:47",
        Code::InvalidCaip10,
        "/capabilities/extensions/0/params/owner/account",
    ),
    (
        COMBINED,
        "\"agentRegistry\": \"ccd:9dd9ca4d19e9393877d2c44b70f89acb:10082.0",
        "\"agentRegistry\": \"10082,0",
        Code::InvalidCaip10,
        "/registrations/0/agentRegistry",
    ),
    (
        BADGE,
        "\"caip10\": \"ccd:9dd9ca4d19e9393877d2c44b70f89acb:37hX814Yz3zbehHMgxowiXoW7cez8Rh54ghNbbCveoKMfbm7Fh",
        "\"caip10\": \"ccd:9dd9ca4d19e9393877d2c44b70f89acb:10082.0",
        Code::InvalidCaip10,
        "/concordium/owner/caip10",
    ),
    (COMBINED, "/cis-2:Mf22", "/cis-3:Mf22", Code::InvalidCaip19, "/capabilities/extensions/0/params/tokenAddress"),
    (LEGACY, "\"Mf22soLh1NuZYFgBK8iSs\"", "\"Mf22soLh1NuZYFgBK8iSt\"", Code::InvalidTokenAddress, "/concordium/token_address"),
    (
        LEGACY,
        "\"Mf22soLh1NuZYFgBK8iSs\"",
        "\"2aAoYxy1ZiYPurfRrNHQAy8\"",
        Code::TokenAddressDraftForm,
        "/concordium/token_address",
    ),
    ("erc8004", "{ \"index\": 10081, \"subindex\": 0 }", "\"zzz\"", Code::InvalidContract, "/externalReference/contract_address"),
    (LEGACY, OWNER, "Mf22soLh1NuZYFgBK8iSs", Code::InvalidAccount, "/concordium/owner"),
    (BADGE, "\"10081,0\"", "\"10081.0\"", Code::InvalidContract, "/concordium/contracts/cis8"),
    (
        BADGE,
        "\"Mf22soLh1NuZYFgBK8iSs\"",
        "\"Mf22om7PHfHrnG359onmG\"",
        Code::ConflictingTokenAddress,
        "/concordium/tokenAddressBase58",
    ),
    (
        "erc8004",
        "\"registrations\": [",
        "\"registrations\": [{ \"agentId\": 7, \"agentRegistry\": \"ccd:9dd9ca4d19e9393877d2c44b70f89acb:10082.0\" },",
        Code::ConflictingTokenAddress,
        "/registrations/2/agentId",
    ),
    (BADGE, "\"10082,0\"", "\"10083,0\"", Code::ConflictingContract, "/concordium/contracts/cis8004"),
    (
        BADGE,
        "\"chain\": \"ccd:9dd9ca4d19e9393877d2c44b70f89acb\"",
        "\"chain\": \"ccd:testnet\"",
        Code::ConflictingChain,
        "/concordium/chain",
    ),
    (
        BADGE,
        "\"account\": \"37hX814Yz3zbehHMgxowiXoW7cez8Rh54ghNbbCveoKMfbm7Fh\"",
        "\"account\": \"4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7\"",
        Code::ConflictingOwner,
        "/concordium/owner/caip10",
    ),
];

const LONG_TAGLINE: &str =
    "\"äaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"";

#[test]
fn each_broken_variant_has_exactly_its_finding() {
    let mut wrong = Vec::new();
    for (base, from, to, code, pointer) in CASES {
        let report = lint_alone(replaced(&sample(base), from, to).as_bytes());
        let expected = [format!("{code} {pointer}")];
        if told(&report.findings) != expected {
            wrong.push(format!("{base}: {from} -> {to}\n  expected {expected:?}\n  found {:#?}", report.findings));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

/// What cannot be made by replacing text in a sample.
fn whole_cases() -> Vec<(Vec<u8>, Code, &'static str)> {
    let good = sample("a2a-0.2");
    let long = |from: &str, count: usize| replaced(&sample(LEGACY), from, &"ä".repeat(count)).into_bytes();
    vec![
        (b"".to_vec(), Code::InvalidJson, ""),
        (b"[]".to_vec(), Code::NotAnObject, ""),
        (b"\"card\"".to_vec(), Code::NotAnObject, ""),
        (b"{}".to_vec(), Code::UnknownDialect, ""),
        (b"<!DOCTYPE html>".to_vec(), Code::InvalidJson, ""),
        ([b"\xef\xbb\xbf", good.as_bytes()].concat(), Code::ByteOrderMark, ""),
        ([good.as_bytes(), b"x"].concat(), Code::TrailingContent, ""),
        ([good.as_bytes(), good.as_bytes()].concat(), Code::TrailingContent, ""),
        (good.replace("Chart Maker", "Chart\u{0}Maker").into_bytes(), Code::ControlCharacter, "/name"),
        (
            good.replace("Maker", "\u{1}").bytes().map(|byte| if byte == 1 { 0xe9 } else { byte }).collect(),
            Code::InvalidUtf8,
            "/name",
        ),
        (
            good.encode_utf16().flat_map(u16::to_le_bytes).fold(b"\xff\xfe".to_vec(), |mut all, byte| {
                all.push(byte);
                all
            }),
            Code::InvalidUtf8,
            "",
        ),
        (
            replaced(&good, "{ \"type\": \"apiKey\"", &format!("{}{}, \"", "{ \"deep\": ".to_owned() + &"[".repeat(200), ""))
                .into_bytes(),
            Code::TooDeep,
            "",
        ),
        (long("Market Data Agent", 129), Code::TooLong, "/name"),
        (long("Fetches and summarises market data on demand.", 2049), Code::TooLong, "/description"),
        // This one is of society-ai alone, where the name and the url belong together.
        (
            sample(SOCIETY)
                .replace("research-pro", "research pro")
                .replace("ws-agent://research pro", "https://a.example")
                .into_bytes(),
            Code::NameNotUrlSafe,
            "/name",
        ),
    ]
}

#[test]
fn each_broken_document_has_exactly_its_finding() {
    for (bytes, code, pointer) in whole_cases() {
        let report = lint_alone(&bytes);
        assert_eq!(told(&report.findings), [format!("{code} {pointer}")], "{}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn lengths_are_counted_in_characters() {
    let fits = replaced(&sample(LEGACY), "Market Data Agent", &"本".repeat(128));
    assert_eq!(told(&lint_alone(fits.as_bytes()).findings), [] as [String; 0]);
}

#[test]
fn a_finding_tells_its_line_and_column() {
    let card = replaced(&sample(SOCIETY), "#eef2ff", "#eef2fg");
    let report = lint_alone(card.as_bytes());
    let offset = card.find("\"#eef2fg\"").unwrap();
    let line = card[..offset].matches('\n').count() + 1;
    let column = card[..offset].rsplit('\n').next().unwrap().chars().count() + 1;
    let finding = &report.findings[0];
    assert_eq!((finding.line, finding.column), (line, column));
    assert!(finding.message.contains("#eef2fg"), "{}", finding.message);
}

#[test]
fn every_code_is_proven_by_a_broken_card() {
    let whole = whole_cases();
    let mut proven: HashSet<Code> = CASES.iter().map(|case| case.3).chain(whole.iter().map(|case| case.1)).collect();
    // Their cards are 20,000 times the size of the others: see the hostile ones.
    proven.extend([Code::TooManyItems, Code::TooManyValues]);
    proven.extend(chain::CASES.iter().map(|case| case.code));
    let unproven: Vec<&Code> = Code::ALL.iter().filter(|code| !proven.contains(code)).collect();
    assert!(unproven.is_empty(), "{unproven:?}");
    assert!(CASES.len() + whole.len() >= 40);
}
