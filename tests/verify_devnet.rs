//! `cardproof verify` from end to end: the real binary, over TCP, against the real contract in the real execution engine, and a
//! loopback card host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cardproof::devnet::{Devnet, Preset};
use cardproof::digest::Sha256Digest;
use cardproof::identity::{TokenId, DEVNET};
use serde_json::Value;
use support::card_host::{Act, Answer, CardHost};
use support::command::{assert_valid, Ran, Tool};

const CARD: &[u8] = include_bytes!("vectors/card-testnet-287.json");

/// A chain, and the command set up for it.
async fn chain() -> (Devnet, Tool) {
    let net = Devnet::start().await.unwrap();
    let tool = Tool::on(&net);
    (net, tool)
}

/// What a host serves at each path of the suite.
async fn host() -> CardHost {
    CardHost::http(|request| match request.path.as_str() {
        "/card.json" => Answer::ok(CARD),
        "/newline.json" => Answer::ok([CARD, b"\n"].concat()),
        "/crlf.json" => Answer::ok(String::from_utf8(CARD.to_vec()).unwrap().replace('\n', "\r\n")),
        "/minified.json" => Answer::ok(serde_json::from_slice::<Value>(CARD).unwrap().to_string()),
        "/cut.json" => Answer::head(200, &[("Content-Length", "282")]).write(&CARD[..100]).then(Act::Close),
        "/hop.json" => Answer::redirect(301, "/hop2.json"),
        "/hop2.json" => Answer::redirect(307, "/card.json"),
        "/private.json" => Answer::redirect(302, "http://169.254.169.254/latest/meta-data/"),
        "/gone.json" => Answer::status(404),
        "/teapot.json" => Answer::status(418),
        "/wall.json" => Answer::with(403, &[("cf-mitigated", "challenge")], "<html>"),
        "/huge.json" => Answer::head(200, &[("Content-Length", "99999999999")]),
        "/slow.json" => Answer::head(200, &[("Content-Length", "282")]).then(Act::Hang),
        "/coding.json" => Answer::with(200, &[("Content-Encoding", "gzip")], CARD),
        other => panic!("no such path: {other}"),
    })
    .await
}

async fn registered(net: &Devnet, uri: &str) -> TokenId {
    net.register_agent(0, Some(uri), Some(Sha256Digest::of(CARD).0)).await.unwrap()
}

async fn verify(tool: &Tool, agent: TokenId, more: &[&str]) -> Ran {
    let agent = agent.to_string();
    let mut args = vec!["verify", &agent, "--json", "--allow-http", "--allow-private"];
    args.extend(more);
    tool.run(&args).await
}

/// The only result of a run, which must fit its schema.
fn result(ran: &Ran) -> Value {
    let document = ran.json();
    assert_valid("verify", &document);
    document["results"][0].clone()
}

