/** `sekisho destinations`: lists where tasks can go, shows where a given message would go, and checks destinations. */
import { sekisho } from "../../lambdas/shared/command-line.ts";
import { authorizerOf } from "../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../lambdas/shared/config/destination-schema.ts";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { type ConfigLocation, loadConfig } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import type { DestinationCheck } from "../../lambdas/verification/checks/check-destination.ts";
import { callerIdentity } from "../../lib/cli/aws/account.ts";
import { readStackOutputs } from "../../lib/cli/aws/stack-outputs.ts";
import { chooseStage, type NamedStage } from "../../lib/cli/aws/stage.ts";
import {
  awsExits,
  type CommandRun,
  configOption,
  defineCommand,
  exitCodes,
  flag,
  option,
} from "../../lib/cli/command.ts";
import { checkFromHere } from "../../lib/cli/destinations/check.ts";
import { checkInStage, stageDestinations } from "../../lib/cli/destinations/check-in-stage.ts";
import {
  describeOwnExecution,
  formatDestinationRow,
  toDestinationRow,
} from "../../lib/cli/destinations/describe.ts";
import { outdatedText, readEffectiveConfig } from "../../lib/cli/destinations/effective-config.ts";
import {
  type KnownMessage,
  listPossibleRoutes,
} from "../../lib/cli/destinations/possible-routes.ts";
import { formatRouteKey, noRouteText, orderText } from "../../lib/cli/destinations/route-key.ts";
import { unknownDestination } from "../../lib/cli/find-endpoint.ts";

export const destinationsList = defineCommand({
  name: "destinations list",
  about: `
Lists the destinations, and the routes in their order. The first route that fits a message decides. If a route has several
names, the first is used, and a task fails over to the next only if it certainly never arrived.`,
  options: {
    channel: option("C", "also shows where a message in that channel goes"),
    team: option("T", "also shows where a message in that workspace goes"),
    text: option("TEXT", "also shows where a message with that text goes"),
    stage: option(
      "NAME",
      "shows the settings in effect in that stage: as deployed, with later pushes",
    ),
    config: configOption,
    json: flag("prints one JSON object"),
  },
  exits: awsExits(),
  async run({ directory, signal, print, note, values }) {
    const { channel, team, text, stage } = values;
    const effective = await readEffectiveConfig({
      location: { directory, file: values.config },
      stage,
      signal,
    });
    const { config, named, notDeployed, routesFromFile, outdated } = effective;
    const { routes } = config;
    const own = describeOwnExecution({
      isStage: named !== undefined,
      port: readEnvironment().executionPort,
    });
    const rows = Object.entries(config.destinations).map(([name, destination]) =>
      toDestinationRow({ name, destination, routes, own, needsDeploy: notDeployed.includes(name) }),
    );
    const known = { channel, team, text };
    const asked = [channel, team, text].some((fact) => fact !== undefined);
    const possible = asked ? listPossibleRoutes({ routes, known }) : undefined;
    if (named !== undefined && routesFromFile) {
      note(
        "No routes were pushed to the stage yet, so the routes of the last deploy are in effect. The list shows the file's.",
      );
    }
    if (outdated.length > 0)
      note(`Note: ${outdatedText(outdated)} To push them again: ${sekisho} config push.`);
    if (values.json) {
      print(
        JSON.stringify({ stage: named?.stageName, destinations: rows, routes, possible, outdated }),
      );
      return exitCodes.success;
    }
    print([...rows.map(formatDestinationRow), "", routesText(routes)].join("\n"));
    if (possible !== undefined) print(`\n${possibleText({ routes, known, possible })}`);
    return exitCodes.success;
  },
});

function routesText(routes: Config["routes"]): string {
  if (routes.length === 0) return noRouteText;
  const lines = routes.map((route, index) => {
    return `  ${index + 1}. ${formatRouteKey(route)}: ${orderText(route.destination)}`;
  });
  return `Routes (the first that fits decides):\n${lines.join("\n")}`;
}

type PossibleRoutes = {
  routes: Config["routes"];
  known: KnownMessage;
  possible: ReturnType<typeof listPossibleRoutes>;
};

function possibleText({ routes, known, possible }: PossibleRoutes): string {
  const of = [
    known.team && `team ${known.team}`,
    known.channel && `channel ${known.channel}`,
  ].filter(Boolean);
  const message = [
    "A message",
    of.length > 0 && `of ${of.join(", ")}`,
    known.text !== undefined && "with that text",
    "goes to",
  ];
  const lines = possible.map(({ position, destination, certain }) => {
    const when = certain
      ? ""
      : `if ${formatRouteKey(describeUnknown(routes[position - 1], known))}: `;
    return `  ${when}${orderText(destination)} (route ${position})`;
  });
  if (!possible.some(({ certain }) => certain))
    lines.push("  otherwise nowhere: no route fits, and the bot answers that no agent is set up");
  return `${message.filter(Boolean).join(" ")}\n${lines.join("\n")}`;
}

