//! Starts a Hub with what it has to know of the suite: one process, or its replicas.

use super::error::HubError;
use crate::engine::target::{ChildProcess, Handing, Launch, OpenContext, Pipes, Port};
use crate::families::hub::manifest::HubTable;
use crate::families::hub::server::provider::Provider;

/// The variable in which a replica finds its number, from 1.
const REPLICA_VARIABLE: &str = "CALLMARK_REPLICA";

/// Starts all replicas of the Hub, and says where each was asked to listen.
pub(super) async fn start_all(
    plan: &OpenContext<HubTable>,
    command: &[String],
    party: (Option<&Provider>, &str),
    handing: Handing,
) -> Result<Vec<(ChildProcess, String)>, HubError> {
    plan.log.hide(plan.table.secret());
    plan.log.clear();
    let Some(replicas) = plan.table.replicas else {
        return Ok(vec![start(plan, command, party, handing, None).await?]);
    };
    let mut all = Vec::new();
    for number in 1..=replicas.get() {
        all.push(start(plan, command, party, handing, Some(number)).await?);
    }
    Ok(all)
}

async fn start(
    plan: &OpenContext<HubTable>,
    command: &[String],
    (provider, secret): (Option<&Provider>, &str),
    handing: Handing,
    number: Option<u32>,
) -> Result<(ChildProcess, String), HubError> {
    let OpenContext { table, directory, log, inbound, .. } = plan;
    let number = number.map(|number| number.to_string());
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
    around.extend(number.as_deref().map(|number| (REPLICA_VARIABLE, number)));
    let process = launch.spawn(&around, Pipes::None).map_err(HubError::Start)?;
    Ok((process.on(port), listen))
}
