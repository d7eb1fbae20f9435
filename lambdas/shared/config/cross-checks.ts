/** What the parts of the configuration demand of each other, once each part alone is fine. */
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import { isOwnExecution, listAddresses, resolveAuthorizerConfig } from "./destination-address.ts";
import type { Destination } from "./destination-schema.ts";
import type { Config } from "./schema.ts";
import { configFields } from "./schema.ts";
import type { Problem } from "./stage-checks.ts";
import { stageProblems } from "./stage-checks.ts";

export const configSchema = configFields.superRefine((config, context) => {
  for (const problem of crossCheck(config)) context.addIssue({ code: "custom", ...problem });
});

function crossCheck(config: Config): Problem[] {
  return [
    ...routeProblems(config),
    ...destinationProblems(config),
    ...budgetProblems(config),
    ...longPollProblems(config),
    ...tokenProblems(config),
    ...stageProblems(config),
  ];
}

function routeProblems({ routes, destinations }: Config): Problem[] {
  const known = Object.keys(destinations).join(", ") || "none";
  return routes.flatMap(({ team, channel, word, destination: names }, index) => {
    const problems: Problem[] = [];
    if ((team ?? channel ?? word) === undefined && index < routes.length - 1) {
      const message = "only the last route may be without team, channel and word: behind it, none is ever reached";
      problems.push({ path: ["routes", index], message });
    }
    const path = ["routes", index, "destination"];
    for (const name of names.filter((each) => !Object.hasOwn(destinations, each))) {
      problems.push({ path, message: `there is no destination "${name}"; known: ${known}` });
    }
    for (const name of names.filter((each, index) => names.indexOf(each) < index)) {
      problems.push({ path, message: `"${name}" is there more than once; keep one` });
    }
    return problems;
  });
}

function destinationProblems({ destinations }: Config): Problem[] {
  return Object.entries(destinations).flatMap(([name, destination]) => {
    const type = resolveAuthorizerConfig(destination)?.type;
    const path = ["destinations", name];
    if (type === "mtls") {
      const message = "a client certificate needs an https address";
      return fieldsWithoutTls(destination).map((field) => ({ path: [...path, field], message }));
    }
    if (type !== "none" || !listAddresses(destination).some(({ address }) => isElsewhere(address))) return [];
    const message = '"none" is refused for anything but loopback; name another authorizer';
    return [{ path: [...path, "authorizer"], message }];
  });
}

/** The Execution host of the local run speaks no TLS either. */
function fieldsWithoutTls(destination: Destination): string[] {
  if (isOwnExecution(destination)) return [destination.transport === "a2a" ? "card" : "url"];
  const without = listAddresses(destination).filter(({ address }) => URL.parse(address)?.protocol !== "https:");
  return without.map(({ field }) => field);
}

/** What is no URL is a problem of its own, told already. */
function isElsewhere(address: string): boolean {
  const hostname = URL.parse(address)?.hostname;
  return hostname !== undefined && !isLoopbackHost(hostname);
}

/** Where the call ends before the host answers `accepted`, nobody knows what became of a task that takes longer. */
function budgetProblems({ destinations, execution: { syncBudgetMs }, limits: { callTimeoutMs } }: Config): Problem[] {
  if (syncBudgetMs < callTimeoutMs * 0.9 || !Object.values(destinations).some(isLocalHost)) return [];
  const most = Math.ceil(callTimeoutMs * 0.9) - 1;
  const message = `must be less than 0.9 times limits.callTimeoutMs, so that the host answers before the call ends; lower it to ${most} or less, or raise limits.callTimeoutMs`;
  return [{ path: ["execution", "syncBudgetMs"], message }];
}

function longPollProblems({ destinations, limits: { callTimeoutMs } }: Config): Problem[] {
  return Object.entries(destinations).flatMap(([name, { longPollMs }]) => {
    if (longPollMs < callTimeoutMs * 0.9) return [];
    const message = `must be less than 0.9 times limits.callTimeoutMs (${callTimeoutMs}), so that the answer comes before the call ends`;
    return [{ path: ["destinations", name, "longPollMs"], message }];
  });
}

/** Only what a route uses is a problem: the others may be there for a day without the authenticator. */
function tokenProblems({ routes, destinations, execution }: Config): Problem[] {
  const { type } = execution.authenticator;
  if (type === "none" || type === "platform") return [];
  const used = new Set(routes.flatMap(({ destination }) => destination));
  const without = Object.entries(destinations).filter(
    ([name, destination]) => used.has(name) && isLocalHost(destination) && !sendsToken(destination),
  );
  if (without.length === 0) return [];
  const named = without.map(([name]) => `destinations.${name}`).join(", ");
  const fitting = type === "bearer" ? "a bearer authorizer" : "an authorizer that sends its tokens";
  const message = `"${type}" refuses what comes from ${named}, which sends no token to the local host; give it transport "https" with ${fitting}, or take it out of the routes`;
  return [{ path: ["execution", "authenticator"], message }];
}

function sendsToken(destination: Destination): boolean {
  return !["none", "sigv4", "mtls"].includes(resolveAuthorizerConfig(destination)?.type ?? "none");
}

/** Whether it is the Execution host of the `execution` section that answers. */
function isLocalHost(destination: Destination): boolean {
  return destination.transport === "in-process" || isOwnExecution(destination);
}
