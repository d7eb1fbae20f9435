/** The cookie that holds a session's id: readable by no script, sent to no other site, gone with the browser. */
import type { IncomingMessage } from "node:http";

export function sessionCookie(request: IncomingMessage, id: string): string {
  const { name, attributes } = cookieFor(request);
  return `${name}=${id}; ${attributes}`;
}

export function expiredCookie(request: IncomingMessage): string {
  const { name, attributes } = cookieFor(request);
  return `${name}=; Max-Age=0; ${attributes}`;
}

/**
 * Ports of a host share their cookies, so a page of another port can set any number of that name, which the browser may send
 * before ours. Each is looked up, which costs a hash; Node bounds how many headers hold.
 */
export function readSessionIds(request: IncomingMessage): string[] {
  const { name } = cookieFor(request);
  return (request.headers.cookie ?? "").split(";").flatMap((pair) => {
    const [key, value = ""] = pair.trim().split("=");
    return key === name && /^[\w-]{1,100}$/.test(value) ? [value] : [];
  });
}

/**
 * `__Host-` makes browsers refuse it without Secure, with a Domain, or below another path. It needs https: on loopback without
 * TLS Safari keeps no Secure cookie, so there the name is a plain one. Browsers do not tell ports apart, so it names the port.
 */
function cookieFor({ headers, socket }: IncomingMessage): { name: string; attributes: string } {
  const attributes = "Path=/; HttpOnly; SameSite=Strict";
  if (isLoopbackHost(headers.host)) return { name: `sekisho-page-${socket.localPort}`, attributes };
  return { name: "__Host-sekisho-page", attributes: `${attributes}; Secure` };
}

/** The name by which the browser came: behind a proxy it is the proxy's, which has TLS. */
function isLoopbackHost(host: string | undefined): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d+)?$/.test(host ?? "");
}
