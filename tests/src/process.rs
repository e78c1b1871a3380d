//! A real `ballast serve`: started, asked, stopped, killed and started again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a broker may take to accept connections. It takes milliseconds; a busy machine takes longer.
const START_MAX: Duration = Duration::from_secs(60);
const STOP_MAX: Duration = Duration::from_secs(30);

/// A running broker process.
pub struct Serve {
    child: Child,
    data: PathBuf,
    arguments: Vec<String>,
    /// Words before the program: where it runs.
    before: Vec<String>,
    // Keeps the folder while the process may use it.
    _folder: Option<TempDir>,
    /// `HOST:PORT` of its listener.
    pub bootstrap: String,
    /// `HOST:PORT` of its HTTP listener.
    pub http: Option<String>,
}

/// The built program.
///
/// # Panics
/// If it has not been built: `cargo test --workspace` builds it, a single package's tests do not.
#[must_use]
pub fn ballast() -> PathBuf {
    let program = build_folders().1.join("ballast");
    let profile = if cfg!(debug_assertions) { "" } else { " --release" };
    assert!(program.is_file(), "{} is not there: run `cargo build{profile} -p ballast-cli` first", program.display());
    program
}

/// The folder that cargo builds into, and the profile's folder in it: where this program lies.
///
/// # Panics
/// If it lies elsewhere.
#[must_use]
pub fn build_folders() -> (PathBuf, PathBuf) {
    let program = std::env::current_exe().expect("a program knows where it is");
    // `target/release/ballast-bench-suite`, or a test in `target/debug/deps`.
    let profile = program.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
    let folders = profile.and_then(|profile| Some((profile.parent()?.to_owned(), profile.to_owned())));
    folders.expect("this program lies in cargo's build folder")
}

impl Serve {
    /// A broker in a folder of its own, with these settings (`key=value`).
    ///
    /// # Panics
    /// If it does not come up; what it printed is in the message.
    #[must_use]
    pub fn start(settings: &[&str]) -> Serve {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut serve = Serve::start_in(&folder.path().join("data"), "127.0.0.1:0", settings);
        serve._folder = Some(folder);
        serve
    }

    /// A broker in a given folder, at a given address.
    ///
    /// # Panics
    /// As [`Serve::start`].
    #[must_use]
    pub fn start_in(data: &Path, listen: &str, settings: &[&str]) -> Serve {
        let pairs = settings.iter().flat_map(|setting| ["--set".to_owned(), (*setting).to_owned()]);
        Serve::launch(Vec::new(), data, listen, &pairs.collect::<Vec<_>>()).awaited()
    }

    /// A broker that is told to start, by the words in `before` if there are any: see [`Serve::awaited`].
    #[must_use]
    pub fn launch(before: Vec<String>, data: &Path, listen: &str, more: &[String]) -> Serve {
        let mut arguments = vec!["--listen".to_owned(), listen.to_owned()];
        arguments.extend_from_slice(more);
        let child = spawn(&before, data, &arguments);
        let (bootstrap, http) = (String::new(), None);
        Serve { child, data: data.to_owned(), arguments, before, _folder: None, bootstrap, http }
    }

    /// The same, once it serves.
    ///
    /// # Panics
    /// As [`Serve::start`].
    #[must_use]
    pub fn awaited(mut self) -> Serve {
        self.await_ready();
        // It comes back where its clients look for it.
        self.arguments[1].clone_from(&self.bootstrap);
        self
    }

    /// Its data folder.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged in this life.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(log_path(&self.data)).unwrap_or_default()
    }

    /// kill -9: nothing is flushed, nothing is said.
    ///
    /// # Panics
    /// If the process cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child can be awaited");
    }

    /// SIGTERM, and waits until it has stopped.
    ///
    /// # Panics
    /// If it does not stop in time.
    pub fn stop(&mut self) -> ExitStatus {
        let term = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(term.success(), "the process is gone already");
        #[expect(clippy::disallowed_methods, reason = "a foreign process runs on real time")]
        let started = Instant::now();
        while started.elapsed() < STOP_MAX {
            if let Some(status) = self.child.try_wait().expect("a child can be awaited") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it did not stop within {STOP_MAX:?}:\n{}", self.log());
    }

    /// Starts it again, on the same folder and address.
    ///
    /// # Panics
    /// As [`Serve::start`].
    pub fn restart(&mut self) {
        self.relaunch();
        self.await_ready();
    }

    /// Tells it to start again, and does not wait until it serves.
    ///
    /// # Panics
    /// As [`Serve::start`].
    pub fn relaunch(&mut self) {
        self.child = spawn(&self.before, &self.data, &self.arguments);
    }

    /// The signal of [`Serve::kill`] alone.
    pub(crate) fn strike(&mut self) {
        self.child.kill().expect("a child can be killed");
    }

    /// Waits until it serves.
    pub(crate) fn await_ready(&mut self) {
        let ready = ready_path(&self.data);
        #[expect(clippy::disallowed_methods, reason = "a foreign process runs on real time")]
        let started = Instant::now();
        while started.elapsed() < START_MAX {
            if let Ok(text) = fs::read_to_string(&ready) {
                self.bootstrap = text.lines().next().unwrap_or_default().to_owned();
                self.http = text.lines().find_map(|line| line.strip_prefix("http=")).map(str::to_owned);
                return;
            }
            if let Some(status) = self.child.try_wait().expect("a child can be awaited") {
                panic!("it ended with {status} before it was ready:\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("it was not ready within {START_MAX:?}:\n{}", self.log());
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log_path(data: &Path) -> PathBuf {
    data.with_extension("log")
}

fn ready_path(data: &Path) -> PathBuf {
    data.with_extension("ready")
}

fn spawn(before: &[String], data: &Path, arguments: &[String]) -> Child {
    let ready = ready_path(data);
    // The file of an earlier life would be believed.
    let _ = fs::remove_file(&ready);
    fs::create_dir_all(data.parent().expect("the folder lies in another")).expect("the folder can be made");
    let log = fs::File::create(log_path(data)).expect("the log can be written");
    let mut command = match before.split_first() {
        None => Command::new(ballast()),
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(ballast());
            command
        }
    };
    command.arg("serve").arg("--data-dir").arg(data).args(["--http", "127.0.0.1:0"]);
    command.arg("--ready-file").arg(&ready).args(arguments);
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file can be shared")).stderr(log);
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}
