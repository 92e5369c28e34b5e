//! `cardproof agents` as a process: the list, its file, and what happens to it when things go wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cardproof::agent_list::{targets, AgentList, ListFile};
use serde_json::{json, Value};
use support::card_host::{Answer, CardHost};
use support::command::{assert_valid, Ran, Tool};

/// The example of the format's documentation, with fields that this program does not know.
const EXAMPLE: &str = r#"{
  "x-owner": {"b": 1.50, "a": [1e2]},
  "agents": [
    {
      "name": "echo",
      "url": "http://localhost:8001",
      "description": "Echoes messages back",
      "capabilities": { "streaming": false, "pushNotifications": false },
      "transport": null,
      "z-note": "kept \u00e9", "a-note": 12345678901234567890123
    },
    {
      "name": "server-claude",
      "url": "http://localhost:8003",
      "transport": { "type": "ssh", "config": { "host": "server", "user": "deploy", "port": "22" } }
    }
  ],
  "after": null
}
"#;

struct List {
    tool: Tool,
    path: PathBuf,
}

impl List {
    fn new(text: Option<&str>) -> Self {
        let tool = Tool::plain();
        let path = tool.folder().join("registry.json");
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        Self { tool, path }
    }

    async fn run(&self, args: &[&str]) -> Ran {
        let path = self.path.to_str().unwrap();
        self.tool.run(&[&["agents", "--registry", path], args].concat()).await
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let list = ListFile::at(&self.path).unwrap().read().unwrap();
        list.entries().iter().map(|entry| entry.name().to_owned()).collect()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.tool.folder().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn the_list_is_found_by_option_environment_or_in_the_current_folder() {
    let tool = Tool::plain();
    let at = |name: &str| tool.folder().join(name);
    let spawn = |args: &[&str], environment: Option<&Path>| {
        let mut command = tool.command(args);
        command.current_dir(tool.folder());
        if let Some(path) = environment {
            command.env("SOCIETY_REGISTRY", path);
        }
        command
    };
    for (args, environment, made) in [
        (vec!["agents", "list"], None, "registry.json"),
        (vec!["agents", "--registry", "before.json", "list"], None, "before.json"),
        (vec!["agents", "list", "--registry", "after.json"], None, "after.json"),
        (vec!["agents", "list"], Some(at("environment.json")), "environment.json"),
        (vec!["agents", "list"], Some(PathBuf::new()), "registry.json"),
        (vec!["agents", "list", "--registry", "wins.json"], Some(at("loses.json")), "wins.json"),
    ] {
        let output = spawn(&args, environment.as_deref()).output().await.unwrap();
        assert!(output.status.success(), "{args:?}");
        assert_eq!(std::fs::read_to_string(at(made)).unwrap(), "{\"agents\":[]}\n", "{made} is made empty");
    }
    assert!(!at("loses.json").exists());
}

#[tokio::test]
async fn what_is_not_known_survives_every_change() {
    let list = List::new(Some(EXAMPLE));
    assert_eq!(list.run(&["list"]).await.code, 0);
    assert_eq!(list.text(), EXAMPLE, "reading changes nothing");
    let added = list.run(&["add", "new", "http://localhost:9"]).await;
    assert_eq!((added.code, added.stdout.as_str()), (0, "added       new\n"), "{}", added.stderr);
    let entry = ",\n    {\n      \"name\": \"new\",\n      \"url\": \"http://localhost:9\",\n      \"transport\": null\n    }";
    let expected = EXAMPLE.replace("\"22\" } }\n    }", &format!("\"22\" }} }}\n    }}{entry}"));
    assert_eq!(list.text(), expected);
    assert_eq!(list.run(&["remove", "new"]).await.code, 0);
    assert_eq!(list.text(), EXAMPLE, "what came goes without a trace");
    let renamed = list.write("more.json", r#"[{"name":"echo","url":"http://other","q":1.50}]"#);
    assert_eq!(list.run(&["import", &renamed, "--on-conflict", "rename"]).await.code, 0);
    assert_eq!(list.names(), ["echo", "server-claude", "echo-2"]);
    assert!(list.text().contains("\"q\": 1.50"), "{}", list.text());
    assert!(list.text().starts_with(EXAMPLE.split("\n    },\n").next().unwrap()), "{}", list.text());
}

#[tokio::test]
async fn a_list_on_one_line_stays_on_one_line() {
    let list = List::new(Some(r#"{"agents":[{"name":"a","url":"u","k":{"b":1,"a":2}}],"v":1}"#));
    list.run(&["add", "b", "http://v"]).await;
    assert_eq!(
        list.text(),
        r#"{"agents":[{"name":"a","url":"u","k":{"b":1,"a":2}},{"name":"b","url":"http://v","transport":null}],"v":1}"#
    );
}

#[tokio::test]
async fn a_taken_name_is_refused_unless_it_is_decided() {
    let list = List::new(Some(EXAMPLE));
    let refused = list.run(&["add", "echo", "http://other"]).await;
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(
        refused.stderr.contains("already has an agent named echo") && refused.stderr.contains("--on-conflict"),
        "{}",
        refused.stderr
    );
    assert_eq!(list.text(), EXAMPLE);
    let skipped = list.run(&["add", "echo", "http://other", "--on-conflict", "skip", "--json"]).await.json();
    assert_valid("agents-change", &skipped);
    assert_eq!((skipped["skipped"].clone(), list.text()), (json!(["echo"]), EXAMPLE.to_owned()));
    let overwritten = list.run(&["add", "echo", "http://other", "--on-conflict", "overwrite"]).await;
    assert_eq!(overwritten.code, 0, "{}", overwritten.stderr);
    assert_eq!(list.names(), ["echo", "server-claude"], "in the place of the old one");
    assert_eq!(list.run(&["add", "x", "http://y", "--on-conflict", "ask"]).await.code, 2);
}

#[tokio::test]
async fn a_transport_is_checked_before_it_is_added() {
    let list = List::new(None);
    let good =
        ["add", "s", "http://s", "--transport", "ssh", "--transport-config", "host=server", "--transport-config", "port=22"];
    assert_eq!(list.run(&good).await.code, 0);
    let shown = list.run(&["show", "s", "--json"]).await.json();
    assert_valid("agents-show", &shown);
    assert_eq!(shown["agent"]["transport"], json!({ "type": "ssh", "config": { "host": "server", "port": "22" } }));
    for wrong in [
        &["--transport", "carrier"][..],
        &["--transport", "ssh"],
        &["--transport", "ssh", "--transport-config", "host=a", "--transport-config", "port=x"],
        &["--transport", "docker", "--transport-config", "novalue"],
        &["--transport-config", "host=a"],
    ] {
        assert_eq!(list.run(&[&["add", "t", "http://t"], wrong].concat()).await.code, 2, "{wrong:?}");
    }
    assert_eq!(list.names(), ["s"]);
}

#[tokio::test]
async fn a_corrupt_file_is_never_overwritten() {
    for broken in ["", "{\"agents\":[", "[]", "{\"agents\": [{\"name\": \"a\"}]}"] {
        let list = List::new(Some(broken));
        for args in [&["add", "a", "http://b"][..], &["remove", "a"], &["list"], &["export"]] {
            let ran = list.run(args).await;
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{broken} {args:?}");
            assert!(ran.stderr.contains("is not an agent list, and nothing was changed"), "{}", ran.stderr);
        }
        assert_eq!(list.text(), broken);
    }
}

#[tokio::test]
async fn what_is_not_there_is_a_negative_answer_and_removes_nothing() {
    let list = List::new(Some(EXAMPLE));
    let ran = list.run(&["remove", "echo", "nobody", "--json"]).await;
    assert_eq!((ran.code, ran.json()["code"].clone()), (1, json!("agent_not_found")));
    assert_eq!(list.text(), EXAMPLE);
    assert_eq!(list.run(&["show", "nobody"]).await.code, 1);
}

#[tokio::test]
async fn an_exported_list_imports_as_it_was() {
    let list = List::new(Some(EXAMPLE));
    let copy = list.tool.folder().join("copy.json");
    let document = list.run(&["export", "--output", copy.to_str().unwrap(), "--json"]).await.json();
    assert_valid("agents-export", &document);
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), EXAMPLE);
    assert_eq!(list.run(&["export"]).await.stdout, EXAMPLE);
    let document = list.run(&["export", "--json"]).await.json();
    assert_valid("agents-export", &document);
    assert_eq!((document["list"].as_str(), document["output"].clone()), (Some(EXAMPLE), Value::Null));
    let other = List::new(None);
    assert_eq!(other.run(&["import", copy.to_str().unwrap()]).await.code, 0);
    let values = |text: &str| serde_json::from_str::<Value>(text).unwrap()["agents"].clone();
    assert_eq!(values(&other.text()), values(EXAMPLE));
    let again = other.run(&["import", copy.to_str().unwrap(), "--json"]).await.json();
    assert_eq!(again["unchanged"], json!(["echo", "server-claude"]), "the same again is no conflict");
}

#[tokio::test]
async fn the_list_is_a_document_for_programs() {
    let list = List::new(Some(EXAMPLE));
    let document = list.run(&["list", "--json"]).await.json();
    assert_valid("agents", &document);
    assert_eq!(document["agents"][1]["name"], "server-claude");
    let ran = list.run(&["list"]).await;
    assert_eq!(ran.stdout, "echo           http    http://localhost:8001\nserver-claude  ssh     http://localhost:8003\n");
}

#[tokio::test]
async fn questions_need_a_terminal() {
    let list = List::new(None);
    let ran = list.run(&["onboard"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("not a terminal"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_running_agent_is_added_by_what_its_card_says() {
    let host = CardHost::http(|request| match request.path.as_str() {
        "/.well-known/agent-card.json" => Answer::ok(std::fs::read("tests/cards/combined.json").unwrap()),
        _ => Answer::status(404),
    })
    .await;
    let list = List::new(None);
    let ran = list.run(&["discover", &host.url("/some/agent"), "--json"]).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    assert_valid("agents-discover", &document);
    assert_eq!(document["caip19"], "ccd:9dd9ca4d19e9393877d2c44b70f89acb/cis-2:Mf22soLh1NuZYFgBK8iSs");
    assert_eq!(document["card_url"], host.url("/.well-known/agent-card.json"));
    let found = targets(&ListFile::at(&list.path).unwrap().read().unwrap()).unwrap();
    assert_eq!(found.agents[0].name, "Market Data Agent");
    assert_eq!(found.agents[0].token.badge.token_id.0, 484);
    let named = list.run(&["discover", &host.url(""), "--name", "mine"]).await;
    assert_eq!(named.code, 0, "{}", named.stderr);
    assert_eq!(list.names(), ["Market Data Agent", "mine"]);
    let entry = list.run(&["show", "mine", "--json"]).await.json()["agent"].clone();
    assert_eq!(entry["url"], "https://agents.example.com/market-data/a2a");
    assert_eq!(entry["x-cardproof"]["network"], "mainnet");
}

#[tokio::test]
async fn an_overwritten_agent_keeps_the_fields_of_its_user() {
    let list = List::new(Some(EXAMPLE));
    assert_eq!(list.run(&["add", "echo", "http://other", "--agent", "484", "--on-conflict", "overwrite"]).await.code, 0);
    assert_eq!(list.run(&["add", "echo", "http://third", "--on-conflict", "overwrite"]).await.code, 0);
    let entry = list.run(&["show", "echo", "--json"]).await.json()["agent"].clone();
    assert_eq!((entry["url"].as_str(), entry["z-note"].as_str()), (Some("http://third"), Some("kept é")));
    assert!(entry["x-cardproof"].is_null() && entry["description"].is_null(), "{entry}");
    assert!(list.text().contains("12345678901234567890123") && list.text().contains("kept \\u00e9"), "{}", list.text());
}

/// Whoever takes over a name would otherwise be verified as the agent that had it before.
#[tokio::test]
async fn an_agent_in_the_place_of_another_does_not_inherit_its_identity_on_chain() {
    let anonymous = CardHost::http(|request| match request.path.as_str() {
        "/.well-known/agent-card.json" => Answer::ok(
            "{\"name\":\"Market Data Agent\",\"supportedInterfaces\":[{\"url\":\"https://evil.example\"}],\"skills\":[]}",
        ),
        _ => Answer::status(404),
    })
    .await;
    let identified = CardHost::http(|_| Answer::ok(std::fs::read("tests/cards/combined.json").unwrap())).await;
    let import = List::new(None);
    let file = import.write("other.json", r#"[{"name":"Market Data Agent","url":"http://evil.example"}]"#);
    for args in [&["add", "Market Data Agent", "http://evil.example"][..], &["import", &file], &["discover", &anonymous.url("")]]
    {
        let list = List::new(None);
        assert_eq!(list.run(&["discover", &identified.url("/card.json")]).await.code, 0);
        assert!(list.text().contains("card_url") && list.text().contains("Mf22soLh1NuZYFgBK8iSs"), "{}", list.text());
        let ran = list.run(&[args, &["--on-conflict", "overwrite"]].concat()).await;
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        let found = targets(&ListFile::at(&list.path).unwrap().read().unwrap()).unwrap();
        assert_eq!((found.agents, found.without), (vec![], vec!["Market Data Agent".to_owned()]), "{args:?}");
        assert!(!list.text().contains("card_url") && list.text().contains("evil.example"), "{}", list.text());
    }
}

#[tokio::test]
async fn a_list_with_a_byte_order_mark_is_read_and_written_without_it() {
    let list = List::new(Some(&format!("\u{feff}{EXAMPLE}")));
    assert_eq!(list.run(&["export"]).await.stdout, EXAMPLE);
    assert_eq!(list.run(&["add", " echo", "http://b", "--on-conflict", "skip"]).await.stdout, "skipped     echo\n");
    assert_eq!(list.run(&["add", " b\u{a0}", "http://b"]).await.code, 0);
    assert_eq!(list.names(), ["echo", "server-claude", "b"], "blanks around a name are no part of it");
    assert!(list.text().starts_with('{'), "{}", list.text());
}

#[tokio::test]
async fn a_name_that_deceives_or_a_url_that_leads_nowhere_is_refused() {
    let list = List::new(Some(EXAMPLE));
    for args in [
        &["add", "a\u{202e}b", "http://a"][..],
        &["add", "a\u{1b}[2J", "http://a"],
        &["add", "a", "y"],
        &["add", "a", "file:///a"],
    ] {
        let ran = list.run(args).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
    }
    assert_eq!(list.text(), EXAMPLE);
    assert_eq!(list.run(&["add", "a", "y", "--transport", "stdio"]).await.code, 0);
}

#[tokio::test]
async fn a_name_given_twice_is_removed_once() {
    let list = List::new(Some(EXAMPLE));
    let ran = list.run(&["remove", "echo", "echo"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "removed     echo\n"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_file_without_end_is_refused_and_not_read_for_ever() {
    let list = List::new(Some(EXAMPLE));
    for args in [&["agents", "--registry", "/dev/zero", "list"][..], &["agents", "import", "/dev/zero"]] {
        let ran = list.tool.run(args).await;
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.stderr.contains("64 MiB"), "{args:?}: {}", ran.stderr);
    }
}

#[tokio::test]
async fn an_answer_that_is_no_card_adds_no_agent() {
    let host = CardHost::http(|request| match request.path.as_str() {
        "/nameless" => Answer::ok("{\"supportedInterfaces\": [{\"url\": \"https://a.example.org\"}]}"),
        _ => Answer::ok("{\"error\": \"not found\"}"),
    })
    .await;
    let list = List::new(Some(EXAMPLE));
    let ran = list.run(&["discover", &host.url(""), "--json"]).await;
    assert_eq!((ran.code, ran.json()["code"].clone()), (1, json!("no_card")), "{}", ran.stderr);
    let nameless = list.run(&["discover", &host.url("/nameless")]).await;
    assert_eq!(nameless.code, 2);
    assert!(nameless.stderr.contains("--name"), "{}", nameless.stderr);
    assert_eq!(list.text(), EXAMPLE);
    assert_eq!(list.run(&["discover", &host.url("/nameless"), "--name", "mine"]).await.code, 0);
}

/// 10,000 agents, of about 300 bytes each.
fn many(count: usize) -> String {
    let agents: Vec<Value> = (0..count)
        .map(|n| {
            json!({
                "name": format!("agent-{n}"), "url": format!("http://localhost:{n}"), "description": "x".repeat(100),
                "skills": [{ "id": "echo", "name": "Echo", "description": "Echoes input" }], "unknown": { "b": 1.5, "a": [1, 2] },
            })
        })
        .collect();
    format!("{:#}", json!({ "agents": agents }))
}

#[test]
fn ten_thousand_agents_are_imported_within_a_second() {
    let text = many(10_000);
    let folder = tempfile::tempdir().unwrap();
    let import = |round: usize| {
        let file = ListFile::at(&folder.path().join(format!("{round}.json"))).unwrap();
        let start = Instant::now();
        let entries = AgentList::parse_import(&text).unwrap();
        let done = file.update(|list| list.import(entries.clone(), |_| None)).unwrap();
        assert_eq!(done.added.len(), 10_000);
        start.elapsed()
    };
    // The best of a few, because other tests run at the same time.
    let best = (0..5).map(import).min().unwrap();
    assert!(best < Duration::from_secs(1), "{best:?}");
}

/// Killed anywhere in the middle, the file is the old one or the new one, and the next writer is not held up.
#[tokio::test]
async fn a_killed_import_leaves_the_old_list_or_the_new_one() {
    let list = List::new(Some(EXAMPLE));
    let import = list.write("many.json", &many(2_000));
    let args = ["agents", "--registry", list.path.to_str().unwrap(), "import", &import];
    let start = Instant::now();
    assert!(list.tool.command(&args).output().await.unwrap().status.success());
    let whole = start.elapsed();
    let new = list.text();
    assert_eq!(list.names().len(), 2_002);
    let rounds = 24;
    let mut survived = [0, 0];
    for round in 0..rounds {
        std::fs::write(&list.path, EXAMPLE).unwrap();
        let mut child = list.tool.command(&args).spawn().unwrap();
        tokio::time::sleep(whole * round / (rounds - 4)).await;
        // SIGKILL: nothing can be tidied up. A child that is done already is fine too.
        let _ = child.start_kill();
        child.wait().await.unwrap();
        let text = list.text();
        assert!(text == EXAMPLE || text == new, "neither old nor new after {round}: {} bytes", text.len());
        survived[usize::from(text == new)] += 1;
    }
    assert!(survived[0] > 0, "no kill came in time, so nothing was tested");
    let ran = list.run(&["add", "last", "http://localhost:1"]).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let litter: Vec<_> = std::fs::read_dir(list.tool.folder())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".new-"))
        .collect();
    assert!(litter.is_empty(), "{litter:?}");
}

#[tokio::test]
async fn writers_at_the_same_time_all_get_their_agent_in() {
    let list = List::new(None);
    let names: Vec<String> = (0..8).map(|n| format!("agent-{n}")).collect();
    let runs = names.iter().map(|name| {
        let args = ["add".to_owned(), name.clone(), "http://localhost:1".to_owned()];
        let list = &list;
        async move { list.run(&args.iter().map(String::as_str).collect::<Vec<_>>()).await.code }
    });
    assert_eq!(futures_util::future::join_all(runs).await, [0; 8]);
    let mut found = list.names();
    found.sort();
    assert_eq!(found, names);
}

#[tokio::test]
async fn a_list_that_is_not_there_and_cannot_be_made_is_called_so() {
    let list = List::new(None);
    let nowhere = list.tool.folder().join("none/registry.json");
    for args in [&["list"][..], &["show", "a"], &["export"], &["add", "a", "http://localhost:1"]] {
        let ran = list.tool.run(&[&["agents", "--registry", nowhere.to_str().unwrap()], args].concat()).await;
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("there is no agent list at") && !ran.stderr.contains("as it was"),
            "{args:?}: {}",
            ran.stderr
        );
    }
    // A folder is read, and is none.
    let folder = list.tool.folder().to_str().unwrap().to_owned();
    let ran = list.tool.run(&["agents", "--registry", &folder, "list"]).await;
    assert!(ran.code == 2 && ran.stderr.contains("cannot be read"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_name_that_is_not_shown_as_it_is_comes_in_by_no_way() {
    let list = List::new(None);
    let file = list.tool.folder().join("new.json");
    for name in ["a\u{1b}[31m", "a\nb", "a\u{202e}b", "a\u{200f}"] {
        let ran = list.run(&["add", name, "http://localhost:1"]).await;
        assert!(ran.code == 2 && ran.stderr.contains("hides or turns round"), "{}", ran.stderr);
        let good = json!({"name": "good", "url": "http://localhost:2"});
        for import in
            [json!([good, {"name": name, "url": "http://localhost:1"}]), json!({"agents": [{"name": name, "url": "u"}]})]
        {
            std::fs::write(&file, import.to_string()).unwrap();
            let ran = list.run(&["import", file.to_str().unwrap(), "--on-conflict", "skip"]).await;
            assert!(ran.code == 2 && ran.stderr.contains("hides or turns round"), "{}", ran.stderr);
            assert!(ran.stderr.contains("agent number"), "{}", ran.stderr);
        }
    }
    assert!(!list.path.exists() || list.names().is_empty(), "nothing of it came in");
}
