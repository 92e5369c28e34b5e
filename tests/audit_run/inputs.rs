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
