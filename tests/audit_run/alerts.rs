//! Alerts that do not arrive at once, as the command.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::Arc;
use std::time::Duration;

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use tokio::process::Command;

use crate::support::card_host::{Act, Answer, CardHost};
use crate::support::command::{assert_valid, Tool};

const CARD: &[u8] = b"a card";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A chain with one agent and its host, which serves another card once it is told to.
async fn bench() -> (Devnet, CardHost, Arc<AtomicBool>, Tool) {
    let net = Devnet::start().await.unwrap();
    let broken = Arc::new(AtomicBool::new(false));
    let switch = broken.clone();
    let host =
        CardHost::http(move |_| if switch.load(Ordering::SeqCst) { Answer::ok(b"broken") } else { Answer::ok(CARD) }).await;
    net.register_agent(0, Some(&host.url("/0")), Some(Sha256Digest::of(CARD).0)).await.unwrap();
    let tool = Tool::on(&net);
    (net, host, broken, tool)
}

async fn said(mut command: Command) -> (i32, String, String) {
    let output = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

const AUDIT: [&str; 4] = ["audit", "--all", "--allow-http", "--allow-private"];

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_wants_no_more_is_named_in_every_run_until_it_is_tried_again() {
    let (_net, _host, broken, tool) = bench().await;
    let status = Arc::new(AtomicU16::new(410));
    let answers = status.clone();
    let receiver =
        CardHost::http(move |_| Answer::with(answers.load(Ordering::SeqCst), &[("Connection", "close")], "").then(Act::Close))
            .await;
    let run = |args: &[&str]| {
        let mut command = tool.command(args);
        command.env("CARDPROOF_WEBHOOK_URL", receiver.url("/hook")).env("CARDPROOF_WEBHOOK_SECRET", SECRET);
        said(command)
    };
    run(&AUDIT).await;
    broken.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let (code, _, stderr) = run(&AUDIT).await;
        let sentence = "the webhook is disabled: its receiver asked to be left alone (127.0.0.1 answered 410: it wants no more \
                        messages); 1 change waits; cardproof audit retry tells it again, and another URL is told at once";
        assert!(code == 1 && stderr.contains(sentence) && !stderr.contains("next run"), "{stderr}");
    }
    assert_eq!(receiver.requests().len(), 1, "it is left alone");
    let (_, _, stderr) = said(tool.command(&AUDIT)).await;
    assert!(
        stderr.contains("1 change waits for a sink that is not configured now: webhook; cardproof audit retry --forget webhook"),
        "{stderr}"
    );
    let retry = ["audit", "retry", "--allow-http", "--allow-private"];
    assert_eq!(run(&retry).await.0, 3, "it still wants no more");
    status.store(200, Ordering::SeqCst);
    let (code, stdout, stderr) = run(&[&retry[..], &["--json"]].concat()).await;
    let document = serde_json::from_str(&stdout).unwrap();
    assert_valid("audit-retry", &document);
    assert_eq!((code, &document["told"], &document["waiting"]), (0, &1.into(), &0.into()), "{stderr}");
    let (_, _, stderr) = run(&AUDIT).await;
    assert!(!stderr.contains("webhook"), "{stderr}");
    assert_eq!(said(tool.command(&["audit", "retry"])).await.0, 2, "there is nobody to tell");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrected_url_is_told_without_a_retry() {
    let (_net, _host, broken, tool) = bench().await;
    let receiver = CardHost::http(|request| {
        let status = if request.path == "/gone" { 410 } else { 200 };
        Answer::with(status, &[("Connection", "close")], "").then(Act::Close)
    })
    .await;
    let run = |path: &str| {
        let mut command = tool.command(&AUDIT);
        command.env("CARDPROOF_WEBHOOK_URL", receiver.url(path)).env("CARDPROOF_WEBHOOK_SECRET", SECRET);
        said(command)
    };
    run("/gone").await;
    broken.store(true, Ordering::SeqCst);
    assert!(run("/gone").await.2.contains("the webhook is disabled"));
    let (code, _, stderr) = run("/right").await;
    assert!(code == 1 && !stderr.contains("webhook"), "{stderr}");
    let paths: Vec<String> = receiver.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/gone", "/right"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_had_in_hand_is_said_to_wait() {
    let (_net, _host, broken, tool) = bench().await;
    let receiver = CardHost::http(|_| Answer(vec![Act::Pause(Duration::from_secs(60))])).await;
    let run = || {
        let mut command = tool.command(&AUDIT);
        command.env("CARDPROOF_WEBHOOK_URL", receiver.url("/hook")).env("CARDPROOF_WEBHOOK_SECRET", SECRET);
        command
    };
    said(run()).await;
    broken.store(true, Ordering::SeqCst);
    let mut killed = run().spawn().unwrap();
    while receiver.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    killed.start_kill().unwrap();
    killed.wait().await.unwrap();
    let (code, _, stderr) = said(run()).await;
    assert!(code == 1 && stderr.contains("1 change waits to be told to the webhook; "), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_gets_the_environment_without_the_settings() {
    let (_net, _host, broken, tool) = bench().await;
    let (script, told) = (tool.folder().join("told.sh"), tool.folder().join("told"));
    std::fs::write(&script, format!("#!/bin/sh\nenv > {}\n", told.display())).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o700)).unwrap();
    let run = || {
        let mut command = tool.command(&[&AUDIT[..], &["--notify-command", script.to_str().unwrap()]].concat());
        command.env("CARDPROOF_STORE", tool.folder().join("audit.db")).env("CARDPROOF_WEBHOOK_SECRET", SECRET);
        command.env("PAGER_TOKEN", "its own");
        said(command)
    };
    run().await;
    broken.store(true, Ordering::SeqCst);
    let (code, _, stderr) = run().await;
    assert_eq!(code, 1, "{stderr}");
    let environment = std::fs::read_to_string(&told).unwrap();
    assert!(environment.contains("PAGER_TOKEN=its own") && !environment.contains("CARDPROOF_"), "{environment}");
}

#[tokio::test]
async fn what_cannot_be_told_is_refused_and_names_its_setting() {
    let tool = Tool::plain();
    let secret = tool.folder().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o644)).unwrap();
    let file = secret.to_str().unwrap();
    let group = tool.folder().join("group");
    std::fs::write(&group, SECRET).unwrap();
    std::fs::set_permissions(&group, PermissionsExt::from_mode(0o640)).unwrap();
    for (args, environment, why) in [
        (&["--no-store"][..], &[("CARDPROOF_WEBHOOK_URL", "http://127.0.0.1:1/")][..], "--no-store tells no changes"),
        (&[], &[("CARDPROOF_WEBHOOK_URL", "ftp://x/")], "the webhook's URL in CARDPROOF_WEBHOOK_URL is no http"),
        (&[], &[("CARDPROOF_WEBHOOK_URL", "http://127.0.0.1:1/")], "CARDPROOF_WEBHOOK_SECRET"),
        (
            &[],
            &[("CARDPROOF_WEBHOOK_URL", "http://127.0.0.1:1/"), ("CARDPROOF_WEBHOOK_SECRET", "x")],
            "the secret in CARDPROOF_WEBHOOK_SECRET is none",
        ),
        (
            &["--webhook-secret-file", file],
            &[("CARDPROOF_WEBHOOK_URL", "http://127.0.0.1:1/")],
            "other users can read or change the webhook's secret",
        ),
        (&["--webhook-secret-file", group.to_str().unwrap()], &[("CARDPROOF_WEBHOOK_URL", "http://127.0.0.1:1/")], "(mode 640)"),
    ] {
        let args = [&["audit", "--ids", "1", "--node", "http://127.0.0.1:1"], args].concat();
        let mut command = tool.command(&args);
        command.envs(environment.iter().copied());
        let (code, _, stderr) = said(command).await;
        assert!(code == 2 && stderr.contains(why), "{why}: {code} {stderr}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_sink_that_is_gone_can_be_given_up() {
    let (_net, _host, broken, tool) = bench().await;
    said(tool.command(&AUDIT)).await;
    broken.store(true, Ordering::SeqCst);
    let failing = [&AUDIT[..], &["--notify-command", "/bin/false", "--notify-patience", "1s"]].concat();
    let (_, _, stderr) = said(tool.command(&failing)).await;
    assert!(stderr.contains("s or later tries again, and cardproof audit retry at once"), "{stderr}");
    let warning = "waits for a sink that is not configured now: command; cardproof audit retry --forget command gives up";
    assert!(said(tool.command(&AUDIT)).await.2.contains(warning));
    let (code, stdout, _) = said(tool.command(&["audit", "retry", "--forget", "webhook", "--json"])).await;
    assert!(code == 1 && stdout.contains("what waits, waits for: command"), "{stdout}");
    let (code, stdout, stderr) = said(tool.command(&["audit", "retry", "--forget", "command", "--json"])).await;
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_valid("audit-retry", &document);
    assert_eq!((code, &document["forgotten"], &document["waiting"]), (0, &1.into(), &0.into()), "{stderr}");
    assert!(!said(tool.command(&AUDIT)).await.2.contains("wait"), "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_to_tell_is_no_line_of_a_shell() {
    let (_net, _host, _, tool) = bench().await;
    let (code, _, stderr) = said(tool.command(&[&AUDIT[..], &["--notify-command", "/bin/cat -n"]].concat())).await;
    assert!(code == 2 && stderr.contains("there is no program /bin/cat -n") && stderr.contains("notify_command = ["), "{stderr}");
    let config = tool.folder().join("alone.toml");
    std::fs::write(&config, "[audit]\nnotify_command = \"/bin/true\"\n").unwrap();
    let (code, _, stderr) = said(tool.command(&[&AUDIT[..], &["--config", config.to_str().unwrap()]].concat())).await;
    assert_eq!(code, 0, "a program alone needs no list: {stderr}");
}
