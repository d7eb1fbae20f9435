/** Checks of the machine itself: the configuration, Node, the disk and the ports. */
import { randomUUID } from "node:crypto";
import { once as onceEmitted } from "node:events";
import { existsSync } from "node:fs";
import { rm, statfs, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import {
  type ConfigLocation,
  configDirectory,
  configPath,
} from "../../../lambdas/shared/config/load.ts";
import type { Proxies } from "../../../lambdas/shared/config/proxy-environment.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { requireAgentFile } from "../config-needs.ts";
import { noRouteText } from "../destinations/route-key.ts";
import { type Check, failed, failedAs, ok, row, warning } from "./check.ts";

/** `read` throws the error of a file that cannot be used. */
export function configurationCheck({
  location,
  read,
}: {
  location: ConfigLocation;
  read: () => Config;
}): Check {
  return {
    name: "configuration",
    async run() {
      const { routes, destinations, execution } = read();
      try {
        requireAgentFile(execution.agent, configDirectory(location));
      } catch (thrown) {
        const remedy =
          "Correct the path, which is relative to the configuration's folder, or put the file there.";
        return failedAs(
          thrown instanceof Error ? thrown.message : "The agent's file cannot be found.",
          remedy,
        );
      }
      if (routes.length === 0) {
        const remedy = 'Add one, such as "routes": [{ "destination": "local" }].';
        return warning(noRouteText, remedy);
      }
      const path = configPath(location);
      const source = existsSync(path) ? path : "no file, so every default is in effect";
      const names = Object.keys(destinations).join(", ") || "none";
      const used = [...new Set(routes.flatMap(({ destination }) => destination))].join(", ");
      return ok(`${source}; destinations: ${names}; routes to ${used}.`);
    },
  };
}

export function nodeCheck({ version }: { version: string }): Check {
  return {
    name: "Node",
    async run() {
      const remedy =
        "Install Node 24 (https://nodejs.org), or run npm ci on Linux, which installs a pinned one.";
      const [major = 0, minor = 0] = version.split(".").map(Number);
      if (major < 22 || (major === 22 && minor < 19))
        return failed(`${version} is too old: 22.19 is needed.`, remedy);
      if (major % 2 === 1) return warning(`${version} has no long-term support.`, remedy);
      return ok(version);
    },
  };
}

/** Names the proxies without user and password. Whether they work shows in the checks of what is reached through them. */
export function proxyCheck({ https, http, noProxy }: Proxies): Check {
  const named = Object.entries({ https, http }).flatMap(([scheme, proxy]) => {
    if (proxy === undefined) return [];
    const { url, variable, authorization } = proxy;
    return [
      `${scheme} through ${url.origin}${authorization === undefined ? "" : ", with a user"} (${variable})`,
    ];
  });
  const exceptions = ["this machine", ...noProxy].join(", ");
  return { name: "proxy", run: async () => ok(`${named.join("; ")}; directly to ${exceptions}.`) };
}

const mebibyte = 1024 * 1024;
/** A transaction that finds no space loses its message. */
const minFreeBytes = 64 * mebibyte;
const plentyFreeBytes = 1024 * mebibyte;

type Disk = { folder: string; readFreeBytes?: () => Promise<number> };

/** `folder` exists. */
export function diskCheck({
  folder,
  readFreeBytes = async () => statfs(folder).then(({ bavail, bsize }) => bavail * bsize),
}: Disk): Check {
  return {
    name: "disk",
    async run() {
      const file = join(folder, `.doctor-${randomUUID()}`);
      try {
        await writeFile(file, "", { mode: 0o600, flag: "wx" });
      } catch (thrown) {
        const remedy = `Give write access to the user who runs sekisho (ls -ld ${folder}), or run it in another folder.`;
        return failed(`${folder} cannot be written (${Object(thrown).code}).`, remedy);
      } finally {
        await rm(file, { force: true });
      }
      const free = await readFreeBytes();
      const what = `${folder} can be written; ${Math.floor(free / mebibyte)} MiB are free.`;
      const remedy =
        "Free some disk space: tasks, their answers and files of messages are kept there.";
      if (free < minFreeBytes) return failed(what, remedy);
      return free < plentyFreeBytes ? warning(what, remedy) : ok(what);
    },
  };
}

export type Zone = "Verification" | "Execution";
/** `zone`: the expected zone listens there. `forbidden`: this user may not listen there. */
export type PortUse = "free" | "zone" | "other" | "forbidden";

/** `variable` is the environment variable that sets the port. */
type Port = { zone: Zone; port: number; variable: string; use: () => Promise<PortUse> };

export function portCheck({ zone, port, variable, use }: Port): Check {
  const findings = {
    free: ok(`It is free: no ${zone} zone is running here.`),
    zone: ok(`The ${zone} zone is running here.`),
    other: failed(
      `A program other than the ${zone} zone is listening there.`,
      `Stop it, or set another port: ${variable}.`,
    ),
    forbidden: failed("This user may not listen there.", `Set a port above 1023: ${variable}.`),
  };
  return row({ name: `port ${port}`, needs: use, check: (found) => findings[found] });
}

/** The answer of each zone to a request that changes nothing. */
const signs: Record<Zone, { path: string; isZone: (response: Response) => Promise<boolean> }> = {
  Verification: {
    path: "/slack/events",
    isZone: async ({ status, headers }) => status === 405 && headers.get("allow") === "POST",
  },
  Execution: {
    path: "/healthz",
    isZone: async (response) =>
      response.status === 200 && (await response.text()) === '{"status":"ok"}',
  },
};

export async function findPortUse(zone: Zone, port: number, signal: AbortSignal): Promise<PortUse> {
  const server = createServer();
  try {
    server.listen({ host: "127.0.0.1", port });
    await onceEmitted(server, "listening");
    server.close();
    await onceEmitted(server, "close");
    return "free";
  } catch (thrown) {
    if (Object(thrown).code !== "EADDRINUSE") return "forbidden";
  }
  const { path, isZone } = signs[zone];
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(2000)]);
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      redirect: "manual",
      signal: limit,
    });
    return (await isZone(response)) ? "zone" : "other";
  } catch {
    return "other";
  }
}
