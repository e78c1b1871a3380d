//! The tables as a page of the user's guide.

use std::fmt::Write as _;

use super::setting::{Scope, Setting, Use};
use super::{broker_settings, group_settings, topic_settings};

/// All settings as Markdown. Those that only Kafka uses are listed by name at the end.
#[must_use]
pub fn render_markdown() -> String {
    let mut page = String::from("# Settings\n\n");
    page.push_str(
        "Written from the settings table. Names, defaults and ranges are Kafka's where Kafka has the setting.\n",
    );
    section(&mut page, "Broker settings", broker_settings());
    section(&mut page, "Topic settings", topic_settings());
    page.push_str("\n## Accepted without effect\n\nKafka has these; here they change nothing.\n\n");
    for setting in broker_settings().chain(topic_settings()).chain(group_settings()) {
        if setting.used == Use::Known && !setting.hidden {
            let _ = writeln!(page, "- `{}`", setting.name);
        }
    }
    page
}

fn section(page: &mut String, title: &str, settings: impl Iterator<Item = &'static Setting>) {
    let _ = write!(page, "\n## {title}\n\n");
    page.push_str("| name | type | default | allowed | changes | what it does |\n|---|---|---|---|---|---|\n");
    for setting in settings.filter(|setting| setting.used == Use::Used) {
        let default = setting.default.map_or("null".to_owned(), |text| format!("`{text}`").replace("``", "empty"));
        let allowed = setting.valid.to_string().replace('|', "\\|");
        let _ = writeln!(
            page,
            "| `{}` | {} | {default} | {allowed} | {} | {} |",
            setting.name,
            setting.kind.name(),
            changes(setting.scope),
            setting.doc.replace('|', "\\|")
        );
    }
}

fn changes(scope: Scope) -> &'static str {
    match scope {
        Scope::Static => "at start",
        Scope::PerBroker => "per broker",
        Scope::Cluster => "per broker or for all",
        Scope::Topic => "per topic",
        Scope::Group => "per group",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_row_for_every_setting_in_use() {
        let page = render_markdown();
        for setting in broker_settings().chain(topic_settings()).filter(|setting| setting.used == Use::Used) {
            assert!(page.contains(&format!("| `{}` | {} |", setting.name, setting.kind.name())), "{}", setting.name);
            assert!(!setting.doc.is_empty(), "{} has no text", setting.name);
        }
        assert!(page.contains("| `segment.bytes` | int | `1073741824` | [1048576,...] | per topic | Size"));
    }
}
