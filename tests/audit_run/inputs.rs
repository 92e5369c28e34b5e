//! What an audit is given: lists, stores and times that are none.

use crate::support::command::Tool;

const NODE: [&str; 4] = ["--node", "http://127.0.0.1:1", "--node-timeout", "1s"];

#[tokio::test]
async fn a_list_is_read_as_editors_write_it_and_refused_when_it_is_none() {
    let tool = Tool::plain();
    let list = tool.folder().join("list");
    std::fs::write(&list, "\u{feff}3\r\n5\r\n").unwrap();
    let from = |path: &std::path::Path| path.display().to_string();
    let ran = tool.run(&[&["audit", "--from", &from(&list), "--no-store", "--json"], &NODE[..]].concat()).await;
    assert_eq!((ran.code, ran.json()["summary"]["agents"].as_u64()), (3, Some(2)), "{}", ran.stderr);
    let ran = tool.run(&[&["audit", "--from", &from(tool.folder()), "--no-store"], &NODE[..]].concat()).await;
    assert!(ran.code == 2 && ran.stderr.contains("is a folder"), "{} {}", ran.code, ran.stderr);
    std::fs::write(&list, "9".repeat(100_000)).unwrap();
    let ran = tool.run(&[&["audit", "--from", &from(&list), "--no-store"], &NODE[..]].concat()).await;
    assert!(ran.code == 2 && ran.stderr.len() < 600 && ran.stderr.contains("line 1: 999"), "{} {}", ran.code, ran.stderr.len());
}

#[tokio::test]
async fn a_store_that_is_none_is_refused_and_not_made_by_asking() {
    let tool = Tool::plain();
    let missing = tool.folder().join("missing.db").display().to_string();
    for command in [&["runs"][..], &["diff"], &["history", "1"], &["retry", "--notify-command", "/bin/true"]] {
        for store in [&["--store", missing.as_str()][..], &[]] {
            let ran = tool.run(&[&["audit"], command, store].concat()).await;
            assert!(ran.code == 2 && ran.stderr.contains("no audit has been remembered at"), "{command:?}: {}", ran.stderr);
        }
    }
    let folder = tool.folder().display().to_string();
    for (store, why) in
        [(":memory:", "nothing would be remembered"), (&folder, "is a folder, and results are remembered in a file")]
    {
        let ran = tool.run(&[&["audit", "--ids", "1", "--store", store], &NODE[..]].concat()).await;
        assert!(ran.code == 2 && ran.stderr.contains(why), "{store}: {}", ran.stderr);
    }
    assert_eq!(std::fs::read_dir(tool.folder()).unwrap().count(), 0, "nothing was made");
    let ran = tool.run(&[&["audit", "--ids", "1", "--no-store", "--timeout", "0s"], &NODE[..]].concat()).await;
    assert!(ran.code == 2 && ran.stderr.contains("--timeout"), "{}", ran.stderr);
}

#[cfg(unix)]
#[tokio::test]
async fn a_list_from_a_closed_standard_input_is_an_error_and_no_empty_list() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", "exec \"$0\" audit --from - --no-store --node http://127.0.0.1:1 <&-", env!("CARGO_BIN_EXE_cardproof")]);
    let output = shell.env_clear().env("HOME", folder.path()).output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("standard input is closed"), "{said}");
}

/// As a user who may read the store and write nowhere beside it. Root may write everywhere, so root runs it as nobody.
#[cfg(unix)]
mod read_only {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    use cardproof::audit::store::{Store, StoreLocation};

    use super::*;

    fn allow(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    async fn as_reader(tool: &Tool, args: &[&str]) -> (Option<i32>, String) {
        let mut command = tool.command(args);
        if std::fs::metadata(tool.folder()).unwrap().uid() == 0 {
            command.uid(65_534);
        }
        let output = command.output().await.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    #[tokio::test]
    async fn a_store_that_may_only_be_read_is_read_and_what_cannot_be_is_said_with_what_to_do() {
        let tool = Tool::plain();
        let folder = tool.folder().join("kept");
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("audit.db");
        let args = |command: &'static str| ["audit", command, "--store", file.to_str().unwrap()];
        let audit = [&["audit", "--ids", "1", "--store", file.to_str().unwrap()], &NODE[..]].concat();
        assert_eq!(tool.run(&audit).await.code, 3);
        allow(tool.folder(), 0o755);
        allow(&file, 0o444);
        allow(&folder, 0o555);
        for command in [&args("runs")[..], &args("diff"), &[&["audit", "history", "1"], &args("runs")[2..]].concat()] {
            let (code, said) = as_reader(&tool, command).await;
            assert!(code == Some(0) || said.contains("no finished run"), "{command:?}: {code:?} {said}");
        }
        let (code, said) = as_reader(&tool, &audit).await;
        assert!(code == Some(5) && said.contains("cannot be written") && said.contains("--store"), "{code:?} {said}");
        // Results stand beside the file as long as somebody who may write has it open.
        allow(&folder, 0o755);
        allow(&file, 0o644);
        let location = StoreLocation::file(&file);
        let open = Store::open(&location).await.unwrap();
        open.scopes().await.unwrap();
        let copy = tool.folder().join("copy");
        std::fs::create_dir(&copy).unwrap();
        let log = |path: &Path| path.with_extension("db-wal");
        let run = cardproof::audit::RunScope {
            network: "devnet".into(),
            genesis: cardproof::identity::GenesisHash([7; 32]),
            contract: cardproof::identity::ContractAddress::new(1, 0),
        };
        open.begin_run(&run, cardproof::audit::store::NewRun::default()).await.unwrap();
        let copied = copy.join("audit.db");
        for (from, to) in [(file.clone(), copied.clone()), (log(&file), log(&copied))] {
            std::fs::copy(from, &to).unwrap();
            allow(&to, 0o444);
        }
        allow(&copy, 0o555);
        let (code, said) = as_reader(&tool, &["audit", "runs", "--store", copied.to_str().unwrap()]).await;
        assert!(code == Some(5) && said.contains("-wal, and to read them"), "{code:?} {said}");
        allow(&copy, 0o755);
        open.close().await;
    }
}
