//! The budget of a whole run.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// What a run may cost in US dollars, with all its models and programs.
///
/// What a call costs is known when it is answered. So a call begins only if those under way and it itself, each as dear as
/// the dearest of its model so far, stay within the budget. Before a model's first answer it is asked one question at a
/// time. The budget is exceeded only by a call that costs more than any before it.
pub(crate) struct Budget {
    limit_usd: f64,
    account: Mutex<Account>,
    settled: Notify,
}

#[derive(Default)]
struct Account {
    spent_usd: f64,
    /// What a call may cost of a model that has not answered yet, from an earlier run.
    expected_usd: f64,
    /// By model or program.
    payees: Vec<(Arc<str>, Payee)>,
    /// What a call might have cost that was refused.
    refused_usd: Option<f64>,
}

#[derive(Clone, Copy, Default)]
struct Payee {
    under_way: u32,
    /// The most that a call cost so far.
    dearest_usd: Option<f64>,
}

/// The budget leaves no room for another call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetSpent {
    /// The budget, in US dollars.
    pub limit_usd: f64,
    /// What is spent of it.
    pub spent_usd: f64,
    /// What the next call might cost, as far as it is known.
    pub next_usd: f64,
}

impl fmt::Display for BudgetSpent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit_usd, spent_usd, next_usd } = self;
        write!(f, "the budget of ${limit_usd} is spent: ${spent_usd:.4} so far")?;
        if spent_usd < limit_usd {
            write!(f, ", and the next call may cost ${next_usd:.4}")?;
        }
        Ok(())
    }
}

/// A call under way. Whatever its outcome, the room that it takes is given back.
pub(crate) struct Commitment<'a> {
    budget: &'a Budget,
    payee: Arc<str>,
}

impl Budget {
    /// A budget of which this much was spent before, on this many attempts.
    pub(crate) fn new(limit_usd: f64, spent_usd: f64, attempts: usize) -> Self {
        let expected_usd = if attempts == 0 { 0.0 } else { spent_usd / attempts as f64 };
        let account = Account { spent_usd, expected_usd, ..Account::default() };
        Self { limit_usd, account: Mutex::new(account), settled: Notify::new() }
    }

    /// Waits until there is room for a call, or until it is certain that there is none.
    pub(crate) async fn commit(&self, payee: &Arc<str>) -> Result<Commitment<'_>, BudgetSpent> {
        loop {
            let settled = self.settled.notified();
            match self.try_commit(payee)? {
                true => return Ok(Commitment { budget: self, payee: payee.clone() }),
                false => settled.await,
            }
        }
    }

    /// True if a call may begin, false if that depends on those under way.
    fn try_commit(&self, payee: &Arc<str>) -> Result<bool, BudgetSpent> {
        let mut account = self.account();
        let committed: f64 = account
            .payees
            .iter()
            .map(|(_, of)| f64::from(of.under_way) * of.dearest_usd.unwrap_or(account.expected_usd))
            .sum();
        let is_any = account.payees.iter().any(|(_, of)| of.under_way > 0);
        let (spent_usd, expected_usd) = (account.spent_usd, account.expected_usd);
        let of = account.payee(payee);
        let next_usd = of.dearest_usd.unwrap_or(expected_usd);
        let is_first = of.dearest_usd.is_none() && of.under_way > 0;
        // A budget that is spent to the last cent has no room, even for a call whose cost is not known yet.
        let fits = spent_usd < self.limit_usd && spent_usd + committed + next_usd <= self.limit_usd;
        if fits && !is_first {
            of.under_way += 1;
            return Ok(true);
        }
        if is_any && spent_usd + next_usd <= self.limit_usd {
            return Ok(false);
        }
        account.refused_usd = Some(next_usd);
        Err(BudgetSpent { limit_usd: self.limit_usd, spent_usd, next_usd })
    }

    /// Counts what a call cost.
    pub(crate) fn spend(&self, payee: &Arc<str>, cost_usd: f64) {
        let mut account = self.account();
        account.spent_usd += cost_usd;
        let of = account.payee(payee);
        of.dearest_usd = Some(of.dearest_usd.map_or(cost_usd, |dearest| dearest.max(cost_usd)));
    }

    /// That a call was refused, if one was.
    pub(crate) fn refusal(&self) -> Option<BudgetSpent> {
        let account = self.account();
        let next_usd = account.refused_usd?;
        Some(BudgetSpent { limit_usd: self.limit_usd, spent_usd: account.spent_usd, next_usd })
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    fn payee(&mut self, name: &Arc<str>) -> &mut Payee {
        let at = self.payees.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.payees.push((name.clone(), Payee::default()));
            self.payees.len() - 1
        });
        &mut self.payees[at].1
    }
}

impl Drop for Commitment<'_> {
    fn drop(&mut self) {
        let mut account = self.budget.account();
        let of = account.payee(&self.payee);
        of.under_way = of.under_way.saturating_sub(1);
        drop(account);
        self.budget.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::time::Duration;

    /// How many of these calls were made, each of which costs this much, and how many were refused.
    async fn make(budget: &Budget, calls: usize, cost_usd: f64) -> (usize, usize) {
        let payee: Arc<str> = "m".into();
        let call = || async {
            let Ok(_commitment) = budget.commit(&payee).await else { return false };
            tokio::time::sleep(Duration::from_secs(1)).await;
            budget.spend(&payee, cost_usd);
            true
        };
        let made = join_all((0..calls).map(|_| call())).await;
        let count = made.iter().filter(|made| **made).count();
        (count, calls - count)
    }

    #[tokio::test(start_paused = true)]
    async fn calls_at_the_same_time_stay_within_the_budget_together() {
        let budget = Budget::new(1.0, 0.0, 0);
        assert_eq!(make(&budget, 100, 0.125).await, (8, 92));
        let spent = budget.refusal().expect("some were refused");
        assert_eq!(spent.to_string(), "the budget of $1 is spent: $1.0000 so far");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_that_is_too_small_is_left() {
        let budget = Budget::new(1.0, 0.0, 0);
        assert_eq!(make(&budget, 10, 0.375).await, (2, 8));
        let said = budget.refusal().expect("some were refused").to_string();
        assert_eq!(said, "the budget of $1 is spent: $0.7500 so far, and the next call may cost $0.3750");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_spent_before_counts_and_what_fails_costs_nothing() {
        let budget = Budget::new(1.0, 0.5, 2);
        assert_eq!(make(&budget, 10, 0.25).await, (2, 8));
        assert_eq!(make(&Budget::new(1.0, 0.8, 2), 10, 0.25).await, (0, 10), "a call has cost 0.4 so far");
        let free = Budget::new(1.0, 0.0, 0);
        for _ in 0..20 {
            drop(free.commit(&"m".into()).await.expect("nothing is spent"));
        }
        assert_eq!(free.refusal(), None);
        assert!(Budget::new(0.0, 0.0, 0).commit(&"m".into()).await.is_err());
    }
}
