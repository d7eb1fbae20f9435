/** Checks the parts of the configuration against each other, after each part alone is valid. */
import { askerHeader } from "@sekisho/contracts/asker.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { findPartition } from "@sekisho/runtime/aws/partitions.ts";
import { listAgents, toAgentPath } from "./agent-list.ts";
import type { AgentConfig } from "./agent-schema.ts";
import type { AuthorizerConfig } from "./authorizer-schema.ts";
import { callTimes, localSyncBudgetMs, maxStageCallMs, resolveLongPollMs } from "./call-time.ts";
import {
  factsOf,
  isLocalOnly,
  isOwnExecution,
  listAddresses,
  needsAskerToken,
  ownAudience,
  protocolOf,
  readAudience,
  readHostAgent,
  resolveAuthorizerConfig,
} from "./destination-address.ts";
import type { Destination } from "./destination-schema.ts";
import { needsZones } from "./execution-asker.ts";
import { isRemote, readAgentAddress, resolveAgentAuthorizer } from "./remote-agent.ts";
import type { Config } from "./schema.ts";
import { computeMaxTaskMs, maxLambdaTaskMs } from "./stage-config.ts";
import { findClosest } from "./unknown-key.ts";
import type { ValidParts } from "./valid-parts.ts";

/** `path` is the field to change, and `message` says how. */
export type Problem = { path: (string | number)[]; message: string };

/** Leaves out the checks that need an invalid section. */
export function crossCheck({ config, destinationNames, invalidSections }: ValidParts): Problem[] {
  const areValid = (...sections: (keyof Config)[]) =>
    !sections.some((section) => invalidSections.has(section));
  return [
    ...routeProblems(config, destinationNames),
    ...workspaceProblems(config),
    ...destinationProblems(config),
    ...callTimeProblems(config),
    ...(areValid("asker") ? askerProblems(config) : []),
    ...(areValid("execution", "limits") ? budgetProblems(config) : []),
    ...(areValid("limits") ? longPollProblems(config) : []),
    ...(areValid("execution") ? [...tokenProblems(config), ...agentProblems(config)] : []),
    ...(areValid("execution", "asker") ? verifierProblems(config) : []),
    ...(areValid("execution", "stages") ? a2aCallerProblems(config) : []),
    ...(areValid("execution", "limits") ? stageProblems(config) : []),
  ];
}

/** A runtime of AgentCore knows its address. */
function a2aCallerProblems({ execution: { a2a }, stages }: Config): Problem[] {
  const isRuntime = Object.values(stages).some(
    ({ execution }) => execution.kind === "agentcore" && execution.protocol === "a2a",
  );
  if (a2a.callers.length === 0 || a2a.url !== undefined || isRuntime) return [];
  const message =
    "have no effect without a url; set execution.a2a.url to the address of the Function URL";
  return [{ path: ["execution", "a2a", "callers"], message }];
}

function routeProblems({ routes }: Config, knownNames: readonly string[] | undefined): Problem[] {
  return routes.flatMap(({ team, channel, word, destination: names }, index) => {
    const problems: Problem[] = [];
    if ((team ?? channel ?? word) === undefined && index < routes.length - 1) {
      const message =
        "matches every message, so the routes after it have no effect; move it to the end, or add team, channel or word";
      problems.push({ path: ["routes", index], message });
    }
    const path = ["routes", index, "destination"];
    for (const name of names.filter((each) => knownNames?.includes(each) === false)) {
      problems.push({
        path,
        message: `there is no destination "${name}"; ${destinationHint(name, knownNames)}`,
      });
    }
    for (const name of names.filter((each, index) => names.indexOf(each) < index)) {
      problems.push({ path, message: `"${name}" appears more than once; keep one` });
    }
    return problems;
  });
}