/** Returns the conditions of the route that the known part of a message leaves open. */
function describeUnknown(
  route: Config["routes"][number] | undefined,
  { team, channel, text }: KnownMessage,
) {
  return {
    ...(team === undefined && { team: route?.team }),
    ...(channel === undefined && { channel: route?.channel }),
    ...(text === undefined && { word: route?.word }),
  };
}

export const destinationsCheck = defineCommand({
  name: "destinations check",
  args: "[NAME...]",
  about: `
Calls each destination, or the named ones, with its real credentials. Shows whether the destination can be used, and how
long a first and a second call take. If it cannot be used, shows why and how to fix it. No task runs.

The call is rpc.discover. A peer that answers in JSON-RPC that it does not know the method is healthy. An A2A agent is
checked by its agent card and by a request for an unknown task.`,
  options: {
    stage: option(
      "NAME",
      "checks the deployed destinations of that stage, with later pushes. The stage's worker makes the calls with its own role and secrets. Your credentials need lambda:InvokeFunction on the worker's alias operator",
    ),
    config: configOption,
    json: flag("prints one JSON object per destination, one per line"),
  },
  exits:
    "Exit code: 0 all are healthy; 1 one is not, or AWS refused; 2 bad usage or configuration; 3 no destination answers, or AWS does not.",
  async run({ directory, signal, print, note, values, positionals }) {
    const location = { directory, file: values.config };
    const config = loadConfig(location);
    const named = values.stage === undefined ? undefined : chooseStage(config, values.stage);
    const request = { config, names: positionals, signal, note };
    const checked = await (named
      ? checkFromStage({ ...named, ...request })
      : checkFromThisMachine({ location, ...request }));
    for (const each of checked) print(values.json ? JSON.stringify(each) : formatCheck(each));
    if (signal.aborted) return exitCodes.interrupted;
    return exitCodeOf(checked);
  },
});

type Request = { config: Config; names: readonly string[] } & Pick<CommandRun, "note" | "signal">;

type HereCheck = Request & { location: ConfigLocation };

async function checkFromThisMachine({
  config,
  names,
  location,
  signal,
  note,
}: HereCheck): Promise<DestinationCheck[]> {
  refuseUnknown({ names, known: Object.keys(config.destinations) });
  const wanted = Object.entries(config.destinations).filter(
    ([name]) => names.length === 0 || names.includes(name),
  );
  if (wanted.some(([, destination]) => usesAws(destination))) note(await callerText({ signal }));
  return Promise.all(
    wanted.map(([name, destination]) =>
      checkFromHere({ config, location, name, destination, signal }),
    ),
  );
}

type StageCheck = Request & NamedStage;

async function checkFromStage({
  config,
  names,
  signal,
  note,
  ...named
}: StageCheck): Promise<DestinationCheck[]> {
  const outputs = await readStackOutputs({ ...named, signal });
  const { deployed, missing, changed } = stageDestinations({
    config,
    stageName: named.stageName,
    outputs,
  });
  refuseUnknown({ names, known: [...deployed, ...missing] });
  const isWanted = (name: string) => names.length === 0 || names.includes(name);
  for (const name of changed.filter(isWanted)) {
    note(
      `Note: ${name} is checked as deployed. The file has other settings for it, which need a deploy.`,
    );
  }
  if (names.length === 0)
    for (const name of missing) note(`Note: ${name} is not deployed, so it is not checked.`);
  return checkInStage({
    ...named,
    config,
    outputs,
    names: names.length === 0 ? undefined : names,
    signal,
  });
}

function refuseUnknown({
  names,
  known,
}: {
  names: readonly string[];
  known: readonly string[];
}): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownDestination(unknown, known);
}

/** True if calls use AWS credentials. */
function usesAws(destination: Destination): boolean {
  return ["sigv4", "web-identity", "google", "azure"].includes(authorizerOf(destination));
}

async function callerText({ signal }: { signal: AbortSignal }): Promise<string> {
  return callerIdentity({ region: "us-east-1", signal }).then(
    ({ arn }) =>
      `Calls with AWS credentials are made as ${arn}. A stage's worker may have other permissions.`,
    (thrown: Error) => `Could not find out whose AWS credentials these are. ${thrown.message}`,
  );
}

function exitCodeOf(checked: readonly DestinationCheck[]): number {
  if (checked.every(({ health }) => health === "healthy")) return exitCodes.success;
  return checked.every(({ health }) => health === "unreachable")
    ? exitCodes.notReachable
    : exitCodes.failed;
}

function formatCheck({
  name,
  address,
  health,
  summary,
  methods,
  firstMs,
  secondMs,
}: DestinationCheck): string {
  const times = firstMs === undefined ? "" : `, first call ${firstMs} ms, second ${secondMs} ms`;
  const known = methods === undefined ? "" : `\n  methods: ${methods.join(", ")}`;
  return `${name}: ${health}${times}\n  ${address}\n  ${summary}${known}`;
}
