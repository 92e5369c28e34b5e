//! One command after another, without waiting for the first.

use std::time::Duration;

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;

use crate::bench::Bench;

async fn slow() -> Bench {
    let delay = Duration::from_millis(700);
    Bench::built(Devnet::builder().commit_delay(delay).finality_delay(delay)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_points_read_what_the_command_before_has_done() {
    let bench = slow().await;
    let agent = bench.agent("https://a.example/k1.json").await;
    let (first, second) = (bench.serve("/k2.json", "two"), bench.write("b.json", "two"));
    let hash = Sha256Digest::of(b"one").to_string();
    let set = ["tx", "set-agent-uri", &agent, "--yes", "--json"];
    bench.run_as(1, &[&set[..], &["--hash", &hash, "--uri", &first, "--no-wait", "--no-url-check"]].concat()).await.code(0);
    let run = bench.run_as(1, &[&set[..], &["--card", &second, "--keep-uri"]].concat()).await.code(0);
    let run = run.says("waiting for the earlier transactions").says(&format!("keeps      URI {first}"));
    assert_eq!(run.json()["events"][0]["agent_uri"], first);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_command_before_makes_impossible_is_not_sent() {
    let bench = slow().await;
    let (uri, card) = (bench.serve("/card.json", "card"), bench.write("card.json", "card"));
    let (moved, revoked) = (bench.agent(&uri).await, bench.agent("https://a.example/2").await);
    let (target, no_wait) = (bench.address(2), ["--yes", "--no-wait"]);
    bench.run_as(1, &[&["tx", "transfer", &moved, "--to", &target][..], &no_wait].concat()).await.code(0);
    let run = bench.run_as(1, &["anchor", &moved, "--card", &card, "--yes", "--json"]).await;
    assert_eq!(run.error(), "not_owner");
    bench.run_as(1, &[&["tx", "revoke", &revoked][..], &no_wait].concat()).await.code(0);
    let run = bench.run_as(1, &["tx", "set-metadata", &revoked, "--metadata", "k=v", "--yes", "--json"]).await;
    assert_eq!(run.error(), "would_be_rejected");
    assert_eq!(bench.sent_by(1).await, 4, "two registrations, a transfer, a revocation");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_program_has_sent_is_waited_for() {
    let bench = slow().await;
    let uri = bench.serve("/card.json", "card");
    let (agent, card, elsewhere) = (bench.agent(&uri).await, bench.write("card.json", "card"), bench.text("elsewhere"));
    let other = ["tx", "register", "--uri", "https://a.example/2", "--yes", "--no-wait", "--state-dir", &elsewhere];
    bench.run_as(1, &other).await.code(0);
    let run = bench.run_as(1, &["anchor", &agent, "--card", &card, "--yes", "--json"]).await.code(0);
    assert_eq!(run.says("waiting for the earlier transactions").json()["outcome"], "success");
    assert_eq!(bench.sent_by(1).await, 3);
}

/// A terminal for the command, at which somebody thinks for a while, in which something happens, and says yes.
#[cfg(target_os = "linux")]
async fn answered_late(bench: &Bench, args: &[&str], meanwhile: impl FnOnce() + Send + 'static) -> (Option<i32>, String) {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    let keys = bench.text("1.json");
    let words = [&[env!("CARGO_BIN_EXE_cardproof")][..], args, &["--keys", &keys]].concat();
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let mut script = Command::new("script");
    script.args(["-qec", &words.join(" "), "/dev/null"]).env("CARDPROOF_CONFIG", bench.path("cardproof.toml"));
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let answered = move || {
        let mut child = script.spawn().unwrap();
        let (mut screen, mut said, mut byte) = (child.stdout.take().unwrap(), Vec::new(), [0]);
        while !String::from_utf8_lossy(&said).contains("[y/N]") {
            assert_eq!(screen.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
            said.extend(byte);
        }
        meanwhile();
        std::thread::sleep(Duration::from_millis(1200));
        let mut keyboard = child.stdin.take().unwrap();
        keyboard.write_all(b"y\n").unwrap();
        screen.read_to_end(&mut said).unwrap();
        (child.wait().unwrap().code(), String::from_utf8_lossy(&said).into_owned())
    };
    tokio::task::spawn_blocking(answered).await.unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_is_removed_while_the_question_stands_is_not_sent() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", "card");
    let agent = bench.agent(&uri).await;
    let kept = ["tx", "set-agent-uri", &agent, "--keep-uri"];
    for (command, mode) in [(&["anchor", &agent][..], &[][..]), (&kept, &[]), (&kept, &["--sign-only"])] {
        let card = bench.write("card.json", "card");
        let args = [command, &["--card", &card, "--json"], mode].concat();
        let gone = card.clone();
        let (code, said) = answered_late(&bench, &args, move || std::fs::remove_file(gone).unwrap()).await;
        assert!(code == Some(2) && said.contains("changed_meanwhile"), "{code:?} {args:?}: {said}");
    }
    assert_eq!(bench.sent_by(1).await, 1, "the registration");
}

/// Runs a command until stderr shows `at`, does something, and gives how it ended and what it said after.
async fn at_the_line(
    bench: &Bench,
    args: &[&str],
    at: &str,
    then: impl FnOnce(u32) + Send + 'static,
) -> (std::process::Output, String) {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let mut command = bench.command(&[args, &["--yes", "--json"]].concat());
    let (mut child, at) = (command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), at.to_owned());
    let ended = move || {
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut line, mut rest) = (String::new(), String::new());
        while !line.contains(&at) {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it comes to: {at}");
        }
        then(child.id());
        stderr.read_to_string(&mut rest).unwrap();
        (child.wait_with_output().unwrap(), rest)
    };
    tokio::task::spawn_blocking(ended).await.unwrap()
}

fn interrupt(process: u32) {
    assert!(std::process::Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap().success());
}

/// Holds account 1, as another run does.
async fn held(bench: &Bench) -> cardproof::anchor::journal::JournalLock {
    let address = bench.net.account(1).unwrap().address();
    let journal = cardproof::anchor::journal::Journal::of(&bench.path("state"), &bench.net.genesis_hash(), address);
    journal.lock(Duration::ZERO).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_run_is_waited_for_with_a_word() {
    let bench = Bench::new().await;
    let register = ["tx", "register", "--uri", "https://a.example/1", "--keys", &bench.text("1.json")];
    let waiting = format!("waiting for another run of cardproof (process {}) that holds account", std::process::id());
    let lock = held(&bench).await;
    let (output, said) = at_the_line(&bench, &register, &waiting, move |_| drop(lock)).await;
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_before_anything_is_sent_it_says_so_in_its_document() {
    let bench = Bench::new().await;
    let slow = Bench::built(Devnet::builder().commit_delay(Duration::from_secs(60))).await;
    let uri = bench.serve("/card.json", "card");
    let (agent, card) = (bench.agent(&uri).await, bench.write("card.json", "card"));
    let (keys, slow_keys, signed) = (bench.text("1.json"), slow.text("1.json"), bench.text("signed.json"));
    bench.run_as(1, &["tx", "revoke", &agent, "--sign-only", "--out", &signed]).await.code(0);
    slow.run_as(1, &["tx", "register", "--uri", "https://a.example/1", "--yes", "--no-wait"]).await.code(0);
    let lock = held(&bench).await;
    let (other_run, earlier) = ("waiting for another run", "waiting for the earlier transactions");
    for (bench, at, command) in [
        (&bench, other_run, &["anchor", &agent, "--card", &card, "--keys", &keys][..]),
        (&bench, other_run, &["register", "--card", &card, "--uri", &uri, "--keys", &keys]),
        (&bench, other_run, &["tx", "revoke", &agent, "--keys", &keys]),
        (&bench, other_run, &["tx", "send", &signed]),
        (&slow, earlier, &["tx", "register", "--uri", "https://a.example/2", "--keys", &slow_keys]),
    ] {
        let (output, said) = at_the_line(bench, command, at, interrupt).await;
        assert_eq!(output.status.code(), Some(130), "{command:?}: {said}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["code"], "interrupted", "{said}");
        assert!(said.contains("this run has sent nothing"), "{said}");
    }
    drop(lock);
    assert_eq!((bench.sent_by(1).await, slow.sent_by(1).await), (1, 0));
}
