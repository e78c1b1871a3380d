//! Test suites in other languages (tests/embedding), run by their own runners against the built program.
//!
//! What they need is installed once into the build folder; later runs find it there.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{both, build_folder, find, skip};
use crate::process::ballast;

fn source(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("embedding").join(language)
}

/// Runs `command` to its end with the built program in `BALLAST`.
fn run(command: &mut Command) -> Output {
    command.env("BALLAST", ballast());
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What pytest prints of the suite in tests/embedding/python, or a skip in the name of `test`.
///
/// # Panics
/// If the packages cannot be installed, or a test fails.
#[must_use]
pub fn pytest(test: &str) -> Option<String> {
    let Some(python) = find("python3") else {
        skip(test, "python3 (3.9 or later, with venv)");
        return None;
    };
    let suite = source("python");
    let packages = packages(&python, &suite.join("requirements.txt"));
    let mut command = Command::new(packages.join("bin/python"));
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(&suite);
    // The checkout stays as it is.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    Some(passed(&mut command))
}

/// A virtual environment with what `requirements` lists, made once.
fn packages(python: &Path, requirements: &Path) -> PathBuf {
    let folder = build_folder().join("embedding-python");
    let (packages, done) = (folder.join("packages"), folder.join("done"));
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let lock = File::create(folder.join("lock")).expect("the folder can be written");
    lock.lock().expect("a file can be locked");
    let wanted = fs::read(requirements).unwrap_or_else(|error| panic!("{}: {error}", requirements.display()));
    if fs::read(&done).ok().as_ref() != Some(&wanted) {
        passed(Command::new(python).args(["-m", "venv", "--clear"]).arg(&packages));
        let mut install = Command::new(packages.join("bin/python"));
        install.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r"]).arg(requirements);
        passed(&mut install);
        fs::write(&done, wanted).expect("the folder can be written");
    }
    packages
}

/// What Maven prints of the suite in tests/embedding/java, or a skip in the name of `test`.
///
/// # Panics
/// If a test fails.
#[must_use]
pub fn junit(test: &str) -> Option<String> {
    let (Some(_), Some(maven)) = (find("javac"), find("mvn")) else {
        skip(test, "javac (17 or later) or mvn");
        return None;
    };
    let mut output = OsStr::new("-Doutput=").to_owned();
    output.push(build_folder().join("embedding-java"));
    let mut command = Command::new(maven);
    command.args(["-B", "-ntp"]).arg(output).arg("-f").arg(source("java").join("pom.xml")).arg("test");
    Some(passed(&mut command))
}

fn passed(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, both(&output));
    both(&output)
}
