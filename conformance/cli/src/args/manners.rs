//! Flags of what is asked before a run touches a target.

use clap::Args;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlanArguments {
    /// Say what the run would do (scenarios, calls, what they leave), and do nothing: the target is not touched
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Send mails to people through a target that others use, without being asked on a terminal
    #[arg(long)]
    pub(crate) yes: bool,
}
