//! Generates the server side of the node's gRPC API v2 for the embedded local chain.
//!
//! The messages are the SDK's (`concordium_rust_sdk::v2::generated`), so no `.proto` file is needed: only the service, that is
//! the table of the calls the local chain answers. A call that is not in the table is answered UNIMPLEMENTED.

#[cfg(feature = "devnet")]
const MESSAGES: &str = "::concordium_rust_sdk::v2::generated";

/// Route name, request message, response message. A `*` before a message marks a stream.
#[cfg(feature = "devnet")]
const CALLS: &[(&str, &str, &str)] = &[
    ("GetConsensusInfo", "Empty", "ConsensusInfo"),
    ("GetNodeInfo", "Empty", "NodeInfo"),
    ("GetPeersInfo", "Empty", "PeersInfo"),
    ("GetBlocks", "Empty", "*ArrivedBlockInfo"),
    ("GetFinalizedBlocks", "Empty", "*FinalizedBlockInfo"),
    ("GetBlockInfo", "BlockHashInput", "BlockInfo"),
    ("GetBlocksAtHeight", "BlocksAtHeightRequest", "BlocksAtHeightResponse"),
    ("GetAncestors", "AncestorsRequest", "*BlockHash"),
    ("GetBlockItems", "BlockHashInput", "*BlockItem"),
    ("GetBlockTransactionEvents", "BlockHashInput", "*BlockItemSummary"),
    ("GetBlockSpecialEvents", "BlockHashInput", "*BlockSpecialEvent"),
    ("GetBlockPendingUpdates", "BlockHashInput", "*PendingUpdate"),
    ("GetBlockChainParameters", "BlockHashInput", "ChainParameters"),
    ("GetCryptographicParameters", "BlockHashInput", "CryptographicParameters"),
    ("GetAccountList", "BlockHashInput", "*AccountAddress"),
    ("GetAccountInfo", "AccountInfoRequest", "AccountInfo"),
    ("GetNextAccountSequenceNumber", "AccountAddress", "NextAccountSequenceNumber"),
    ("GetAccountNonFinalizedTransactions", "AccountAddress", "*TransactionHash"),
    ("GetModuleList", "BlockHashInput", "*ModuleRef"),
    ("GetModuleSource", "ModuleSourceRequest", "VersionedModuleSource"),
    ("GetInstanceList", "BlockHashInput", "*ContractAddress"),
    ("GetInstanceInfo", "InstanceInfoRequest", "InstanceInfo"),
    ("GetInstanceState", "InstanceInfoRequest", "*InstanceStateKvPair"),
    ("InstanceStateLookup", "InstanceStateLookupRequest", "InstanceStateValueAtKey"),
    ("InvokeInstance", "InvokeInstanceRequest", "InvokeInstanceResponse"),
    ("DryRun", "*DryRunRequest", "*DryRunResponse"),
    ("SendBlockItem", "SendBlockItemRequest", "TransactionHash"),
    ("GetBlockItemStatus", "TransactionHash", "BlockItemStatus"),
    ("GetAccountTransactionSignHash", "PreAccountTransaction", "AccountTransactionSignHash"),
    ("GetBranches", "Empty", "Branch"),
    ("GetNextUpdateSequenceNumbers", "BlockHashInput", "NextUpdateSequenceNumbers"),
    ("GetIdentityProviders", "BlockHashInput", "*IpInfo"),
    ("GetAnonymityRevokers", "BlockHashInput", "*ArInfo"),
    ("GetTokenList", "BlockHashInput", "*plt::TokenId"),
    ("GetTokenInfo", "TokenInfoRequest", "TokenInfo"),
];

/// The node's health check, whose two messages are empty.
#[cfg(feature = "devnet")]
const HEALTH: &[(&str, &str, &str)] = &[("Check", "Empty", "Empty")];

#[cfg(feature = "devnet")]
fn generate_service(package: &str, name: &str, calls: &[(&str, &str, &str)]) -> tonic_build::manual::Service {
    use tonic_build::manual::{Method, Service};

    let mut service = Service::builder().name(name).package(package);
    for (route, input, output) in calls {
        let mut method = Method::builder()
            .name(snake_case(route))
            .route_name(*route)
            .input_type(format!("{MESSAGES}::{}", input.trim_start_matches('*')))
            .output_type(format!("{MESSAGES}::{}", output.trim_start_matches('*')))
            .codec_path("::tonic::codec::ProstCodec");
        if input.starts_with('*') {
            method = method.client_streaming();
        }
        if output.starts_with('*') {
            method = method.server_streaming();
        }
        service = service.method(method.build());
    }
    service.build()
}

#[cfg(feature = "devnet")]
fn snake_case(route: &str) -> String {
    let mut name = String::new();
    for letter in route.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "devnet")]
    tonic_build::manual::Builder::new()
        .build_client(false)
        .build_server(true)
        .compile(&[generate_service("concordium.v2", "Queries", CALLS), generate_service("concordium.health", "Health", HEALTH)]);
}
