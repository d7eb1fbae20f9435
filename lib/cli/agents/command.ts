/** `sekisho agents add`: finds out what an agent speaks, and writes it into the configuration. */
import { existsSync, writeFileSync } from "node:fs";
import { basename, extname, relative, resolve } from "node:path";
import { configDirectory, configPath, loadConfig, parseConfig } from "@sekisho/config/load.ts";
import { readVariable } from "@sekisho/config/secrets.ts";
import { runtimeArnSchema } from "@sekisho/config/values.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { readTextFile } from "@sekisho/runtime/text-file.ts";
import { applyEdits, modify } from "jsonc-parser";
import { configOption, defineCommand, exitCodes, flag, option, UsageError } from "../command.ts";
import { openReplacement } from "../destinations/replace-file.ts";
import { formattingOf } from "../destinations/set-route.ts";
import { type ProbeResult, probeAddress } from "./probe.ts";

const timeoutMs = 5000;

export const agentsAdd = defineCommand({
  name: "agents add",
  args: "URL|ARN|FILE",
  about: `
Writes an agent into the configuration: one that answers at a URL, a runtime of Bedrock AgentCore by its ARN, or a file of your own.
At a URL it looks for an A2A card, for models, for our contract and for AG-UI, and says what it saw. It posts one request that names no
task; an endpoint that takes any JSON may take it for a message. The rest of the file does not change.`,
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
    const result = await findAgent({ target, directory, location, variable, signal });
    const name = values.name ?? toName(target);
    const path = configPath(location);
    const before = existsSync(path) ? readTextFile(path) : "{}\n";
    if (existsSync(path)) loadConfig(location);
    const after = addEntry({ text: before, name, result, variable });
    parseConfig({ json: JSON.parse(after), name: path });
    print(`${target}: ${result.seen}.`);
    print(`+ ${fieldOf(result, name).join(".")}: ${JSON.stringify(entryOf(result, variable))}`);
    if (!values["dry-run"]) write({ path, before, after });
    note(
      `Messages that begin with "${name}:" go there after ${sekisho} destinations set ${name} --word ${name}`,
    );
    return exitCodes.success;
  },
});

async function findAgent(request: {
  target: string;
  directory: string;
  location: { directory: string; file: string | undefined };
  variable: string | undefined;
  signal: AbortSignal;
}): Promise<ProbeResult | { seen: string; agent: string }> {
  const { target, directory, location, variable, signal } = request;
  if (runtimeArnSchema.safeParse(target).success)
    return {
      seen: 'a runtime of AgentCore; write "type": "ag-ui" if its protocol is AG-UI',
      agent: { type: "http", runtimeArn: target },
    };
  if (/^https?:\/\//i.test(target)) {
    const token = variable === undefined ? undefined : readVariable({ env: variable });
    if (variable !== undefined && !token)
      throw new UsageError(`The environment variable ${variable} is not set.`);
    return probeAddress({ address: target, token, timeoutMs, signal });
  }
  const file = resolve(directory, target);
  if (!existsSync(file))
    throw new UsageError(`"${target}" is no URL, no ARN of a runtime, and no file that exists.`);
  const path = relative(configDirectory(location), file).replaceAll("\\", "/");
  return { seen: "a file", agent: path.startsWith("../") ? path : `./${path}` };
}

type Found = ProbeResult | { seen: string; agent: string };

/** A name that the configuration accepts, from the host, the runtime or the file. */
function toName(target: string): string {
  const host = URL.parse(target)?.hostname;
  const [label = ""] = (host ?? "").split(".");
  const isNumeric = /^\d*$/.test(label);
  const word = runtimeArnSchema.safeParse(target).success
    ? (target.split("/").at(-1) ?? "").replace(/-[A-Za-z0-9]{10}$/, "")
    : host === undefined || host === ""
      ? basename(target, extname(target))
      : isNumeric || label === "localhost"
        ? "agent"
        : label;
  const name = word
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+|-+$/g, "");
  return name.slice(0, 63) || "agent";
}

function fieldOf(result: Found, name: string): string[] {
  return "agent" in result ? ["execution", "agents", name] : ["destinations", name];
}

/** With the token as an authorizer, or as the key of a model's API. */
function entryOf(result: Found, variable: string | undefined): unknown {
  const entry = "agent" in result ? result.agent : result.destination;
  if (variable === undefined || typeof entry === "string") return entry;
  const token = { env: variable };
  return entry.type === "openai-compatible"
    ? { ...entry, apiKey: token }
    : { ...entry, authorizer: { type: "bearer", token } };
}

function addEntry(request: {
  text: string;
  name: string;
  result: Found;
  variable: string | undefined;
}): string {
  const { text, name, result, variable } = request;
  const { execution, destinations } = Object(JSON.parse(text)) as Record<string, unknown>;
  const names = { ...Object(Object(execution).agents), ...Object(destinations) };
  if (Object.hasOwn(names, name))
    throw new UsageError(`There is an agent or a destination "${name}" already. Give --name NAME.`);
  const options = { formattingOptions: formattingOf(text) };
  return applyEdits(text, modify(text, fieldOf(result, name), entryOf(result, variable), options));
}

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
