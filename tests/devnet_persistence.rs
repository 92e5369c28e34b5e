//! The local chain on disk: it goes on where it was, whatever ended it, and never overwrites what it does not understand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/devnet_client.rs"]
mod devnet_client;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use cardproof::devnet::{Devnet, DevnetError, Preset};
use concordium_rust_sdk::base::base::{Energy, Nonce};
use concordium_rust_sdk::base::contracts_common::{Amount, ContractAddress, OwnedReceiveName};
use concordium_rust_sdk::base::transactions::{send, UpdateContractPayload};
use concordium_rust_sdk::types::hashes::{BlockHash, TransactionHash};
use concordium_rust_sdk::types::smart_contracts::{ContractContext, InvokeContractResult};
use concordium_rust_sdk::types::WalletAccount;
use concordium_rust_sdk::v2::{AccountIdentifier, BlockIdentifier, Client, Endpoint};
use devnet_client::{cost, register, soon, token};

#[tokio::test]
async fn a_restart_goes_on_with_every_block() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Devnet::builder().preset(Preset::TestnetLike).data_dir(folder.path()).start();
    let net = start().await.unwrap();
    let id = net.register_agent(3, Some("https://agents.example/"), Some([7; 32])).await.unwrap();
    let rejected = net.update(3, net.registry(), "revoke", &[8, 9, 0, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
    assert!(rejected.rejected.is_some());
    let (block, balance, genesis) = (net.best_block(), net.balance(3), net.genesis_hash());
    let wallet = std::fs::read_to_string(net.wallet_file(3).unwrap()).unwrap();
    net.shutdown().await;

    let net = start().await.unwrap();
    assert_eq!(net.genesis_hash(), genesis);
    assert_eq!(net.balance(3), balance);
    assert!(net.best_block().height >= block.height);
    assert_eq!(std::fs::read_to_string(net.wallet_file(3).unwrap()).unwrap(), wallet);
    let mut node = devnet_client::client(&net).await;
    let info = node.get_block_info(BlockIdentifier::Given(block.hash.into())).await.unwrap().response;
    assert_eq!((info.block_height.height, info.finalized, info.transaction_count), (block.height, true, 1));
    let hash = TransactionHash::from(rejected.hash);
    assert_eq!(node.get_finalized_block_item(hash).await.unwrap().1.bytes, rejected.block.hash);
    assert_eq!(net.register_agent(3, None, None).await.unwrap().0, id.0 + 1);
    net.shutdown().await;
}

#[tokio::test]
async fn a_folder_of_another_chain_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    Devnet::builder().data_dir(folder.path()).seed("one").start().await.unwrap().shutdown().await;
    let log = folder.path().join("chain.log");
    let before = std::fs::read(&log).unwrap();
    let other = Devnet::builder().data_dir(folder.path()).seed("two").start().await;
    let Err(error @ DevnetError::Settings { .. }) = other else { panic!("another seed was accepted") };
    assert!(error.to_string().contains("the seed one, not two"), "{error}");
    let other = Devnet::builder().data_dir(folder.path()).preset(Preset::MainnetLike).start().await;
    assert!(matches!(other, Err(DevnetError::Settings { .. })));
    assert_eq!(std::fs::read(&log).unwrap(), before);
}

#[tokio::test]
async fn a_folder_in_use_and_a_busy_port_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let net = Devnet::builder().data_dir(folder.path()).start().await.unwrap();
    let second = Devnet::builder().data_dir(folder.path()).start().await;
    let Err(error @ DevnetError::InUse { .. }) = second else { panic!("two chains in one folder") };
    assert!(error.to_string().contains("in use by another devnet"), "{error}");
    let second = Devnet::builder().listen(net.address()).start().await;
    let Err(error @ DevnetError::Listen { .. }) = second else { panic!("two chains on one port") };
    assert!(error.to_string().contains("Another program may be using the port"), "{error}");

    // And so says the command.
    let port = net.address().port().to_string();
    let out = Command::new(env!("CARGO_BIN_EXE_cardproof")).args(["devnet", "--port", &port]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("cannot listen on"), "{out:?}");
    assert!(out.stdout.is_empty());
    net.shutdown().await;
    Devnet::builder().data_dir(folder.path()).start().await.unwrap().shutdown().await;
}

