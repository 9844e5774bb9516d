//! What the doctor asks of a Hub.

use super::HubSession;
use crate::engine::diagnosis::Check;
use crate::engine::judge::Cause;
use crate::families::hub::contract;
use crate::families::hub::manifest::Customer;

impl HubSession {
    /// What the calibration of a session with a Hub found, and whether each customer is what it is said to be.
    pub(super) async fn checks(&self) -> Vec<Check> {
        if !self.works() {
            let (Ok(outcome) | Err(outcome)) = self.try_customer(Customer::Connected).await;
            let text =
                format!("it gives one answer to two tools and to a tool that does not exist; {outcome}");
            return vec![Check::bad("hub", Cause::Implementation, text)];
        }
        let mut checks = vec![Check::good("hub", "distinguishes requests"), Check::timeouts(&self.timeouts)];
        for tool in contract::TOOLS {
            checks.push(if self.missing().contains(tool) {
                Check::bad(tool, Cause::Implementation, "the Hub answers `TOOL_NOT_FOUND`")
            } else {
                Check::good(tool, "the Hub knows it")
            });
        }
        for customer in Customer::ALL {
            let name = customer.name();
            if !self.table.customers.contains_key(&customer) {
                checks.push(Check::note(name, "not named: what needs it will be not-applicable"));
                continue;
            }
            checks.push(match self.try_customer(customer).await {
                Ok(outcome) => Check::good(name, outcome),
                Err(outcome) => Check::bad(name, Cause::Fixture, outcome),
            });
        }
        checks.push(match &self.provider {
            Some(provider) if provider.was_asked() => {
                Check::good("provider", "the Hub asks the one that the suite plays")
            }
            Some(_) => Check::bad(
                "provider",
                Cause::Config,
                "the Hub asks the provider at `CALLMARK_PROVIDER_URL` nothing",
            ),
            None => Check::note("provider", "not the suite's: what arrives there will be not-applicable"),
        });
        checks
    }
}
