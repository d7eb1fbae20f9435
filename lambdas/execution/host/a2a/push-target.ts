/** What a push configuration must be like before it is kept: no URL that is not for everybody, no header that is more than one. */
import { isIP } from "node:net";
import type { PushConfig } from "../../../../contracts/a2a/push.ts";
import { isLoopbackHost } from "../../../../contracts/methods.ts";

type Issue = { path: string; message: string };

/** Visible ASCII with spaces in between: what a header may hold without ending it. */
const headerValue = /^[!-~](?:[ -~]*[!-~])?$/;

/** Paths are those of the configuration's own members. A name that leads to no public address shows at delivery. */
export function pushTargetIssues({
  config: { url, token, authentication },
  allowLoopback,
}: {
  config: PushConfig;
  allowLoopback: boolean;
}): Issue[] {
  const inHeaders = { token, "authentication.credentials": authentication?.credentials };
  const unfit = Object.entries(inHeaders).filter(([, text]) => text !== undefined && !headerValue.test(text));
  const problem = urlProblem({ url: URL.parse(url), allowLoopback });
  return [
    ...(problem === undefined ? [] : [{ path: "url", message: problem }]),
    ...unfit.map(([path]) => ({ path, message: "must be printable ASCII, with no space at its ends" })),
  ];
}

function urlProblem({ url, allowLoopback }: { url: URL | null; allowLoopback: boolean }): string | undefined {
  if (url === null) return "must be an absolute URL";
  if (url.username !== "" || url.password !== "") return "must not hold a user or a password";
  const isHere = isLoopbackHost(url.hostname);
  if (url.protocol !== "https:" && !(isHere && allowLoopback && url.protocol === "http:")) return "must be https";
  if (isHere) return allowLoopback ? undefined : "must not be this machine";
  return isName(url.hostname) ? undefined : "must be the name of a host, and not of this machine";
}

/** `hostname` is in the one form that the URL parser gives to every spelling of an address. A name is looked up at delivery. */
function isName(hostname: string): boolean {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 && !/(^|\.)localhost\.?$/.test(bare);
}
