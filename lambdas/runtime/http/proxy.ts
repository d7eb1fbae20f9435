/** Lets a process reach the world through the proxies of its environment. Why it is not Node's own support: docs/decisions/0003-http-client.md */
import http from "node:http";
import https from "node:https";
import { BlockList, connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions as TlsOptions } from "node:tls";
import { domainToASCII } from "node:url";
import { createConnector } from "./connector.ts";
import { findTunnel, ProxyError, setTunnels, type Target } from "./tunnel.ts";

/** `url` has no user and no password. `authorization` is the header for the proxy, and `variable` is what names it. */
export type ProxyServer = { url: URL; variable: string; authorization: string | undefined };

/** The proxy for https and the one for http, and the hosts that are reached without them. */
export type Proxies = {
  https: ProxyServer | undefined;
  http: ProxyServer | undefined;
  noProxy: readonly string[];
};

/**
 * From now on, all connections of the process follow the proxies: those of the HTTP client, of `fetch`, and of node:http and node:https,
 * which the AWS SDK and the packages of an agent use. It cannot be taken back.
 */
export async function useProxies(proxies: Proxies): Promise<void> {
  setTunnels((target) => {
    const proxy = findProxy(proxies, target);
    return proxy && (({ timeoutMs }) => openTunnel({ proxy, target, timeoutMs }));
  });
  for (const { Agent } of [http, https]) {
    Agent.prototype.createConnection = throughTunnel(Agent.prototype.createConnection);
  }
  // With NODE_USE_ENV_PROXY=1, Node has made agents that use a proxy for loopback too.
  http.globalAgent = new http.Agent(globalAgentOptions);
  https.globalAgent = new https.Agent(globalAgentOptions);
  const [{ default: Dispatcher }, { setGlobalDispatcher }] = await Promise.all([
    import("undici/lib/dispatcher/agent.js"),
    import("undici/lib/global.js"),
  ]);
  setGlobalDispatcher(new Dispatcher({ connect: createConnector({ allowH2: false }) }));
}

/** Those of Node itself. */
const globalAgentOptions = { keepAlive: true, scheduling: "lifo", timeout: 5000 } as const;

/** Undefined for this machine, for link-local addresses (the credentials of AWS's own machines), and for the hosts of NO_PROXY. */
export function findProxy(
  { http, https, noProxy }: Proxies,
  { protocol, hostname, port }: Target,
): ProxyServer | undefined {
  const host = plainHost(hostname);
  const isSecure = protocol === "https:" || protocol === "wss:";
  if (/^(.+\.)?localhost$/.test(host) || includesHost(directAddresses, host)) return undefined;
  const isExcepted = noProxy.some((entry) =>
    matchesEntry({ entry, host, port: Number(port || (isSecure ? 443 : 80)) }),
  );
  if (isExcepted) return undefined;
  return isSecure ? https : http;
}

const directAddresses = new BlockList();
directAddresses.addSubnet("127.0.0.0", 8);
directAddresses.addAddress("::1", "ipv6");
directAddresses.addSubnet("169.254.0.0", 16);
directAddresses.addSubnet("fe80::", 10, "ipv6");

/** Finds an IPv4 address in its form of IPv6 (`::ffff:127.0.0.1`), too. False for names. */
function includesHost(addresses: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && addresses.check(host, `ipv${family as 4 | 6}`);
}

/** The host as a URL has it (international names in ASCII, each address in one form), without brackets and the last dot. */
function plainHost(hostname: string): string {
  const bare = hostname.replace(/^\[|\]$/g, "");
  const ascii = domainToASCII(isIP(bare) === 6 ? `[${bare}]` : bare) || bare.toLowerCase();
  return ascii.replace(/^\[|\]$|\.$/g, "");
}

/**
 * As with curl, `example.com` and `.example.com` include the subdomains, and `10.0.0.0/8` the addresses of the network. `*.example.com` means
 * the same as `.example.com`. `*` is every host.
 */
function matchesEntry({
  entry,
  host,
  port,
}: {
  entry: string;
  host: string;
  port: number;
}): boolean {
  const [range, network = "", bits] = /^([^/]+)\/(\d+)$/.exec(entry) ?? [];
  if (range !== undefined) return includesHost(createNetwork(network, Number(bits)), host);
  const [, name = entry, ownPort] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
  if (ownPort !== undefined && Number(ownPort) !== port) return false;
  const domain = plainHost(name.replace(/^\*?\./, ""));
  return domain === "*" || host === domain || host.endsWith(`.${domain}`);
}