/** If workspaces install the app themselves, an entry without a workspace would count in each of them. */
function workspaceProblems({ slack, allowlist, destinations }: Config): Problem[] {
  if (slack.install === undefined) return [];
  const message =
    "is missing; set the id of the workspace (T…) or organization (E…) in which this counts, because slack.install lets several install the app";
  const answerBy = Object.entries(destinations).flatMap(([name, { questions }]): NamedEntry[] =>
    typeof questions.answerBy === "string"
      ? []
      : [{ path: ["destinations", name, "questions", "answerBy"], entry: questions.answerBy }],
  );
  const entries: NamedEntry[] = [
    ...allowlist.map((entry, index) => ({ path: ["allowlist", index], entry })),
    ...slack.admins.map((entry, index) => ({ path: ["slack", "admins", index], entry })),
    ...answerBy,
  ];
  return entries.flatMap(({ path, entry }) =>
    entry.team === undefined ? [{ path: [...path, "team"], message }] : [],
  );
}

type NamedEntry = { path: Problem["path"]; entry: { team?: string | undefined } };

function destinationHint(name: string, knownNames: readonly string[] = []): string {
  const closest = findClosest(name, knownNames);
  if (closest !== undefined) return `did you mean "${closest}"?`;
  return `add it to destinations, or choose from: ${knownNames.join(", ") || "none"}`;
}

function destinationProblems({ destinations }: Config): Problem[] {
  return Object.entries(destinations).flatMap(([name, destination]) => {
    const authorizer = resolveAuthorizerConfig(destination);
    const addresses = listAddresses(destination).map(({ address }) => address);
    const path = ["destinations", name];
    if (authorizer?.type === "mtls") {
      const message = "must be an https URL, because the authorizer is a client certificate (mtls)";
      return fieldsWithoutTls(destination).map((field) => ({ path: [...path, field], message }));
    }
    if (sendsIdToken(authorizer, addresses))
      return [{ path: [...path, "authorizer", "scope"], message: needsScope }];
    if (authorizer?.type !== "none" || !addresses.some(isElsewhere)) return [];
    return [{ path: [...path, "authorizer"], message: needsAuthorizer }];
  });
}

function askerProblems({ destinations, asker }: Config): Problem[] {
  if (asker !== undefined) return headerProblems(destinations);
  return Object.entries(destinations).flatMap(([name, destination]): Problem[] => {
    if (!needsAskerToken(destination)) return [];
    const { type = "none" } = resolveAuthorizerConfig(destination) ?? {};
    const isForAuthorizer = type === "asker" || type === "token-exchange";
    const path = ["destinations", name, isForAuthorizer ? "authorizer" : "asker"];
    return [{ path, message: 'needs the section asker, with the "issuer" of the tokens' }];
  });
}

/** One header cannot hold two credentials. */
function headerProblems(destinations: Config["destinations"]): Problem[] {
  return Object.entries(destinations).flatMap(([name, destination]): Problem[] => {
    const authorizer = resolveAuthorizerConfig(destination);
    const header = authorizer?.type === "bearer" ? authorizer.header?.toLowerCase() : undefined;
    if (header === undefined || destination.asker?.header !== header) return [];
    const message = `must be another header than authorizer.header (${header}), which holds the shared token`;
    return [{ path: ["destinations", name, "asker", "header"], message }];
  });
}

const needsAuthorizer =
  'must not be "none" for an address beyond loopback; choose another authorizer';

const needsVerifier =
  "needs execution.asker, because it trades the token of the person who asked, which the host must verify";

const needsScope =
  'is missing; set it, usually to "https://www.googleapis.com/auth/cloud-platform", because the APIs of Google refuse ID tokens';

/** True if an API of Google would get an ID token. */
function sendsIdToken(
  authorizer: AuthorizerConfig | undefined,
  addresses: readonly string[],
): boolean {
  if (authorizer?.type !== "google" || authorizer.scope !== undefined) return false;
  return addresses.some((address) => URL.parse(address)?.hostname.endsWith(".googleapis.com"));
}

/** The Execution host of the local run has no TLS either. */
function fieldsWithoutTls(destination: Destination): string[] {
  if (isOwnExecution(destination)) return [destination.transport === "a2a" ? "card" : "url"];
  const without = listAddresses(destination).filter(
    ({ address }) => URL.parse(address)?.protocol !== "https:",
  );
  return without.map(({ field }) => field);
}

