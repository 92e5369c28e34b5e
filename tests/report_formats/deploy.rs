//! The files that put an audit to work: read by what will read them as far as that is here, and by their own rules.

use std::path::{Path, PathBuf};
use std::process::Command;

use yaml_rust2::{Yaml, YamlLoader};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/deploy")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The command line itself says whether it understands these arguments; `--help` at their end keeps it from doing anything.
fn understands(arguments: &[&str]) {
    assert_eq!(arguments.first(), Some(&"audit"), "{arguments:?}");
    let ran = Command::new(env!("CARGO_BIN_EXE_cardproof")).args(arguments).arg("--help").output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

const UNITS: [&str; 3] = ["cardproof-audit.service", "cardproof-audit.timer", "cardproof-daemon.service"];

#[test]
fn the_units_start_a_command_that_there_is() {
    for unit in ["cardproof-audit.service", "cardproof-daemon.service"] {
        let text = text(unit);
        let start = text.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/cardproof ")).unwrap();
        understands(&start.split(' ').collect::<Vec<_>>());
        assert!(!start.contains("secret") && !start.contains("://"), "no secret and no URL on a command line: {start}");
    }
}

#[test]
fn the_services_have_no_privilege_to_lose() {
    let audit = text("cardproof-audit.service");
    let daemon = text("cardproof-daemon.service");
    let hardening =
        |unit: &str| unit.split("# Nothing here needs").nth(1).unwrap().split("\n\n").next().unwrap().trim_end().to_owned();
    assert_eq!(hardening(&audit), hardening(&daemon), "both are hardened alike");
    for line in [
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateDevices=yes",
        "MemoryDenyWriteExecute=yes",
        "RestrictNamespaces=yes",
        "SystemCallFilter=@system-service",
        "UMask=0022",
    ] {
        assert!(audit.lines().any(|found| found == line), "{line}");
    }
    assert!(text("cardproof.sysusers").contains("\nu cardproof - "));
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let place = tempfile::tempdir().unwrap();
    for unit in UNITS {
        // The command is not installed where the tests run; everything else is as it will be.
        let here = text(unit).replace("/usr/local/bin/cardproof", env!("CARGO_BIN_EXE_cardproof"));
        std::fs::write(place.path().join(unit), here).unwrap();
    }
    let units = UNITS.map(|unit| place.path().join(unit));
    let Ok(ran) = Command::new("systemd-analyze").args(["verify", "--man=no"]).args(&units).output() else {
        return skipped("there is no systemd-analyze here, so the units were read by their own rules only");
    };
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.is_empty(), "{said}");
    for service in [&units[0], &units[2]] {
        let rating = ["security", "--offline=yes", "--threshold=20", "--no-pager"];
        let ran = Command::new("systemd-analyze").args(rating).arg(service).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "exposure above 2.0 of 10: {}", said.lines().last().unwrap_or_default());
    }
}

#[allow(clippy::print_stdout, reason = "who runs the tests must see that this one did not run")]
fn skipped(why: &str) {
    println!("SKIPPED: {why}.");
}

#[test]
fn the_image_is_distroless_and_runs_as_nobody() {
    let text = text("Dockerfile");
    let instructions: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ' '])).collect();
    let of = |word: &str| instructions.iter().filter(|line| line.starts_with(word)).copied().collect::<Vec<_>>();
    let manifest = include_str!("../../Cargo.toml");
    let oldest = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")).unwrap().trim_end_matches('"');
    let from = of("FROM ");
    assert_eq!(from[0], format!("FROM rust:{oldest}-bookworm AS build"), "the image is built with the oldest tool chain");
    assert!(from.len() == 2 && from[1].contains("/distroless/cc-debian12:nonroot"), "{from:?}");
    assert_eq!(of("USER "), ["USER nonroot"]);
    assert_eq!(of("ENTRYPOINT "), ["ENTRYPOINT [\"/usr/local/bin/cardproof\"]"], "there is no shell that could start it");
    assert!(of("ADD ").is_empty() && of("RUN ").len() == 1 && of("RUN ")[0].contains("--locked"));
    assert!(!text.contains(":latest"));
}