#[tokio::test]
async fn a_folder_whose_log_lost_its_beginning_is_not_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let net = Devnet::builder().data_dir(folder.path()).start().await.unwrap();
    net.shutdown().await;
    let log = folder.path().join("chain.log");
    let whole = std::fs::read(&log).unwrap();
    for cut in [0, 3, 40] {
        std::fs::write(&log, &whole[..cut]).unwrap();
        let message = Devnet::builder().data_dir(folder.path()).start().await.err().unwrap().to_string();
        assert!(message.contains("chain.log"), "{cut}: {message}");
        assert_eq!(std::fs::read(&log).unwrap(), &whole[..cut], "nothing was changed");
    }
    std::fs::write(&log, &whole).unwrap();
    Devnet::builder().data_dir(folder.path()).start().await.unwrap().shutdown().await;
}

#[tokio::test]
async fn a_corrupt_folder_is_told_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let net = Devnet::builder().data_dir(folder.path()).start().await.unwrap();
    for account in 0..3 {
        net.register_agent(account, Some("https://agents.example/"), None).await.unwrap();
    }
    net.shutdown().await;
    let log = folder.path().join("chain.log");
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() - 300;
    bytes[middle] ^= 0xff;
    std::fs::write(&log, &bytes).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_cardproof"))
        .args(["devnet", "--port", "0", "--json", "--data-dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(5), "{out:?}");
    let document: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(document["code"], "data_folder_damaged");
    let message = document["message"].as_str().unwrap();
    assert!(message.contains("chain.log") && message.contains("Nothing was changed"), "{message}");
    assert_eq!(std::fs::read(&log).unwrap(), bytes);
}

/// A chain in a process of its own, which can be killed.
struct Chain {
    process: Child,
    node: Client,
    registry: ContractAddress,
}

impl Chain {
    async fn start(folder: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_cardproof"))
            .args(["devnet", "--port", "0", "--json", "--quiet", "--block-time", "50ms", "--data-dir"])
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
        let node = Client::new(Endpoint::from_str(ready["node"].as_str().unwrap()).unwrap()).await.unwrap();
        let index = ready["registry"]["index"].as_str().unwrap().parse().unwrap();
        Self { process, node, registry: ContractAddress::new(index, 0) }
    }

    fn call(
        &self,
        entry_point: &str,
        message: concordium_rust_sdk::base::contracts_common::OwnedParameter,
    ) -> UpdateContractPayload {
        UpdateContractPayload {
            amount: Amount::zero(),
            address: self.registry,
            receive_name: OwnedReceiveName::new(format!("CIS-8004.{entry_point}")).unwrap(),
            message,
        }
    }

    async fn has_agent(&mut self, id: u64) -> bool {
        let payload = self.call("agentOf", token(id));
        let context = ContractContext {
            invoker: None,
            contract: payload.address,
            amount: payload.amount,
            method: payload.receive_name,
            parameter: payload.message,
            energy: None,
        };
        let answer = self.node.invoke_instance(BlockIdentifier::LastFinal, &context).await.unwrap().response;
        let InvokeContractResult::Success { return_value: Some(value), .. } = answer else { panic!("{answer:?}") };
        value.value[0] == 1
    }
}

/// Sends registrations one after the other until the process is gone, and notes those that were finalized.
async fn send_until_killed(chain: &mut Chain, wallet: &WalletAccount, finalized: &mut Vec<(TransactionHash, BlockHash, u64)>) {
    let mut nonce = finalized.len() as u64 + 1;
    loop {
        let payload = chain.call("register", register("https://agents.example/card.json"));
        let transaction = send::update_contract(wallet, wallet.address, Nonce { nonce }, soon(), payload, Energy::from(20_000));
        let Ok(hash) = chain.node.send_account_transaction(transaction).await else { return };
        let Ok((block, summary)) = chain.node.wait_until_finalized(&hash).await else { return };
        finalized.push((hash, block, cost(&summary)));
        nonce += 1;
    }
}

/// Five times here; `scripts/soak` does it fifty times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_loses_no_finalized_transaction_and_applies_none_half() {
    let rounds: u64 = std::env::var("CARDPROOF_SOAK_KILLS").map_or(5, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut finalized: Vec<(TransactionHash, BlockHash, u64)> = Vec::new();
    for round in 0..=rounds {
        let mut chain = Chain::start(folder.path()).await;
        let wallet = WalletAccount::from_json_file(folder.path().join("accounts/4.export.json")).unwrap();
        // A transaction may have been finalized without the client having heard of it, but only the last one.
        let next = chain.node.get_next_account_sequence_number(&wallet.address).await.unwrap();
        assert!(next.all_final);
        let sent = next.nonce.nonce - 1;
        let known = finalized.len() as u64;
        assert!(sent == known || sent == known + 1, "{known} are known to be finalized, {sent} are there");
        for (hash, block, _) in &finalized {
            assert_eq!(chain.node.get_finalized_block_item(*hash).await.unwrap().1, *block, "round {round}");
        }
        if sent > known {
            // Find it, for its cost: the account's only transaction that is not known yet.
            let unknown = find_unknown(&mut chain, &finalized).await;
            finalized.push(unknown);
        }
        // Whole or not at all: sequence number, agents and balance say the same.
        assert!(sent == 0 || chain.has_agent(sent - 1).await, "round {round}");
        assert!(!chain.has_agent(sent).await, "round {round}");
        let account = AccountIdentifier::Address(wallet.address);
        let info = chain.node.get_account_info(&account, BlockIdentifier::LastFinal);
        let spent: u64 = finalized.iter().map(|(_, _, cost)| cost).sum();
        assert_eq!(
            info.await.unwrap().response.account_amount,
            Amount::from_micro_ccd(1_000_000_000_000 - spent),
            "round {round}"
        );
        if round == rounds {
            chain.process.kill().unwrap();
            chain.process.wait().unwrap();
            break;
        }
        let pid = chain.process.id();
        let killer = std::thread::spawn(move || {
            // Another moment each time.
            std::thread::sleep(Duration::from_millis(40 + (round * 37) % 211));
            let status = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
            assert!(status.success());
        });
        let began = Instant::now();
        send_until_killed(&mut chain, &wallet, &mut finalized).await;
        killer.join().unwrap();
        assert!(!chain.process.wait().unwrap().success());
        assert!(began.elapsed() < Duration::from_secs(30));
    }
    assert!(finalized.len() as u64 >= rounds, "only {} transactions were finalized", finalized.len());
}

async fn find_unknown(chain: &mut Chain, known: &[(TransactionHash, BlockHash, u64)]) -> (TransactionHash, BlockHash, u64) {
    use futures_util::StreamExt;
    let mut at = chain.node.get_block_info(BlockIdentifier::LastFinal).await.unwrap().response;
    loop {
        let block = at.block_hash;
        let events = chain.node.get_block_transaction_events(BlockIdentifier::Given(block)).await.unwrap().response;
        for summary in events.map(Result::unwrap).collect::<Vec<_>>().await {
            if !known.iter().any(|(hash, _, _)| *hash == summary.hash) {
                return (summary.hash, block, cost(&summary));
            }
        }
        assert!(at.block_height.height > 0, "a sequence number was used by no transaction");
        at = chain.node.get_block_info(BlockIdentifier::Given(at.block_parent)).await.unwrap().response;
    }
}
