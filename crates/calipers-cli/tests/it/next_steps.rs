//! What a caveat advises can be done: the metrics, reducers, commands, policy keys and details that it names exist.

use crate::program::with_input;
use calipers::data::{MissingRule, RunEnding};
use calipers::metric::{Caveat, GateCaveat, NameKind, RecordedCause};
use calipers::render::caveat_next_step;
use calipers::script::Library;
use calipers::stats::StatisticCaveat;
use calipers::{Reducer, policy};

/// A caveat of every kind. The matches below do not compile with a kind that is not in this list.
fn every_caveat() -> Vec<Caveat> {
    let statistic = [
        StatisticCaveat::FewClusters { clusters: 4 },
        StatisticCaveat::DominantCluster { share: 0.6 },
        StatisticCaveat::ClusteredBelowNaive { clustered: 0.01, naive: 0.02 },
        StatisticCaveat::NoSpread { n: 5 },
        StatisticCaveat::SmallSample { n: 5, need: 30 },
        StatisticCaveat::NoBound { n: 5, need: 59 },
        StatisticCaveat::FewAttempts { attempts: 3, k: 2 },
        StatisticCaveat::FewResamples { resamples: 100, need: 10_000 },
        StatisticCaveat::NoAcceleration,
        StatisticCaveat::ExtremePrevalence { prevalence: 0.97 },
        StatisticCaveat::NoisyDenominator { variation: 0.3 },
        StatisticCaveat::IdenticalAttempts,
    ];
    let names = |kind| {
        [
            GateCaveat::SimilarNames { kind, spellings: vec![("a".into(), 1), ("A".into(), 0)] },
            GateCaveat::SeveralNames { kind, scenarios: vec![("S-1".into(), vec!["a".into(), "b".into()])] },
        ]
    };
    let mut gate = vec![
        GateCaveat::NothingBlocks,
        GateCaveat::NoVersion,
        GateCaveat::FewAttempts { scenarios: 2, wanted: 5 },
        GateCaveat::StaleBaseline { days: 90.0 },
        GateCaveat::FutureBaseline { date: "2099-01-01".into(), days: 9.0 },
        GateCaveat::BaselinePolicy,
        GateCaveat::AboveBaseline,
        GateCaveat::OutsideClusters { fields: vec!["document".into()], samples: 2 },
        GateCaveat::LikelyClusters { field: "document".into(), clusters: 3, samples: 60, correlation: Some(0.4) },
        GateCaveat::LikelyClusters { field: "document".into(), clusters: 3, samples: 60, correlation: None },
    ];
    gate.extend([NameKind::Category, NameKind::Capability, NameKind::Failure].into_iter().flat_map(names));
    let causes = [
        RecordedCause::Labels,
        RecordedCause::Threshold { reducer: "pass_at_2".into() },
        RecordedCause::Missing { samples: 3 },
        RecordedCause::Unknown,
    ];
    let mut all = vec![
        Caveat::PerfectScore { n: 5, worth: 5, passed: true, bound: 0.549 },
        Caveat::Missing { missing: 1, range: None },
        Caveat::Missing { missing: 2, range: Some((0.4, 0.6)) },
        Caveat::PooledAttempts { attempts: 10, samples: 5 },
        Caveat::IgnoresClusters { key: "passage".into() },
        Caveat::NoClusteredInterval { key: "passage".into() },
        Caveat::OpenInterval { fields: vec!["cost_usd".into()], lower: true, upper: false },
        Caveat::OpenChange { units: 24, are_clusters: false, one_in: 7, need: 188, is_unlimited: true },
        Caveat::OpenChange { units: 24, are_clusters: true, one_in: 7, need: 188, is_unlimited: false },
        Caveat::ExceededLimit { name: "cost_usd".into(), lower: true, upper: false },
        Caveat::SamplesAlone { key: "passage".into(), samples: 3 },
        Caveat::MeanOfErrors { stratified: Some(0.1) },
        Caveat::MeanOfErrors { stratified: None },
        Caveat::OutsideUnit { min: 1.0, max: 5.0 },
        Caveat::BootstrapDivisor { stderr: 0.1 },
        Caveat::ShareByT { n: 4 },
        Caveat::LooksLikeSeconds { field: "latency_ms".into(), max: 2.3 },
        Caveat::ModeTies { samples: 2 },
        Caveat::TooFewAttempts { reducer: "pass_at_6".into(), samples: 2 },
        Caveat::UnmatchedKey { key: "a".into(), known: vec!["b".into()] },
        Caveat::UnknownLabels { example: "maybe".into() },
        Caveat::NotLookedAt { scorer: "judge".into(), samples: 2 },
        Caveat::NoScores,
        Caveat::PartlyScored { scorer: Some("judge".into()), samples: 1, attempts: 1 },
        Caveat::Errored { attempts: 1, scored: 0 },
        Caveat::Errored { attempts: 2, scored: 0 },
        Caveat::Errored { attempts: 2, scored: 2 },
        Caveat::Incomplete {
            run: None,
            samples: 27,
            samples_expected: 30,
            attempts: 27,
            attempts_expected: 30,
            never_ran: Vec::new(),
            ending: RunEnding::Broken,
        },
        Caveat::LimitsHit { run: None, kinds: vec![("token".into(), 2)] },
        Caveat::CachedAnswers { run: None, attempts: 2, attempts_total: 9, answers: 3 },
        Caveat::MissingCounted { rule: MissingRule::Failed, attempts: 1, attempts_total: 9, overrides_policy: false },
        Caveat::Unmatched { candidate: "a".into(), candidate_samples: 1, baseline: "b".into(), baseline_samples: 2 },
        Caveat::FewMatched { matched: 3 },
        Caveat::UnknownReducer { reducer: "mine".into() },
        Caveat::SeveralReducers { reducers: vec!["mean".into(), "mode".into()], used: "mean".into() },
        Caveat::OtherReducer { used: "mean".into(), recorded: vec!["mode".into()] },
        Caveat::MatchedByLine { matched: 9, differing: Some(("category".into(), 2)) },
        Caveat::UnsharedScorers { scorers: vec!["judge".into()] },
        Caveat::UnknownMetrics { metrics: vec!["mine".into()] },
        Caveat::MapScores { scorers: vec!["judge".into()] },
        Caveat::FirstMetric { metric: "accuracy".into(), others: vec!["pass_rate".into()] },
        Caveat::UnknownAttempts,
        Caveat::UnknownPairing,
        Caveat::DisagreementOfAttempts,
        Caveat::GateOfScores,
        Caveat::GateOfClusters,
        Caveat::EffectOfScores,
        Caveat::JudgeDisagrees { run: None, scorer: Some("judge".into()), agreement: 0.3, upper: 0.5, needed: 0.6 },
        Caveat::PeopleDisagree { alpha: 0.3, upper: 0.5, needed: 0.6 },
        Caveat::LabelsUnlikeOthers { labelled: 0.9, others: 0.6, weighed: false },
        Caveat::LabelsUnlikeOthers { labelled: 0.9, others: 0.6, weighed: true },
        Caveat::LabelsOfOtherMix { key: "category".into(), value: "hard".into(), labelled: 0.9, others: 0.2 },
    ];
    all.extend(statistic.map(Caveat::Statistic));
    all.extend(gate.into_iter().map(Caveat::Gate));
    all.extend(causes.map(|cause| Caveat::DiffersFromRecorded { computed: 0.2, recorded: 0.8, cause }));
    all
}

