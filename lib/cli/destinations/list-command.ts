/** `sekisho destinations`: lists where tasks can go, and shows where a given message would go. */

import { readEnvironment } from "@sekisho/config/environment.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { awsExits, configOption, defineCommand, exitCodes, flag, option } from "../command.ts";
import { describeOwnExecution, formatDestinationRow, toDestinationRow } from "./describe.ts";
import { outdatedText, readEffectiveConfig } from "./effective-config.ts";
import { type KnownMessage, listPossibleRoutes } from "./possible-routes.ts";
import { formatRouteKey, noRouteText, orderText } from "./route-key.ts";

export const destinationsList = defineCommand({
  name: "destinations list",
  about: `
Lists the destinations, and the routes in their order.`,
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
    const knownFacts = { channel, team, text };
    const isSearch = [channel, team, text].some((fact) => fact !== undefined);
    const possible = isSearch ? listPossibleRoutes({ routes, known: knownFacts }) : undefined;
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
    if (possible !== undefined) print(`\n${possibleText({ routes, known: knownFacts, possible })}`);
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
