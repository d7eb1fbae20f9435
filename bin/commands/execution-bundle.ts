/** `sekisho execution bundle`: the Execution zone as one file, for a container. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { configDirectory, loadExecutionConfig } from "../../lambdas/shared/config/load.ts";
import { bundle } from "../../lib/bundle/bundle.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

/** Whatever folder it lands in, Node takes it for the CommonJS that it is. */
const fileName = "server.cjs";

export const executionBundle: Command = {
  help: `
sekisho execution bundle --out DIR [--config FILE]

Writes DIR/${fileName}: the Execution zone with its agent and the execution section of the configuration, in one file
that needs nothing but Node 24. The Dockerfile makes an image of it.

  --out DIR       made where it does not exist
  --config FILE   instead of ./sekisho.config.json

What the file reads of its environment:

  PORT                  where it listens (8080)
  SEKISHO_STORE         the file of its tasks, on a local disk (execution.db in the working directory)
  SEKISHO_CONFIG_FILE   a configuration instead of the one inside; its agent must be the same
  SEKISHO_LOG_LEVEL     debug, info, warn, error
  SEKISHO_HOSTNAME      the address that it binds (0.0.0.0)
  and the variables that the configuration refers to for its secrets

It starts beyond loopback only with an authenticator. node ${fileName} --healthcheck asks a running one whether it is well.
`,
  async run({ words, directory, print, note }) {
    const { values } = parseArgs({ args: words, options: { out: { type: "string" }, config: { type: "string" } } });
    if (values.out === undefined) throw new UsageError("--out is missing: the folder to write to.");
    const place = { directory, file: values.config };
    const config = loadExecutionConfig(place);
    const { code } = bundle({ name: "container", config, configDirectory: configDirectory(place) });
    const folder = resolve(directory, values.out);
    mkdirSync(folder, { recursive: true });
    const file = join(folder, fileName);
    writeFileSync(file, code);
    if (config.execution.authenticator.type === "none") note(loopbackOnly);
    print(`${file}   (${Math.ceil(code.byteLength / 1000)} KB)`);
    return exitCodes.success;
  },
};

const loopbackOnly =
  'Note: the configuration has no authenticator. Beyond loopback, as in a container, this file ends at once with exit code 1: give "execution" an authenticator (bearer, jwt, web-identity or platform), or mount a configuration that has one (SEKISHO_CONFIG_FILE).';
