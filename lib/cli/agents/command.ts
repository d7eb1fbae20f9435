/** `sekisho agents add`: finds out what an agent speaks, and writes it into the configuration. */
import { existsSync, writeFileSync } from "node:fs";
import { configPath, loadConfig } from "@sekisho/config/load.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { readTextFile } from "@sekisho/runtime/text-file.ts";
import { configOption, defineCommand, exitCodes, flag, option, UsageError } from "../command.ts";
import { openReplacement } from "../destinations/replace-file.ts";
import { addAgent } from "./add-agent.ts";

export const agentsAdd = defineCommand({
  name: "agents add",
  args: "URL|ARN|FILE",
  about: `
Writes an agent into the configuration: a URL, the ARN of an AgentCore runtime or harness, or a file of your own. At a URL
it looks for an A2A card, models, our contract and AG-UI, and says what it saw. It posts one request that names no task,
which an endpoint that takes any JSON may take for a message, and to an API of models empty requests, which it refuses.`,
  options: {
    name: option("NAME", "the agent's name, and that of its destination (made from the address)"),
    "token-env": option("VARIABLE", "the environment variable with the bearer token that it takes"),
    config: configOption,
    "dry-run": flag("only shows what would be written"),
  },
  exits:
    "Exit code: 0 the agent is written; 2 bad usage, nothing answers, or a file that would be invalid.",
  async run({ directory, signal, print, note, values, positionals }) {
    const [target = "", ...more] = positionals;
    if (target === "" || more.length > 0) throw new UsageError("Give one URL, ARN or FILE.");
    const { config: file, "token-env": variable } = values;
    const location = { directory, file };
    const path = configPath(location);
    const oldText = existsSync(path) ? readTextFile(path) : "{}\n";
    if (existsSync(path)) loadConfig(location);
    const { name: wantedName } = values;
    const added = await addAgent({
      ...{ target, name: wantedName, variable, directory, path, text: oldText, signal },
    });
    const { name, field, entry, seen } = added;
    print(`${target}: ${seen}.`);
    print(`+ ${field.join(".")}: ${JSON.stringify(entry)}`);
    if (!values["dry-run"]) write({ path, before: oldText, after: added.text });
    const command = `${sekisho} destinations set ${name}`;
    note(`To send it all messages:                        ${command}`);
    note(`To send it those that begin with "${name}:":    ${command} --word ${name}`);
    return exitCodes.success;
  },
});

function write({ path, before, after }: { path: string; before: string; after: string }): void {
  if (!existsSync(path)) {
    writeFileSync(path, after, { flag: "wx" });
    return;
  }
  const replacement = openReplacement({ path });
  try {
    replacement.write({ before, after });
  } finally {
    replacement.close();
  }
}
