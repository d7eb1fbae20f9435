/** What the stages demand of the rest of the file: AWS must be able to run what it asks for. */
import { isLoopbackHost } from "../../../contracts/loopback.ts";

import { isOwnExecution, listAddresses, resolveAuthorizerConfig } from "./destination-address.ts";
import type { Destination } from "./destination-schema.ts";
import type { AgentConfig, Config } from "./schema.ts";
import { isLocalOnly, longestTaskMs, maxLambdaTaskMs } from "./stage-config.ts";

/** `path` leads to the field to change, `message` says what would be right. */
export type Problem = { path: (string | number)[]; message: string };

/** Lambda ends a worker after 15 minutes; the last seconds are for letting go of its tasks. */
const maxLeaseMs = 885_000;

/** None where there are no stages: on one machine all of it works. */
export function stageProblems(config: Config): Problem[] {
  const names = Object.keys(config.stages);
  if (names.length === 0) return [];
  return [
    ...limitProblems(config),
    ...Object.entries(config.destinations).flatMap(([name, destination]) => signingProblems(name, destination)),
    ...names.flatMap((name) => kindProblems(config, name)),
  ];
}

function limitProblems({ limits: { leaseMs, maxReceiveCount } }: Config): Problem[] {
  const problems: Problem[] = [];
  if (leaseMs > maxLeaseMs) {
    const message = `at most ${maxLeaseMs} where there are stages: Lambda ends a worker after 15 minutes`;
    problems.push({ path: ["limits", "leaseMs"], message });
  }
  if (maxReceiveCount < 2) {
    const message = "at least 2 where there are stages: a worker that ends in the middle must not cost a task";
    problems.push({ path: ["limits", "maxReceiveCount"], message });
  }
  return problems;
}

/** The Verification zone's role may call what the destination names, and nothing else. Not every address says what that is. */
function signingProblems(name: string, destination: Destination): Problem[] {
  const authorizer = resolveAuthorizerConfig(destination);
  if (authorizer?.type !== "sigv4" || isOwnExecution(destination)) return [];
  const { service, region, assumeRoleArn, functionArn } = authorizer;
  // What the other role may do is its own account's affair.
  if (assumeRoleArn !== undefined) return [];
  if (service === "lambda") {
    const message =
      "is missing: the host of a Function URL does not say which function a stage must be permitted to invoke";
    return functionArn === undefined ? [{ path: ["destinations", name, "authorizer", "functionArn"], message }] : [];
  }
  if (service !== "execute-api") {
    const message = `no permission can be given for it; a stage signs for "lambda" and "execute-api" only`;
    return [{ path: ["destinations", name, "authorizer", "service"], message }];
  }
  const domain = `execute-api.${region}.amazonaws.com`;
  const message = `no permission can be given for it; name the API's own host, ID.${domain}`;
  return listAddresses(destination).flatMap(({ field, address }) => {
    const [id = "", ...rest] = URL.parse(address)?.hostname.split(".") ?? [];
    if (/^[a-z0-9]+$/.test(id) && [domain, `${domain}.cn`].includes(rest.join("."))) return [];
    return [{ path: ["destinations", name, field], message }];
  });
}

function agentProblems(agent: AgentConfig, stageName: string): Problem[] {
  if (typeof agent === "string") return [];
  if (agent.type === "openai-compatible") {
    if (!isLoopbackHost(URL.parse(agent.baseUrl)?.hostname ?? "")) return [];
    const message = `a loopback address reaches nothing on AWS (stage ${stageName}); name an address that the stage can reach`;
    return [{ path: ["execution", "agent", "baseUrl"], message }];
  }
  if (!/^arn:.*:application-inference-profile\//.test(agent.modelId)) return [];
  const message = `what an application inference profile stands for cannot be told from its ARN (stage ${stageName}); name the model or a system inference profile`;
  return [{ path: ["execution", "agent", "modelId"], message }];
}

/** Each task would be refused by every session, new ones too. */
function lifetimeProblems({ stages, destinations, execution }: Config, name: string): Problem[] {
  const stage = stages[name]?.execution;
  if (stage?.kind !== "agentcore") return [];
  const mostMs = longestTaskMs(1000 * stage.maxLifetimeSeconds);
  const message = `at most ${mostMs} where a stage's sessions live for ${stage.maxLifetimeSeconds} s (maxLifetimeSeconds), as those of ${name} do; two minutes are for their start and end`;
  const tooLong = Object.entries(destinations).filter(
    ([, destination]) => isOwnExecution(destination) && !isLocalOnly(destination) && destination.deadlineMs > mostMs,
  );
  const problems: Problem[] = tooLong.map(([own]) => ({ path: ["destinations", own, "deadlineMs"], message }));
  if ((execution.maxTaskMs ?? 0) > mostMs) problems.push({ path: ["execution", "maxTaskMs"], message });
  return problems;
}

/** What this stage's own kind does not allow. */
function kindProblems(config: Config, name: string): Problem[] {
  const { routes, destinations, execution } = config;
  const kind = config.stages[name]?.execution.kind;
  const problems: Problem[] = lifetimeProblems(config, name);
  if (kind === "lambda" && (execution.maxTaskMs ?? 0) > maxLambdaTaskMs) {
    const message = `at most ${maxLambdaTaskMs} (14 minutes) where a stage executes on lambda, as ${name} does; agentcore goes further`;
    problems.push({ path: ["execution", "maxTaskMs"], message });
  }
  if (kind !== "lambda" && config.stages[name]?.scale.agentConcurrency !== undefined) {
    const message = `only where a stage executes on lambda; ${name} executes on ${kind}`;
    problems.push({ path: ["stages", name, "scale", "agentConcurrency"], message });
  }
  if (kind !== "external") problems.push(...agentProblems(execution.agent, name));
  const used = routes.flatMap((route, index) => route.destination.map((routed) => ({ routed, index })));
  for (const { routed, index } of used) {
    const destination = destinations[routed];
    if (destination === undefined) continue;
    const path = ["routes", index, "destination"];
    if (destination.transport === "in-process") {
      problems.push({ path, message: `"${routed}" is in-process, which cannot be on AWS (stage ${name})` });
    } else if (isLocalOnly(destination)) {
      const message = `"${routed}" has no card, which only the local run can do without (stage ${name}); name the agent's card`;
      problems.push({ path, message });
    } else if (kind === "external" && isOwnExecution(destination)) {
      const message = `"${routed}" has no url, and stage ${name} deploys no Execution zone (its kind is external)`;
      problems.push({ path, message });
    } else if (kind === "lambda" && isOwnExecution(destination) && destination.forwardBotToken) {
      const message = "not where a stage executes on lambda: there the task waits in a queue, which carries no secret";
      problems.push({ path: ["destinations", routed, "forwardBotToken"], message });
    }
  }
  return problems;
}
