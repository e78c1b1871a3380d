//! Pages that are made from the code say what the code says.
//!
//! `BALLAST_UPDATE_DOCS=1 cargo test -p ballast-tests --test docs` writes them anew.

use std::path::Path;

#[test]
fn the_page_of_settings_is_the_settings_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/CONFIG.md");
    let wanted = ballast_core::settings::render_markdown();
    if std::env::var_os("BALLAST_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).expect("docs can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/CONFIG.md is out of date: BALLAST_UPDATE_DOCS=1 cargo test -p ballast-tests --test docs"
    );
}
