use std::fmt;

use crate::chain::ChainErrorKind;
use crate::fetch::FailureKind;

/// What summaries and exit codes count by, so that an unanchored agent does not hide an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The card is the anchored one.
    Match,
    /// The card is not the anchored one.
    Mismatch,
    /// There is nothing to compare: no agent, no URI or no hash.
    Absent,
    /// It could not be decided.
    Undecided,
}

impl Class {
    /// The name in documents: `match`, `mismatch`, `absent` or `undecided`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Mismatch => "mismatch",
            Self::Absent => "absent",
            Self::Undecided => "undecided",
        }
    }
}

/// Declares the closed set of reasons: variant, name in documents, class, whether a later try may end otherwise, sentence.
macro_rules! reasons {
    ($($variant:ident $name:literal $class:ident $retryable:literal $sentence:literal)*) => {
        /// Why a verdict is what it is. A closed set: each has a line in `docs/reasons.md` and a test with its name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reason {
            $(#[doc = $sentence] $variant,)*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in documents.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The class it belongs to.
            pub fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }

            /// Whether trying again later may give another verdict without anybody changing the card or the chain.
            pub fn retryable(self) -> bool {
                match self { $(Self::$variant => $retryable,)* }
            }

            /// What it means, as a sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

reasons! {
    Match "match" Match false "The card's bytes hash to the hash anchored on chain."
    HashMismatch "hash_mismatch" Mismatch false "The card's bytes do not hash to the hash anchored on chain."
    AgentNotFound "agent_not_found" Absent false "The registry has no agent with this token id."
    NoUriOnChain "no_uri_on_chain" Absent false "The agent has no agent_uri on chain, so there is no card to fetch."
    NoHashOnChain "no_hash_on_chain" Absent false "The agent has no metadata_hash on chain, so there is nothing to compare its card with."
    InvalidUri "invalid_uri" Undecided false "The agent_uri is not a URI that can be fetched."
    UnsupportedScheme "unsupported_scheme" Undecided false "The agent_uri has a scheme that is not fetched."
    BlockedAddress "blocked_address" Undecided false "The host has an address that is not on the public internet."
    BlockedPort "blocked_port" Undecided false "The URL names a port of another service than HTTP."
    RedirectLimit "redirect_limit" Undecided false "The host redirects too many times."
    RedirectDowngrade "redirect_downgrade" Undecided false "The host redirects from https to http."
    RedirectInvalid "redirect_invalid" Undecided false "The host redirects to something that cannot be fetched."
    DnsFailure "dns_failure" Undecided true "The host's name could not be resolved."
    ConnectFailure "connect_failure" Undecided true "No connection to the host could be made."
    TlsFailure "tls_failure" Undecided true "No trusted TLS connection to the host could be made."
    Timeout "timeout" Undecided true "The fetch did not finish before its deadline."
    NotFound "not_found" Undecided true "The host has nothing at this URL."
    RateLimited "rate_limited" Undecided true "The host asks for fewer requests."
    HttpStatus "http_status" Undecided true "The host answered with a status other than 200."
    BlockedByBotWall "blocked_by_bot_wall" Undecided true "A bot wall answered instead of the host."
    TooLarge "too_large" Undecided false "The body is larger than allowed."
    Truncated "truncated" Undecided true "The body was cut short."
    BadContentCoding "bad_content_coding" Undecided true "The body does not decode by the content coding it is marked with."
    ProtocolError "protocol_error" Undecided true "The host broke the HTTP protocol."
    ChangedDuringCheck "changed_during_check" Undecided true "The agent's record changed while its card was checked, twice."
    Unstable "unstable" Undecided true "The host answers with different bytes from one fetch to the next."
    RegistryNotFound "registry_not_found" Undecided false "There is no CIS-8004 registry at this contract address."
    NodeUnavailable "node_unavailable" Undecided true "No node could be asked."
    NodeError "node_error" Undecided true "The node answered with an error."
    NodeBehind "node_behind" Undecided true "The node's newest finalized block is too old to believe."
    NodesDisagree "nodes_disagree" Undecided true "The nodes do not agree on the agent's record."
    RecordUndecodable "record_undecodable" Undecided false "The registry's answer could not be read as an agent's record."
    InternalError "internal_error" Undecided true "cardproof failed; this is a fault of the program."
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<FailureKind> for Reason {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::InvalidUri => Self::InvalidUri,
            FailureKind::UnsupportedScheme => Self::UnsupportedScheme,
            FailureKind::BlockedAddress => Self::BlockedAddress,
            FailureKind::BlockedPort => Self::BlockedPort,
            FailureKind::RedirectLimit => Self::RedirectLimit,
            FailureKind::RedirectDowngrade => Self::RedirectDowngrade,
            FailureKind::RedirectInvalid => Self::RedirectInvalid,
            FailureKind::DnsFailure => Self::DnsFailure,
            FailureKind::ConnectFailure => Self::ConnectFailure,
            FailureKind::TlsFailure => Self::TlsFailure,
            FailureKind::Timeout => Self::Timeout,
            FailureKind::NotFound => Self::NotFound,
            FailureKind::RateLimited => Self::RateLimited,
            FailureKind::HttpStatus => Self::HttpStatus,
            FailureKind::BlockedByBotWall => Self::BlockedByBotWall,
            FailureKind::TooLarge => Self::TooLarge,
            FailureKind::Truncated => Self::Truncated,
            FailureKind::BadContentCoding => Self::BadContentCoding,
            FailureKind::ProtocolError => Self::ProtocolError,
        }
    }
}

impl Reason {
    /// The reason of a verdict that a chain error ends; `None` for one that refuses the whole run before any verdict.
    pub fn of_chain_error(kind: ChainErrorKind) -> Option<Self> {
        match kind {
            ChainErrorKind::WrongNetwork | ChainErrorKind::BlockNotFound | ChainErrorKind::Configuration => None,
            ChainErrorKind::RegistryNotFound => Some(Self::RegistryNotFound),
            ChainErrorKind::NodeUnavailable => Some(Self::NodeUnavailable),
            ChainErrorKind::NodeError => Some(Self::NodeError),
            ChainErrorKind::NodeBehind => Some(Self::NodeBehind),
            ChainErrorKind::NodesDisagree => Some(Self::NodesDisagree),
            ChainErrorKind::RecordUndecodable => Some(Self::RecordUndecodable),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_each_is_documented() {
        let documentation = include_str!("../../docs/reasons.md");
        let mut seen = HashSet::new();
        for reason in Reason::ALL {
            assert!(seen.insert(reason.as_str()), "{reason} twice");
            let row = format!("| `{reason}` | {} |", if reason.retryable() { "yes" } else { "no" });
            assert!(documentation.contains(&row), "docs/reasons.md lacks the row {row}");
        }
        let rows = documentation.lines().filter(|line| line.contains("` | yes | ") || line.contains("` | no | ")).count();
        assert_eq!(rows, Reason::ALL.len(), "docs/reasons.md has a row for no reason");
    }

    #[test]
    fn only_a_hash_mismatch_is_a_mismatch_and_only_a_match_is_a_match() {
        for reason in Reason::ALL {
            assert_eq!(reason.class() == Class::Mismatch, *reason == Reason::HashMismatch, "{reason}");
            assert_eq!(reason.class() == Class::Match, *reason == Reason::Match, "{reason}");
        }
    }
}
