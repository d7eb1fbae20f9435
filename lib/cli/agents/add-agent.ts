/** Finds an agent, and adds it to the text of a configuration. */
import { existsSync } from "node:fs";
import { basename, dirname, extname, relative, resolve } from "node:path";
import { parseConfig } from "@sekisho/config/load.ts";
import { readVariable } from "@sekisho/config/secrets.ts";
import { harnessArnSchema, runtimeArnSchema } from "@sekisho/config/values.ts";
import { UsageError } from "../command.ts";
import { setMember } from "../set-member.ts";
import { type ProbeResult, probeAddress } from "./probe.ts";

type Found = ProbeResult | { seen: string; agent: string };

/** `text` is the new configuration. `field` is where the entry is in it. `seen` is a sentence for the person. */
export type AddedAgent = {
  text: string;
  name: string;
  field: readonly string[];
  entry: unknown;
  seen: string;
};

const timeoutMs = 5000;

/**
 * `target` is a URL, the ARN of a runtime or a harness, or a file, relative to `directory`. `path` is the configuration's, and `text` its valid content.
 * Throws a UsageError if nothing is there or the name is taken, and a ConfigError if the result would be invalid.
 */
export async function addAgent(request: {
  target: string;
  name?: string | undefined;
  /** The environment variable with the bearer token. */
  variable?: string | undefined;
  directory: string;
  path: string;
  text: string;
  signal: AbortSignal;
}): Promise<AddedAgent> {
  const { target, name = toName(target), path, text } = request;
  const { entry, seen, isDestination } = await findEntry(request);
  const field = isDestination ? ["destinations", name] : ["execution", "agents", name];
  const { execution, destinations, routes } = Object(JSON.parse(text)) as Record<string, unknown>;
  const names = { ...Object(Object(execution).agents), ...Object(destinations) };
  if (Object.hasOwn(names, name))
    throw new UsageError(`There is an agent or a destination "${name}" already. Give --name NAME.`);
  const withEntry = setMember(text, field, entry);
  // The default route leads to a destination that a first one of one's own replaces.
  const needsRoute = isDestination && routes === undefined && destinations === undefined;
  const newText = needsRoute
    ? setMember(withEntry, ["routes"], [{ destination: name }])
    : withEntry;
  parseConfig({ json: JSON.parse(newText), name: path });
  return { text: newText, name, field, entry, seen };
}

type Target = {
  target: string;
  directory: string;
  path: string;
  variable?: string | undefined;
  signal: AbortSignal;
};

/** The entry for the configuration: an agent of the Execution host, or a destination. Throws a UsageError if nothing is there. */
export async function findEntry(
  request: Target,
): Promise<{ entry: unknown; seen: string; isDestination: boolean }> {
  const probeResult = await findAgent(request);
  const entry = createEntry(probeResult, request.variable);
  return { entry, seen: probeResult.seen, isDestination: "destination" in probeResult };
}

async function findAgent(request: Target): Promise<Found> {
  const { target, directory, path: configPath, variable, signal } = request;
  if (runtimeArnSchema.safeParse(target).success)
    return {
      seen: 'a runtime of AgentCore, taken for one of the protocol HTTP; write "type": "ag-ui" if its protocol is AG-UI, and for A2A a destination with "transport": "agentcore" and "protocol": "a2a" instead',
      agent: { type: "http", runtimeArn: target },
    };
  const [harnessArn = "", endpointName] = target.split("/harness-endpoint/");
  if (harnessArnSchema.safeParse(harnessArn).success)
    return {
      seen: "a harness of AgentCore",
      agent: { type: "harness", harnessArn, ...(endpointName && { qualifier: endpointName }) },
    };
  if (/^https?:\/\//i.test(target)) {
    const token = variable === undefined ? undefined : readVariable({ env: variable });
    if (variable !== undefined && !token)
      throw new UsageError(`The environment variable ${variable} is not set.`);
    return probeAddress({ address: target, token, timeoutMs, signal });
  }
  const file = resolve(directory, target);
  if (!existsSync(file))
    throw new UsageError(
      `"${target}" is no URL, no ARN of a runtime or a harness, and no file that exists.`,
    );
  const path = relative(dirname(configPath), file).replaceAll("\\", "/");
  return { seen: "a file", agent: path.startsWith("../") ? path : `./${path}` };
}

/** A name that the configuration accepts, from the host, the ARN or the file. */
function toName(target: string): string {
  const host = URL.parse(target)?.hostname;
  const [label = ""] = (host ?? "").split(".");
  const isNumeric = /^\d*$/.test(label);
  const [, id] = /^arn:[^/]+:(?:runtime|harness)\/([\w-]+)/.exec(target) ?? [];
  const word =
    id !== undefined
      ? id.replace(/-[A-Za-z0-9]{10}$/, "")
      : host === undefined || host === ""
        ? basename(target, extname(target))
        : isNumeric || label === "localhost"
          ? "agent"
          : label;
  const words = word.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const name = words.join("-").replace(/^[^a-z]+/, "");
  return name.slice(0, 63) || "agent";
}

/** With the token as an authorizer, or as the key of a model's API. */
function createEntry(result: Found, variable: string | undefined): unknown {
  const entry = "agent" in result ? result.agent : result.destination;
  if (variable === undefined || typeof entry === "string") return entry;
  const token = { env: variable };
  return entry.type === "openai-compatible"
    ? { ...entry, apiKey: token }
    : { ...entry, authorizer: { type: "bearer", token } };
}
