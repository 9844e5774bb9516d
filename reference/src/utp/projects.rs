//! Which projects a component serves.

use super::subject::ProjectId;

/// Which projects a component serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projects {
    /// Every project, by subject wildcard.
    All,
    /// These alone; something else may serve others on the same broker.
    Only(Vec<ProjectId>),
}

impl Projects {
    /// Whether `project_id` is among them.
    pub fn contains(&self, project_id: &ProjectId) -> bool {
        match self {
            Self::All => true,
            Self::Only(projects) => projects.contains(project_id),
        }
    }

    /// The subject tokens to subscribe with in the project's place.
    pub(crate) fn tokens(&self) -> Vec<&str> {
        match self {
            Self::All => vec!["*"],
            Self::Only(projects) => projects.iter().map(ProjectId::as_str).collect(),
        }
    }
}
