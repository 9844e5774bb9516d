//! UTP v1r4: identity in headers, and what is refused for it. What is the same in both revisions is tested in v1r3.

mod both;
mod openapi;
mod pmo;
mod registry;
mod reports;
mod runtime;
mod tool_service;
mod whole;
