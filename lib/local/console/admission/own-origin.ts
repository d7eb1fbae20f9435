/** Keeps other sites in a person's browser from using the page. */

/**
 * `origin` must be of the host that the request itself names: a browser sends it with every POST and with what it asks across
 * sites, and a proxy must pass `Host` on as it came. Which name that is does not matter: a cookie belongs to a name. A script
 * sends no `Origin`, and an `Authorization` that no browser would add by itself.
 */
export function isOwnOrigin({
  method,
  host,
  origin,
  fetchSite,
  authorized,
}: {
  method: string | undefined;
  host: string | undefined;
  origin: string | undefined;
  fetchSite: string | undefined;
  authorized: boolean;
}): boolean {
  if (host === undefined) return false;
  if (fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none") return false;
  if (origin === undefined) return method === "GET" || (authorized && fetchSite === undefined);
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
