/** Refuses requests that another site makes the browser send. */
import type { IncomingHttpHeaders } from "node:http";

type GuardedRequest = {
  method: string | undefined;
  headers: IncomingHttpHeaders;
  hosts?: readonly string[] | undefined;
  isDocument?: boolean;
};

/**
 * - `Host` must be one of `hosts`, where they are given: a name that an attacker's DNS points to this machine is another host
 *   (DNS rebinding).
 * - `Origin`, which a browser sends with every POST and every request across sites, must be that host.
 * - A POST without `Origin` is refused (CSRF), unless a script sends it with an `Authorization` that no browser would add by itself.
 * - `Sec-Fetch-Site` must not name another site, unless a document is asked for: a link may lead there from anywhere.
 */
export function isFromOwnPage({
  method,
  headers,
  hosts,
  isDocument = false,
}: GuardedRequest): boolean {
  const { host, origin, authorization } = headers;
  const site = isDocument ? undefined : headers["sec-fetch-site"]?.toString();
  if (host === undefined || hosts?.includes(host.toLowerCase()) === false) return false;
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  if (origin === undefined)
    return method === "GET" || (authorization !== undefined && site === undefined);
  return URL.parse(origin)?.host === host.toLowerCase();
}

/** The names under which a browser on this machine reaches the port. */
export function loopbackHosts(port: number | undefined): readonly string[] {
  return ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
}