/** Empty if it is no network. */
function createNetwork(address: string, bits: number): BlockList {
  const family = isIP(address);
  const network = new BlockList();
  if (family === 4 && bits <= 32) network.addSubnet(address, bits);
  if (family === 6 && bits <= 128) network.addSubnet(address, bits, "ipv6");
  return network;
}

type Tunneling = { proxy: ProxyServer; target: Target; timeoutMs: number };

/** Opens a tunnel with CONNECT (RFC 9110, section 9.3.6), which the proxy needs for TLS, and here also carries plain HTTP. */
function openTunnel({ proxy, target, timeoutMs }: Tunneling): Promise<Socket> {
  const { url, authorization } = proxy;
  const authority = formatAuthority(target);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const peer = {
    host: plainHost(url.hostname),
    port: Number(url.port || (url.protocol === "https:" ? 443 : 80)),
  };
  const request = http.request({
    method: "CONNECT",
    path: authority,
    headers: { host: authority, ...(authorization && { "proxy-authorization": authorization }) },
    createConnection: () =>
      url.protocol === "https:"
        ? connectTls({ ...peer, servername: isIP(peer.host) === 0 ? peer.host : "" })
        : connectTcp(peer),
  });
  const timer = setTimeout(
    () => request.destroy(Object.assign(new Error("too late"), { code: "ETIMEDOUT" })),
    timeoutMs,
  );
  request.on("connect", ({ statusCode = 0 }, socket: Socket, head) => {
    clearTimeout(timer);
    if (statusCode >= 200 && statusCode < 300) {
      if (head.length > 0) socket.unshift(head);
      return resolve(socket);
    }
    socket.destroy();
    reject(new ProxyError(refusalText({ proxy, authority, status: statusCode })));
  });
  request.on("error", (cause) => {
    clearTimeout(timer);
    const code = String(Object(cause).code ?? "it closed the connection");
    const remedy = `Check ${proxy.variable}, or unset it if this network needs no proxy.`;
    reject(
      new ProxyError(`${formatProxy(proxy)} cannot be reached (${code}). ${remedy}`, { cause }),
    );
  });
  request.end();
  return promise;
}

function formatAuthority({ protocol, hostname, port }: Target): string {
  const host = plainHost(hostname);
  const isSecure = protocol === "https:" || protocol === "wss:";
  return `${host.includes(":") ? `[${host}]` : host}:${port || (isSecure ? 443 : 80)}`;
}

function refusalText({
  proxy,
  authority,
  status,
}: {
  proxy: ProxyServer;
  authority: string;
  status: number;
}): string {
  const { variable } = proxy;
  if (status === 407) {
    const remedy = `Set ${variable}=http://USER:PASSWORD@HOST:PORT, with special characters of both percent-encoded.`;
    return `${formatProxy(proxy)} does not accept the user and password, or has got none (HTTP 407). ${remedy}`;
  }
  const remedy =
    "Have that host allowed there, or add it to NO_PROXY if it is reached without the proxy.";
  return `${formatProxy(proxy)} refuses a connection to ${authority} (HTTP ${status}). ${remedy}`;
}

/** Names the proxy and its variable, as the beginning of a sentence, without user and password. */
function formatProxy({ url, variable }: ProxyServer): string {
  return `The proxy ${url.origin} (${variable})`;
}

type CreateConnection = http.Agent["createConnection"];

/** An agent's `createConnection` that goes through a tunnel where there is one for the host. */
function throughTunnel(createDirect: CreateConnection): CreateConnection {
  return function createConnection(this: http.Agent & { protocol?: string }, options, callback) {
    const { host, port, socketPath, timeout } = options;
    const protocol = this.protocol ?? "http:";
    const tunnel = socketPath
      ? undefined
      : findTunnel({ protocol, hostname: host ?? "localhost", port });
    if (tunnel === undefined) return createDirect.call(this, options, callback);
    // For Node, a timeout of 0 is none.
    tunnel({ timeoutMs: timeout || 10_000 }).then(
      (socket) =>
        callback?.(
          null,
          protocol === "https:" ? connectTls({ ...(options as TlsOptions), socket }) : socket,
        ),
      (error) => callback?.(error, undefined as never),
    );
    return undefined;
  };
}
