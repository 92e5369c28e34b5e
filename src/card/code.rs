use std::fmt;

use serde::{Serialize, Serializer};

use crate::Severity;

/// Declares the codes: variant, name in documents, severity, what it means.
macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $sentence:literal)*) => {
        /// The kind of a finding. Each has a line in `docs/card-findings.md`; a name never changes its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $sentence] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in documents.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// How much a finding of this kind matters.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// What it means, as a sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

codes! {
    InvalidJson "invalid_json" Error "The bytes are not a JSON document."
    NotAnObject "not_an_object" Error "The document is JSON, but not an object."
    InvalidUtf8 "invalid_utf8" Error "A byte is not valid UTF-8."
    ByteOrderMark "byte_order_mark" Warning "The document starts with a byte order mark, which many JSON parsers refuse."
    TrailingContent "trailing_content" Error "Something follows the end of the document."
    TooDeep "too_deep" Error "Objects and arrays are nested deeper than parsers accept."
    TooManyValues "too_many_values" Error "The document holds more values than a card may have here, and was not read."
    DuplicateKey "duplicate_key" Error "An object has the same key twice; parsers disagree which one counts."
    ControlCharacter "control_character" Error "A string holds a control character that JSON wants escaped."
    LoneSurrogate "lone_surrogate" Error "A \\u escape names half a character."
    NumberBeyond2To53 "number_beyond_2_53" Warning "A number does not survive parsers that read numbers as doubles."
    UnknownDialect "unknown_dialect" Error "The document has the marks of no known kind of card."

    MissingField "missing_field" Error "A field that the dialect requires is missing."
    MissingExpectedField "missing_expected_field" Info "A field that readers of the dialect expect is missing."
    WrongType "wrong_type" Error "A field has a value of another type than the dialect says."
    NotAllowedValue "not_allowed_value" Error "A field has a value that the dialect does not allow."
    EmptyValue "empty_value" Error "A field that must say something is empty."
    TooLong "too_long" Error "A text is longer than the dialect allows."
    TooManyItems "too_many_items" Warning "Lists hold so many items that only the first ones are checked against the dialect."
    TaglineLong "tagline_long" Warning "A tagline is longer than the place it is shown in."
    UnsafeCharacter "unsafe_character" Warning "A name or description holds a character that can hide or reorder text."
    EmptyDescription "empty_description" Warning "The description says nothing."

    Placeholder "placeholder" Error "A value is the placeholder of an example, or has one such as {{badge}} in it."
    VersionNotSemver "version_not_semver" Error "The version is not a semantic version."
    VersionUnusual "version_unusual" Info "The version is not a semantic version, which the dialect recommends."
    NameNotUrlSafe "name_not_url_safe" Error "The name routes requests, and holds characters that a URL cannot."
    InvalidColour "invalid_colour" Error "A theme colour is not a hexadecimal colour."
    DuplicateSkillId "duplicate_skill_id" Error "Two skills have the same id."
    InvalidPrice "invalid_price" Error "A price is not a decimal number."
    WalletMissing "wallet_missing" Error "A skill costs money, and there is no wallet to pay to."
    InvalidWalletAddress "invalid_wallet_address" Error "A wallet or token address is not an Ethereum address."

    InvalidUri "invalid_uri" Error "A value is not an absolute URI."
    UriScheme "uri_scheme" Error "A URI has a scheme that the field does not allow."
    UriSchemeUnusual "uri_scheme_unusual" Warning "A URI has a scheme that readers of cards rarely understand."
    UriCredentials "uri_credentials" Error "A URI holds a user name or a password."
    WsAgentName "ws_agent_name" Warning "A ws-agent URL names another agent than the card does."
    CardUrlInsecure "card_url_insecure" Warning "A URL is not encrypted."
    CardUrlNotPublic "card_url_not_public" Warning "A URL leads to a host that is not on the public internet."

    InvalidChainId "invalid_chain_id" Error "A value is not the CAIP-2 identifier of a Concordium network."
    InvalidCaip10 "invalid_caip10" Error "A value is not a CAIP-10 identifier."
    InvalidCaip19 "invalid_caip19" Error "A value is not the CAIP-19 identifier of a token."
    InvalidTokenAddress "invalid_token_address" Error "A value is not a token address."
    TokenAddressDraftForm "token_address_draft_form" Warning "A token address is written in the form of a draft."
    InvalidAccount "invalid_account" Error "A value is not a Concordium account address."
    InvalidContract "invalid_contract" Error "A value is not a contract address."
    ConflictingTokenAddress "conflicting_token_address" Error "Two places of the card name different tokens."
    ConflictingContract "conflicting_contract" Error "The card names another registry than its token address does."
    ConflictingChain "conflicting_chain" Error "Two places of the card name different networks."
    ConflictingOwner "conflicting_owner" Error "Two places of the card name different owners."

    UrlNotAgentUri "url_not_agent_uri" Error "The card says that it lives elsewhere than the chain says."
    TokenAddressMismatch "token_address_mismatch" Error "The card names another token than the agent's."
    ContractMismatch "contract_mismatch" Error "The card names another contract than the network's."
    ChainMismatch "chain_mismatch" Error "The card names another network than the agent's."
    OwnerMismatch "owner_mismatch" Warning "The card names another owner than the chain does: it has become stale, or was never right."
    RegistrationMismatch "registration_mismatch" Error "The registrations of the card do not name this agent."
    RegistrationMissing "registration_missing" Info "The card has no registrations, so it does not say which agent it describes."
    AgentNotActive "agent_not_active" Warning "The agent is revoked."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