/// The first milestone: the real card of testnet token 287, against the real contract at the testnet's address.
#[tokio::test(flavor = "multi_thread")]
async fn the_real_card_of_testnet_token_287_matches() {
    let net = Devnet::builder().preset(Preset::TestnetLike).start().await.unwrap();
    let (tool, host) = (Tool::on(&net), host().await);
    net.preload_agents(1, 287, |number| (format!("https://cards.example/{number}.json"), None)).await.unwrap();
    let agent = registered(&net, &host.url("/card.json")).await;
    assert_eq!(agent, TokenId(287));
    let ran = tool.run(&["verify", "JyP9UULNJGYEmchgQB4fw", "--json", "--allow-http", "--allow-private"]).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let result = result(&ran);
    assert_eq!(result["match"], true);
    assert_eq!(result["badge"], "JyP9UULNJGYEmchgQB4fw");
    assert_eq!(result["anchored_sha256"], "6ac669950e9b18c444e549474615c0ce6555910b1e59ab6a599351cf31e10c38");
    assert_eq!(result["decoded_with"], "schema");
    assert_eq!(result["fetch"]["final_url"], host.url("/card.json"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verdict_that_a_host_can_cause() {
    let ((net, tool), host) = (chain().await, host().await);
    for (path, matches, reason, note, code) in [
        ("/card.json", Some(true), "match", None, 0),
        ("/hop.json", Some(true), "match", None, 0),
        ("/newline.json", Some(false), "hash_mismatch", Some("matches_without_final_newline"), 1),
        ("/crlf.json", Some(false), "hash_mismatch", Some("matches_with_lf"), 1),
        ("/minified.json", Some(false), "hash_mismatch", None, 1),
        ("/cut.json", None, "truncated", None, 3),
        ("/private.json", None, "blocked_address", None, 3),
        ("/gone.json", None, "not_found", None, 3),
        ("/teapot.json", None, "http_status", None, 3),
        ("/wall.json", None, "blocked_by_bot_wall", None, 3),
        ("/huge.json", None, "too_large", None, 3),
        ("/slow.json", None, "timeout", None, 3),
        ("/coding.json", None, "bad_content_coding", None, 3),
    ] {
        let agent = registered(&net, &host.url(path)).await;
        let ran = verify(&tool, agent, &["--timeout", "2s"]).await;
        let result = result(&ran);
        assert_eq!((result["match"].as_bool(), result["reason"].as_str().unwrap()), (matches, reason), "{path}: {result:#}");
        assert_eq!(ran.code, code, "{path}: {}", ran.stderr);
        if let Some(note) = note {
            assert_eq!(result["notes"][0]["code"], note, "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c_31_redirects_are_reported_hop_by_hop() {
    let ((net, tool), host) = (chain().await, host().await);
    let agent = registered(&net, &host.url("/hop.json")).await;
    let result = result(&verify(&tool, agent, &[]).await);
    let hops = result["fetch"]["hops"].as_array().unwrap();
    assert_eq!(hops.iter().map(|hop| hop["status"].as_u64().unwrap()).collect::<Vec<_>>(), [301, 307]);
    assert_eq!(result["fetch"]["final_url"], host.url("/card.json"));
}

#[tokio::test(flavor = "multi_thread")]
async fn uris_that_lead_nowhere_are_undecided_and_cause_no_request() {
    let ((net, tool), host) = (chain().await, host().await);
    for (uri, reason) in [
        ("34.65.134.134/card.json", "invalid_uri"),
        (" ", "invalid_uri"),
        ("https://a\nb.example/", "invalid_uri"),
        ("https://user:secret@cards.example/", "invalid_uri"),
        ("file:///etc/passwd", "unsupported_scheme"),
        ("ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi", "unsupported_scheme"),
        ("http://169.254.169.254/latest/", "blocked_address"),
        ("https://cards.example:22/", "blocked_port"),
    ] {
        let agent = registered(&net, uri).await;
        let ran = verify(&tool, agent, &[]).await;
        let result = result(&ran);
        assert_eq!((result["match"].as_bool(), result["reason"].as_str().unwrap(), ran.code), (None, reason, 3), "{uri}");
    }
    let agent = registered(&net, &host.url("/card.json")).await;
    let agent = agent.to_string();
    let closed = tool.run(&["verify", &agent, "--json"]).await;
    assert_eq!(result(&closed)["reason"], "unsupported_scheme", "plain http needs --allow-http");
    let closed = tool.run(&["verify", &agent, "--json", "--allow-http"]).await;
    assert_eq!(result(&closed)["reason"], "blocked_address", "c_46: loopback needs --allow-private");
    assert_eq!(host.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_agents_have_nothing_to_compare() {
    let ((net, tool), host) = (chain().await, host().await);
    let bare = net.register_agent(0, None, None).await.unwrap();
    let unanchored = net.register_agent(0, Some(&host.url("/card.json")), None).await.unwrap();
    for (agent, reason) in [(bare, "no_uri_on_chain"), (unanchored, "no_hash_on_chain"), (TokenId(99), "agent_not_found")] {
        let ran = verify(&tool, agent, &[]).await;
        let result = result(&ran);
        assert_eq!((result["reason"].as_str().unwrap(), result["class"].as_str().unwrap(), ran.code), (reason, "absent", 4));
    }
    assert_eq!(host.connections(), 0, "c_29: without a hash nothing is fetched");
    let fetched = result(&verify(&tool, unanchored, &["--fetch-unanchored"]).await);
    assert_eq!(
        (fetched["reason"].as_str(), fetched["fetch"]["sha256"].as_str()),
        (Some("no_hash_on_chain"), Some(&*Sha256Digest::of(CARD).to_string()))
    );
}

/// setAgentURI with an absent value clears the stored one.
fn set_agent_uri(agent: TokenId, uri: &str, hash: Option<[u8; 32]>) -> Vec<u8> {
    let mut bytes =
        [&[8][..], &agent.0.to_le_bytes(), &[1], &u32::try_from(uri.len()).unwrap().to_le_bytes(), uri.as_bytes()].concat();
    match hash {
        Some(hash) => bytes.extend([&[1][..], &hash].concat()),
        None => bytes.push(0),
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_of_the_past_is_judged_by_its_own_record() {
    let ((net, tool), host) = (chain().await, host().await);
    let agent = registered(&net, &host.url("/card.json")).await;
    let before = net.last_finalized();
    let other = set_agent_uri(agent, &host.url("/card.json"), Some([7; 32]));
    let update = net.update(0, net.registry(), "setAgentURI", &other).await.unwrap();
    assert_eq!(update.rejected, None);
    let now = verify(&tool, agent, &[]).await;
    assert_eq!((result(&now)["match"].as_bool(), now.code), (Some(false), 1));
    let height = before.height.to_string();
    for at in [height.clone(), hex::encode(before.hash)] {
        let then = verify(&tool, agent, &["--at-block", &at]).await;
        let result = result(&then);
        assert_eq!((result["match"].as_bool(), result["block"]["height"].as_str()), (Some(true), Some(height.as_str())));
    }
    let newest = net.last_finalized().height.to_string();
    let differs = verify(&tool, agent, &["--at-block", &newest]).await;
    assert_eq!(differs.code, 1);
    assert!(differs.stderr.contains("the card is the one served today"), "{}", differs.stderr);
    assert!(!now.stderr.contains("served today"), "{}", now.stderr);
    let early = verify(&tool, agent, &["--at-block", "0"]).await;
    assert_eq!(result(&early)["reason"], "agent_not_found");
    let unknown = verify(&tool, agent, &["--at-block", "999999999"]).await;
    assert_eq!((unknown.code, unknown.json()["code"].as_str()), (2, Some("block_not_found")), "{}", unknown.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_agents_card_is_judged_and_require_active_counts_it() {
    let ((net, tool), host) = (chain().await, host().await);
    let agent = registered(&net, &host.url("/card.json")).await;
    let revoke = [&[8][..], &agent.0.to_le_bytes(), &[0]].concat();
    assert_eq!(net.update(0, net.registry(), "revoke", &revoke).await.unwrap().rejected, None);
    let ran = verify(&tool, agent, &[]).await;
    let report = result(&ran);
    assert_eq!((report["match"].as_bool(), report["status"].as_str(), ran.code), (Some(true), Some("revoked"), 0));
    let required = verify(&tool, agent, &["--require-active"]).await;
    assert_eq!(required.code, 1);
    assert_eq!(result(&required)["match"], true, "the report does not change");
}

#[tokio::test(flavor = "multi_thread")]
async fn c_60_exit_codes_follow_the_worst_class_and_fail_on() {
    let ((net, tool), host) = (chain().await, host().await);
    let good = registered(&net, &host.url("/card.json")).await.to_string();
    let bad = registered(&net, &host.url("/newline.json")).await.to_string();
    let open = registered(&net, &host.url("/gone.json")).await.to_string();
    let absent = "99";
    for (agents, fail_on, code) in [
        (&[&*good][..], "", 0),
        (&[&good, &bad], "", 1),
        (&[&good, &bad, &open, absent], "", 1),
        (&[&good, &open, absent], "", 3),
        (&[&good, absent], "", 4),
        (&[&bad, &open, absent], "none", 0),
        (&[&bad, &open, absent], "undecided,absent", 3),
        (&[&bad, absent], "absent", 4),
        (&[&open, absent], "mismatch", 0),
        (&[&good, &bad], "mismatch", 1),
    ] {
        let mut args = vec!["verify", "--allow-http", "--allow-private", "--jsonl"];
        args.extend(agents);
        if !fail_on.is_empty() {
            args.extend(["--fail-on", fail_on]);
        }
        let ran = tool.run(&args).await;
        assert_eq!(ran.code, code, "{agents:?} --fail-on {fail_on}: {}", ran.stderr);
        assert_eq!(ran.stdout.lines().count(), agents.len());
        for line in ran.stdout.lines() {
            assert_valid("report", &serde_json::from_str(line).unwrap());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_network_is_refused_before_anything_else() {
    let net = Devnet::builder().seed("another").start().await.unwrap();
    let tool = Tool::plain();
    let ran = tool.run(&["verify", "0", "--network", "testnet", "--node", net.node_url(), "--json"]).await;
    assert_eq!((ran.code, ran.json()["code"].as_str()), (2, Some("wrong_network")), "{}", ran.stderr);
    assert_valid("error", &ran.json());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_contract_and_an_absent_node_are_undecided() {
    let (net, tool) = chain().await;
    let cis8 = net.cis8().index.to_string();
    for contract in ["77", &cis8] {
        let ran = tool.run(&["verify", "0", "--json", "--contract", contract]).await;
        assert_eq!((ran.code, result(&ran)["reason"].as_str()), (3, Some("registry_not_found")), "{}", ran.stderr);
    }
    drop(net);
    let ran = tool.run(&["verify", "0", "1", "--json", "--node", "http://127.0.0.1:9", "--node-timeout", "1s"]).await;
    assert_eq!(ran.code, 3);
    assert_eq!(ran.json()["summary"]["undecided"], 2);
    assert_eq!(result(&ran)["reason"], "node_unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_for_people_names_verdict_digests_block_and_url() {
    let ((net, tool), host) = (chain().await, host().await);
    let agent = registered(&net, &host.url("/newline.json")).await.to_string();
    let ran = tool.run(&["verify", &agent, "--allow-http", "--allow-private", "-v"]).await;
    let got = Sha256Digest::of(&[CARD, b"\n"].concat()).to_string();
    let expected = Sha256Digest::of(CARD).to_string();
    let block = net.last_finalized().height;
    for word in ["MISMATCH", "hash", "expected", "got", &got, &expected, &host.url("/newline.json"), "final newline"] {
        assert!(ran.stdout.contains(word), "{word} is missing in {}", ran.stdout);
    }
    for word in ["127.0.0.1", "HTTP 200", "283", &got, &expected, "block"] {
        assert!(ran.stderr.contains(word), "c_15: {word} is missing in {}", ran.stderr);
    }
    let terse = tool.run(&["verify", &agent, "--allow-http", "--allow-private"]).await;
    let lines = |ran: &Ran| ran.stdout.lines().filter(|line| !line.starts_with("block")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(&terse), lines(&ran), "-v never changes stdout");
    assert_eq!(terse.stderr, "");
    assert!((0..=block).any(|height| ran.stdout.contains(&format!("block      {height} "))), "{}", ran.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_reaches_no_terminal() {
    let (net, tool) = chain().await;
    let hostile = "https://cards.example/\u{1b}]0;owned\u{7}\u{202e}\u{200b}";
    let agent = registered(&net, hostile).await.to_string();
    for args in [&["verify", &agent][..], &["verify", &agent, "--json"], &["show", &agent], &["show", &agent, "--json"]] {
        let ran = tool.run(args).await;
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{200b}']), "{args:?}: {text:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_of_a_local_list_are_verified_and_the_others_named() {
    let ((net, tool), host) = (chain().await, host().await);
    let agent = registered(&net, &host.url("/card.json")).await.to_string();
    let names = tool.run(&["token", &agent, "--json"]).await.json();
    let path = tool.folder().join("registry.json");
    let list = serde_json::json!({ "agents": [
        { "name": "here", "url": "https://a.example", "x-cardproof": { "caip19": names["caip19"] } },
        { "name": "elsewhere", "url": "https://b.example", "x-cardproof": { "caip19": "ccd:mainnet/cis-2:Mf22soLh1NuZYFgBK8iSs" } },
        { "name": "nowhere", "url": "https://c.example" },
    ]});
    std::fs::write(&path, list.to_string()).unwrap();
    let path = path.to_str().unwrap();
    let ran = tool.run(&["verify", "--agents", path, "--json", "--allow-http", "--allow-private"]).await;
    assert_eq!((ran.code, result(&ran)["match"].as_bool()), (0, Some(true)), "{}", ran.stderr);
    assert_eq!(ran.json()["summary"]["agents"], 1);
    assert_valid("verify", &ran.json());
    let skipped = serde_json::json!([
        { "name": "nowhere", "why": "the list names no token of it on chain" },
        { "name": "elsewhere", "why": "it is on another network than devnet" },
    ]);
    assert_eq!(ran.json()["skipped"], skipped, "a program must not think them verified");
    for name in ["elsewhere", "nowhere"] {
        assert!(ran.stderr.contains(&format!("{name} is not verified")), "{}", ran.stderr);
    }
    std::fs::write(path, r#"{"agents":[]}"#).unwrap();
    let empty = tool.run(&["verify", "--agents", path]).await;
    assert_eq!(empty.code, 2, "c_61: {}", empty.stderr);
    let absent = tool.run(&["verify", "--agents", "/does/not/exist.json"]).await;
    assert_eq!(absent.code, 2, "{}", absent.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_of_the_card_stand_beside_the_verdict() {
    let ((net, tool), host) = (chain().await, host().await);
    let agent = registered(&net, &host.url("/card.json")).await;
    let plain = result(&verify(&tool, agent, &[]).await);
    assert_eq!(plain["checks"], serde_json::json!([]));
    let ran = verify(&tool, agent, &["--check-card"]).await;
    let checked = result(&ran);
    assert_eq!((checked["match"].as_bool(), ran.code), (Some(true), 0));
    assert!(!checked["checks"].as_array().unwrap().is_empty(), "the real card lacks a description, which is information");
}

#[tokio::test(flavor = "multi_thread")]
async fn show_prints_the_record() {
    let ((net, tool), host) = (chain().await, host().await);
    let agent = registered(&net, &host.url("/card.json")).await.to_string();
    let ran = tool.run(&["show", &agent, "--json"]).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    assert_valid("agent", &document);
    assert_eq!(document["metadata_hash"], Sha256Digest::of(CARD).to_string());
    assert_eq!(document["owner_account"], net.account(0).unwrap().address().to_string());
    assert!(tool.run(&["show", &agent]).await.stdout.contains("owner_account"));
    let missing = tool.run(&["show", "99", "--json"]).await;
    assert_eq!((missing.code, missing.json()["code"].as_str()), (1, Some("agent_not_found")));
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_says_a_line_for_each_thing() {
    let (net, tool) = chain().await;
    let ran = tool.run(&["doctor", "--json"]).await;
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let document = ran.json();
    assert_valid("doctor", &document);
    let names: Vec<&str> = document["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in [
        "configuration",
        "tls_roots",
        "node",
        "network",
        "finalized_block",
        "clock",
        "registry",
        "supports",
        "module",
        "schema",
        "module_cache",
    ] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    let wrong = tool.run(&["doctor", "--contract", &net.cis8().index.to_string()]).await;
    assert_eq!(wrong.code, 1, "{}", wrong.stdout);
    let absent = tool.run(&["doctor", "--node", "http://127.0.0.1:9"]).await;
    assert_eq!(absent.code, 3, "{}", absent.stdout);
    assert!(absent.stdout.contains("try: start this chain with cardproof devnet"), "{}", absent.stdout);
    let absent = tool.run(&["doctor", "--node", "http://127.0.0.1:9", "--json"]).await.json();
    assert_valid("doctor", &absent);
    assert!(absent["checks"].as_array().unwrap().iter().any(|check| check["hint"].is_string()), "{absent}");
    // A web server is no node.
    let web = CardHost::http(|_| Answer::status(404)).await;
    let no_node = tool.run(&["doctor", "--node", &web.url("")]).await;
    assert_eq!(no_node.code, 3, "{}", no_node.stdout);
    assert!(no_node.stdout.contains("is no gRPC node but a web server"), "{}", no_node.stdout);
    let foreign = tool.run(&["doctor", "--genesis-hash", &"ab".repeat(32)]).await;
    assert_eq!(foreign.code, 2, "{}", foreign.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_built_in_devnet_is_the_one_that_starts_by_default() {
    let net = Devnet::start().await.unwrap();
    assert_eq!((net.genesis_hash(), net.registry(), net.cis8()), (DEVNET.genesis, DEVNET.registry, DEVNET.cis8));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn being_told_to_end_prints_what_is_known() {
    let ((net, tool), host) = (chain().await, host().await);
    let (fine, slow) = (registered(&net, &host.url("/card.json")).await, registered(&net, &host.url("/slow.json")).await);
    for signal in ["-INT", "-TERM"] {
        let before = host.requests().len();
        let agents = [fine.to_string(), slow.to_string()];
        let args = ["verify", &agents[0], &agents[1], "--json", "--allow-http", "--allow-private"];
        let child = tool.command(&args).spawn().unwrap();
        while host.requests().len() < before + 2 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let id = child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().await.unwrap();
        assert_eq!(output.status.code(), Some(130), "{signal}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_valid("verify", &document);
        assert!(document["results"].as_array().unwrap().len() <= 1, "{document:#}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    }
}
