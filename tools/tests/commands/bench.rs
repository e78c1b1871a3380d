//! `ballast bench`: figures differ, so their form is compared.

use super::rig::Session;

/// Numbers become `#`, and blanks one.
fn form(text: &str) -> String {
    let word = |word: &str| {
        let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',');
        if is_number { "#".to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn benches_say_what_they_measured_and_clean_up() {
    let session = Session::new();
    session.output(&["topic", "create", "mine", "--partitions", "2"], "");
    let mut forms = Vec::new();
    for line in [
        "bench produce --topic mine --count 500 --size 100 --compression lz4",
        "bench produce --topic mine --count 100 --acks 0 --batch-bytes 1000 --linger-ms 1",
        "bench consume --topic mine",
        "bench end-to-end --topic mine --count 50 --rate 500 --size 16",
    ] {
        let output = session.output(&line.split(' ').collect::<Vec<_>>(), "");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        forms.push(format!("$ ballast {line}\n{}", form(&String::from_utf8_lossy(&output.stdout))));
    }
    insta::assert_snapshot!(forms.join("\n"));

    let output = session.output(&["bench", "consume", "--count", "100", "--partitions", "1", "--json"], "");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!((&report["records"], &report["bytes"]), (&100.into(), &102_400.into()), "{report}");
    assert!(report["latency_ms"].is_null() && report["records_per_second"].as_f64() > Some(0.0), "{report}");
    let output = session.output(&["bench", "end-to-end", "--count", "20", "--json"], "");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert!(report["latency_ms"]["p99_9"].as_f64() > Some(0.0), "{report}");
    assert_eq!(report["settings"]["linger-ms"], "0");

    let topics = session.output(&["topic", "list", "--json"], "");
    let topics: serde_json::Value = serde_json::from_slice(&topics.stdout).expect("one document");
    let names: Vec<_> = topics["topics"].as_array().expect("a list").iter().map(|topic| &topic["name"]).collect();
    assert_eq!(names, ["mine"], "topics that were made are gone");
}
