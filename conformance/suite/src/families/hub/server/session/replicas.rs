//! The replicas of a Hub that the suite started, each behind a way that can be cut.

use std::sync::Arc;

use crate::engine::chaos::Relay;
use crate::families::hub::server::client::Client;
use crate::net::outbound::Outbound;
use crate::net::wire::Wire;

/// Where the replicas listen, and what a client of theirs is made of.
pub(super) struct Replicas {
    /// `host:port` of each.
    pub(super) listen: Vec<String>,
    /// The base of a Hub, with `{listen}` in the place of that.
    pub(super) base: String,
    pub(super) outbound: Arc<Outbound>,
    pub(super) wire: Arc<dyn Wire>,
}

impl Replicas {
    /// A way to each replica that can be cut, and a client of the replicas that takes these ways.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn behind_relays(&self) -> Result<(Vec<Relay>, Client), String> {
        let (mut relays, mut bases) = (Vec::new(), Vec::new());
        for listen in &self.listen {
            let relay = Relay::to(listen.clone()).await;
            let relay = relay.map_err(|error| format!("there is no way to a replica: {error}"))?;
            bases.push(self.base.replace("{listen}", &relay.address().to_string()));
            relays.push(relay);
        }
        Ok((relays, Client::new(&bases, &self.outbound, &self.wire)?))
    }
}
