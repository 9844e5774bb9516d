//! Starts a Hub with what it has to know of the suite.

use super::error::HubError;
use crate::engine::target::{ChildProcess, Handing, Launch, OpenContext, Pipes, Port};
use crate::families::hub::manifest::HubTable;
use crate::families::hub::server::provider::Provider;

/// Starts the Hub, and says where it was asked to listen.
pub(super) async fn start(
    plan: &OpenContext<HubTable>,
    command: &[String],
    provider: Option<&Provider>,
    secret: &str,
    handing: Handing,
) -> Result<(ChildProcess, String), HubError> {
    let OpenContext { table, directory, log, inbound, .. } = plan;
    log.hide(table.secret());
    log.clear();
    let port = Port::take(handing).map_err(HubError::Start)?;
    let listen = port.address();
    let provider_url = match provider {
        Some(provider) => inbound.url(&provider.url()).await.map_err(HubError::Provider)?,
        None => String::new(),
    };
    let played = provider.map(Provider::played).into_iter().collect();
    let beneath = inbound.around(played).await.map_err(HubError::Start)?;
    let words = [("provider_url", &*provider_url), ("listen", &listen), ("secret", secret)];
    let launch = Launch::of(&table.launch, command, directory, log, &words).beneath(beneath);
    let mut around = vec![("CALLMARK_LISTEN", listen.as_str()), ("CALLMARK_HUB_SECRET", secret)];
    if provider.is_some() {
        around.push(("CALLMARK_PROVIDER_URL", &provider_url));
    }
    let process = launch.spawn(&around, Pipes::None).map_err(HubError::Start)?;
    Ok((process.on(port), listen))
}
