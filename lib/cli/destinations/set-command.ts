/** `sekisho destinations set`: changes the destinations of a route, in the configuration and optionally in a stage. */

import { existsSync } from "node:fs";
import { configPath, loadConfig, parseConfig } from "@sekisho/config/load.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { readTextFile } from "@sekisho/runtime/text-file.ts";
import { chooseStage } from "../aws/stage.ts";
import {
  awsExits,
  configOption,
  defineCommand,
  exitCodes,
  flag,
  option,
  UsageError,
} from "../command.ts";
import { unknownDestination } from "../find-endpoint.ts";
import { pushLiveSettings } from "./push-live-settings.ts";
import { openReplacement } from "./replace-file.ts";
import { formatRouteKey, isOverlapping, orderText, type RouteKey } from "./route-key.ts";
import { type RouteChange, setRoute } from "./set-route.ts";

export const destinationsSet = defineCommand({
  name: "destinations set",
  args: "NAME[,NAME...]",
  about: `
Changes one route of the configuration file: messages that fit --channel, --team and --word go to NAME. Without these
options it changes the default route. With several names, a task fails over to the next only if it certainly never arrived.

A new route is put before the first one that would take its messages. Running tasks stay where they are. A change that
sekisho config check would refuse is not written.`,
  options: {
    channel: option("C", "for messages in that channel"),
    team: option("T", "for messages in that workspace"),
    word: option("W", 'for messages that begin with "W:"'),
    stage: option(
      "NAME",
      "also changes the stage, as sekisho config push does: within a minute, without a deploy. If the stage refuses the change, the file is not changed either",
    ),
    config: configOption,
    "dry-run": flag("only shows what would change"),
  },
  exits: awsExits("a deploy is needed"),
  async run({ directory, signal, print, note, values, positionals }) {
    const { team, channel, word, stage, "dry-run": dryRun } = values;
    // An empty option, such as an unset shell variable, must not mean every message.
    const key = {
      ...(team !== undefined && { team }),
      ...(channel !== undefined && { channel }),
      ...(word !== undefined && { word: word.replace(/:$/, "") }),
    };
    const destination = namesIn(positionals);
    const path = configPath({ directory, file: values.config });
    const { routes, destinations, stages } = loadConfig({ directory, file: values.config });
    if (!existsSync(path)) throw new UsageError(`There is no ${path} to change.`);
    const unknown = destination.find((name) => !Object.hasOwn(destinations, name));
    if (unknown !== undefined) throw unknownDestination(unknown, Object.keys(destinations));
    const text = readTextFile(path);
    const change = setRoute({ text, routes, key, destination });
    const config = parseConfig({ json: JSON.parse(change.text), name: path });
    const namedStage = stage === undefined ? undefined : chooseStage(config, stage);

    const changes = change.text !== text;
    print(changes ? changeText({ change, key, destination }) : `${path} already has this route.`);
    for (const [index, route] of config.routes.slice(0, change.position - 1).entries()) {
      if (isOverlapping(route, key))
        note(
          `Note: route ${index + 1}, ${formatRouteKey(route)}, comes first and keeps the messages that fit it.`,
        );
    }
    const replacement = changes && !dryRun ? openReplacement({ path }) : undefined;
    let isPushed = false;
    try {
      const push = namedStage && { ...namedStage, config, dryRun, signal, print, note };
      const code = push === undefined ? exitCodes.success : await pushLiveSettings(push);
      if (code !== exitCodes.success || replacement === undefined) return code;
      isPushed = push !== undefined;
      replacement.write({ before: text, after: change.text });
    } catch (error) {
      if (isPushed)
        note(
          `Stage ${namedStage?.stageName} was changed, but ${path} was not. Run the command again.`,
        );
      throw error;
    } finally {
      replacement?.close();
    }
    print(`Written to ${path}.`);
    if (namedStage === undefined) note(restartText(Object.keys(stages)));
    return exitCodes.success;
  },
});

function namesIn(positionals: string[]): string[] {
  const [text = "", ...more] = positionals;
  const names = text.split(",").map((name) => name.trim());
  if (more.length > 0 || names.some((name) => name === "")) {
    throw new UsageError(
      "Give one destination, or several separated by commas: sekisho destinations set far,near",
    );
  }
  return names;
}

type ShownChange = { change: RouteChange; key: RouteKey; destination: string[] };

function changeText({ change: { position, before }, key, destination }: ShownChange): string {
  const where = `route ${position}, ${formatRouteKey(key)}`;
  if (before === undefined) return `+ ${where}: ${orderText(destination)}`;
  return `  ${where}: ${orderText(before)} -> ${orderText(destination)}`;
}

function restartText(stages: string[]): string {
  const local =
    "On this machine the change takes effect with a restart. Running tasks stay where they are.";
  return stages.length === 0
    ? local
    : `${local}\nTo change a stage (${stages.join(", ")}), give --stage or run ${sekisho} config push.`;
}
