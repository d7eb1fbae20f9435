/** `sekisho operate`: serves the page for operators, of the local run or of a stage. */
import { createAuthenticator } from "../../lambdas/execution/authenticator/create-authenticator.ts";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { readSecret } from "../../lambdas/shared/config/secrets.ts";
import { createLog, type Log } from "../../lambdas/shared/log.ts";
import {
  awsExits,
  closeWhenStopped,
  defineCommand,
  exitCodes,
  flag,
  option,
  parsePort,
  requireSecrets,
  UsageError,
} from "../../lib/cli/command.ts";
import { zoneOptions } from "../../lib/cli/zone/zone.ts";
import { openLocalSource, openStageSource } from "../../lib/local/console/open-source.ts";
import { createOperatorsPage } from "../../lib/local/console/operators-page.ts";
import { startOperateServer } from "../../lib/local/console/server.ts";
import { createTokenAdmission } from "../../lib/local/console/token-admission.ts";
import type { Admission } from "../../lib/local/web/admission.ts";
import { createDoor } from "../../lib/local/web/door.ts";

const defaultPort = "3100";
const loopback = "127.0.0.1";
/** A shorter token can be guessed from many addresses. */
const leastTokenLength = 20;
/** Loopback, where nobody else can reach the page. */
const openHostnames = [loopback, "localhost", "::1"];

export const operate = defineCommand({
  name: "operate",
  about: `
Serves a page for operators until Ctrl-C: the tasks as they move, the timeline of one task through both zones, the health
of the destinations, dead letters; and cancels, retries and redrives. It shows ids, states and times, never a text.
On 127.0.0.1 it answers whoever has the printed address, which holds a new token each time. Elsewhere it asks for a token,
which operators.authenticator of the configuration verifies, and a proxy before it must provide TLS.`,
  options: {
    port: { ...option("N", `instead of ${defaultPort}; 0 takes a free one`), default: defaultPort },
    hostname: { ...option("H", `instead of ${loopback}`), default: loopback },
    authenticate: flag("asks for a token on loopback too: for a proxy on this machine, under a name of its own"),
    "public-host": option(
      "NAME",
      "the name (with its port, unless 443) under which the proxy serves the page; requests for another are refused",
    ),
    ...zoneOptions,
  },
  exits: awsExits("the port is taken, there is no such file"),
  async run(run) {
    const { values } = run;
    const { hostname, authenticate, "public-host": publicHost, stage, store, config: file } = values;
    if (stage !== undefined && store !== undefined) throw new UsageError("--stage or --store, not both.");
    const port = parsePort(values.port);
    const location = { directory: run.directory, file };
    const log = createLog({ service: "sekisho", level: readEnvironment().logLevel ?? "info" });
    const isOpen = openHostnames.includes(hostname) && !authenticate;
    if (isOpen && publicHost !== undefined)
      throw new UsageError("--public-host is for a proxy. It needs --authenticate.");
    const door = createDoor();
    const admission = isOpen ? door : await authenticated({ config: loadConfig(location), hostname, publicHost, log });
    const { signal } = run;
    const source =
      stage === undefined
        ? openLocalSource({ config: location, store, signal })
        : await openStageSource({ config: location, stage, signal });
    try {
      const page = createOperatorsPage({ source, admission, log });
      const server = await startOperateServer({ page, hostname, port, log });
      const address = `${server.url}/operate/`;
      run.print(`Operators' page, ${source.name}: ${isOpen ? door.address(address) : address}`);
      if (isOpen) run.print("Whoever has this address can use the page. It is valid for this run alone.");
      else run.print("It asks for a token. Put a proxy with TLS before it that passes Host on unchanged.");
      run.print("Ctrl-C ends it.");
      await closeWhenStopped(run, server.close);
      return exitCodes.success;
    } finally {
      await source.close();
    }
  },
});

type PublicPage = { config: Config; hostname: string; publicHost: string | undefined; log: Log };

async function authenticated({ config, hostname, publicHost, log }: PublicPage): Promise<Admission> {
  const { authenticator } = config.operators;
  if (authenticator.type === "none") {
    throw new UsageError(
      `On ${hostname} others could reach the page, and nothing says who may. Name an authenticator in the configuration, such as
  "operators": { "authenticator": { "type": "bearer", "tokens": [{ "env": "OPERATORS_TOKEN" }] } }
or leave --hostname (and --authenticate) out, and come through a tunnel to this machine: ssh -L ${defaultPort}:${loopback}:${defaultPort}.`,
    );
  }
  if (authenticator.type === "platform") refuseOpenPlatform({ hostname, publicHost });
  if (authenticator.type === "bearer") {
    requireSecrets(authenticator.tokens);
    for (const reference of authenticator.tokens) {
      // A managed secret may be out of reach for a while. Then the page says so.
      if (!("env" in reference) || (await readSecret(reference)).length >= leastTokenLength) continue;
      throw new UsageError(
        `A token of the operators is shorter than ${leastTokenLength} characters and could be guessed. Make one with openssl rand -hex 32.`,
      );
    }
  }
  return createTokenAdmission({
    authenticator: createAuthenticator({ config: authenticator, readSecret }),
    publicHost,
    log,
  });
}

/** `platform` trusts every request, because a proxy is meant to have authenticated it. */
function refuseOpenPlatform({ hostname, publicHost }: { hostname: string; publicHost: string | undefined }): void {
  if (!openHostnames.includes(hostname)) {
    throw new UsageError(
      `With the authenticator "platform" the page listens on ${loopback} only: on ${hostname} others could reach it past what authenticates them.`,
    );
  }
  if (publicHost !== undefined) return;
  throw new UsageError(
    'The authenticator "platform" needs --public-host NAME, the name under which the proxy serves the page: other sites could lead a browser of this machine past the proxy.',
  );
}
