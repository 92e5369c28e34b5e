use std::fmt;
use std::str::FromStr;

/// The form of a card to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// ERC-8004, A2A 1.0 and the badge extension v1 in one document: what the registry's documentation recommends.
    Combined,
    /// An ERC-8004 registration file alone.
    Erc8004,
    /// An A2A 1.0 card, with the badge extension when the agent's token is known.
    A2a,
    /// An A2A card before 1.0, with a top-level `url`.
    A2a0,
    /// The older Concordium form with a top-level `concordium` object in snake case.
    ConcordiumLegacy,
    /// The card of the Society AI network.
    SocietyAi,
    /// The card of the UUMit network.
    Uumit,
}

/// A part of what a card says, for telling which format can carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the field, or group of fields, of `Profile` with its name")]
pub enum Aspect {
    Name,
    Description,
    Version,
    CardUrl,
    Image,
    DocumentationUrl,
    Provider,
    Interfaces,
    FurtherInterfaces,
    Capabilities,
    StateTransitionHistory,
    Extensions,
    Security,
    Modes,
    Skills,
    SkillDetails,
    SkillModes,
    Prices,
    Services,
    ServiceVersions,
    SupportedTrust,
    X402Support,
    Active,
    Registrations,
    Identity,
    Owner,
    Verification,
    DisplayName,
    Tagline,
    Wallet,
    Visibility,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Combined, Self::Erc8004, Self::A2a, Self::A2a0, Self::ConcordiumLegacy, Self::SocietyAi, Self::Uumit];

    /// Its name on the command line and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Erc8004 => "erc8004",
            Self::A2a => "a2a",
            Self::A2a0 => "a2a-0.x",
            Self::ConcordiumLegacy => "concordium-legacy",
            Self::SocietyAi => "society-ai",
            Self::Uumit => "uumit",
        }
    }

    /// Whether a card of this format can say it.
    pub fn carries(self, aspect: Aspect) -> bool {
        use Aspect::{
            Active, Capabilities, CardUrl, Description, DisplayName, DocumentationUrl, Extensions, FurtherInterfaces, Identity,
            Image, Interfaces, Modes, Name, Owner, Prices, Provider, Registrations, Security, ServiceVersions, Services,
            SkillDetails, SkillModes, Skills, StateTransitionHistory, SupportedTrust, Tagline, Verification, Version, Visibility,
            Wallet, X402Support,
        };
        let a2a = |aspect| {
            matches!(
                aspect,
                Name | Description
                    | Version
                    | Provider
                    | DocumentationUrl
                    | Image
                    | Interfaces
                    | FurtherInterfaces
                    | Capabilities
                    | Extensions
                    | Security
                    | Modes
                    | Skills
                    | SkillDetails
                    | SkillModes
            )
        };
        let erc8004 = |aspect| {
            matches!(
                aspect,
                Name | Description
                    | Interfaces
                    | FurtherInterfaces
                    | Image
                    | Services
                    | ServiceVersions
                    | X402Support
                    | Active
                    | Registrations
                    | Identity
                    | SupportedTrust
            )
        };
        let badge = |aspect| matches!(aspect, Identity | Owner | Verification);
        match self {
            Self::Combined => a2a(aspect) || erc8004(aspect) || badge(aspect),
            Self::Erc8004 => erc8004(aspect),
            Self::A2a => a2a(aspect) || badge(aspect),
            Self::A2a0 => a2a(aspect) || aspect == StateTransitionHistory,
            Self::ConcordiumLegacy => matches!(
                aspect,
                Name | Description | Version | CardUrl | Provider | Skills | DocumentationUrl | Identity | Owner | Services
            ),
            Self::SocietyAi => matches!(
                aspect,
                Name | Description
                    | Version
                    | Provider
                    | Interfaces
                    | Capabilities
                    | StateTransitionHistory
                    | Modes
                    | Skills
                    | SkillDetails
                    | Prices
                    | Image
                    | DisplayName
                    | Tagline
                    | Wallet
                    | Visibility
            ),
            Self::Uumit => matches!(
                aspect,
                Name | Description
                    | Version
                    | Interfaces
                    | Capabilities
                    | StateTransitionHistory
                    | Modes
                    | Skills
                    | SkillDetails
                    | Prices
            ),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = match text {
            "a2a-1.0" => "a2a",
            other => other,
        };
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::as_str).collect();
            format!("a card's format is one of {}", names.join(", "))
        })
    }
}
