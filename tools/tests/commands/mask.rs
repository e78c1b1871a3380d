//! What differs from run to run is replaced: addresses, folders, ids, times, spans, free space.

/// Masks `text`, which a command said of the broker at `bootstrap`, in `folder`.
pub(crate) fn mask(text: &str, bootstrap: &str, folder: &str) -> String {
    let text = text.replace(bootstrap, "HOST:PORT").replace(folder, "FOLDER");
    let port = bootstrap.rsplit(':').next().unwrap_or_default();
    let text = text.replace(&format!("\"port\": {port}"), "\"port\": PORT");
    let lines: Vec<String> = text.lines().map(line).collect();
    lines.join("\n") + "\n"
}

fn line(line: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in line.chars() {
        if c.is_alphanumeric() || "-_:.".contains(c) {
            word.push(c);
            continue;
        }
        out.push_str(&masked(&word));
        word.clear();
        out.push(c);
    }
    out.push_str(&masked(&word));
    spans(&out)
}

fn masked(word: &str) -> String {
    let is_id = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    // A uuid in base64. Names of ours are not that long, or have no capitals.
    let mixed = word.chars().any(|c| c.is_ascii_uppercase()) && word.chars().any(|c| c.is_ascii_lowercase());
    if word.len() == 22 && word.chars().all(is_id) && mixed {
        return "ID".to_owned();
    }
    // `client-UUID`, a member's id.
    if let Some((name, uuid)) =
        word.len().checked_sub(36).filter(|at| word.is_char_boundary(*at)).map(|at| word.split_at(at))
        && uuid.chars().filter(|c| *c == '-').count() == 4
        && uuid.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
    {
        return format!("{name}UUID");
    }
    if word.len() == 24 && word.ends_with('Z') && word.contains('T') {
        return "TIME".to_owned();
    }
    word.to_owned()
}

/// `in 12 ms` and JSON's numbers of times and sizes.
fn spans(line: &str) -> String {
    for field in
        ["\"seconds\": ", "\"timestamp\":", "_ms\": ", "\"usable_bytes\": ", "\"log_bytes\": ", "\"size_bytes\": "]
    {
        if let Some(at) = line.find(field) {
            let start = at + field.len();
            let end = line[start..].find([',', '}']).map_or(line.len(), |more| start + more);
            return format!("{}NUMBER{}", &line[..start], &line[end..]);
        }
    }
    match line.rsplit_once(" in ") {
        Some((before, span)) if span.starts_with(|c: char| c.is_ascii_digit()) => format!("{before} in SPAN"),
        _ => line.to_owned(),
    }
}

#[test]
fn what_differs_is_masked_and_the_rest_stays() {
    let said = "topic orders  id 68v6myN2TJqNysfTKwkfuw  HOST 127.0.0.1:4711 at 2026-11-29T22:16:05.123Z in 12 ms";
    let masked = mask(said, "127.0.0.1:4711", "/tmp/x");
    assert_eq!(masked, "topic orders  id ID  HOST HOST:PORT at TIME in SPAN\n");
    let member = mask("ballast-cli-01234567-89ab-cdef-0123-456789abcdef  -", "h:1", "/tmp/x");
    assert_eq!(member, "ballast-cli-UUID  -\n");
    let json = mask("  \"last_fetch_ms\": 17,", "h:1", "/tmp/x");
    assert_eq!(json, "  \"last_fetch_ms\": NUMBER,\n");
}
