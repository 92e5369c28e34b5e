use std::sync::Arc;

use concordium_rust_sdk::base::base::Energy;
use concordium_rust_sdk::base::contracts_common::{AccountAddress, Amount, ContractAddress, Timestamp};
use concordium_rust_sdk::v2::generated::{
    self as proto, dry_run_error_response as failed, dry_run_error_response::Error, dry_run_request::Request,
    dry_run_response::Response as Outcome, dry_run_state_operation::Operation, dry_run_state_query::Query,
    dry_run_success_response as done, dry_run_success_response::Response as Success,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::MetadataValue;
use tonic::{Response, Status, Streaming};

use super::super::convert;
use super::super::engine::{execute, invoke, Order, View, World};
use super::super::node::Node;
use super::contracts::{invocation, Call};
use super::lookup::{block, missing, read};
use super::{accounts, contracts, Answer, Streamed};

/// Energy that a session may use together.
const QUOTA: u64 = 30_000_000;
/// How long a session may last, in milliseconds.
const TIMEOUT: u64 = 60_000;

/// Opens a session: a copy of a block's state to try things on.
pub(super) fn session(node: Arc<Node>, mut requests: Streaming<proto::DryRunRequest>) -> Answer<Streamed<proto::DryRunResponse>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(16);
    tokio::spawn(async move {
        let mut session = Session { node, state: None, quota: QUOTA };
        let work = async {
            while let Ok(Some(request)) = requests.message().await {
                let response = session.answer(request);
                let over = response.is_err();
                if sender.send(response).await.is_err() || over {
                    return;
                }
            }
        };
        if tokio::time::timeout(std::time::Duration::from_millis(TIMEOUT), work).await.is_err() {
            let _ = sender.send(Err(Status::deadline_exceeded("the dry run took longer than a minute"))).await;
        }
    });
    let mut response: Response<Streamed<proto::DryRunResponse>> = Response::new(Box::pin(ReceiverStream::new(receiver)));
    response.metadata_mut().insert("quota", MetadataValue::from(QUOTA));
    response.metadata_mut().insert("timeout", MetadataValue::from(TIMEOUT));
    Ok(response)
}

struct Session {
    node: Arc<Node>,
    state: Option<(World, Timestamp)>,
    quota: u64,
}

impl Session {
    fn answer(&mut self, request: proto::DryRunRequest) -> Result<proto::DryRunResponse, Status> {
        let outcome = match request.request.ok_or_else(|| missing("what to do"))? {
            Request::LoadBlockState(input) => self.load(input)?,
            Request::StateQuery(query) => self.query(query.query.ok_or_else(|| missing("what to ask"))?)?,
            Request::StateOperation(operation) => self.operate(operation.operation.ok_or_else(|| missing("what to do"))?)?,
        };
        let response = match outcome {
            Ok(success) => Outcome::Success(proto::DryRunSuccessResponse { response: Some(success) }),
            Err(error) => Outcome::Error(proto::DryRunErrorResponse { error: Some(error) }),
        };
        let quota_remaining = Some(proto::Energy { value: self.quota });
        Ok(proto::DryRunResponse { quota_remaining, response: Some(response) })
    }

    fn spend(&mut self, energy: Energy) {
        self.quota = self.quota.saturating_sub(energy.energy);
    }

    fn load(&mut self, input: proto::BlockHashInput) -> Result<Result<Success, Error>, Status> {
        let block = match block(&self.node, Some(input)) {
            Ok(block) => block,
            Err(status) if status.code() == tonic::Code::NotFound => {
                return Ok(Err(Error::BlockNotFound(failed::BlockNotFound {})));
            }
            Err(status) => return Err(status),
        };
        self.state = Some(((*block.world).clone(), Timestamp::from_timestamp_millis(block.time)));
        Ok(Ok(Success::BlockStateLoaded(done::BlockStateLoaded {
            current_timestamp: Some(convert::timestamp(block.time)),
            block_hash: Some(convert::block_hash(&block.hash)),
            protocol_version: convert::PROTOCOL.into(),
        })))
    }