/// Every kind of caveat is known here. A new one needs an example above.
fn kind(caveat: &Caveat) -> &'static str {
    match caveat {
        Caveat::Statistic(
            StatisticCaveat::FewClusters { .. }
            | StatisticCaveat::DominantCluster { .. }
            | StatisticCaveat::ClusteredBelowNaive { .. }
            | StatisticCaveat::NoSpread { .. }
            | StatisticCaveat::SmallSample { .. }
            | StatisticCaveat::NoBound { .. }
            | StatisticCaveat::FewAttempts { .. }
            | StatisticCaveat::FewResamples { .. }
            | StatisticCaveat::NoAcceleration
            | StatisticCaveat::ExtremePrevalence { .. }
            | StatisticCaveat::NoisyDenominator { .. }
            | StatisticCaveat::IdenticalAttempts,
        )
        | Caveat::PerfectScore { .. }
        | Caveat::Missing { .. }
        | Caveat::PooledAttempts { .. }
        | Caveat::IgnoresClusters { .. }
        | Caveat::NoClusteredInterval { .. }
        | Caveat::OpenInterval { .. }
        | Caveat::OpenChange { .. }
        | Caveat::ExceededLimit { .. }
        | Caveat::SamplesAlone { .. }
        | Caveat::MeanOfErrors { .. }
        | Caveat::OutsideUnit { .. }
        | Caveat::BootstrapDivisor { .. }
        | Caveat::ShareByT { .. }
        | Caveat::LooksLikeSeconds { .. }
        | Caveat::ModeTies { .. }
        | Caveat::TooFewAttempts { .. }
        | Caveat::UnmatchedKey { .. }
        | Caveat::UnknownLabels { .. }
        | Caveat::NotLookedAt { .. }
        | Caveat::NoScores
        | Caveat::PartlyScored { .. }
        | Caveat::Errored { .. }
        | Caveat::Incomplete { .. }
        | Caveat::LimitsHit { .. }
        | Caveat::CachedAnswers { .. }
        | Caveat::MissingCounted { .. }
        | Caveat::Gate(
            GateCaveat::NothingBlocks
            | GateCaveat::NoVersion
            | GateCaveat::FewAttempts { .. }
            | GateCaveat::SimilarNames { .. }
            | GateCaveat::SeveralNames { .. }
            | GateCaveat::StaleBaseline { .. }
            | GateCaveat::FutureBaseline { .. }
            | GateCaveat::BaselinePolicy
            | GateCaveat::AboveBaseline
            | GateCaveat::OutsideClusters { .. }
            | GateCaveat::LikelyClusters { .. },
        )
        | Caveat::Unmatched { .. }
        | Caveat::FewMatched { .. }
        | Caveat::UnknownReducer { .. }
        | Caveat::SeveralReducers { .. }
        | Caveat::OtherReducer { .. }
        | Caveat::DiffersFromRecorded { .. }
        | Caveat::MatchedByLine { .. }
        | Caveat::UnsharedScorers { .. }
        | Caveat::UnknownMetrics { .. }
        | Caveat::MapScores { .. }
        | Caveat::FirstMetric { .. }
        | Caveat::UnknownAttempts
        | Caveat::UnknownPairing
        | Caveat::DisagreementOfAttempts
        | Caveat::GateOfScores
        | Caveat::GateOfClusters
        | Caveat::EffectOfScores
        | Caveat::JudgeDisagrees { .. }
        | Caveat::PeopleDisagree { .. }
        | Caveat::LabelsUnlikeOthers { .. }
        | Caveat::LabelsOfOtherMix { .. } => caveat.id(),
    }
}

