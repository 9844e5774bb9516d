//! A calendar and mail provider to try the Hub with: the wire shapes of Google Calendar v3, Gmail v1 and OAuth.
//!
//! `state` keeps what was written until the provider ends, one account for each of the [`super::fixtures`];
//! `token`, `calendar` and `mail` are the three services, `letters` the mails, `search` their query language.
//! What a token is good for follows from the name in it: `access-upstream_down` gets 503, and so on.
//!
//! Deliberately absent: delivery of mail to anybody, notifications, recurrence, and accounts of other names.

mod calendar;
mod letters;
mod mail;
mod problem;
mod search;
mod seeds;
mod state;
mod token;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::{get, post};

use super::error::HubError;
use crate::http::listen::{Bounds, Listening};
use problem::Problem;
use state::ProviderState;

/// No request may be longer.
const BODY_BYTES: usize = 4 * 1024 * 1024;
/// For the head of a request, and for a connection without one.
const HEAD_DEADLINE: Duration = Duration::from_secs(60);
/// For one request, reading it included.
const DEADLINE: Duration = Duration::from_secs(10);
/// How many connections there may be at once.
const CONNECTIONS: usize = 1024;

/// A running provider; dropping it ends it without waiting.
#[derive(Debug)]
pub struct StandIn {
    listening: Listening,
}

impl StandIn {
    /// Listens; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound.
    pub async fn start(listen: SocketAddr) -> Result<Self, HubError> {
        let bounds = Bounds { head: HEAD_DEADLINE, connections: CONNECTIONS, stall: HEAD_DEADLINE };
        let listening = Listening::bind(listen, router(), bounds).await;
        Ok(Self { listening: listening.map_err(|source| HubError::Listen { address: listen, source })? })
    }

    /// The address that it listens on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// The base that [`crate::hub::HubConfig::new`] takes: `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Answers what is being answered, then ends; what was written is gone.
    pub async fn shutdown(self) {
        self.listening.shutdown().await;
    }
}

fn router() -> Router {
    const EVENTS: &str = "/calendar/v3/calendars/primary/events";
    const MAIL: &str = "/gmail/v1/users/me";
    Router::new()
        .route("/token", post(token::issue))
        .route("/calendar/v3/freeBusy", post(calendar::free_busy))
        .route(EVENTS, get(calendar::list).post(calendar::insert))
        .route(
            &format!("{EVENTS}/{{event}}"),
            get(calendar::get).patch(calendar::patch).delete(calendar::delete),
        )
        .route(&format!("{MAIL}/messages"), get(mail::list))
        .route(&format!("{MAIL}/messages/send"), post(mail::send))
        .route(&format!("{MAIL}/messages/{{message}}"), get(mail::get))
        .route(&format!("{MAIL}/messages/{{message}}/modify"), post(mail::modify))
        .route(&format!("{MAIL}/messages/{{message}}/attachments/{{attachment}}"), get(mail::attachment))
        .route(&format!("{MAIL}/threads/{{thread}}"), get(mail::thread))
        .fallback(|| async { Problem::not_found() })
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(from_fn(|request: Request, next: Next| async move {
            tokio::time::timeout(DEADLINE, next.run(request)).await.unwrap_or_else(|_elapsed| {
                Problem::new(408, "timeout", "the request took too long").into_response()
            })
        }))
        .with_state(Arc::new(ProviderState::default()))
}
