/** `sekisho operate`: serves the operators' page for the local run or a stage. */

import { readEnvironment } from "@sekisho/config/environment.ts";
import { loadConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import { createAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import type { Admission } from "@sekisho/local/web/admission.ts";
import { createDoor } from "@sekisho/local/web/door.ts";
import { createLog, type Log } from "@sekisho/runtime/log.ts";
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
} from "../command.ts";
import { zoneOptions } from "../zone/zone.ts";
import { openLocalSource, openStageSource } from "./open-source.ts";
import { createOperatorsPage } from "./operators-page.ts";
import { startOperateServer } from "./server.ts";
import { createTokenAdmission } from "./token-admission.ts";

const defaultPort = "3100";
const loopback = "127.0.0.1";
/** A shorter token could be guessed by trying from many addresses at once. */
const minTokenLength = 20;
/** Only this machine reaches the page under these names. */
const loopbackHostnames = [loopback, "localhost", "::1"];

export const operate = defineCommand({
  name: "operate",
  about: `
Serves the operators' page until Ctrl-C: live tasks, timelines, destinations and dead letters. Operators can cancel and
retry tasks, and redrive dead letters. The page shows no texts; with a bot token it shows names, as tasks list does.

On 127.0.0.1 the page needs the printed address, with a new token at each start. On other addresses it asks for a token,
which operators.authenticator verifies. Put a proxy with TLS in front of it.`,
  options: {
    port: {
      ...option("N", `instead of ${defaultPort}; 0 chooses a free port`),
      default: defaultPort,
    },
    hostname: {
      ...option("H", `the address to listen on, instead of ${loopback}`),
      default: loopback,
    },
    authenticate: flag("asks for a token on loopback too, for a proxy on this machine"),
    "public-host": option(
      "NAME",
      "the host (with its port unless 443) under which the proxy serves the page; other hosts are refused",
    ),
    ...zoneOptions,
  },
  exits: awsExits("the port is in use, there is no such file"),
  async run(run) {
    const { values } = run;
    const {
      hostname,
      authenticate,
      "public-host": publicHost,
      stage,
      store,
      config: file,
    } = values;
    if (stage !== undefined && store !== undefined)
      throw new UsageError("Give --stage or --store, not both.");
    const port = parsePort(values.port);
    const location = { directory: run.directory, file };
    const log = createLog({ service: "sekisho", level: readEnvironment().logLevel ?? "info" });
    const isOpen = loopbackHostnames.includes(hostname) && !authenticate;
    if (isOpen && publicHost !== undefined)
      throw new UsageError("--public-host is for use with a proxy, and needs --authenticate.");
    const door = createDoor();
    const admission = isOpen
      ? door
      : await createPublicAdmission({ config: loadConfig(location), hostname, publicHost, log });
    const { signal } = run;
    const source =
      stage === undefined
        ? openLocalSource({ config: location, store, signal })
        : await openStageSource({ config: location, stage, signal });
    try {
      const page = createOperatorsPage({ source, admission, log });
      const server = await startOperateServer({ page, hostname, port, log });
      await closeWhenStopped(run, server.close, () => {
        const address = `${server.url}/operate/`;
        run.print(`Operators' page, ${source.name}: ${isOpen ? door.address(address) : address}`);
        if (isOpen) run.print("Anyone with this address can use the page until the command stops.");
        else
          run.print(
            "The page asks for a token. Put a proxy with TLS in front that passes Host on unchanged.",
          );
        run.print("Ctrl-C stops it.");
      });
      return exitCodes.success;
    } finally {
      await source.close();
    }
  },
});

type PublicPage = { config: Config; hostname: string; publicHost: string | undefined; log: Log };

async function createPublicAdmission({
  config,
  hostname,
  publicHost,
  log,
}: PublicPage): Promise<Admission> {
  const { authenticator } = config.operators;
  if (authenticator.type === "none") {
    throw new UsageError(
      `On ${hostname} other people could reach the page, so the configuration must say who may use it. Add an authenticator, such as
  "operators": { "authenticator": { "type": "bearer", "tokens": [{ "env": "OPERATORS_TOKEN" }] } }
or leave out --hostname and --authenticate, and use a tunnel to this machine: ssh -L ${defaultPort}:${loopback}:${defaultPort}.`,
    );
  }
  if (authenticator.type === "platform") refuseOpenPlatform({ hostname, publicHost });
  if (authenticator.type === "bearer") {
    requireSecrets(authenticator.tokens);
    for (const reference of authenticator.tokens) {
      // A secret in Secrets Manager is not read here: it may be out of reach for a while, which the page then reports.
      if (!("env" in reference) || (await readSecret(reference)).length >= minTokenLength) continue;
      throw new UsageError(
        `The token in ${reference.env} is shorter than ${minTokenLength} characters and could be guessed. Make one with openssl rand -hex 32.`,
      );
    }
  }
  return createTokenAdmission({
    authenticator: createAuthenticator({ config: authenticator, readSecret }),
    publicHost,
    log,
  });
}

/** The authenticator `platform` trusts every request, so only the proxy that authenticates people may reach the page. */
function refuseOpenPlatform({
  hostname,
  publicHost,
}: {
  hostname: string;
  publicHost: string | undefined;
}): void {
  if (!loopbackHostnames.includes(hostname)) {
    throw new UsageError(
      `With the authenticator "platform" the page must listen on ${loopback}. On ${hostname} other people could bypass the proxy that authenticates them.`,
    );
  }
  if (publicHost !== undefined) return;
  throw new UsageError(
    'The authenticator "platform" needs --public-host NAME, the host under which the proxy serves the page. Without it another site could make a browser on this machine bypass the proxy.',
  );
}