/** False for an invalid URL, which the schema reports. */
function isElsewhere(address: string): boolean {
  const hostname = URL.parse(address)?.hostname;
  return hostname !== undefined && !isLoopbackHost(hostname);
}

function callTimeProblems({ destinations }: Config): Problem[] {
  return Object.entries(destinations).flatMap(([name, { callTimeoutMs = 0, deadlineMs }]) => {
    if (callTimeoutMs <= deadlineMs) return [];
    const message = `must be at most deadlineMs (${deadlineMs}), because no call outlives its task; lower it, or raise deadlineMs`;
    return [{ path: ["destinations", name, "callTimeoutMs"], message }];
  });
}

/** If a call times out before the host answers `accepted`, nobody knows whether the task was stored. */
function budgetProblems({ destinations, execution, limits }: Config): Problem[] {
  const { syncBudgetMs = localSyncBudgetMs } = execution;
  const local = Object.values(destinations).filter(isLocalHost);
  const minCallMs = Math.min(
    ...local.map((destination) => callTimes(destination, { limits }).sendTimeoutMs),
  );
  if (syncBudgetMs < minCallMs * 0.9) return [];
  const most = Math.ceil(minCallMs * 0.9) - 1;
  const name =
    minCallMs < limits.callTimeoutMs ? "the destination's callTimeoutMs" : "limits.callTimeoutMs";
  const message = `must be less than 0.9 times ${name}, so that the host answers before the call ends; lower it to ${most} or less, or raise ${name}`;
  return [{ path: ["execution", "syncBudgetMs"], message }];
}

function longPollProblems({ destinations, limits }: Config): Problem[] {
  return Object.entries(destinations).flatMap(([name, destination]) => {
    const { callTimeoutMs } = callTimes(destination, { limits });
    if (resolveLongPollMs(destination, { limits }) < callTimeoutMs * 0.9) return [];
    const field = callTimeoutMs < limits.callTimeoutMs ? "callTimeoutMs" : "limits.callTimeoutMs";
    const message = `must be less than 0.9 times ${field} (${callTimeoutMs}), so that the answer comes before the call ends; lower it, or raise ${field}`;
    return [{ path: ["destinations", name, "longPollMs"], message }];
  });
}

/** Checks only destinations that a route uses. Others may be kept for a time without the authenticator. */
function tokenProblems({ routes, destinations, execution }: Config): Problem[] {
  const { type } = execution.authenticator;
  if (type === "none" || type === "platform") return [];
  const routedNames = new Set(routes.flatMap(({ destination }) => destination));
  const without = Object.entries(destinations).filter(
    ([name, destination]) =>
      routedNames.has(name) && isLocalHost(destination) && !sendsToken(destination),
  );
  if (without.length === 0) return [];
  const destinationNames = without.map(([name]) => `destinations.${name}`).join(", ");
  const fitting = type === "bearer" ? "a bearer authorizer" : "an authorizer that sends its tokens";
  const message = `"${type}" would refuse every task of ${destinationNames}, which sends no token to the local host; use transport "https" with ${fitting} there, or remove it from the routes`;
  return [{ path: ["execution", "authenticator"], message }];
}

/** Checks what the host wants against what this configuration's own destinations send. */
function verifierProblems({ routes, destinations, execution, asker }: Config): Problem[] {
  if (execution.asker === undefined) return [];
  const { mode, audience = ownAudience, zones } = execution.asker;
  const path = ["execution", "asker"];
  if (asker === undefined && zones === undefined) return [{ path, message: needsZones }];
  const routedNames = new Set(routes.flatMap(({ destination }) => destination));
  const isTrusted = zones?.some(({ issuer }) => issuer === asker?.issuer) ?? true;
  return Object.entries(destinations).flatMap(([name, destination]): Problem[] => {
    if (!routedNames.has(name) || !isLocalHost(destination)) return [];
    const ownPath = ["destinations", name, "asker"];
    if (destination.asker === undefined) {
      const message = `is missing, so that execution.asker ("${mode}") would refuse every task; set it to true`;
      return mode === "required" ? [{ path: ownPath, message }] : [];
    }
    const problems: Problem[] = [];
    if (readAudience(destination) !== audience) {
      const message = `must be "${audience}", the audience of execution.asker; change one of them`;
      problems.push({ path: [...ownPath, "audience"], message });
    }
    if (destination.asker.header !== askerHeader) {
      const message = `must be ${askerHeader}, where the Execution host expects it; remove it`;
      problems.push({ path: [...ownPath, "header"], message });
    }
    if (!isTrusted) {
      const message = `must list the issuer of the section asker (${asker?.issuer}), whose tokens destinations.${name} sends; add it`;
      problems.push({ path: [...path, "zones"], message });
    }
    return problems;
  });
}

