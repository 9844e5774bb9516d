//! The management API: a tool's subject has a version that the platform serves.

use callmark_reference::broker::BrokerConfig;
use callmark_reference::utp::Revision;
use serde_json::Value;

use crate::utp::support::{PROJECT, Platform, within};

#[tokio::test]
async fn an_uploaded_subject_has_a_version_that_is_served() {
    let platform = Platform::start_in(Revision::V1r4, BrokerConfig::default()).await;
    let url = format!("{}/projects/{PROJECT}/tools", platform.l0().http_url().expect("an address"));
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    for (version, status) in [("v1r4", 201), ("v1r3", 201), ("v1r5", 400)] {
        let yaml = format!(
            "tool_name: tides_{version}\nafter_execution: suspend\n\
             target_subject: 'cg.{version}.{{project_id}}.{{channel_id}}.cmd.tool.tides'\n"
        );
        let answer = within("answer", client.post(&url).body(yaml).send()).await.expect("an answer");
        assert_eq!(answer.status().as_u16(), status, "{version}");
        let listed = within("list", client.get(&url).send()).await.expect("an answer");
        let listed: Value = within("list", listed.json()).await.expect("JSON");
        assert_eq!(listed.to_string().contains(version), status == 201, "{version}");
    }
}
