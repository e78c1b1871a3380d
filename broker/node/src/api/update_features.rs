//! UpdateFeatures (key 57), versions 0–2.
//!
//! Finalizes features at other levels, all that are named or none. v0 says whether a level may fall, v1 which way and
//! whether it is a rehearsal; v2 has no rows. A level outside what controller and brokers can work at is 95.

use ballast_core::controller::{FeatureUpdate, Request, Response, UpgradeKind};
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use kafka_protocol::messages::update_features_response::UpdatableFeatureResult;
use kafka_protocol::messages::{UpdateFeaturesRequest, UpdateFeaturesResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::controller::ask;
use super::view::text;
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse {
    if !ctx.may(Operation::Alter, Resource::Cluster) {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED, "Authorization failed.");
    }
    let updates = request.feature_updates.iter().map(|update| FeatureUpdate {
        feature: update.feature.to_string(),
        level: update.max_version_level,
        upgrade: upgrade(ctx.version, update),
    });
    let asked = Request::UpdateFeatures { updates: updates.collect(), validate_only: request.validate_only };
    match ask(&ctx, asked, request.timeout_ms).await {
        Ok(Response::UpdateFeatures(Ok(()))) => {
            let rows = request.feature_updates.iter().filter(|_| ctx.version <= 1).map(|update| {
                let row = UpdatableFeatureResult::default().with_feature(update.feature.clone());
                row.with_error_message(Some(text("NONE")))
            });
            UpdateFeaturesResponse::default().with_error_message(None).with_results(rows.collect())
        }
        Ok(Response::UpdateFeatures(Err(error))) => refused(error.code(), &error.to_string()),
        Ok(Response::Refused(refusal)) => refused(refusal.code(), &refusal.to_string()),
        Ok(other) => unreachable!("UpdateFeatures was answered with {other:?}"),
        Err(_) => refused(code::REQUEST_TIMED_OUT, "The controller did not answer in time."),
    }
}

fn upgrade(version: i16, update: &FeatureUpdateKey) -> Option<UpgradeKind> {
    match version {
        0 if update.allow_downgrade => Some(UpgradeKind::SafeDowngrade),
        0 => Some(UpgradeKind::Upgrade),
        _ => UpgradeKind::from_id(update.upgrade_type),
    }
}

fn refused(error: Code, words: &str) -> UpdateFeaturesResponse {
    UpdateFeaturesResponse::default().with_error_code(error).with_error_message(Some(text(words)))
}
