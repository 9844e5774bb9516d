//! `serve hub --mock FILE`: the suite's own mock Hub, for people who write an agent.
//!
//! It answers as a file says, and reports for every request whether it is what the contract asks for.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callmark_suite::engine::files;
use callmark_suite::families::hub::agent::judge::request::Expected;
use callmark_suite::families::hub::agent::mock::script::Script;
use callmark_suite::families::hub::agent::mock::{MockHub, OnRequest};

use crate::args::ServeArguments;
use crate::exit::{self, Failure};

/// Where a Hub finds its service secret.
pub(crate) const SECRET: &str = "CALLMARK_HUB_SECRET";
/// The secret of a Hub that somebody tries out.
pub(crate) const TRIAL_SECRET: &str = "try-me";

/// Largest script that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Serves it until a signal ends it; the exit code says whether every request was right.
pub(crate) async fn serve(arguments: &ServeArguments) -> Result<u8, Failure> {
    let script = match &arguments.mock {
        Some(path) => read(path)?,
        None => Script::default(),
    };
    let secret = std::env::var(SECRET).ok().filter(|secret| !secret.is_empty());
    let secret = secret.unwrap_or_else(|| TRIAL_SECRET.to_owned());
    let (requests, wrong) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (seen, faulty) = (Arc::clone(&requests), Arc::clone(&wrong));
    let on_request: OnRequest = Arc::new(move |request, problems| {
        let number = seen.fetch_add(1, Ordering::Relaxed) + 1;
        let channel: String = request.channel().chars().take(200).map(visible).collect();
        if problems.is_empty() {
            println!("{number:>4} ok     {channel}");
            return;
        }
        faulty.fetch_add(1, Ordering::Relaxed);
        println!("{number:>4} WRONG  {channel}");
        for problem in problems {
            println!("            - {}", problem.chars().map(visible).collect::<String>());
        }
    });
    let expected = Expected { secret: Some(secret.clone()), ..Expected::default() };
    let listen = arguments.listen.to_string();
    let hub =
        MockHub::start(Some(&listen), script, expected, on_request).await.map_err(Failure::incomplete)?;
    eprintln!("mock Hub  {}", hub.url());
    if secret == TRIAL_SECRET {
        eprintln!("secret    {TRIAL_SECRET} (set {SECRET} to choose another)");
    }
    eprintln!("answering by the contract unless the script says otherwise; end with Ctrl-C");
    exit::until_signal().await;
    let (requests, wrong) = (requests.load(Ordering::Relaxed), wrong.load(Ordering::Relaxed));
    eprintln!("{requests} requests, {wrong} of them wrong");
    Ok(if wrong > 0 {
        exit::NONCONFORMANT
    } else if requests == 0 {
        exit::NOTHING
    } else {
        exit::CONFORMANT
    })
}

fn read(path: &Path) -> Result<Script, Failure> {
    let shown = path.display();
    let fault = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("`{shown}` cannot be used: {error}"))
            .hint("a rule is for example `[[rule]]`, `tool = \"email_send\"`, `answer = { code = \"RATE_LIMITED\" }`")
    };
    let text = files::read_text(path, MAX_BYTES).map_err(|error| fault(&error))?;
    Script::parse(&text).map_err(|error| fault(&error))
}

/// What a stranger sends may hold escapes for the terminal.
fn visible(character: char) -> char {
    if character.is_control() { '\u{fffd}' } else { character }
}
