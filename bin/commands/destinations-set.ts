/** `sekisho destinations set`: changes where a route leads, in the configuration and with --stage in a stage too. */
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
the destination NAME. Without these options it is the route of all messages that no other route takes. Of several
names the first is used, and the others get tasks that certainly did not arrive there. A new route is put before the
first that would take its messages. The rest of the file stays as it is. Nothing is written that sekisho config check
would refuse.

  --stage S      pushes it to the stage too, as sekisho config push does: within a minute, without a deploy.
                 Where the stage refuses it, the file stays as it is
  --dry-run      only shows what would change
  --config FILE  instead of ./sekisho.config.json

Tasks under way stay where they are. Only new tasks take the new route.

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
    if (unknown !== undefined) {
      throw new UsageError(`There is no destination "${unknown}". Known: ${Object.keys(destinations).join(", ")}.`);
    }
    const text = readFileSync(path, "utf8");
    const change = setRoute({ text, routes, key, destination });
    const config = parseConfig({ json: JSON.parse(change.text), name: path });
    const named = stage === undefined ? undefined : chooseStage(config, stage);

    const changes = change.text !== text;
    print(changes ? changeText({ change, key, destination }) : `${path} already has this route.`);
    for (const [index, route] of config.routes.slice(0, change.place - 1).entries()) {
      if (isOverlapping(route, key))
        note(`Note: route ${index + 1}, ${formatRouteKey(route)}, comes first and keeps the messages that fit it.`);
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
  const local = "On this machine it takes effect with a restart. Tasks under way stay where they are.";
  return stages.length === 0
    ? local
    : `${local}\nFor a stage (${stages.join(", ")}) use --stage, or npx sekisho config push.`;
}
