//! What the commands say before and after: misgivings, what a change takes with it, and how to go on.

use std::time::Duration;

use cardproof::devnet::Devnet;

use crate::bench::Bench;

const GOOD: &str = include_str!("../cards/combined.json");

fn warnings(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.starts_with("warning: ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_nobody_could_read_is_warned_of_and_never_refused() {
    let bench = Bench::new().await;
    let register = |name: &'static str, body: &'static str| (bench.serve(&format!("/{name}"), body), bench.write(name, body));
    for (name, body, says) in [
        ("good", GOOD, None),
        ("placeholder", "{\"name\": \"{{badge}}\"}", Some("a placeholder such as {{badge}}")),
        ("page", "<!doctype html><p>Log in</p>", Some("an HTML page")),
        ("text", "card", Some("not a JSON object")),
        ("lint", "{\"name\": \"a\"}", Some("unknown_dialect")),
    ] {
        let (uri, card) = register(name, body);
        let base = ["register", "--uri", &uri, "--yes", "--json"];
        let mut runs = vec![bench.run_as(1, &[&base[..], &["--card", &card, "--dry-run"]].concat()).await.code(0)];
        runs.push(bench.run_as(1, &[&base[..], &["--trust-url", "--dry-run"]].concat()).await.code(0));
        runs.push(bench.run_as(1, &[&base[..], &["--card", &card]].concat()).await.code(0));
        let agent = runs.last().unwrap().json()["token_id"].as_str().unwrap().to_owned();
        runs.push(bench.run_as(1, &["anchor", &agent, "--card", &card, "--yes", "--json"]).await.code(0));
        for run in runs {
            let stderr = run.stderr();
            let warned = warnings(&stderr);
            match says {
                None => assert_eq!(warned, [] as [&str; 0], "{name}"),
                Some(says) => {
                    assert_eq!(warned.iter().filter(|line| line.contains(says)).count(), 1, "{name}: {stderr}");
                    let signed = stderr.find("signed: the transaction").unwrap_or(usize::MAX);
                    assert!(stderr.find(says).unwrap() < signed, "{name}: before it is signed: {stderr}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_filled_card_finds_its_place_before_anything_is_sent() {
    let bench = Bench::new().await;
    let uri = bench.url("/card.json");
    let card = bench.write("card.json", "{ \"token\": \"{{badge}}\" }\n");
    let there = bench.write("there.json", "{}");
    let folder = bench.folder.path().to_str().unwrap().to_owned();
    let two_step = |out: &str, more: &[&str]| {
        let mut args = ["register", "--two-step", "--card", &card, "--uri", &uri, "--host-wait", "0s", "--yes", "--json"]
            .map(str::to_owned)
            .to_vec();
        args.extend(["--filled-card", out].iter().chain(more).map(|arg| (*arg).to_owned()));
        args
    };
    let run = async |args: Vec<String>| bench.run_as(1, &args.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for (out, why) in [
        (bench.text("nowhere/card.json"), "folder"),
        (folder, "it is a folder"),
        (card.clone(), "with the placeholders itself"),
        (there, "it exists already"),
    ] {
        for more in [&[][..], &["--dry-run"]] {
            let ran = run(two_step(&out, more)).await.code(2).says(why).says("nothing was sent");
            assert_eq!(ran.error(), "filled_card");
        }
        assert_eq!(bench.sent_by(1).await, 0, "{out}");
    }
    // It was free then, and is not any more once the agent is registered.
    let out = bench.text("filled.json");
    let ran = run(two_step(&out, &[])).await.code(3);
    let stderr = ran.stderr();
    let warned = warnings(&stderr);
    assert!(warned.len() == 1 && warned[0].contains("unknown_dialect"), "its placeholders will be filled: {stderr}");
    bench.write("filled.json", "{}");
    let again = run(two_step(&out, &[])).await.code(5);
    again.says("agent 0 is registered; run the same command again with another --filled-card");
    run(two_step(&bench.text("other.json"), &[])).await.code(3).says("other.json");
    assert_eq!(bench.sent_by(1).await, 1);
    // And resuming an anchoring says what there is instead.
    let resume =
        bench.run_as(1, &["anchor", "--resume", "--yes", "--json"]).await.code(2).says("register --two-step").says("of agent 0");
    assert_eq!(resume.error(), "nothing_to_resume");
    assert!(resume.stderr().contains(&format!("there is none in the journal of account {}", bench.address(1))));
    let other = bench.run_as(2, &["anchor", "--resume", "--yes"]).await.code(2);
    assert!(!other.stderr().contains("--two-step"), "that of another account: {}", other.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_was_changed_between_two_steps_is_called_so() {
    let bench = Bench::new().await;
    let (uri, card) = (bench.url("/card.json"), bench.write("card.json", "{ \"token\": \"{{badge}}\" }\n"));
    let two_step = ["register", "--two-step", "--card", &card, "--uri", &uri, "--host-wait", "0s", "--yes", "--json"];
    bench.run_as(1, &two_step).await.code(3);
    bench.write("card.json", "{ \"token\":  \"{{badge}}\" }\n");
    let run = bench.run_as(1, &two_step).await.code(2).says("began with another card than this").says("two-step/");
    assert_eq!(run.says("cardproof anchor 0 --card").error(), "duplicate");
    assert_eq!(bench.sent_by(1).await, 1);
    // A duplicate that has nothing to do with two steps is one as ever.
    let other = bench.agent(&bench.url("/other.json")).await;
    let two_step = ["register", "--two-step", "--card", &card, "--uri", &bench.url("/other.json"), "--yes", "--json"];
    bench.run_as(1, &two_step).await.code(2).says(&format!("already has agent {other}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_anchoring_points_to_the_first() {
    let delay = Duration::from_secs(2);
    let bench = Bench::built(Devnet::builder().commit_delay(delay).finality_delay(delay)).await;
    let uri = bench.serve("/card.json", GOOD);
    let agent = bench.agent(&uri).await;
    let card = bench.write("card.json", GOOD);
    let anchor = ["anchor", &agent, "--card", &card, "--yes", "--json"];
    bench.run_as(1, &[&anchor[..], &["--no-wait"]].concat()).await.code(0);
    let again = bench.run_as(1, &anchor).await.code(2).says("cardproof anchor --resume").says("--state-dir <FOLDER>");
    assert_eq!(again.error(), "already_signed");
    bench.run_as(1, &[&anchor[..], &["--resume"]].concat()).await.code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_and_a_revocation_show_all_that_they_take_with_them() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/card.json").await;
    let (own, wallet) = (bench.address(1), bench.address(3));
    let wallet_keys = bench.text("3.json");
    let bind =
        ["tx", "set-agent-wallet", &agent, "--wallet", &wallet, "--wallet-keys", &wallet_keys, "--deadline", "10m", "--yes"];
    bench.run_as(1, &bind).await.code(0);
    let shown = bench.run(&["show", &agent, "--json"]).await.code(0).json();
    assert_eq!(shown["agent_wallet"], wallet.as_str());
    let moved = bench.run_as(1, &["tx", "transfer", &agent, "--to", &own, "--yes"]).await.code(0);
    moved.says(&format!("erases     wallet, which was {wallet}")).says("leaves     external reference unset");
    let shown = bench.run(&["show", &agent, "--json"]).await.code(0).json();
    assert!(shown["agent_wallet"].is_null(), "the review said what the contract does, to oneself too: {shown:#}");
    bench.run_as(1, &["tx", "revoke", &agent, "--yes"]).await.code(0).says("status to revoked for good");
}

/// As `anchor` would refuse it; whoever calls an entry point by itself may know better.
#[tokio::test(flavor = "multi_thread")]
async fn a_uri_that_nobody_fetches_is_warned_of_and_not_refused_by_the_entry_points() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/c").await;
    let config = std::fs::read_to_string(bench.path("cardproof.toml")).unwrap();
    std::fs::write(bench.path("cardproof.toml"), config.replace("allow_http = true\nallow_private = true\n", "")).unwrap();
    let hash = "ab".repeat(32);
    for (uri, why) in [
        ("https://10.0.0.1/c", Some("a private network")),
        ("https://localhost.:22/c", Some("port 22")),
        ("https://[::1]/c", Some("this machine itself")),
        ("http://a.example/c", Some("plain http")),
        ("gopher://a.example/c", Some("gopher URIs are not fetched")),
        ("a.example/c", Some("no scheme")),
        ("https://a.example/c", None),
        ("ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", None),
        ("data:,card", None),
    ] {
        let register = ["tx", "register", "--uri", uri, "--dry-run"];
        let pair = ["tx", "set-agent-uri", &agent, "--uri", uri, "--hash", &hash, "--no-url-check", "--build-only"];
        let offline = ["tx", "register", "--uri", uri, "--build-only", "--nonce", "9", "--expiry", "10m", "--energy", "9000"];
        for args in [&register[..], &pair, &offline] {
            let run = bench.run_as(1, args).await.code(0);
            let stderr = run.stderr();
            let warned: Vec<_> = warnings(&stderr).into_iter().filter(|line| line.contains("verifiers will not fetch")).collect();
            assert_eq!(warned.len(), usize::from(why.is_some()), "{args:?}: {stderr}");
            assert!(warned.iter().all(|line| line.contains(uri) && line.contains(why.unwrap())), "{args:?}: {stderr}");
        }
    }
    bench.run_as(1, &["tx", "register", "--uri", "https://10.0.0.1/c", "--dry-run", "--allow-private"]).await.code(0);
    // Two steps would wait for that host in vain, with the first one paid.
    let card = bench.write("card.json", "{\"t\":\"{{badge}}\"}");
    let two_step = ["register", "--two-step", "--card", &card, "--uri", "https://10.0.0.1/c", "--yes", "--json"];
    assert_eq!(bench.run_as(1, &two_step).await.code(2).error(), "blocked_address");
    assert_eq!(bench.sent_by(1).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_names_only_what_goes_with_what_was_typed() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/c").await;
    let gone = bench.url("/gone.json");
    for args in [
        &["anchor", &agent, "--uri", &gone, "--trust-url", "--yes"][..],
        &["anchor", &agent, "--uri", &gone, "--trust-url", "--dry-run"],
        &["register", "--uri", &gone, "--trust-url", "--yes"],
        &["register", "--uri", &gone, "--trust-url", "--dry-run"],
    ] {
        let run = bench.run_as(1, args).await.code(3).says("404").says("try: host the card first");
        assert!(!run.stderr().contains("--no-url-check"), "{args:?}: {}", run.stderr());
    }
    let card = bench.write("card.json", GOOD);
    let own = ["anchor", &agent, "--uri", &gone, "--card", &card, "--yes"];
    bench.run_as(1, &own).await.code(3).says("--no-url-check");
    bench.run_as(1, &[&own[..], &["--no-url-check"]].concat()).await.code(0);
    // Nothing is to be resumed for another agent, and then there is nobody to ask.
    let other = bench.agent("https://b.example/c").await;
    let resumed = ["anchor", &other, "--uri", &gone, "--card", &card, "--resume"];
    bench.run_as(1, &resumed).await.code(2).says("--dry-run, which goes without --resume");
}

/// Interrupts `register --two-step` when stderr shows `at`; gives what it said last and its exit code.
async fn interrupted(bench: &Bench, args: &[&str], at: &'static str, signal: &'static str) -> (Option<i32>, String) {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let mut child = bench.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let ended = tokio::task::spawn_blocking(move || {
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut line, mut rest) = (String::new(), String::new());
        while !line.contains(at) {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it comes to: {at}");
        }
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        stderr.read_to_string(&mut rest).unwrap();
        (child.wait().unwrap().code(), rest)
    });
    ended.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_steps_that_are_interrupted_say_how_they_go_on() {
    let bench = Bench::new().await;
    let (card, keys) = (bench.write("card.json", "{\"t\":\"{{badge}}\"}"), bench.text("1.json"));
    let uri = bench.url("/own.json");
    let two_step = ["register", "--two-step", "--card", &card, "--uri", &uri, "--keys", &keys, "--yes"];
    let resume = format!("go on with cardproof register --two-step --card {card} --uri {uri}");
    // At the first run, and again at one that finds the first step done.
    for signal in ["-INT", "-TERM"] {
        let (code, said) = interrupted(&bench, &two_step, "waiting until it is served", signal).await;
        assert_eq!(code, Some(130), "{said}");
        assert!(said.contains(&resume) && said.contains("card.0.json") && !said.contains("tx status"), "{said}");
    }
    bench.serve("/own.json", std::fs::read(bench.path("card.0.json")).unwrap());
    bench.run(&two_step).await.code(0);
    assert_eq!(bench.sent_by(1).await, 2, "no step was taken twice");
    // Before the first step is finalized its hash is named, too.
    let slow = Bench::built(Devnet::builder().commit_delay(Duration::from_secs(60))).await;
    let (card, keys) = (slow.write("card.json", "{\"t\":\"{{badge}}\"}"), slow.text("1.json"));
    let uri = slow.url("/own.json");
    let two_step = ["register", "--two-step", "--card", &card, "--uri", &uri, "--keys", &keys, "--yes"];
    let (code, said) = interrupted(&slow, &two_step, "signed: the transaction is ", "-INT").await;
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("is on its way: go on with cardproof register --two-step"), "{said}");
}
