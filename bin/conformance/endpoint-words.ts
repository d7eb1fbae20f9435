/** Which endpoint the words of the command line name: a URL with `--auth`, or a destination of the configuration. */
import type { Destination } from "../../lambdas/shared/config/destination-schema.ts";
import { type ConfigPlace, loadConfig, parseConfig } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { UsageError } from "../commands/command.ts";

export type Endpoint = { config: Config; name: string; destination: Destination; called: string };

type Words = {
  url: string | undefined;
  auth: string | undefined;
  dialect: string | undefined;
  destination: string | undefined;
  place: ConfigPlace;
};

/** Throws a UsageError or a ConfigError. */
export function endpointOf({ url, auth, dialect, destination: name, place }: Words): Endpoint {
  if ((url === undefined) === (name === undefined)) {
    throw new UsageError("Either a URL or --destination NAME is needed.");
  }
  if (name !== undefined) {
    if (auth !== undefined || dialect !== undefined) {
      throw new UsageError("--auth and --dialect are for a URL; a destination has its own.");
    }
    return found({ config: loadConfig(place), name, called: `destination "${name}"` });
  }
  if (URL.parse(String(url)) === null) throw new UsageError(`"${url}" is no URL.`);
  const destination = { transport: "https", url, authorizer: authorizerOf(auth ?? "none"), dialect };
  const json = { destinations: { endpoint: destination }, routes: [{ destination: "endpoint" }] };
  return found({ config: parseConfig({ json, name: "This endpoint" }), name: "endpoint", called: String(url) });
}

function found({ config, name, called }: Omit<Endpoint, "destination">): Endpoint {
  const destination = config.destinations[name];
  if (destination !== undefined) return { config, name, destination, called };
  throw new UsageError(`There is no destination "${name}". Known: ${Object.keys(config.destinations).join(", ")}.`);
}

/** The short form of the authorizers that need no more than two words; the configuration checks them as it checks its own. */
function authorizerOf(auth: string): object {
  const [type = "", ...rest] = auth.split(":");
  const [first = "", second = ""] = rest;
  switch (type) {
    case "none":
      return { type };
    case "bearer":
      return { type, token: { env: first } };
    case "sigv4":
      return { type, service: first, region: second };
    case "web-identity":
      return { type, audience: rest.join(":") };
    default:
      throw new UsageError(`--auth: "${type}" is none of none, bearer, sigv4, web-identity. ${inTheFile}`);
  }
}

const inTheFile = "Others are configured as a destination and tested by --destination.";
