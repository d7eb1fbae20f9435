/** `sekisho destinations set`: changes where a route leads, in the configuration and, where asked, in a stage. */
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { configPath, loadConfig, parseConfig } from "../../lambdas/shared/config/load.ts";
import { pushLiveSettings } from "../../lib/cli/aws/push-live-settings.ts";
import { chooseStage, stageOptions } from "../../lib/cli/aws/stage.ts";
import { openReplacement } from "../../lib/cli/destinations/replace-file.ts";
import { formatRouteKey, isOverlapping, orderText, type RouteKey } from "../../lib/cli/destinations/route-key.ts";
import { type RouteChange, setRoute } from "../../lib/cli/destinations/set-route.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

export const destinationsSet: Command = {
  help: `
sekisho destinations set NAME[,NAME...] [--channel C] [--team T] [--word W] [--stage S] [--dry-run] [--config FILE]

Changes one route of the configuration: the messages of that channel, of that team, or that begin with "W:" go to
the destination NAME; without any of the three, the messages that no other route takes. Of several names the first
is used, and the others are for what certainly did not arrive there. A route that is not there yet is put before
the first that would take its messages. The rest of the file stays as it is; nothing is written that
sekisho config check would refuse.

  --stage S      brings it to the stage as well, as sekisho config push does: within a minute, without a deploy.
                 Where the stage does not take it, the file stays as it is, too
  --dry-run      only shows what would change
  --config FILE  instead of ./sekisho.config.json

Tasks that are under way stay where they are; only what is asked from then on goes to the new place.

Exit code: 0 done or nothing to do; 1 needs a deploy, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run({ words, directory, signal, print, note }) {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: {
        channel: { type: "string" },
        team: { type: "string" },
        word: { type: "string" },
        ...stageOptions,
        "dry-run": { type: "boolean", default: false },
      },
    });
    const { team, channel, word, stage, "dry-run": dryRun } = values;
    // What is given but empty, such as a variable of a shell that is not set, must not mean every message.
    const key = {
      ...(team === undefined ? {} : { team }),
      ...(channel === undefined ? {} : { channel }),
      ...(word === undefined ? {} : { word: word.replace(/:$/, "") }),
    };
    const destination = namesIn(positionals);
    const path = configPath({ directory, file: values.config });
    const { routes, destinations, stages } = loadConfig({ directory, file: values.config });
    if (!existsSync(path)) throw new UsageError(`There is no ${path} to change.`);
    const unknown = destination.find((name) => !Object.hasOwn(destinations, name));
    if (unknown !== undefined) {
      throw new UsageError(`There is no destination "${unknown}". Known: ${Object.keys(destinations).join(", ")}.`);
    }
    const text = readFileSync(path, "utf8");
    const change = setRoute({ text, routes, key, destination });
    const config = parseConfig({ json: JSON.parse(change.text), name: path });
    const named = stage === undefined ? undefined : chooseStage(config, stage);

    const changes = change.text !== text;
    print(changes ? changeText({ change, key, destination }) : `${path} says so already.`);
    for (const [index, route] of config.routes.slice(0, change.place - 1).entries()) {
      if (isOverlapping(route, key))
        note(`Note: route ${index + 1}, ${formatRouteKey(route)}, comes first and keeps what fits it.`);
    }
    const replacement = changes && !dryRun ? openReplacement({ path }) : undefined;
    let pushed = false;
    try {
      const push = named && { ...named, config, dryRun, signal, print, note };
      const code = push === undefined ? exitCodes.success : await pushLiveSettings(push);
      if (code !== exitCodes.success || replacement === undefined) return code;
      pushed = push !== undefined;
      replacement.write({ before: text, after: change.text });
    } catch (thrown) {
      if (pushed) note(`Stage ${named?.stageName} has the change, ${path} has not: run the command again.`);
      throw thrown;
    } finally {
      replacement?.close();
    }
    print(`Written to ${path}.`);
    if (named === undefined) note(restartText(Object.keys(stages)));
    return exitCodes.success;
  },
};

function namesIn(positionals: string[]): string[] {
  const [text = "", ...more] = positionals;
  const names = text.split(",").map((name) => name.trim());
  if (more.length > 0 || names.some((name) => name === "")) {
    throw new UsageError(
      "One destination is needed, or several with commas between: sekisho destinations set far,near",
    );
  }
  return names;
}

function changeText({
  change: { place, before },
  key,
  destination,
}: {
  change: RouteChange;
  key: RouteKey;
  destination: string[];
}): string {
  const where = `route ${place}, ${formatRouteKey(key)}`;
  if (before === undefined) return `+ ${where}: ${orderText(destination)}`;
  return `  ${where}: ${orderText(before)} -> ${orderText(destination)}`;
}

function restartText(stages: string[]): string {
  const local = "On this machine a restart takes it up; tasks that are under way are kept, and stay where they are.";
  return stages.length === 0
    ? local
    : `${local}\nA stage (${stages.join(", ")}) gets it by --stage, or by npx sekisho config push.`;
}
