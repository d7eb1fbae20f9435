/** Finds the endpoint that the command line names: a URL with `--auth`, or a destination of the configuration. */

import { type AuthorizerConfig, authorizerSchema } from "@sekisho/config/authorizer-schema.ts";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { protocolOf } from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import { type ConfigLocation, loadConfig, parseConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { UsageError } from "./command.ts";

export type Endpoint = { config: Config; name: string; destination: Destination; purpose: string };

type EndpointArgs = {
  url: string | undefined;
  auth: string | undefined;
  dialect: string | undefined;
  destination: string | undefined;
  location: ConfigLocation;
};

/** Throws a UsageError or a ConfigError. */
export function findEndpoint({
  url,
  auth,
  dialect,
  destination: name,
  location,
}: EndpointArgs): Endpoint {
  if ((url === undefined) === (name === undefined)) {
    throw new UsageError("Give either a URL or --destination NAME.");
  }
  if (name !== undefined) {
    if (auth !== undefined || dialect !== undefined) {
      throw new UsageError(
        "--auth and --dialect need a URL. A destination has both in the configuration.",
      );
    }
    return findDestination({
      config: loadConfig(location),
      name,
      purpose: `destination "${name}"`,
    });
  }
  if (URL.parse(String(url)) === null) throw new UsageError(`"${url}" is not a URL.`);
  const destination = { transport: "https", url, authorizer: parseAuth(auth ?? "none"), dialect };
  const json = { destinations: { endpoint: destination }, routes: [{ destination: "endpoint" }] };
  return findDestination({
    config: parseEndpointConfig(json),
    name: "endpoint",
    purpose: String(url),
  });
}

/** The authorizer of a second caller, written like `--auth`. */
export function parseAnotherAuth(auth: string): AuthorizerConfig {
  const result = authorizerSchema.safeParse(parseAuth(auth, "--other-auth"));
  if (result.success) return result.data;
  throw new UsageError(
    result.error.issues.map(({ message }) => `--other-auth: ${message}`).join("\n"),
  );
}

/** Parses a configuration that is made from the arguments, and reports its problems as problems of the arguments. */
function parseEndpointConfig(json: unknown): Config {
  try {
    return parseConfig({ json });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new UsageError(error.problems.map(toArgumentProblem).join("\n"));
  }
}

function toArgumentProblem(problem: string): string {
  return problem
    .replace(/^destinations\.endpoint\.url: /, "The URL ")
    .replace(/^destinations\.endpoint\.authorizer(\.\w+)*: /, "--auth: ")
    .replace(/^destinations\.endpoint\.dialect: /, "--dialect: ");
}

function findDestination({ config, name, purpose }: Omit<Endpoint, "destination">): Endpoint {
  const destination = config.destinations[name];
  if (destination !== undefined && protocolOf(destination) === "a2a") {
    throw new UsageError(
      `"${name}" uses A2A, which these cases do not cover. Run ${sekisho} doctor --destination ${name} instead.`,
    );
  }
  if (destination !== undefined) return { config, name, destination, purpose };
  throw unknownDestination(name, Object.keys(config.destinations));
}

export function unknownDestination(name: string, knownNames: readonly string[]): UsageError {
  return new UsageError(`There is no destination "${name}". Known: ${knownNames.join(", ")}.`);
}

/** The authorizers that need at most two values, each as it is written and as the configuration has it. */
const forms = new Map<string, { form: string; read: (first: string, second: string) => object }>([
  ["none", { form: "none", read: () => ({}) }],
  ["bearer", { form: "bearer:ENV_NAME", read: (env) => ({ token: { env } }) }],
  ["sigv4", { form: "sigv4:SERVICE:REGION", read: (service, region) => ({ service, region }) }],
  ["web-identity", { form: "web-identity:AUDIENCE", read: (audience) => ({ audience }) }],
]);

/** The configuration's schema checks the values. */
function parseAuth(auth: string, option = "--auth"): object {
  const [type = "", ...parameters] = auth.split(":");
  const knownForm = forms.get(type);
  if (knownForm === undefined) {
    const others = "Others are configured as a destination and tested by --destination.";
    throw new UsageError(
      `${option}: "${type}" is none of ${[...forms.keys()].join(", ")}. ${others}`,
    );
  }
  const { form, read: readForm } = knownForm;
  // An audience may have colons of its own.
  const values = type === "web-identity" ? [parameters.join(":")] : parameters;
  if (values.filter((value) => value !== "").length !== form.split(":").length - 1) {
    throw new UsageError(`${option}: ${type} is written ${form}.`);
  }
  const [first = "", second = ""] = values;
  return { type, ...readForm(first, second) };
}
