use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use sternhalma_server::{ClientLimits, HostName, Server, ServerOptions};

use crate::args::threads::ThreadArgs;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, counted, status};
use crate::resources::{memory_limit, search_memory};
use crate::values::count;

/// Serve a board in the browser, and a JSON interface
///
/// Prints the address of the page on stdout. If other machines can connect, the
/// further lines are the addresses for them. Ctrl-C stops the server.
#[derive(clap::Args)]
pub struct Args {
    /// Port to listen on; 0 selects a free port
    #[arg(long, default_value_t = 8017, value_parser = count::<u16>(0))]
    port: u16,
    /// Address or name to listen on; 0.0.0.0 accepts connections from other machines
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: HostName,
    /// Further name by which clients reach the server, such as that of a proxy; repeatable
    #[arg(long = "allow-host", value_name = "NAME")]
    allowed_hosts: Vec<HostName>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Print each request on stderr
    #[arg(long)]
    requests: bool,
    /// Directory of tournament logs (`.ndjson`, `.ndjson.zst`) to show
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
    /// Directory of rulesheets (`.kif`) to show beside the built-in ones
    #[arg(long, value_name = "DIR")]
    rulesheets: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArgs,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    if let Some(dir) = args.logs.as_ref().filter(|dir| !dir.is_dir()) {
        bail!("{}: there is no such directory; --logs expects one with tournament logs", dir.display());
    }
    if let Some(dir) = args.rulesheets.as_ref().filter(|dir| !dir.is_dir()) {
        bail!("{}: there is no such directory; --rulesheets expects one with rulesheets", dir.display());
    }
    let stop = ctx.stop()?;
    let server = Server::bind(ServerOptions {
        bind: args.bind.clone(),
        port: args.port,
        allowed_hosts: args.allowed_hosts.clone(),
        host_option: Some("--allow-host".to_owned()),
        tables: ctx.tables.directory()?,
        logs: args.logs.clone(),
        rulesheets: args.rulesheets.clone(),
        load_budget: ctx.tables.load_budget(),
        threads: args.threads.get(),
        search_memory: search_memory(None),
        build_memory: memory_limit(None),
        // Other machines cannot delete what took hours to build. A proxy needs an allowed name to be one of them.
        deletes_tables: args.bind.is_loopback() && args.allowed_hosts.is_empty(),
        limits: ClientLimits::default(),
        log: if args.requests { Arc::new(|line| status!("{line}")) } else { Arc::new(|_| ()) },
    })?;
    if server.token().is_some() {
        status!(
            "warning: other machines can connect, without encryption; the address contains the token that they need"
        );
    }
    if let Some(dir) = &args.rulesheets {
        report_rulesheets(&server, dir)?;
    }
    output::print_line(&server.url())?;
    for url in server.other_urls().iter().filter(|&url| *url != server.url()) {
        output::print_line(url)?;
    }
    if args.open {
        open_browser(&server.url());
    }
    server.run(&stop);
    Ok(CommandOutcome::Answered)
}

/// Prints how many rulesheets of a directory can be played, and the reasons of the others.
fn report_rulesheets(server: &Server, dir: &Path) -> Result<()> {
    let dir = dir.display();
    let files = server.rulesheet_files().with_context(|| format!("{dir}: cannot read the directory"))?;
    if files.is_empty() {
        status!("warning: {dir} has no rulesheets; the names of their files end in `.kif`");
        return Ok(());
    }
    let playable = files.iter().filter(|file| file.error.is_none()).count();
    status!("{dir}: {playable} of {} can be played", counted(files.len(), "rulesheet"));
    for file in &files {
        if let Some(error) = &file.error {
            status!("{dir}/{}: {error}", file.name);
        }
    }
    Ok(())
}

/// Opens a page in the browser of the user. Reports a system that has none.
fn open_browser(url: &str) {
    let (program, first): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(first).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // The browser may run until the server ends.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => status!("cannot open a browser with `{program}` ({error}); open the address yourself"),
    }
}
