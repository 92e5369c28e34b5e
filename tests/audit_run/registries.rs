//! One database over several registries: what is asked of it says which of them it is about.

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;

use crate::support::card_host::{Answer, CardHost};
use crate::support::command::{assert_valid, Tool};

const CARD: &[u8] = b"a card";
const LOOPBACK: [&str; 2] = ["--allow-http", "--allow-private"];

async fn bench(agents: usize) -> (Devnet, CardHost, Tool) {
    let (net, host) = (Devnet::start().await.unwrap(), CardHost::http(|_| Answer::ok(CARD)).await);
    let base = host.url("/");
    net.preload_agents(1, agents, move |number| (format!("{base}{number}"), Some(Sha256Digest::of(CARD).0))).await.unwrap();
    let tool = Tool::on(&net);
    (net, host, tool)
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_diff_and_history_name_the_registry_that_they_are_about() {
    let (net, _host, tool) = bench(2).await;
    assert_eq!(tool.run(&[&["audit", "--all"][..], &LOOPBACK].concat()).await.code, 0);
    let registry = format!("registry {} of devnet", net.registry());
    for command in [&["audit", "runs"][..], &["audit", "diff"]] {
        let ran = tool.run(command).await;
        assert!(ran.stdout.starts_with(&format!("{registry}\n")), "{command:?}: {}", ran.stdout);
        assert!(!ran.stderr.contains("remembered"), "{command:?}: {}", ran.stderr);
        let document = tool.run(&[command, &["--json"]].concat()).await.json();
        assert_valid(&command.join("-"), &document);
        assert_eq!(
            (&document["network"], &document["contract"]["index"]),
            (&"devnet".into(), &net.registry().index.to_string().into())
        );
    }
    let unknown = tool.run(&["audit", "history", "9"]).await;
    assert!(unknown.code == 1 && unknown.stderr.contains(&format!("agent 9 of the {registry}")), "{}", unknown.stderr);
    // Who looks at another registry is told which ones there are.
    let elsewhere = ["--contract", "4,2"];
    let runs = tool.run(&[&["audit", "runs"][..], &elsewhere].concat()).await;
    assert!(
        runs.stdout == "registry <4,2> of devnet\n" && runs.stderr.contains(&format!("remembered are {registry}")),
        "{runs:?}"
    );
    let diff = tool.run(&[&["audit", "diff"][..], &elsewhere].concat()).await;
    assert!(
        diff.stderr.contains("nothing has changed") && diff.stderr.contains(&format!("remembered are {registry}")),
        "{diff:?}"
    );
    let history = tool.run(&[&["audit", "history", "1"][..], &elsewhere].concat()).await;
    assert!(history.code == 1 && history.stderr.contains(&format!("remembered are {registry}")), "{history:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_over_more_ids_tells_what_has_changed_about_some_of_them() {
    let (_net, _host, tool) = bench(30).await;
    let audit = |args: &'static [&'static str]| {
        let tool = &tool;
        async move { tool.run(&[&["audit"][..], args, &LOOPBACK].concat()).await }
    };
    assert_eq!(audit(&["--ids", "0-24"]).await.code, 0);
    let within = audit(&["--ids", "3-9,12", "--changed"]).await;
    assert!(within.code == 0 && within.stderr.contains("what has changed since run 1 is known"), "{}", within.stderr);
    assert!(within.stderr.contains("no agent has changed"), "{}", within.stderr);
    let beyond = audit(&["--ids", "20-29", "--changed"]).await;
    let sentence = "no finished run before this one is known to have been about all of these agents";
    assert!(beyond.code == 0 && beyond.stderr.contains(sentence), "{}", beyond.stderr);
}
