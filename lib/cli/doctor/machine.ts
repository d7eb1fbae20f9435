/** The checks of the machine: configuration, Node, proxy, secrets, ports, disk and the zones' files. None disturbs a running zone. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { authorizerOf } from "@sekisho/config/destination-address.ts";
import { configDirectory, configPath } from "@sekisho/config/load.ts";
import { readProxies } from "@sekisho/config/proxy-environment.ts";
import { formatSecretName } from "@sekisho/config/secrets.ts";
import { neededSecrets } from "@sekisho/local/slack-installation.ts";
import { type Database, openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { EngineFileError, toFileError } from "@sekisho/runtime/engine/sqlite/file-error.ts";
import { callerIdentity } from "../aws/account.ts";
import { listNonSlackSecrets, requireAgentFiles } from "../config/config-needs.ts";
import { noRouteText } from "../destinations/route-key.ts";
import { type Finding, failure, ok, skip, warning } from "./check.ts";
import { requireSecret } from "./slack.ts";
import type { Machine, Targets, Zone } from "./targets.ts";

export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 19))
    return failure(`${version} is too old: 22.19 is needed.`);
  return major % 2 === 1 ? warning(`${version} has no long-term support.`) : ok(version);
}

/** Names the proxies without user and password. Whether they work shows in the checks of what is reached through them. */
export function checkProxy(): Finding {
  const proxies = readProxies();
  if (proxies === undefined) return ok("None is used.");
  const { https, http, noProxy } = proxies;
  const proxyTexts = Object.entries({ https, http }).flatMap(([scheme, proxy]) => {
    if (proxy === undefined) return [];
    const user = proxy.authorization === undefined ? "" : ", with a user";
    return [`${scheme} through ${proxy.url.origin}${user} (${proxy.variable})`];
  });
  return ok(`${proxyTexts.join("; ")}; directly to ${["this machine", ...noProxy].join(", ")}.`);
}

export function checkConfiguration({ location, readConfig }: Targets["here"]): Finding {
  const { routes, destinations, execution } = readConfig();
  try {
    requireAgentFiles(execution, configDirectory(location));
  } catch (error) {
    const remedy =
      "Correct the path, which is relative to the configuration's folder, or put the file there.";
    return failure(error instanceof Error ? error.message : "Its agent is missing.", remedy);
  }
  if (routes.length === 0)
    return warning(noRouteText, 'Add one, such as "routes": [{ "destination": "local" }].');
  const path = configPath(location);
  const source = existsSync(path) ? path : "no file, so every default is in effect";
  const names = Object.keys(destinations).join(", ") || "none";
  const usedDestinations = [...new Set(routes.flatMap(({ destination }) => destination))].join(
    ", ",
  );
  return ok(`${source}; destinations: ${names}; routes to ${usedDestinations}.`);
}

/** Names the secrets, and never shows their values. */
export async function checkSecrets({ config, hasSlack, readSecret }: Machine): Promise<Finding> {
  const references = [
    ...(hasSlack ? neededSecrets(config.slack) : []),
    ...listNonSlackSecrets(config),
  ];
  const referencesByName = new Map(
    references.map((reference) => [formatSecretName(reference), reference]),
  );
  if (referencesByName.size === 0) return ok("The configuration needs none here.");
  const reads = await Promise.allSettled(
    [...referencesByName.values()].map((reference) => requireSecret(reference, readSecret)),
  );
  const missing = reads.flatMap((result) =>
    result.status === "rejected" ? [result.reason.message] : [],
  );
  return missing.length === 0
    ? ok(`All are there: ${[...referencesByName.keys()].join(", ")}.`)
    : failure(missing.join(" "));
}

/** Says whose AWS credentials the calls of destinations from this machine use. */
export async function checkAwsCaller({ config, signal }: Machine): Promise<Finding> {
  const authorizers = Object.values(config.destinations).map(authorizerOf);
  const usesAws = ["sigv4", "web-identity", "google", "azure"];
  if (!authorizers.some((type) => usesAws.includes(type))) return skip("None are needed here.");
  const { arn } = await callerIdentity({ region: "us-east-1", signal });
  return ok(`${arn}. A stage's worker may have other permissions.`);
}

const portVariables = { Verification: "SEKISHO_PORT", Execution: "SEKISHO_EXECUTION_PORT" };