/// What stands in backticks.
fn literals(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// A metric or a call of one, a reducer, a command, keys of a policy, or a number in the details of a figure.
fn exists(literal: &str) -> bool {
    // Numbers that clustered figures have beside them in the JSON.
    const DETAILS: [&str; 2] = ["cr2", "df_satterthwaite"];
    if let Some(command) = literal.strip_prefix("calipers ") {
        let arguments: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        return with_input(&arguments, b"").status.code() == Some(0);
    }
    let keys: Vec<&str> = literal.split(['.', ':', '"', ' ']).filter(|key| !key.is_empty()).collect();
    let is_policy = !keys.is_empty() && keys.iter().all(|key| policy::SCHEMA.contains(&format!("\"{key}\"")));
    DETAILS.contains(&literal)
        || is_policy
        || Library::builtin().metrics(literal).is_ok()
        || Reducer::parse(literal).is_ok()
}

#[test]
fn every_next_step_can_be_taken() {
    for caveat in every_caveat() {
        let kind = kind(&caveat);
        let Some(next) = caveat_next_step(&caveat) else {
            assert_eq!(kind, "missing-counted", "only a choice that was made needs no next step");
            continue;
        };
        assert!(!next.is_empty() && !next.ends_with('.'), "{kind}: {next}");
        // Libraries name no flags, so nothing here can name one that does not exist.
        assert!(!next.contains("--"), "{kind}: {next}");
        for literal in literals(&next) {
            assert!(exists(literal), "{kind} advises `{literal}`, which is nothing that exists: {next}");
        }
    }
}

#[test]
fn the_details_that_caveats_name_are_in_the_json() {
    let records: String = (0..12)
        .map(|i| format!("{{\"id\": {i}, \"passage\": {}, \"score\": {}}}\n", i % 5, i32::from(i % 3 == 0)))
        .collect();
    let output = with_input(&["score", "-", "--json", "-m", "stderr(cluster='passage')"], records.as_bytes());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = report.to_string();
    for detail in ["cr2", "df_satterthwaite"] {
        assert!(text.contains(&format!("\"{detail}\"")), "{detail} is not in {text}");
    }
}
