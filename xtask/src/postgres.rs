//! A Postgres server for the tests: in a folder that is removed, on a socket in it and on a port of this machine with TLS, as a
//! user without rights.

use crate::process;
use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where Debian keeps the programs of a server, below the number of its version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The user that runs the server if we are root, which it refuses to be.
const USER: &str = "postgres";

/// A server, which ends with this value.
pub(crate) struct PostgresServer {
    programs: PathBuf,
    folder: PathBuf,
    is_root: bool,
    /// Where it speaks TLS; none without `openssl`, which makes the certificate.
    tls_port: Option<u16>,
}

impl PostgresServer {
    /// Starts a server; installs one where that is possible without asking anybody. The error says what is missing.
    pub(crate) fn start() -> Result<Self, String> {
        let is_root = process::output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0");
        let programs = programs().or_else(|| (is_root && process::install("postgresql")).then(programs).flatten());
        let hint = "install Postgres (`apt-get install postgresql` on Debian)";
        let programs = programs.ok_or_else(|| format!("no Postgres was found\n  hint: {hint}"))?;
        if process::output(Command::new("psql").arg("--version")).is_none() {
            return Err(format!("`psql` was not found\n  hint: {hint}"));
        }
        let folder = std::env::temp_dir().join(format!("calipers-postgres-{}", std::process::id()));
        let mut server = Self { programs, folder, is_root, tls_port: None };
        server.make_folder()?;
        let (data, log) = (server.folder.join("data"), server.folder.join("log"));
        let mut initdb = server.program("initdb");
        initdb.arg("--pgdata").arg(&data);
        initdb.args(["--auth", "trust", "--username", USER, "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"]);
        process::succeed(initdb.stdout(Stdio::null()))?;
        server.tls_port = server.make_certificate().and_then(|()| free_port());
        let tls = server.tls_port.map_or_else(
            || "-c listen_addresses=''".to_owned(),
            |port| {
                let (certificate, key) = (server.certificate(), server.folder.join("server.key"));
                let files = format!("-c ssl_cert_file={} -c ssl_key_file={}", certificate.display(), key.display());
                format!("-c listen_addresses=127.0.0.1 -p {port} -c ssl=on {files}")
            },
        );
        let options =
            format!("{tls} -k {} -c fsync=off -c max_connections=300 -c shared_buffers=32MB", server.folder.display());
        let mut start = server.program("pg_ctl");
        start.arg("--pgdata").arg(&data).arg("--log").arg(&log).args(["--wait", "--options", &options, "start"]);
        process::succeed(start.stdout(Stdio::null()))?;
        Ok(server)
    }

    /// The address of a database beside which tests make their own.
    pub(crate) fn address(&self) -> String {
        let port = self.tls_port.map(|port| format!("&port={port}")).unwrap_or_default();
        format!("postgres:///postgres?user={USER}&host={}{port}", self.folder.display())
    }

    /// Where it is spoken to through TLS.
    pub(crate) fn tls_address(&self) -> Option<String> {
        self.tls_port.map(|port| format!("postgres://{USER}@localhost:{port}/postgres?sslmode=require"))
    }

    /// The certificate that it shows there, for `localhost`. No system trusts it.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join("server.crt")
    }

    fn make_certificate(&self) -> Option<()> {
        let mut openssl = self.as_user("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
        openssl.args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]);
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        openssl.args(["-keyout", "server.key"]).arg("-out").arg(self.certificate());
        process::output(openssl.stderr(Stdio::null())).map(|_| ())
    }

    fn make_folder(&self) -> Result<(), String> {
        let mut make = Command::new("install");
        make.args(["--directory", "--mode", "700"]);
        if self.is_root {
            make.args(["--owner", USER]);
        }
        process::succeed(make.arg(&self.folder))
    }

    /// One of its programs, as a user that it accepts.
    fn program(&self, name: &str) -> Command {
        self.as_user(self.programs.join(name))
    }

    fn as_user(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = if self.is_root {
            let mut command = Command::new("runuser");
            command.args(["--user", USER, "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let mut stop = self.program("pg_ctl");
        stop.arg("--pgdata").arg(self.folder.join("data")).args(["--mode", "immediate", "--wait", "stop"]);
        let _ = process::output(&mut stop);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The folder with the programs of the newest version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(DEBIAN).ok()?.flatten().map(|version| version.path().join("bin"));
    let newest = versions.filter(|bin| bin.join("initdb").is_file()).max_by_key(|bin| number(bin));
    newest.or_else(|| {
        let folder = process::output(Command::new("pg_config").arg("--bindir"))?;
        Some(PathBuf::from(folder.trim())).filter(|bin| bin.join("initdb").is_file())
    })
}

/// A port that nothing listens on.
fn free_port() -> Option<u16> {
    Some(TcpListener::bind(("127.0.0.1", 0)).ok()?.local_addr().ok()?.port())
}

fn number(bin: &Path) -> u32 {
    bin.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
}