function sendsToken(destination: Destination): boolean {
  return !["none", "sigv4", "mtls"].includes(resolveAuthorizerConfig(destination)?.type ?? "none");
}

/** True if the destination is the Execution host that the section `execution` configures. */
function isLocalHost(destination: Destination): boolean {
  return factsOf(destination).isLocal === true || isOwnExecution(destination);
}

/** Lambda ends a worker after 15 minutes. The rest of that time is for releasing its tasks. */
const maxLeaseMs = 885_000;

/** Without stages there are no problems, because one machine can run everything. */
function stageProblems(config: Config): Problem[] {
  const names = Object.keys(config.stages);
  if (names.length === 0) return [];
  return [
    ...limitProblems(config),
    ...stageCallProblems(config),
    ...Object.entries(config.destinations).flatMap(([name, destination]) =>
      signingProblems(name, destination),
    ),
    ...names.flatMap((name) => kindProblems(config, name)),
  ];
}

function limitProblems({ limits: { leaseMs, maxReceiveCount } }: Config): Problem[] {
  const problems: Problem[] = [];
  if (leaseMs > maxLeaseMs) {
    const message = `must be at most ${maxLeaseMs} if there are stages, because Lambda ends a worker after 15 minutes`;
    problems.push({ path: ["limits", "leaseMs"], message });
  }
  if (maxReceiveCount < 2) {
    const message =
      "must be at least 2 if there are stages, so that a task survives a worker that ends in the middle";
    problems.push({ path: ["limits", "maxReceiveCount"], message });
  }
  return problems;
}

function stageCallProblems(config: Config): Problem[] {
  const maxMs = maxStageCallMs(config);
  return Object.entries(config.destinations).flatMap(([name, { callTimeoutMs = 0 }]) => {
    if (callTimeoutMs <= maxMs) return [];
    const message = `must be at most ${maxMs} if there are stages, because the worker's function would outlive its queue's visibility timeout; lower it`;
    return [{ path: ["destinations", name, "callTimeoutMs"], message }];
  });
}

/** A stage's policy names the resource behind a signed address. Some addresses do not identify it. */
function signingProblems(name: string, destination: Destination): Problem[] {
  const authorizer = resolveAuthorizerConfig(destination);
  if (authorizer === undefined || isOwnExecution(destination)) return [];
  const addresses = listAddresses(destination);
  return listSigningProblems({ path: ["destinations", name], authorizer, addresses });
}

function listSigningProblems(caller: {
  path: Problem["path"];
  authorizer: AuthorizerConfig;
  addresses: readonly { field: string; address: string }[];
}): Problem[] {
  const { path, authorizer, addresses } = caller;
  if (authorizer.type !== "sigv4") return [];
  const { service, region, assumeRoleArn, functionArn } = authorizer;
  // The permissions of that role are managed in its own account.
  if (assumeRoleArn !== undefined) return [];
  if (service === "lambda") {
    const message =
      "is missing; set it, because the address of a Function URL does not show which function the stage must be allowed to invoke";
    return functionArn === undefined
      ? [{ path: [...path, "authorizer", "functionArn"], message }]
      : [];
  }
  if (service !== "execute-api") {
    const message =
      'must be "lambda" or "execute-api" if there are stages, because a stage gets permissions for these only';
    return [{ path: [...path, "authorizer", "service"], message }];
  }
  const domain = `execute-api.${region}.${findPartition(region).dnsSuffix}`;
  const message = `must have the API's own host, ID.${domain}, because a stage's permission needs the id of the API`;
  return addresses.flatMap(({ field, address }) => {
    const [id = "", ...domainLabels] = URL.parse(address)?.hostname.split(".") ?? [];
    if (/^[a-z0-9]+$/.test(id) && domainLabels.join(".") === domain) return [];
    return [{ path: [...path, field], message }];
  });
}