export async function checkPort(
  zone: Zone,
  { environment, portUse }: Pick<Machine, "environment" | "portUse">,
): Promise<Finding> {
  const port = zone === "Verification" ? environment.port : environment.executionPort;
  if (port === 0) return skip("Any free port is used.");
  const variable = portVariables[zone];
  switch (await portUse[zone]()) {
    case "free":
      return ok(`${port} is free: no ${zone} zone is running here.`);
    case "zone":
      return ok(`The ${zone} zone is running at ${port}.`);
    case "other": {
      const what = `A program other than the ${zone} zone is listening at ${port}.`;
      return failure(what, `Stop it, or set another port: ${variable}.`);
    }
    case "forbidden":
      return failure(`This user may not listen at ${port}.`, `Set a port above 1023: ${variable}.`);
  }
}

const mebibyte = 1024 * 1024;
/** A transaction that finds no space loses its message. */
const minFreeBytes = 64 * mebibyte;
const plentyFreeBytes = 1024 * mebibyte;

export async function checkDisk(
  { folder }: Pick<Machine, "folder">,
  readFreeBytes = async () => statfs(folder).then(({ bavail, bsize }) => bavail * bsize),
): Promise<Finding> {
  const file = join(folder, `.doctor-${randomUUID()}`);
  try {
    await writeFile(file, "", { mode: 0o600, flag: "wx" });
  } catch (error) {
    const remedy = `Give write access to the user who runs sekisho (ls -ld ${folder}), or run it in another folder.`;
    return failure(`${folder} cannot be written (${Object(error).code}).`, remedy);
  } finally {
    await rm(file, { force: true });
  }
  const freeBytes = await readFreeBytes();
  const what = `${folder} can be written; ${Math.floor(freeBytes / mebibyte)} MiB are free.`;
  if (freeBytes < minFreeBytes) return failure(what);
  return freeBytes < plentyFreeBytes ? warning(what) : ok(what);
}

/** Reading every page of a larger file takes too long. */
const maxCheckedBytes = 256 * mebibyte;

export function checkStore(machine: Machine, name: string): Promise<Finding> {
  return withDatabase(machine, name, async ({ database, file, isNew }) => {
    if (!isNew && statSync(file).size <= maxCheckedBytes && isDamaged(database))
      return failure(`${file} is damaged.`);
    return ok(isNew ? `There is no ${file} yet; it can be created.` : `${file} can be read.`);
  });
}

/** Sends, receives and finishes a message. The queue's name is random, so that no zone receives it. */
export function checkQueue(machine: Machine, name: string): Promise<Finding> {
  return withDatabase(machine, name, async ({ database }) => {
    const queue = createSqliteQueue({ database, name: `doctor-${randomUUID()}` });
    await queue.send({ body: "{}" });
    const { signal } = machine;
    const limits = { max: 1, visibilityTimeoutMs: 30_000, waitMs: 1000 };
    const [message] = await queue.receive({ ...limits, signal });
    return message !== undefined && (await queue.finish({ receipt: message.receipt }))
      ? ok("A message was sent, received and finished.")
      : failure("A message was sent and did not arrive.");
  });
}

/** A running zone holds its lock for about a millisecond. */
const busyTimeoutMs = 1000;

type OpenFile = { database: Database; file: string; isNew: boolean };

/** If the file does not exist yet, one is created in a temporary folder beside it. */
async function withDatabase<T>(
  { folder, dataFolder }: Machine,
  name: string,
  work: (open: OpenFile) => Promise<T>,
): Promise<T> {
  const file = join(dataFolder, name);
  const isNew = !existsSync(file);
  const ownFolder = isNew ? openFolder(folder) : undefined;
  try {
    const path = ownFolder === undefined ? file : join(ownFolder, "new.db");
    const database = openDatabase({ file: path, busyTimeoutMs });
    try {
      return await work({ database, file, isNew });
    } catch (error) {
      throw toFileError({ error, file }) ?? error;
    } finally {
      await database.close();
    }
  } finally {
    if (ownFolder !== undefined) rmSync(ownFolder, { recursive: true, force: true });
  }
}

function openFolder(folder: string): string {
  try {
    return mkdtempSync(join(folder, ".doctor-"));
  } catch (cause) {
    const message = `${folder} cannot be written. Give write access to the user who runs sekisho.`;
    throw new EngineFileError(message, { cause });
  }
}

function isDamaged(database: Database): boolean {
  try {
    return database.prepare("PRAGMA quick_check(1)").get()?.quick_check !== "ok";
  } catch {
    // sqlite reports some damage by throwing.
    return true;
  }
}
