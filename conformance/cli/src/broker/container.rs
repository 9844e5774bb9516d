//! The `nats` image, started with Docker.

use std::env;
use std::time::Duration;

use callmark_suite::families::utp::binding::Commands;
use testcontainers::core::client::ClientError;
use testcontainers::core::error::TestcontainersError;
use testcontainers::core::{IntoContainerPort as _, WaitFor};
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerAsync, GenericImage, ImageExt as _};
use tokio::time::timeout;

use super::error::BrokerStartError;

/// The image that is started; [`DEFAULT_IMAGE`] without it.
const IMAGE_VARIABLE: &str = "CALLMARK_NATS_IMAGE";

/// The major version is pinned, because the client protocol is stable within it.
const DEFAULT_IMAGE: &str = "nats:2";

/// Until the server in it listens.
const READY_DEADLINE: Duration = Duration::from_secs(10);

/// Long, because the image may have to be pulled first.
const START_DEADLINE: Duration = Duration::from_secs(180);

/// The port of the client protocol inside the container.
const PORT: u16 = 4222;

/// A running container, removed when dropped.
pub(super) struct Container(ContainerAsync<GenericImage>);

impl Container {
    /// Ends and removes it. A failure to do so is not reported: dropping tries again.
    pub(super) async fn stop(self) {
        let _ = self.0.rm().await;
    }
}

/// Starts the image; the URL of the broker in it.
pub(super) async fn start(commands: Commands) -> Result<(String, Container), BrokerStartError> {
    let image = image_name();
    let failed = |source: TestcontainersError| {
        let (image, missing) = (image.clone(), is_missing_image(&source));
        let source = Box::new(source);
        if missing {
            BrokerStartError::NoImage { image, source }
        } else {
            BrokerStartError::Docker { image, source }
        }
    };
    let (name, tag) = name_and_tag(&image);
    let request = GenericImage::new(name, tag)
        .with_exposed_port(PORT.tcp())
        .with_wait_for(WaitFor::message_on_stderr("Server is ready"))
        .with_startup_timeout(READY_DEADLINE)
        // In place of the image's own arguments, where streams are asked for.
        .with_cmd(if commands == Commands::JetStream { vec!["--jetstream"] } else { Vec::new() });
    let container = timeout(START_DEADLINE, request.start())
        .await
        .map_err(|_| BrokerStartError::Deadline {
            what: format!("the container of `{image}`"),
            limit: START_DEADLINE,
        })?
        .map_err(failed)?;
    let host = container.get_host().await.map_err(failed)?;
    let port = container.get_host_port_ipv4(PORT).await.map_err(failed)?;
    Ok((format!("nats://{host}:{port}"), Container(container)))
}

fn image_name() -> String {
    env::var(IMAGE_VARIABLE).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| DEFAULT_IMAGE.to_owned())
}

/// Name and tag; a colon before the last slash belongs to a registry's port.
fn name_and_tag(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

fn is_missing_image(error: &TestcontainersError) -> bool {
    matches!(error, TestcontainersError::Client(ClientError::PullImage { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_names_have_a_tag_or_get_one() {
        assert_eq!(name_and_tag("nats:2"), ("nats", "2"));
        assert_eq!(name_and_tag("nats"), ("nats", "latest"));
        assert_eq!(name_and_tag("host:5000/nats"), ("host:5000/nats", "latest"));
        assert_eq!(name_and_tag("host:5000/nats:2.10"), ("host:5000/nats", "2.10"));
    }
}
