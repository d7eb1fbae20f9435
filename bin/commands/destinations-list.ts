/** `sekisho destinations list`: where tasks can go, and where a given message's task would go. */
import { parseArgs } from "node:util";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { rowOf, rowText } from "../destinations/describe.ts";
import { configInForce } from "../destinations/in-force.ts";
import { type Known, possibleRoutes } from "../destinations/possible-routes.ts";
import { keyText, orderText } from "../destinations/route-key.ts";
import { type Command, exitCodes } from "./command.ts";

export const destinationsList: Command = {
  help: `
sekisho destinations list [--channel C] [--team T] [--text TEXT] [--stage S] [--json] [--config FILE]

Lists the destinations, and the routes in their order: the first that fits a message decides. Of several names in
a route the first is used, the others are for what certainly did not arrive.

  --channel, --team, --text   where a message of that channel, of that team, or with that text would go
  --stage S      what is in force in that stage: the deployed destinations with what was pushed since
  --json         one JSON object
  --config FILE  instead of ./sekisho.config.json

Exit code: 0; 1 AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run({ words, directory, signal, print, note }) {
    const { values } = parseArgs({
      args: words,
      options: {
        channel: { type: "string" },
        team: { type: "string" },
        text: { type: "string" },
        stage: { type: "string" },
        json: { type: "boolean", default: false },
        config: { type: "string" },
      },
    });
    const { channel, team, text, stage } = values;
    const inForce = await configInForce({ place: { directory, file: values.config }, stage, signal });
    const { config, named, notDeployed, routesFromFile } = inForce;
    const { routes } = config;
    const own =
      named === undefined
        ? { address: `http://127.0.0.1:${readEnvironment().executionPort}/` }
        : { address: "the stage's own Execution zone", authorizer: "sigv4" };
    const rows = Object.entries(config.destinations).map(([name, destination]) =>
      rowOf({ name, destination, routes, own, needsDeploy: notDeployed.includes(name) }),
    );
    const known = { channel, team, text };
    const asked = [channel, team, text].some((fact) => fact !== undefined);
    const possible = asked ? possibleRoutes({ routes, known }) : undefined;
    if (named !== undefined && routesFromFile) {
      note("No routes were pushed to the stage yet: those of the last deploy are in force, taken to be the file's.");
    }
    if (values.json) {
      print(JSON.stringify({ stage: named?.stageName, destinations: rows, routes, possible }));
      return exitCodes.success;
    }
    print([...rows.map(rowText), "", routesText(routes)].join("\n"));
    if (possible !== undefined) print(`\n${possibleText({ routes, known, possible })}`);
    return exitCodes.success;
  },
};

function routesText(routes: Config["routes"]): string {
  if (routes.length === 0) return "There is no route: whoever asks is told that no agent is set up.";
  const lines = routes.map((route, index) => `  ${index + 1}. ${keyText(route)}: ${orderText(route.destination)}`);
  return `Routes, of which the first that fits decides:\n${lines.join("\n")}`;
}

function possibleText({
  routes,
  known,
  possible,
}: {
  routes: Config["routes"];
  known: Known;
  possible: ReturnType<typeof possibleRoutes>;
}): string {
  const of = [known.team && `team ${known.team}`, known.channel && `channel ${known.channel}`].filter(Boolean);
  const message = [
    "A message",
    of.length > 0 && `of ${of.join(", ")}`,
    known.text !== undefined && "with that text",
    "goes to",
  ];
  const lines = possible.map(({ place, destination, certain }) => {
    const when = certain ? "" : `if ${keyText(unknownOf(routes[place - 1], known))}: `;
    return `  ${when}${orderText(destination)} (route ${place})`;
  });
  if (!possible.some(({ certain }) => certain)) lines.push("  else nowhere: no route fits, and the user is told so");
  return `${message.filter(Boolean).join(" ")}\n${lines.join("\n")}`;
}

/** What would have to be known for the route to fit. */
function unknownOf(route: Config["routes"][number] | undefined, { team, channel, text }: Known) {
  return {
    ...(team === undefined ? { team: route?.team } : {}),
    ...(channel === undefined ? { channel: route?.channel } : {}),
    ...(text === undefined ? { word: route?.word } : {}),
  };
}