    fn query(&mut self, query: Query) -> Result<Result<Success, Error>, Status> {
        let Some((world, time)) = &self.state else { return Ok(Err(no_state())) };
        match query {
            Query::GetAccountInfo(identifier) => {
                let info = accounts::find(&self.node, world, identifier)?;
                Ok(info.map(Success::AccountInfo).ok_or_else(no_account))
            }
            Query::GetInstanceInfo(address) => {
                let info = contracts::instance_info(world, ContractAddress::from(address));
                Ok(info.map(Success::InstanceInfo).ok_or(Error::InstanceNotFound(failed::InstanceNotFound {})))
            }
            Query::InvokeInstance(call) => {
                let invocation = invocation(Call {
                    invoker: call.invoker,
                    instance: call.instance,
                    amount: call.amount,
                    entrypoint: call.entrypoint,
                    parameter: call.parameter,
                    energy: call.energy,
                })?;
                if contracts::unknown_invoker(world, invocation.invoker).is_some() {
                    return Ok(Err(no_account()));
                }
                let view = View::new(Arc::new(world.clone()), *time, self.node.genesis.rates);
                let invoked = invoke(&view, invocation);
                self.spend(invoked.energy);
                let used_energy = Some(invoked.energy.into());
                let return_value = invoked.return_value;
                Ok(match invoked.result {
                    Ok(effects) => {
                        let effects = effects.iter().map(convert::trace).collect();
                        Ok(Success::InvokeSucceeded(done::InvokeSuccess { return_value, used_energy, effects }))
                    }
                    Err(reason) => {
                        let reason = Some(convert::reject_reason(&reason));
                        Err(Error::InvokeFailed(failed::InvokeFailure { return_value, used_energy, reason }))
                    }
                })
            }
        }
    }

    fn operate(&mut self, operation: Operation) -> Result<Result<Success, Error>, Status> {
        let Some((world, time)) = &mut self.state else { return Ok(Err(no_state())) };
        match operation {
            Operation::SetTimestamp(timestamp) => {
                *time = Timestamp::from_timestamp_millis(timestamp.value);
                Ok(Ok(Success::TimestampSet(done::TimestampSet {})))
            }
            Operation::MintToAccount(mint) => {
                let address: AccountAddress = read(mint.account.ok_or_else(|| missing("an account"))?)?;
                if world.account(address).is_none() {
                    return Ok(Err(no_account()));
                }
                world.credit(address, mint.amount.map_or(Amount::zero(), Amount::from));
                Ok(Ok(Success::MintedToAccount(done::MintedToAccount {})))
            }
            Operation::RunTransaction(transaction) => self.run(transaction),
        }
    }

    fn run(&mut self, transaction: proto::DryRunTransaction) -> Result<Result<Success, Error>, Status> {
        let rates = self.node.genesis.rates;
        let quota = self.quota;
        let Some((world, time)) = &mut self.state else { return Ok(Err(no_state())) };
        let order = Order {
            sender: read(transaction.sender.ok_or_else(|| missing("a sender"))?)?,
            energy: transaction.energy_amount.ok_or_else(|| missing("an energy"))?.into(),
            signatures: u32::try_from(transaction.signatures.len()).unwrap_or(u32::MAX).max(1),
            payload: read(transaction.payload.ok_or_else(|| missing("a payload"))?)?,
        };
        if world.account(order.sender).is_none() {
            return Ok(Err(no_account()));
        }
        let base = order.base_cost();
        if order.energy < base || order.energy.energy > quota {
            let energy_required = Some(base.into());
            return Ok(Err(Error::EnergyInsufficient(failed::EnergyInsufficient { energy_required })));
        }
        let (available, deposit) = (world.balance(order.sender), rates.price(order.energy));
        if available < deposit {
            return Ok(Err(Error::BalanceInsufficient(failed::BalanceInsufficient {
                required_amount: Some(deposit.into()),
                available_amount: Some(available.into()),
            })));
        }
        let execution = execute(world, &order, *time, &rates);
        self.spend(execution.energy);
        Ok(Ok(Success::TransactionExecuted(done::TransactionExecuted {
            energy_cost: Some(execution.energy.into()),
            details: Some(convert::account_transaction_details(order.sender, &execution)),
            return_value: execution.return_value,
        })))
    }
}

fn no_state() -> Error {
    Error::NoState(failed::NoState {})
}

fn no_account() -> Error {
    Error::AccountNotFound(failed::AccountNotFound {})
}
