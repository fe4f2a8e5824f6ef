//! Expressions over groups in place of rows.

use super::{Binder, Scope};
use crate::error::{Result, SqlError};
use crate::expr::Expr;

impl Binder<'_> {
    /// Has expressions read the slots of a group: those of the row around, then the keys, then the aggregates. Columns
    /// that depend on the keys become keys, too.
    pub(super) fn regroup(
        &mut self,
        exprs: Vec<&mut Expr>,
        keys: &mut Vec<Expr>,
        aggregates: usize,
        outer: usize,
        scope: &Scope,
    ) -> Result<()> {
        let depending = self.depending(keys, scope);
        let mut groups = Groups { keys, outer, scope, depending };
        let mut exprs = exprs;
        for expr in &mut exprs {
            groups.replace(expr)?;
        }
        // Aggregates follow the keys, of which there may be more now.
        let first = outer + groups.keys.len();
        for expr in exprs {
            number_aggregates(expr, first, aggregates);
        }
        Ok(())
    }

    /// The slots of tables of whose primary key all columns are keys.
    fn depending(&self, keys: &[Expr], scope: &Scope) -> Vec<usize> {
        let mut slots = Vec::new();
        for relation in scope.own() {
            let Some(oid) = relation.columns.first().map(|it| it.output.table_oid) else {
                continue;
            };
            let Some(table) = self.catalog.tables().find(|it| it.oid() == oid) else { continue };
            let is_key = |at: &usize| keys.contains(&Expr::Column(relation.start + at));
            if !table.key.is_empty() && table.key.iter().all(is_key) {
                slots.extend(relation.start..relation.start + relation.columns.len());
            }
        }
        slots
    }
}

struct Groups<'g> {
    keys: &'g mut Vec<Expr>,
    outer: usize,
    scope: &'g Scope,
    depending: Vec<usize>,
}

impl Groups<'_> {
    fn replace(&mut self, expr: &mut Expr) -> Result<()> {
        if let Some(key) = self.keys.iter().position(|it| it == expr) {
            *expr = Expr::Column(self.outer + key);
            return Ok(());
        }
        match expr {
            Expr::Column(slot) if *slot >= self.outer => {
                let slot = *slot;
                if self.depending.contains(&slot) {
                    self.keys.push(Expr::Column(slot));
                    *expr = Expr::Column(self.outer + self.keys.len() - 1);
                    return Ok(());
                }
                Err(self.ungrouped(slot))
            }
            Expr::Subquery(subquery) => {
                let (outer, width) = (self.outer, self.scope.width);
                let mut inner = None;
                subquery.query.walk(&mut |it| {
                    if let Expr::Column(slot) = it
                        && (outer..width).contains(slot)
                    {
                        inner = Some(*slot);
                    }
                });
                if inner.is_some() {
                    return Err(SqlError::feature_not_supported(
                        "a query over the columns of a grouped query around it",
                    ));
                }
                expr.parts_mut().into_iter().try_for_each(|it| self.replace(it))
            }
            _ => expr.parts_mut().into_iter().try_for_each(|it| self.replace(it)),
        }
    }

    fn ungrouped(&self, slot: usize) -> SqlError {
        let relation = self
            .scope
            .own()
            .iter()
            .find(|it| (it.start..it.start + it.columns.len()).contains(&slot));
        let name = relation.map_or(String::new(), |relation| {
            format!("{}.{}", relation.name, relation.columns[slot - relation.start].output.name)
        });
        SqlError::grouping_error(format!(
            "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
        ))
    }
}

fn number_aggregates(expr: &mut Expr, first: usize, count: usize) {
    if let Expr::Aggregate(number) = expr {
        debug_assert!(*number < count, "an aggregate of the query");
        *expr = Expr::Column(first + *number);
        return;
    }
    for part in expr.parts_mut() {
        number_aggregates(part, first, count);
    }
}