function agentProblems(config: Config): Problem[] {
  const { agents } = config.execution;
  const unknown = Object.entries(config.destinations).flatMap(([name, destination]): Problem[] => {
    const agent = readHostAgent(destination);
    if (agent === undefined && Object.hasOwn(agents, name)) {
      const remedy =
        protocolOf(destination) === "a2a" ? "" : `set destinations.${name}.agent to "${name}", or `;
      const message = `is also the name of an agent; ${remedy}rename one of them`;
      return [{ path: ["destinations", name], message }];
    }
    const isOwn = destination.transport === "in-process" || isOwnExecution(destination);
    if (agent === undefined || !isOwn || Object.hasOwn(agents, agent)) return [];
    const names = Object.keys(agents).join(", ") || "none";
    const message = `there is no agent "${agent}"; add it to execution.agents, or choose from: ${names}`;
    return [{ path: ["destinations", name, "agent"], message }];
  });
  const unauthorized = listAgents(config.execution).flatMap(({ name, agent }): Problem[] => {
    if (!isRemote(agent)) return [];
    const authorizer = resolveAgentAuthorizer(agent);
    const path = [...toAgentPath(name), "authorizer"];
    const { address } = readAgentAddress(agent) ?? {};
    if (sendsIdToken(authorizer, address === undefined ? [] : [address]))
      return [{ path: [...path, "scope"], message: needsScope }];
    if (authorizer.type === "token-exchange" && config.execution.asker === undefined)
      return [{ path, message: needsVerifier }];
    const destinationOnly = findDestinationOnly(authorizer);
    if (destinationOnly !== undefined) {
      const { key, message } = destinationOnly;
      return [{ path: key === undefined ? path : [...path, key], message }];
    }
    if (authorizer.type !== "none" || (address !== undefined && !isElsewhere(address))) return [];
    return [{ path, message: needsAuthorizer }];
  });
  return [...unknown, ...unauthorized];
}

/** Authorizers and their keys that need the issuer of the Verification zone, or a message of Slack. */
function findDestinationOnly(
  authorizer: AuthorizerConfig,
): { key?: string; message: string } | undefined {
  if (authorizer.type === "asker") {
    const message =
      'must not be "asker" for an agent, because the token that the host receives is for the host alone; choose "token-exchange", which trades it for one of the agent';
    return { message };
  }
  if (authorizer.type === "token-exchange" && authorizer.subjectAudience !== undefined) {
    const message =
      "has no effect for an agent, because the token was made for the host; remove it";
    return { key: "subjectAudience", message };
  }
  if (authorizer.type === "web-identity" && authorizer.tags) {
    const message =
      "is for destinations only, because the Execution zone's own token would name the person in the Execution zone's words; remove it";
    return { key: "tags", message };
  }
  return undefined;
}

function loopbackProblems(config: Config, stageName: string): Problem[] {
  return listAgents(config.execution).flatMap(({ name, agent }) =>
    loopbackProblem({ agent, path: toAgentPath(name), stageName }),
  );
}

/** Tasks wait in a queue there, which must not hold tokens. */
function exchangeProblems({ execution }: Config, stageName: string): Problem[] {
  return listAgents(execution).flatMap(({ name, agent }): Problem[] => {
    if (!isRemote(agent) || resolveAgentAuthorizer(agent).type !== "token-exchange") return [];
    const message = `must not be "token-exchange" for the stage ${stageName}, whose kind is lambda: its agents run in another function than the one that receives the person's token; agentcore has both in one`;
    return [{ path: [...toAgentPath(name), "authorizer"], message }];
  });
}

