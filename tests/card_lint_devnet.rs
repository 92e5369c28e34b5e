//! `cardproof card lint` of an agent and of a URL: the real binary against a chain of its own and a loopback card host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, OnceLock};

use cardproof::devnet::Devnet;
use cardproof::identity::{Badge, Caip2};
use support::card_host::{Answer, CardHost};
use support::command::{assert_valid, Ran, Tool};

/// The findings of a run, whose document must fit its schema.
fn findings(ran: &Ran) -> Vec<String> {
    let document = ran.json();
    assert_valid("lint", &document);
    let findings = document["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| format!("{} {}", finding["code"].as_str().unwrap(), finding["pointer"].as_str().unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_card_is_fetched_and_compared_with_the_chain() {
    let net = Devnet::start().await.unwrap();
    let tool = Tool::on(&net);
    let card: Arc<OnceLock<String>> = Arc::default();
    let served = Arc::clone(&card);
    let host = CardHost::http(move |_| Answer::ok(served.get().unwrap().clone())).await;
    let uri = host.url("/card.json");
    let agent = net.register_agent(0, Some(&uri), None).await.unwrap();
    let other = net.register_agent(1, Some(&uri), None).await.unwrap();
    let bare = net.register_agent(0, None, None).await.unwrap();
    let contract = |address: cardproof::identity::ContractAddress| format!("{{\"index\": {}, \"subindex\": 0}}", address.index);
    let text = std::fs::read_to_string("tests/cards/concordium-legacy.json")
        .unwrap()
        .replace("https://agents.example.com/market-data/card.json", &uri)
        .replace("concordium:mainnet", &Caip2::of(&net.genesis_hash()).to_string())
        .replace("Mf22soLh1NuZYFgBK8iSs", &Badge { contract: net.registry(), token_id: agent }.to_string())
        .replace("{\"index\": 10082, \"subindex\": 0}", &contract(net.registry()))
        .replace("{\"index\": 10081, \"subindex\": 0}", &contract(net.cis8()))
        .replace("37hX814Yz3zbehHMgxowiXoW7cez8Rh54ghNbbCveoKMfbm7Fh", &net.account(0).unwrap().address().to_string());
    card.set(text.clone()).unwrap();
    let file = tool.folder().join("card.json");
    std::fs::write(&file, &text).unwrap();

    let (agent, other, bare, file) = (agent.to_string(), other.to_string(), bare.to_string(), file.display().to_string());
    // What is true of every card on a loopback host.
    let host_is_local = ["card_url_insecure /url", "card_url_not_public /url"];
    let not_this_agent =
        [&host_is_local[..], &["token_address_mismatch /concordium/token_address", "owner_mismatch /concordium/owner"]].concat();
    let open = ["--allow-http", "--allow-private"];
    for (args, code, expected) in [
        ([&[agent.as_str()], &open[..]].concat(), 0, &host_is_local[..]),
        ([&[other.as_str()], &open[..]].concat(), 1, &not_this_agent),
        // A URL that the user typed may be loopback.
        (vec![uri.as_str(), "--allow-http"], 0, &host_is_local),
        (vec![uri.as_str(), "--allow-http", "--agent", &other], 1, &not_this_agent),
        (vec![file.as_str(), "--agent", &agent], 0, &host_is_local),
        (vec![file.as_str(), "--agent", &other], 1, &not_this_agent),
    ] {
        let ran = tool.run(&[&["card", "lint", "--json"], &args[..]].concat()).await;
        assert_eq!(
            (ran.code, findings(&ran)),
            (code, expected.iter().map(|line| (*line).to_owned()).collect()),
            "{args:?}: {}",
            ran.stderr
        );
    }
    for (args, code, reason) in [
        // What a chain says may not be loopback.
        (vec![agent.as_str(), "--allow-http"], 3, "blocked_address"),
        (vec![bare.as_str()], 1, "no_uri_on_chain"),
        (vec!["999"], 1, "agent_not_found"),
    ] {
        let ran = tool.run(&[&["card", "lint", "--json"], &args[..]].concat()).await;
        assert_eq!((ran.code, ran.json()["code"].as_str().unwrap()), (code, reason), "{args:?}: {}", ran.stderr);
    }
}
