//! `calipers view`: the history in a browser.

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::history_file::{DatabaseFlag, ReadingFlags};
use crate::policy_file::PolicyFile;
use crate::terminal::{note, print_text};
use calipers::io::{LoadedPolicy, parse_policy};
use calipers_view::{AccessToken, DEMO_POLICY, History, HistoryError, Role, Server, ServerOptions, write_demo};
use clap::Args;
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A policy with the name of its file.
type NamedPolicy = (String, LoadedPolicy);

/// Where the server listens unless it is said, if nothing else does.
const PORT: u16 = 7420;

/// `calipers view`
///
/// Shows the history of runs in a browser: lists, trends with their errors, any two runs side by side. Files and folders that are
/// named are added to the history, and watched. The server answers this machine only, unless `--bind` and a token say otherwise.
#[derive(Args, Debug)]
pub(crate) struct View {
    /// Files, folders or patterns to add to the history and to watch
    files: Vec<String>,

    #[command(flatten)]
    reading: ReadingFlags,

    #[command(flatten)]
    database: DatabaseFlag,

    /// A policy, to see what it would have said about past runs
    #[arg(short, long, value_name = "FILE")]
    policy: Option<PolicyFile>,

    /// The address to listen on; beyond this machine, it needs `--tokens`
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,

    /// The port to listen on; 0 takes a free one [default: 7420, or a free one if that is taken]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// A file with a token on each line, after its role (`read`, `label` or `admin`) and before the name of its owner
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// A further name that the server is called by, such as that of a proxy (repeatable)
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Show half a year of made-up runs of a support agent; nothing is kept
    #[arg(long, conflicts_with_all = ["files", "database"])]
    demo: bool,

    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
}

impl View {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let tokens = self.tokens.as_deref().map(read_tokens).transpose()?.unwrap_or_default();
        let policy = match &self.policy {
            Some(policy) => Some((policy.path().clone(), policy.load()?.clone())),
            None => None,
        };
        for name in &self.files {
            if name == "-" {
                let hint = "write it to a file in a folder that is watched";
                return Err(Failure::new("standard input cannot be watched").hint(hint));
            }
        }
        if self.demo {
            return self.run_demo(tokens, policy);
        }
        let history = self.database.open()?;
        self.start(history, tokens, policy)
    }

    /// Shows made-up runs from a folder that is removed at the end.
    fn run_demo(self, tokens: Vec<AccessToken>, policy: Option<NamedPolicy>) -> Result<Outcome, Failure> {
        let folder = std::env::temp_dir().join(format!("calipers-demo-{}", std::process::id()));
        let shown = (|| {
            let history = History::open(&folder.join("history.db"))?;
            write_demo(&folder, &history)?;
            let policy = match policy {
                Some(policy) => policy,
                None => ("demo-policy.json".to_owned(), parse_policy("demo-policy.json", DEMO_POLICY.as_bytes())?),
            };
            self.start(history, tokens, Some(policy))
        })();
        // What stays behind does no harm.
        let _ = std::fs::remove_dir_all(&folder);
        shown
    }

    fn start(
        self,
        history: History,
        tokens: Vec<AccessToken>,
        policy: Option<NamedPolicy>,
    ) -> Result<Outcome, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(format!("the server cannot start: {error}")))?;
        runtime.block_on(self.serve(history, tokens, policy))
    }

    async fn serve(
        self,
        history: History,
        tokens: Vec<AccessToken>,
        policy: Option<NamedPolicy>,
    ) -> Result<Outcome, Failure> {
        let mut address = SocketAddr::new(self.bind, self.port.unwrap_or(PORT));
        if self.port.is_none() && std::net::TcpListener::bind(address).is_err() {
            address.set_port(0);
        }
        let choices = self.reading.resolve()?;
        let options = ServerOptions { address, roots: self.files, choices, tokens, hosts: self.host, policy };
        let server = Server::bind(history, options).await.map_err(|error| match error {
            HistoryError::Server(what) if what.contains("no token") => {
                let hint = "write `read` and a long secret on a line of a file, and name it with `--tokens`";
                Failure::new(what).hint(hint)
            }
            error => error.into(),
        })?;
        let Some(address) = server.address() else { return Err(Failure::new("the server has no address")) };
        let url = format!("http://{address}/");
        print_text(&format!("{url}\n"))?;
        if std::io::stdout().is_terminal() {
            note("press Ctrl+C to end");
            if !self.no_open && address.ip().is_loopback() {
                open_browser(&url);
            }
        }
        server.run(wait_for_end()).await?;
        Ok(Outcome::Done)
    }
}

/// Tokens with their roles, one on each line. Empty lines and comments are passed over.
fn read_tokens(path: &Path) -> Result<Vec<AccessToken>, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read `{name}`: {error}")).hint("check the name of the file"))?;
    let mut tokens = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        let token = match (words.next().and_then(Role::parse), words.next()) {
            (Some(role), Some(secret)) => AccessToken::new(role, secret),
            _ => None,
        };
        // What follows is the name of the person or program that has it.
        let owner = words.collect::<Vec<_>>().join(" ");
        let token = if owner.is_empty() { token } else { token.map(|token| token.named(&owner)) };
        tokens.push(token.ok_or_else(|| {
            let hint = "write a role (`read`, `label` or `admin`), a space, and 16 or more letters and digits";
            Failure::new("this is not a token").at(format!("in {name}, line {}", place + 1)).hint(hint)
        })?);
    }
    if tokens.is_empty() {
        return Err(Failure::new(format!("`{name}` has no tokens")).hint("write `read` and a long secret on a line"));
    }
    Ok(tokens)
}

/// Done when the user or the system asks for the end.
async fn wait_for_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// Opens the page where the system knows how. If it does not, the address is on the screen.
fn open_browser(url: &str) {
    let (program, first): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    };
    let _ = Command::new(program)
        .args(first)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
