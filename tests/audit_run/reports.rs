//! Reports in files: what they replace, and what they must not.
#![cfg(unix)]

use std::path::Path;
use std::time::Duration;

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::identity::TokenId;
use cardproof::registry::parameter::{Parameter, Revoke};

use crate::support::card_host::{Act, Answer, CardHost};
use crate::support::command::{Ran, Tool};

const LOOPBACK: [&str; 2] = ["--allow-http", "--allow-private"];

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// No node is there, so whoever asks one fails otherwise.
async fn refused(tool: &Tool, args: &[&str]) -> Ran {
    let ran = tool.run(&[&["audit", "--ids", "1", "--node", "http://127.0.0.1:1"], args].concat()).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
    ran
}

#[tokio::test]
async fn a_report_never_takes_the_place_of_what_is_no_report() {
    let tool = Tool::plain();
    let at = |name: &str| tool.folder().join(name).display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/null", at("null")).unwrap();
    std::os::unix::fs::symlink("audit.db", at("alias")).unwrap();
    let store = at("audit.db");
    for (format, name, why) in [
        ("html", "pipe", "is a device, a pipe or a socket"),
        ("prometheus", "pipe", "is a device, a pipe or a socket"),
        ("json", "null", "is a device, a pipe or a socket"),
        ("csv", ".", "is a folder"),
        ("csv", "no/such/a.csv", "does not exist"),
        ("prometheus", "no/such/a.prom", "does not exist"),
        ("csv", "audit.db", "would replace the file that the results are remembered in"),
        ("csv", "alias", "would replace the file that the results are remembered in"),
        ("csv", "./audit.db-wal", "would replace the file that the results are remembered in"),
        ("csv", "audit.db-shm", "would replace the file that the results are remembered in"),
    ] {
        let ran = refused(&tool, &["--store", &store, "--report", &format!("{format}={}", at(name))]).await;
        assert!(ran.stderr.contains(why) && !ran.stderr.contains("at path"), "{name}: {}", ran.stderr);
    }
    let (one, same) = (format!("csv={}", at("a.csv")), format!("json={}", at("./a.csv")));
    let ran = refused(&tool, &["--no-store", "--report", &one, "--report", &same]).await;
    assert!(ran.stderr.contains("two reports would go into the one file"), "{}", ran.stderr);
    assert_eq!(names(tool.folder()), ["alias", "null", "pipe"], "no database was made, either");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_audit_leaves_no_half_report() {
    let net = Devnet::start().await.unwrap();
    let host = CardHost::http(|request| match request.path.as_str() {
        "/0" => Answer::ok(b"a card"),
        _ => Answer(vec![Act::Pause(Duration::from_secs(60))]),
    })
    .await;
    let base = host.url("/");
    net.preload_agents(1, 2, move |number| (format!("{base}{number}"), Some(Sha256Digest::of(b"a card").0))).await.unwrap();
    let (tool, folder) = (Tool::on(&net), tempfile::tempdir().unwrap());
    let reports = ["csv", "html", "prometheus"].map(|format| format!("{format}={}", folder.path().join(format).display()));
    let reports: Vec<&str> = reports.iter().flat_map(|report| ["--report", report]).collect();
    let mut child = tool.command(&[&["audit", "--all", "--jsonl"], &LOOPBACK[..], &reports].concat()).spawn().unwrap();
    while host.requests().len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    child.start_kill().unwrap();
    child.wait().await.unwrap();
    assert_eq!(names(folder.path()), Vec::<String>::new());
    let ran = tool.run(&[&["audit", "--ids", "0"], &LOOPBACK[..], &reports].concat()).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(names(folder.path()), ["csv", "html", "prometheus"]);
}

#[tokio::test]
async fn a_report_does_not_replace_what_the_command_reads() {
    let tool = Tool::plain();
    let at = |name: &str| tool.folder().join(name).display().to_string();
    for name in ["ids.txt", "secret"] {
        std::fs::write(at(name), "1").unwrap();
    }
    std::fs::write(at("c.toml"), "network = \"devnet\"").unwrap();
    let report = |name: &str| format!("csv={}", at(name));
    let run = async |args: &[&str], name: &str| {
        let ran = tool.run(&[&["audit", "--network", "devnet", "--report", &report(name)][..], args].concat()).await;
        assert!(ran.code == 2 && ran.stderr.contains("would replace a file that this command reads"), "{args:?}: {}", ran.stderr);
    };
    run(&["--from", &at("ids.txt"), "--no-store"], "ids.txt").await;
    run(&["--ids", "1", "--no-store", "--config", &at("c.toml")], "c.toml").await;
    run(&["--ids", "1", "--store", &at("a.db"), "--webhook-secret-file", &at("secret")], "secret").await;
    assert_eq!(std::fs::read_to_string(at("ids.txt")).unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_require_active_makes_a_failure_is_one_in_every_report() {
    let net = Devnet::start().await.unwrap();
    let host = CardHost::http(|_| Answer::ok(b"card")).await;
    for path in ["/0", "/1"] {
        net.register_agent(0, Some(&host.url(path)), Some(Sha256Digest::of(b"card").0)).await.unwrap();
    }
    let revoke = Revoke { token_id: TokenId(1), reason: None }.to_bytes().unwrap();
    net.update(0, net.registry(), "revoke", &revoke).await.unwrap();
    let tool = Tool::on(&net);
    let audit = |more: &[&str]| {
        let args = [&["audit", "--all", "--require-active"][..], &LOOPBACK, more].concat();
        let command = tool.command(&args);
        async move {
            let mut command = command;
            let output = command.output().await.unwrap();
            (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
        }
    };
    for (more, mark) in [
        (&["--format", "junit"][..], "<failure "),
        (&["--format", "sarif"], "\"ruleId\":\"agent_revoked\""),
        (&["--format", "csv"], ",mismatch\r\n"),
        (&["--format", "json"], "\"counts_as\":\"mismatch\""),
        (&["--jsonl"], "\"counts_as\":\"mismatch\""),
        (&["--format", "markdown"], "### Revoked, which counts as a mismatch"),
        (&["--format", "html"], ">counts as a mismatch<"),
        (&["--format", "prometheus"], "\ncardproof_inactive_agents{"),
        (&[], "revoked, which counts as a mismatch"),
    ] {
        let (code, stdout, stderr) = audit(more).await;
        assert!(code == 1 && stdout.contains(mark), "{more:?}: {code} {stdout}");
        assert!(stderr.contains("agent 1 is revoked, which --require-active counts as a mismatch"), "{stderr}");
    }
    assert_eq!(tool.run(&[&["audit", "--all"][..], &LOOPBACK].concat()).await.code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_to_a_dash_goes_to_stdout_and_shares_it_with_nothing() {
    let tool = Tool::plain();
    for (more, other) in [
        (&["--json"][..], "--json"),
        (&["--jsonl"], "--jsonl"),
        (&["--format", "csv"], "--format"),
        (&["--notify-stdout"], "--notify-stdout"),
        (&["--report", "csv=-"], "another --report"),
    ] {
        let args = [&["audit", "--ids", "1", "--node", "http://127.0.0.1:1", "--report", "junit=-"][..], more].concat();
        let ran = tool.run(&args).await;
        let sentence = format!("--report junit=- prints on stdout, and {other} does so, too");
        assert!(ran.code == 2 && (ran.stderr + &ran.stdout).contains(&sentence), "{more:?}");
    }
    let net = Devnet::start().await.unwrap();
    let host = CardHost::http(|_| Answer::ok(b"card")).await;
    net.register_agent(0, Some(&host.url("/0")), Some(Sha256Digest::of(b"card").0)).await.unwrap();
    let tool = Tool::on(&net);
    let mut audit = tool.command(&["audit", "--all", "--report", "json=-", "--report", "csv=a.csv", LOOPBACK[0], LOOPBACK[1]]);
    let output = audit.current_dir(tool.folder()).output().await.unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &document["summary"]["match"]), (Some(0), &1.into()));
    assert!(tool.folder().join("a.csv").exists() && !tool.folder().join("-").exists());
}
