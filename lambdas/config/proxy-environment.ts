/** Reads the proxies of the environment, by the names that curl, npm and the AWS command line use. */

import type { Proxies, ProxyServer } from "@sekisho/runtime/http/proxy.ts";
import * as z from "zod";
import { ConfigError } from "./config-error.ts";

/** The variables with their meaning. */
export const proxyVariables = {
  HTTPS_PROXY: z
    .string()
    .optional()
    .describe("The proxy for https, as http://HOST:PORT or http://USER:PASSWORD@HOST:PORT."),
  HTTP_PROXY: z.string().optional().describe("The same for http. Never used for this machine."),
  NO_PROXY: z
    .string()
    .optional()
    .describe(
      "Hosts without a proxy, separated by commas: example.com with its subdomains, example.com:8443, 10.0.0.0/8, or * for all.",
    ),
  NODE_USE_ENV_PROXY: z
    .string()
    .optional()
    .describe("0 ignores the proxies. They are used without 1, too."),
};

/** Undefined if there is no proxy. Throws a ConfigError, which never shows the value, because that may have a password. */
export function readProxies(variables: NodeJS.ProcessEnv = process.env): Proxies | undefined {
  if (variables.NODE_USE_ENV_PROXY === "0") return undefined;
  const nameOf = (name: string) => [name.toLowerCase(), name].find((each) => variables[each]);
  const problems: string[] = [];

  function readServer(name: string): ProxyServer | undefined {
    const variable = nameOf(name);
    if (variable === undefined) return undefined;
    const proxy = parseProxy({ variable, text: variables[variable] ?? "" });
    const form =
      "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, with special characters of both percent-encoded";
    if (proxy === undefined)
      problems.push(`${variable} must be the address of an HTTP proxy: ${form}`);
    return proxy;
  }
  const proxies = { https: readServer("HTTPS_PROXY"), http: readServer("HTTP_PROXY") };
  if (problems.length > 0) throw new ConfigError("The environment", problems);
  if (proxies.https === undefined && proxies.http === undefined) return undefined;
  const noProxy = variables[nameOf("NO_PROXY") ?? ""] ?? "";
  return { ...proxies, noProxy: noProxy.split(/[,\s]+/).filter(Boolean) };
}

/**
 * Like curl, takes an address without a scheme for http. Refuses one with a path: a password with a slash makes the user the host, and messages
 * would then show the rest.
 */
function parseProxy({
  variable,
  text,
}: {
  variable: string;
  text: string;
}): ProxyServer | undefined {
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const { username, password, pathname, search, hash } = url;
  if (`${pathname}${search}${hash}` !== "/") return undefined;
  try {
    const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const authorization =
      user === ":" ? undefined : `Basic ${Buffer.from(user).toString("base64")}`;
    return { url: new URL(url.origin), variable, authorization };
  } catch {
    return undefined;
  }
}
