use std::fmt;

use serde::{Serialize, Serializer};

use super::{Document, Node};

/// A kind of card document (card facts). One document can be several at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// An ERC-8004 registration file.
    Erc8004,
    /// An A2A 1.0 agent card.
    A2a1,
    /// An A2A agent card of a version before 1.0.
    A2a0,
    /// A Concordium card with a snake_case `concordium` block.
    ConcordiumLegacy,
    /// A Concordium card with a camelCase `concordium` block, as of July 2026.
    ConcordiumBadge2026,
    /// A card with the Concordium badge extension, version 1.
    ConcordiumBadgeV1,
    /// A card of the Society AI network.
    SocietyAi,
    /// A card of UUMit.
    Uumit,
}

impl Dialect {
    /// Every dialect, in the order of the documentation.
    pub const ALL: &[Self] = &[
        Self::Erc8004,
        Self::A2a1,
        Self::A2a0,
        Self::ConcordiumLegacy,
        Self::ConcordiumBadge2026,
        Self::ConcordiumBadgeV1,
        Self::SocietyAi,
        Self::Uumit,
    ];

    /// The value of `type` that marks an ERC-8004 registration file.
    pub const ERC8004_TYPE: &'static str = "https://eips.ethereum.org/EIPS/eip-8004#registration-v1";
    /// The `uri` that marks the badge extension.
    pub const BADGE_V1_URI: &'static str = "https://docs.concordium.com/a2a-extensions/concordium-badge/v1";
    /// The value of `protocol` that marks a card of UUMit.
    pub const UUMIT_PROTOCOL: &'static str = "a2a/1.0";

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Erc8004 => "erc8004",
            Self::A2a1 => "a2a-1.0",
            Self::A2a0 => "a2a-0.x",
            Self::ConcordiumLegacy => "concordium-legacy",
            Self::ConcordiumBadge2026 => "concordium-badge-2026-07",
            Self::ConcordiumBadgeV1 => "concordium-badge-v1",
            Self::SocietyAi => "society-ai",
            Self::Uumit => "uumit",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Dialect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The dialects whose marks a document has, in the order of [`Dialect::ALL`]; none when it is not a JSON object.
///
/// The `url` of an A2A 0.x card marks nothing by itself when another dialect explains the document: a `concordium-legacy` card
/// has a `url` too, with another meaning. With `capabilities` beside it, the document is an A2A card as well.
pub fn recognise(document: &Document<'_>) -> Vec<Dialect> {
    let Some(root) = document.root().filter(|root| root.as_object().is_some()) else {
        return Vec::new();
    };
    let mut dialects: Vec<Dialect> = Dialect::ALL.iter().copied().filter(|dialect| has_marks(root, *dialect)).collect();
    let is_service = root.get("url").is_some() && root.get("supportedInterfaces").is_none();
    if is_service && (dialects.is_empty() || root.get("capabilities").is_some()) {
        dialects.push(Dialect::A2a0);
        dialects.sort();
    }
    dialects
}

fn has_marks(root: &Node<'_>, dialect: Dialect) -> bool {
    let says = |key: &str, value: &str| root.get(key).and_then(Node::as_str) == Some(value);
    match dialect {
        Dialect::Erc8004 => says("type", Dialect::ERC8004_TYPE),
        Dialect::A2a1 => root.get("supportedInterfaces").is_some(),
        // Depends on the others, so `recognise` decides.
        Dialect::A2a0 => false,
        Dialect::ConcordiumLegacy => {
            root.get("concordium").is_some_and(|block| has_key(block, LEGACY_KEYS, |key| key.contains('_')))
        }
        Dialect::ConcordiumBadge2026 => root.get("concordium").is_some_and(|block| {
            has_key(block, BADGE_KEYS, |key| key.starts_with(char::is_lowercase) && key.contains(char::is_uppercase))
        }),
        Dialect::ConcordiumBadgeV1 => badge_extensions(root).next().is_some(),
        Dialect::SocietyAi => is_society_ai(root),
        Dialect::Uumit => says("protocol", Dialect::UUMIT_PROTOCOL),
    }
}

const LEGACY_KEYS: &[&str] = &["chain_id", "token_address", "cis8004_contract", "cis8_contract"];
/// The keys of the camelCase block that do not show their case are telling too; `owner` is in both.
const BADGE_KEYS: &[&str] = &["tokenAddress", "tokenAddressBase58", "chain", "contracts", "verify", "verification"];

fn has_key(block: &Node<'_>, keys: &[&str], or: impl Fn(&str) -> bool) -> bool {
    block.as_object().is_some_and(|members| members.iter().any(|member| keys.contains(&member.key.as_ref()) || or(&member.key)))
}

/// The entries of `capabilities.extensions[]` that are the badge extension.
pub(super) fn badge_extensions<'d, 'a>(root: &'d Node<'a>) -> impl Iterator<Item = &'d Node<'a>> {
    let extensions = root.get("capabilities").and_then(|capabilities| capabilities.get("extensions")).and_then(Node::as_array);
    let is_badge = |entry: &&Node<'_>| entry.get("uri").and_then(Node::as_str) == Some(Dialect::BADGE_V1_URI);
    extensions.unwrap_or_default().iter().filter(is_badge)
}

fn is_society_ai(root: &Node<'_>) -> bool {
    let has_any =
        |node: Option<&Node<'_>>, keys: &[&str]| node.is_some_and(|node| keys.iter().any(|key| node.get(key).is_some()));
    let by_url = root.get("url").and_then(Node::as_str).is_some_and(|url| url.starts_with("ws-agent://"));
    let skills = root.get("skills").and_then(Node::as_array).unwrap_or_default();
    by_url
        || has_any(root.get("metadata"), &["visibility", "display", "theme", "crypto_wallet"])
        || skills.iter().any(|skill| has_any(skill.get("pricing"), &["amount_usd", "per_usage"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialects(json: &str) -> Vec<Dialect> {
        recognise(&Document::parse(json.as_bytes()))
    }

    #[test]
    fn each_mark_is_recognised() {
        use Dialect::*;
        for (json, expected) in [
            (r#"{"type":"https://eips.ethereum.org/EIPS/eip-8004#registration-v1"}"#, vec![Erc8004]),
            (r#"{"supportedInterfaces":[]}"#, vec![A2a1]),
            (r#"{"supportedInterfaces":[],"url":"https://a.example"}"#, vec![A2a1]),
            (r#"{"url":"https://a.example"}"#, vec![A2a0]),
            (r#"{"concordium":{"token_address":""},"url":"https://a.example"}"#, vec![ConcordiumLegacy]),
            (r#"{"concordium":{"token_address":""},"url":"https://a.example","capabilities":{}}"#, vec![A2a0, ConcordiumLegacy]),
            (r#"{"concordium":{"tokenAddress":""}}"#, vec![ConcordiumBadge2026]),
            (r#"{"concordium":{"chain":""}}"#, vec![ConcordiumBadge2026]),
            (
                r#"{"capabilities":{"extensions":[1,{"uri":"https://docs.concordium.com/a2a-extensions/concordium-badge/v1"}]}}"#,
                vec![ConcordiumBadgeV1],
            ),
            (r#"{"url":"ws-agent://x"}"#, vec![SocietyAi]),
            (r#"{"metadata":{"theme":{}}}"#, vec![SocietyAi]),
            (r#"{"skills":[{"pricing":{"per_usage":true}}]}"#, vec![SocietyAi]),
            (r#"{"protocol":"a2a/1.0","url":"https://a.example","capabilities":{}}"#, vec![A2a0, Uumit]),
            ("{}", vec![]),
            (r#"{"concordium":{"owner":"x"},"type":"agent","metadata":{},"protocol":"a2a/2.0"}"#, vec![]),
            (r#"[{"url":"https://a.example"}]"#, vec![]),
            ("nonsense", vec![]),
        ] {
            assert_eq!(dialects(json), expected, "{json}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::HashSet<_> = Dialect::ALL.iter().map(|dialect| dialect.as_str()).collect();
        assert_eq!(names.len(), 8);
    }
}