fn yaml(name: &str) -> Vec<Yaml> {
    YamlLoader::load_from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_cron_job_starts_a_command_that_there_is_and_owns_nothing() {
    let documents = yaml("cronjob.yaml");
    let kinds: Vec<_> = documents.iter().map(|document| document["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ConfigMap", "PersistentVolumeClaim", "CronJob"]);
    let job = &documents[2];
    assert_eq!(job["apiVersion"].as_str(), Some("batch/v1"));
    assert_eq!(job["spec"]["concurrencyPolicy"].as_str(), Some("Forbid"));
    assert_eq!(job["spec"]["schedule"].as_str().unwrap().split(' ').count(), 5);
    let run = &job["spec"]["jobTemplate"]["spec"];
    assert_eq!(run["backoffLimit"].as_i64(), Some(0));
    let pod = &run["template"]["spec"];
    assert_eq!(pod["restartPolicy"].as_str(), Some("Never"));
    assert_eq!(pod["automountServiceAccountToken"].as_bool(), Some(false));
    assert_eq!(pod["securityContext"]["runAsNonRoot"].as_bool(), Some(true));
    let container = &pod["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"].as_bool(), Some(true));
    assert_eq!(container["securityContext"]["allowPrivilegeEscalation"].as_bool(), Some(false));
    let arguments: Vec<&str> =
        container["args"].as_vec().unwrap().iter().map(|argument| argument.as_str().expect("a text")).collect();
    understands(&arguments);
    let names =
        |list: &Yaml| list.as_vec().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&container["volumeMounts"]), names(&pod["volumes"]), "every mount has its volume");
}

#[test]
fn the_action_starts_a_command_that_there_is_and_runs_no_input() {
    let action = &yaml("github-action/action.yml")[0];
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    let inputs = action["inputs"].as_hash().unwrap();
    let steps = action["runs"]["steps"].as_vec().unwrap();
    for step in steps {
        assert_eq!(step["shell"].as_str(), Some("bash"), "a composite action names its shell");
        let run = step["run"].as_str().unwrap();
        assert!(!run.contains("${{"), "an input in a script would be run");
        let checked = Command::new("bash").args(["-n", "-c", run]).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
    let step = steps.last().unwrap();
    for value in step["env"].as_hash().unwrap().values() {
        let input = value.as_str().unwrap().trim_start_matches("${{ inputs.").trim_end_matches(" }}");
        assert!(inputs.contains_key(&Yaml::String(input.into())), "there is no input {input}");
    }

    // The script itself, with a command in front of the real one that shows what it was given and answers like a mismatch.
    let place = tempfile::tempdir().unwrap();
    let command = place.path().join("cardproof");
    std::fs::write(
        &command,
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$RUNNER_TEMP/arguments\"\necho summary > \"$RUNNER_TEMP/cardproof.md\"\nexit 1\n",
    )
    .unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&command, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    let ran = Command::new("bash")
        .args(["-e", "-o", "pipefail", "-c", step["run"].as_str().unwrap()])
        .current_dir(place.path())
        .env("PATH", path)
        .env("RUNNER_TEMP", place.path())
        .env("GITHUB_STEP_SUMMARY", place.path().join("page.md"))
        .envs([("NODE", ""), ("IDS", "1-5,7; touch broken"), ("FAIL_ON", "mismatch"), ("FOLDER", "out")])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1), "the step fails as the command does");
    assert_eq!(std::fs::read_to_string(place.path().join("page.md")).unwrap(), "summary\n");
    assert!(!place.path().join("broken").exists());
    let arguments = std::fs::read_to_string(place.path().join("arguments")).unwrap();
    assert!(arguments.starts_with("audit\n--ids\n1-5,7; touch broken\n"), "{arguments}");
    understands(&arguments.replace("; touch broken", "").lines().collect::<Vec<_>>());
}

#[test]
fn the_alerts_are_about_metrics_that_there_are() {
    let rules = &yaml("alerts.yaml")[0]["groups"][0]["rules"];
    let known: Vec<String> = crate::prometheus::lint(&crate::sample::report(cardproof::report::Format::Prometheus))
        .into_iter()
        .map(|one| one.0)
        .collect();
    for rule in rules.as_vec().unwrap() {
        let expression = rule["expr"].as_str().unwrap();
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let metrics: Vec<&str> = words.filter(|word| word.starts_with("cardproof_")).collect();
        assert!(!metrics.is_empty(), "{expression}");
        for metric in metrics {
            assert!(known.iter().any(|name| name == metric), "there is no metric {metric}");
        }
        assert!(rule["annotations"]["summary"].as_str().unwrap().ends_with('.'));
    }
}
