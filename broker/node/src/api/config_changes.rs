//! What AlterConfigs and IncrementalAlterConfigs share: which resource is meant, who may change it, and who decides.
//!
//! ```text
//! resource -> twice? -> known, this broker's, allowed? -> its changes read -> controller (all in one request) -> row
//!                                                      `-> loggers: changed here
//! ```
//! Holds: every resource of a request has one row in the answer, in the order of the request.

use ballast_core::controller::{Request, Response};
use ballast_core::image::{ConfigResource, ResourceKind};
use kafka_protocol::protocol::StrBytes;

use super::call::Ctx;
use super::code::{self, Code};
use super::controller::ask as ask_controller;
use crate::session::{Operation, Resource};

/// Kafka's number of a broker's loggers among the types of resources.
pub(super) const BROKER_LOGGER: i8 = 8;

/// A resource as the request names it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) kind: i8,
    pub(super) name: StrBytes,
}

/// Why a resource was not changed.
#[derive(Clone)]
pub(super) struct Refused {
    pub(super) code: Code,
    pub(super) words: Option<String>,
}

impl Refused {
    pub(super) fn new(code: Code, words: impl Into<String>) -> Refused {
        Refused { code, words: Some(words.into()) }
    }

    /// Kafka has no words for it.
    pub(super) fn silent(code: Code) -> Refused {
        Refused { code, words: None }
    }
}

/// Whose configs they are.
pub(super) enum Target {
    /// Kept in the metadata: the controller decides.
    Metadata(ConfigResource),
    /// This process's loggers.
    Loggers,
}

/// What is left to do for a resource.
pub(super) enum Step<T> {
    /// The controller decides this.
    Ask(ConfigResource, T),
    /// Nothing.
    Done,
}

/// A resource and what became of it.
pub(super) type Row = (Named, Result<(), Refused>);

pub(super) fn unknown_type(kind: i8) -> Refused {
    Refused::new(code::INVALID_REQUEST, format!("Unknown resource type {kind}"))
}

/// Changes the resources: `judge` reads what is to change of one, `request` makes one request of all that the controller
/// decides, and `pass_on` asks it about the resources at these places where it is another node.
pub(super) async fn change<R, T>(
    ctx: &Ctx,
    resources: Vec<(Named, R)>,
    judge: impl Fn(Target, R) -> Result<Step<T>, Refused>,
    request: impl FnOnce(Vec<(ConfigResource, T)>) -> Request,
    pass_on: impl AsyncFnOnce(&[usize]) -> Option<Vec<Result<(), Refused>>>,
) -> Vec<Row> {
    let names: Vec<Named> = resources.iter().map(|(named, _)| named.clone()).collect();
    let comes_twice = |named: &Named| names.iter().filter(|other| *other == named).count() > 1;
    let (mut rows, mut asked, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for (named, resource) in resources {
        let step = if comes_twice(&named) {
            Err(Refused::new(code::INVALID_REQUEST, "Each resource must appear at most once."))
        } else {
            target(ctx, &named).and_then(|target| judge(target, resource))
        };
        let result = step.map(|step| match step {
            Step::Ask(resource, change) => {
                asked.push(rows.len());
                changes.push((resource, change));
            }
            Step::Done => {}
        });
        rows.push((named, result));
    }
    if !asked.is_empty() {
        let results = match pass_on(&asked).await {
            Some(results) => results,
            None => decide(ctx, request(changes), asked.len()).await,
        };
        assert_eq!(asked.len(), results.len(), "{} resources were asked about", asked.len());
        for (at, result) in asked.into_iter().zip(results) {
            rows[at].1 = result;
        }
    }
    rows
}

/// A row of the active controller's answer.
pub(super) fn result(code: Code, words: Option<StrBytes>) -> Result<(), Refused> {
    if code == code::NONE { Ok(()) } else { Err(Refused { code, words: words.map(|words| words.to_string()) }) }
}

/// The controller's answers, in the order of the request.
async fn decide(ctx: &Ctx, request: Request, resources: usize) -> Vec<Result<(), Refused>> {
    let timeout_ms = i32::try_from(ctx.node.settings.now().network.request_timeout_ms).unwrap_or(i32::MAX);
    match ask_controller(ctx, request, timeout_ms).await {
        Ok(Response::AlterConfigs(results)) => results
            .into_iter()
            .map(|(_, result)| result.map_err(|error| Refused::new(error.code(), error.to_string())))
            .collect(),
        Ok(Response::Refused(refusal)) => vec![Err(Refused::new(refusal.code(), refusal.to_string())); resources],
        Ok(other) => unreachable!("a change of configs was answered with {other:?}"),
        Err(_) => {
            vec![Err(Refused::new(code::REQUEST_TIMED_OUT, "The controller did not answer in time.")); resources]
        }
    }
}

fn target(ctx: &Ctx, named: &Named) -> Result<Target, Refused> {
    let name = named.name.as_str();
    if named.kind == BROKER_LOGGER {
        may(ctx, Resource::Cluster, code::CLUSTER_AUTHORIZATION_FAILED)?;
        return match node_id(name)? {
            id if id == ctx.node.id => Ok(Target::Loggers),
            id => Err(Refused::new(
                code::INVALID_REQUEST,
                format!("Unexpected node id. Expected {}, but received {id}", ctx.node.id),
            )),
        };
    }
    let kind = ResourceKind::from_id(named.kind).ok_or_else(|| unknown_type(named.kind))?;
    match kind {
        ResourceKind::Topic => may(ctx, Resource::Topic(name), code::TOPIC_AUTHORIZATION_FAILED)?,
        ResourceKind::Group => may(ctx, Resource::Group(name), code::GROUP_AUTHORIZATION_FAILED)?,
        ResourceKind::Broker | ResourceKind::ClientMetrics => {
            may(ctx, Resource::Cluster, code::CLUSTER_AUTHORIZATION_FAILED)?;
        }
    }
    if kind == ResourceKind::Broker && !name.is_empty() {
        let id = node_id(name)?;
        // What another broker has sent on, it has found to be its own.
        if id != ctx.node.id && ctx.may_pass_on() {
            let words = format!("Unexpected broker id, expected {}, but received {id}", ctx.node.id);
            return Err(Refused::new(code::INVALID_REQUEST, words));
        }
        return Ok(Target::Metadata(ConfigResource::broker(id)));
    }
    Ok(Target::Metadata(ConfigResource { kind, name: name.to_owned() }))
}

fn node_id(name: &str) -> Result<i32, Refused> {
    let refused = || Refused::new(code::INVALID_REQUEST, format!("Node id must be an integer, but it is: {name}"));
    name.parse().map_err(|_| refused())
}

fn may(ctx: &Ctx, resource: Resource<'_>, refused: Code) -> Result<(), Refused> {
    if ctx.may(Operation::AlterConfigs, resource) {
        Ok(())
    } else {
        Err(Refused::new(refused, "Authorization failed."))
    }
}
