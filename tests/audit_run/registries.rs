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
    let first = tool.run(&["audit", "diff"]).await;
    assert!(first.stderr.contains("is the first one: what it found, later runs are compared with"), "{}", first.stderr);
    assert_eq!(tool.run(&[&["audit", "--all"][..], &LOOPBACK].concat()).await.code, 0);
    let second = tool.run(&["audit", "diff"]).await;
    assert!(second.stderr.contains("nothing has changed"), "{}", second.stderr);
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
        diff.stderr.contains("there is nothing to compare yet") && diff.stderr.contains(&format!("remembered are {registry}")),
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

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_remembered_is_reported_again_in_any_format() {
    let (net, _host, tool) = bench(3).await;
    net.register_agent(0, None, Some([1; 32])).await.unwrap();
    let unknown = tool.run(&["audit", "report"]).await;
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    let first = tool.run(&[&["audit", "--all", "--json"][..], &LOOPBACK].concat()).await;
    let again = tool.run(&["audit", "report", "--json"]).await;
    assert_eq!((again.code, first.code), (4, 4), "{}", again.stderr);
    let reasons = |document: serde_json::Value| {
        let results = document["results"].as_array().unwrap().clone();
        let mut reasons: Vec<_> =
            results.iter().map(|result| (result["token_id"].to_string(), result["reason"].to_string())).collect();
        reasons.sort_unstable();
        (document["summary"].clone(), document["run"]["selection"].clone(), document["run"]["block"].clone(), reasons)
    };
    assert_eq!(reasons(again.json()), reasons(first.json()));
    for format in ["csv", "junit", "markdown", "prometheus", "sarif", "jsonl", "html"] {
        let ran = tool.run(&["audit", "report", "1", "--format", format]).await;
        assert!(ran.code == 4 && !ran.stdout.is_empty(), "{format}: {}", ran.stderr);
    }
    let table = tool.run(&["audit", "report", "--fail-on", "mismatch"]).await;
    assert!(table.code == 0 && table.stdout.contains("4 agents: 3 match, 0 mismatch, 1 absent"), "{}", table.stdout);
    let none = tool.run(&["audit", "report", "9"]).await;
    assert!(
        none.code == 1 && none.stderr.contains(&format!("no run 9 over the registry {} of devnet", net.registry())),
        "{none:?}"
    );
    let both = tool.run(&["audit", "--all", "--notify-stdout", "--format", "csv"]).await;
    assert!(both.code == 2 && both.stderr.contains("--format and --notify-stdout both print on stdout"), "{}", both.stderr);
}