function loopbackProblem(request: {
  agent: AgentConfig;
  path: Problem["path"];
  stageName: string;
}): Problem[] {
  const { agent, path, stageName } = request;
  if (typeof agent === "string" || agent.type === "bedrock") return [];
  const place = readAgentAddress(agent);
  // The permission to call AgentCore needs the ARN only.
  if (place === undefined) return [];
  if (!isLoopbackHost(URL.parse(place.address)?.hostname ?? "")) {
    if (!isRemote(agent)) return [];
    const authorizer = resolveAgentAuthorizer(agent);
    return listSigningProblems({ path, authorizer, addresses: [place] });
  }
  const message = `must be an address that the stage ${stageName} can reach; a loopback address reaches nothing on AWS`;
  return [{ path: [...path, place.field], message }];
}

/** Even a new session could not accept a longer task. */
function lifetimeProblems({ stages, destinations, execution }: Config, name: string): Problem[] {
  const stage = stages[name]?.execution;
  if (stage?.kind !== "agentcore") return [];
  const maxMs = computeMaxTaskMs(1000 * stage.maxLifetimeSeconds);
  const message = `must be at most ${maxMs} for the stage ${name}: its maxLifetimeSeconds (${stage.maxLifetimeSeconds}) minus two minutes for the start and end of a session`;
  const tooLong = Object.entries(destinations).filter(
    ([, destination]) =>
      isOwnExecution(destination) && !isLocalOnly(destination) && destination.deadlineMs > maxMs,
  );
  const problems: Problem[] = tooLong.map(([own]) => ({
    path: ["destinations", own, "deadlineMs"],
    message,
  }));
  if ((execution.maxTaskMs ?? 0) > maxMs)
    problems.push({ path: ["execution", "maxTaskMs"], message });
  return problems;
}

/** The problems that depend on the stage's execution kind. */
function kindProblems(config: Config, name: string): Problem[] {
  const { routes, destinations, execution } = config;
  const kind = config.stages[name]?.execution.kind;
  const problems: Problem[] = lifetimeProblems(config, name);
  if (kind === "lambda" && (execution.maxTaskMs ?? 0) > maxLambdaTaskMs) {
    const message = `must be at most ${maxLambdaTaskMs} (14 minutes) for the stage ${name}, whose kind is lambda; agentcore allows more`;
    problems.push({ path: ["execution", "maxTaskMs"], message });
  }
  if (kind !== "lambda" && config.stages[name]?.scale.agentConcurrency !== undefined) {
    const message = `is for the kind lambda only, but the kind of ${name} is ${kind}; remove it`;
    problems.push({ path: ["stages", name, "scale", "agentConcurrency"], message });
  }
  if (kind !== "external") problems.push(...loopbackProblems(config, name));
  if (kind === "lambda") problems.push(...exchangeProblems(config, name));
  const usedDestinations = routes.flatMap((route, index) =>
    route.destination.map((destinationName) => ({ destinationName, index })),
  );
  for (const { destinationName, index } of usedDestinations) {
    if (!Object.hasOwn(destinations, destinationName)) continue;
    const destination = destinations[destinationName];
    if (destination === undefined) continue;
    const path = ["routes", index, "destination"];
    if (factsOf(destination).isLocal) {
      const message = `"${destinationName}" has the transport ${destination.transport}, which the stage ${name} cannot use; choose another destination`;
      problems.push({ path, message });
    } else if (isLocalOnly(destination)) {
      const message = `"${destinationName}" has no card, which the stage ${name} needs; set destinations.${destinationName}.card`;
      problems.push({ path, message });
    } else if (kind === "external" && isOwnExecution(destination)) {
      const message = `"${destinationName}" has no url, and the stage ${name} deploys no Execution zone (its kind is external); set destinations.${destinationName}.url`;
      problems.push({ path, message });
    } else if (kind === "lambda" && isOwnExecution(destination) && destination.forwardBotToken) {
      const message = `must be false for the stage ${name}, whose kind is lambda: tasks wait in a queue there, which must not hold secrets`;
      problems.push({ path: ["destinations", destinationName, "forwardBotToken"], message });
    }
  }
  return problems;
}
