//! What to know about a verdict as a whole.

/// Something worth knowing about a verdict, with its numbers. `calipers-render` has the sentence and the next step.
#[derive(Clone, Debug, PartialEq)]
pub enum GateCaveat {
    /// No gate of a policy blocks.
    NothingBlocks,
    /// A policy has thresholds by version, and no version is named.
    NoVersion,
    /// Scenarios with fewer attempts than a policy asks for.
    FewAttempts {
        /// How many scenarios.
        scenarios: u64,
        /// How many attempts each should have.
        wanted: u64,
    },
    /// Names that are probably meant to be one.
    SimilarNames {
        /// What they name.
        kind: NameKind,
        /// The spellings, each with the number of scenarios that have it; those of the policy may have none.
        spellings: Vec<(String, u64)>,
    },
    /// Attempts of one scenario that disagree about a name; the first one counts.
    SeveralNames {
        /// What they name.
        kind: NameKind,
        /// The scenarios, each with its names in the order of attempts.
        scenarios: Vec<(String, Vec<String>)>,
    },
    /// The baseline is old.
    StaleBaseline {
        /// Its age in days.
        days: f64,
    },
    /// The baseline is dated in the future.
    FutureBaseline {
        /// Its date.
        date: String,
        /// How many days ahead that is.
        days: f64,
    },
    /// The baseline was recorded under another version of the policy.
    BaselinePolicy,
    /// A policy asks for more than the baseline, which an unchanged agent misses half the time.
    AboveBaseline,
    /// Samples without a value of the fields that say which samples go together.
    OutsideClusters {
        /// The fields.
        fields: Vec<String>,
        /// How many samples.
        samples: u64,
    },
    /// Samples go together by a field, and nothing says so.
    LikelyClusters {
        /// The field.
        field: String,
        /// How many values it has.
        clusters: u64,
        /// How many samples share them.
        samples: u64,
        /// How much samples that share a value are alike; none where all samples are.
        correlation: Option<f64>,
    },
}

/// What a name in records and policies is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// The category of a scenario.
    Category,
    /// The capability that a scenario is about.
    Capability,
    /// A kind of failure.
    Failure,
}

impl GateCaveat {
    /// A short stable name, for machines and for documentation.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::NothingBlocks => "nothing-blocks",
            Self::OutsideClusters { .. } => "outside-clusters",
            Self::LikelyClusters { .. } => "likely-clusters",
            Self::NoVersion => "no-version",
            Self::FewAttempts { .. } => "few-attempts",
            Self::SimilarNames { kind: NameKind::Category, .. } => "similar-categories",
            Self::SimilarNames { kind: NameKind::Capability, .. } => "similar-capabilities",
            Self::SimilarNames { kind: NameKind::Failure, .. } => "similar-failures",
            Self::SeveralNames { kind: NameKind::Category, .. } => "several-categories",
            Self::SeveralNames { kind: NameKind::Capability, .. } => "several-capabilities",
            Self::SeveralNames { kind: NameKind::Failure, .. } => "several-failures",
            Self::StaleBaseline { .. } => "stale-baseline",
            Self::FutureBaseline { .. } => "future-baseline",
            Self::BaselinePolicy => "baseline-policy",
            Self::AboveBaseline => "above-baseline",
        }
    }
}
