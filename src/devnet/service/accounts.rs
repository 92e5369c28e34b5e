use concordium_rust_sdk::base::common::to_bytes;
use concordium_rust_sdk::base::contracts_common::AccountAddress;
use concordium_rust_sdk::v2::generated::{self as proto, account_identifier_input::AccountIdentifierInput as Identifier};
use tonic::{Response, Status};

use super::super::convert;
use super::super::engine::World;
use super::super::node::Node;
use super::lookup::{at, block, missing, read};
use super::{stream, Answer, Streamed};

pub(super) fn list(node: &Node, request: proto::BlockHashInput) -> Answer<Streamed<proto::AccountAddress>> {
    let block = block(node, Some(request))?;
    // All accounts are there from the first block on.
    let addresses: Vec<_> = node.accounts.iter().map(|account| (&account.address).into()).collect();
    at(&block, stream(addresses))
}

pub(super) fn info(node: &Node, request: proto::AccountInfoRequest) -> Answer<proto::AccountInfo> {
    let block = block(node, request.block_hash)?;
    let identifier = request.account_identifier.ok_or_else(|| missing("which account is meant"))?;
    let info = find(node, &block.world, identifier)?.ok_or_else(|| Status::not_found("there is no such account"))?;
    at(&block, info)
}

/// What is known about an account, however it is named; `None` when there is none.
pub(super) fn find(
    node: &Node,
    world: &World,
    identifier: proto::AccountIdentifierInput,
) -> Result<Option<proto::AccountInfo>, Status> {
    let identifier = identifier.account_identifier_input.ok_or_else(|| missing("which account is meant"))?;
    let found = match identifier {
        Identifier::Address(address) => {
            let address = read::<_, AccountAddress>(address)?;
            node.accounts.iter().position(|account| account.address.is_alias(&address))
        }
        Identifier::CredId(id) => {
            node.accounts.iter().position(|account| account.registration_ids.values().any(|known| to_bytes(known) == id.value))
        }
        Identifier::AccountIndex(index) => usize::try_from(index.value).ok(),
    };
    let account = found.and_then(|index| Some((index, node.accounts.get(index)?)));
    Ok(account.and_then(|(index, account)| convert::account_info(world, account, index as u64)))
}

pub(super) fn next_sequence_number(node: &Node, request: proto::AccountAddress) -> Answer<proto::NextAccountSequenceNumber> {
    let (next, all_final) = node.next_nonce(read(request)?);
    let sequence_number = Some(proto::SequenceNumber { value: next });
    Ok(Response::new(proto::NextAccountSequenceNumber { sequence_number, all_final }))
}

pub(super) fn unfinalized(node: &Node, request: proto::AccountAddress) -> Answer<Streamed<proto::TransactionHash>> {
    let hashes = node.unfinalized_of(read(request)?);
    let hashes: Vec<_> = hashes.iter().map(convert::transaction_hash).collect();
    Ok(Response::new(stream(hashes)))
}
