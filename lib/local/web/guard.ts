/** Who may use the page: the browser tab that this server gave it to, and no other site in the same browser. */

export type OriginRefusal = "other_host" | "other_origin";

/**
 * `host` must name this server literally: a name that an attacker's DNS points to 127.0.0.1 is another host (DNS rebinding).
 * `origin`, which a browser sends with every POST and every request across sites, must be this server's; a POST without one is
 * refused, since no browser sends it (CSRF). `fetchSite` is Sec-Fetch-Site, where the browser sends it.
 */
export function checkOrigin({
  method,
  host,
  origin,
  fetchSite,
  port,
}: {
  method: string | undefined;
  host: string | undefined;
  origin: string | undefined;
  fetchSite: string | undefined;
  port: number | undefined;
}): OriginRefusal | undefined {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  if (host === undefined || !hosts.includes(host)) return "other_host";
  const isOwnOrigin = origin === `http://${host}`;
  if (origin !== undefined ? !isOwnOrigin : method !== "GET") return "other_origin";
  if (fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none") return "other_origin";
  return undefined;
}
