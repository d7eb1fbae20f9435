/** Proxies of the environment: the rules, and each way out of a process. */
import { freePort } from "@sekisho/local/free-port.ts";
import "reflect-metadata";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { readProxies } from "@sekisho/config/proxy-environment.ts";
import type { Proxies } from "@sekisho/runtime/http/proxy.ts";
import { findProxy } from "@sekisho/runtime/http/proxy.ts";
import { startConnectProxy } from "../../doubles/connect-proxy.ts";
import { createAuthority } from "../../doubles/issuers/certificates.ts";
import { listen, serve } from "../../doubles/serving.ts";
import { folderOfTest } from "../../tooling/cleanup.ts";

const host = "peer.proxy-only.test";

/** A TLS peer whose name only the proxy resolves, and a proxy that allows it. */
async function openNetwork(options: { established?: string } = {}) {
  const authority = await createAuthority("test");
  const certificate = await authority.issue({ name: host, altName: { type: "dns", value: host } });
  const requests: string[] = [];
  const peer = createServer(certificate, (request, response) => {
    requests.push(`${request.method} ${request.headers.host}`);
    response.writeHead(200, { connection: "close" }).end("<R/>");
  });
  const proxy = await startConnectProxy({ [`${host}:443`]: await listen(peer) }, options);
  const here = await serve(() => new Response());
  const caFile = join(folderOfTest(), "ca.pem");
  writeFileSync(caFile, authority.ca);
  return { proxy, requests, here, caFile };
}

type Network = Awaited<ReturnType<typeof openNetwork>>;

async function callEachWay({ here, caFile }: Network, variables: Record<string, string>) {
  const file = join(import.meta.dirname, "children/proxied-calls.ts");
  const env = { PATH: process.env.PATH ?? "", NODE_EXTRA_CA_CERTS: caFile, ...variables };
  const child = spawn(process.execPath, [file, `https://${host}/`, `${here.url}/`], { env });
  const output = { out: "", err: "" };
  child.stdout.on("data", (data) => (output.out += data));
  child.stderr.on("data", (data) => (output.err += data));
  await new Promise((resolve) => child.once("close", resolve));
  if (output.out === "") throw new Error(output.err);
  return JSON.parse(output.out) as Record<string, string | number>;
}

const waysOut = [
  "the HTTP client",
  "fetch",
  "node:https",
  "an agent of node:https without a time limit",
  "our AWS calls",
  "the AWS SDK",
  "a URL of somebody else",
];
const waysHere = { "loopback by the HTTP client": 200, "loopback by fetch": 200 };
const eachWay = (outcome: unknown) => ({
  ...Object.fromEntries(waysOut.map((way) => [way, outcome])),
  ...waysHere,
});

describe("a process behind a proxy", () => {
  it.each([
    ["HTTPS_PROXY", {}],
    ["https_proxy", {}],
    ["HTTPS_PROXY and NODE_USE_ENV_PROXY", { NODE_USE_ENV_PROXY: "1" }],
  ])("reaches each peer through the proxy of %s, and loopback directly", async (names, more) => {
    const network = await openNetwork();
    const { proxy, requests, here } = network;
    const [name = ""] = names.split(" ");
    const variables = { [name]: proxy.url, HTTP_PROXY: proxy.url, ...more };
    expect(await callEachWay(network, variables)).toEqual(eachWay(200));
    expect(proxy.refusals).toEqual([]);
    expect(proxy.connects).toHaveLength(waysOut.length);
    expect(requests).toHaveLength(waysOut.length);
    expect(here.received).toHaveLength(2);
  });

  it("accepts each 2xx of the proxy as an established tunnel", async () => {
    const network = await openNetwork({ established: "201 Created" });
    expect(await callEachWay(network, { HTTPS_PROXY: network.proxy.url })).toEqual(eachWay(200));
  });

  it("names the proxy without its password, and the fix, if it refuses the credentials", async () => {
    const network = await openNetwork();
    const { proxy, requests } = network;
    const outcomes = await callEachWay(network, {
      HTTPS_PROXY: proxy.url.replace(encodeURIComponent(proxy.password), "secret"),
    });
    const text = `The proxy ${proxy.origin} (HTTPS_PROXY) does not accept the user and password, or has got none (HTTP 407). Set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, with special characters of both percent-encoded.`;
    expect(outcomes).toEqual({ ...eachWay(text), "a URL of somebody else": text });
    expect(requests).toEqual([]);
  });

  it("names the proxy if it is down", async () => {
    const network = await openNetwork();
    const origin = `http://127.0.0.1:${await freePort()}`;
    const outcomes = await callEachWay(network, { HTTPS_PROXY: origin });
    expect(outcomes).toEqual(
      eachWay(
        `The proxy ${origin} (HTTPS_PROXY) cannot be reached (ECONNREFUSED). Check HTTPS_PROXY, or unset it if this network needs no proxy.`,
      ),
    );
  });

  it.each([
    ["NO_PROXY has the host", { NO_PROXY: host }],
    ["NODE_USE_ENV_PROXY is 0", { NODE_USE_ENV_PROXY: "0" }],
  ])("does not use the proxy if %s", async (_why, variables) => {
    const network = await openNetwork();
    const outcomes = await callEachWay(network, { HTTPS_PROXY: network.proxy.url, ...variables });
    expect(Object.values(outcomes).filter((outcome) => outcome === 200)).toHaveLength(2);
    expect(network.proxy.connects).toEqual([]);
  });
});

const readValue = (variables: Record<string, string>) => {
  const proxies = readProxies(variables);
  if (proxies === undefined) throw new Error("no proxy");
  return proxies;
};
const isProxied = (proxies: Proxies, url: string) => findProxy(proxies, new URL(url)) !== undefined;

describe("the rules of proxies", () => {
  it.each([
    [
      "example.com",
      ["https://example.com/", "https://a.example.com/", "https://EXAMPLE.com./"],
      ["https://anexample.com/"],
    ],
    [
      ".example.com",
      ["https://example.com/", "https://a.b.example.com/"],
      ["https://example.com.test/"],
    ],
    ["*.example.com", ["https://a.example.com/"], ["https://example.org/"]],
    ["example.com:8443", ["https://example.com:8443/"], ["https://example.com/"]],
    ["example.com:443", ["https://example.com/"], ["https://example.com:8443/"]],
    [
      "[2600::1]:443, 192.0.2.1",
      ["https://[2600::1]/", "https://192.0.2.1/"],
      ["https://[2600::2]/", "https://192.0.2.11/"],
    ],
    [
      "BÜCHER.example, 2600:0:0::2",
      ["https://bücher.example/", "https://a.xn--bcher-kva.example/", "https://[2600::2]/"],
      ["https://bucher.example/"],
    ],
    [
      "10.0.0.0/8, fd00::/8, 10.0.0.0/99, example.com/8",
      ["https://10.1.2.3/", "https://[::ffff:10.1.2.3]/", "https://[fd12::1]/"],
      [
        "https://11.1.2.3/",
        "https://[fe00::1]/",
        "https://example.com/",
        "https://10.example.com/",
      ],
    ],
    ["a.test *", ["https://example.com/", "https://slack.com/"], []],
    ["", [], ["https://example.com/"]],
  ])("calls the hosts of NO_PROXY=%j directly", (noProxy, direct, proxiedUrls) => {
    const proxies = readValue({ HTTPS_PROXY: "http://proxy.test:3128", NO_PROXY: noProxy });
    expect(direct.filter((url) => isProxied(proxies, url))).toEqual([]);
    expect(proxiedUrls.filter((url) => !isProxied(proxies, url))).toEqual([]);
  });

  it("exempts this machine and link-local addresses", () => {
    const proxies = readValue({
      HTTPS_PROXY: "http://proxy.test",
      HTTP_PROXY: "http://proxy.test",
    });
    const names = [
      "localhost",
      "LOCALHOST.",
      "app.localhost",
      "127.0.0.1",
      "127.8.9.10",
      "[::1]",
      "[::ffff:127.0.0.1]",
    ];
    const hosts = [
      ...names,
      "169.254.169.254",
      "[fe80::1]",
      "[febf::1]",
      "[::ffff:169.254.169.254]",
    ];
    const urls = hosts.flatMap((name) => [`http://${name}:80/`, `https://${name}:8443/`]);
    expect(urls.filter((url) => isProxied(proxies, url))).toEqual([]);
    // node:http and node:https hand over what their caller wrote.
    const writtenText = [
      "127.1",
      "0:0:0:0:0:0:0:1",
      "::ffff:127.0.0.1",
      "fe80::1%eth0",
      "Localhost.",
    ];
    expect(
      writtenText.filter((hostname) => findProxy(proxies, { protocol: "https:", hostname })),
    ).toEqual([]);
    expect(isProxied(proxies, "http://127.example.com/")).toBe(true);
  });

  it("uses the proxy of the scheme and prefers the variable in lower case", () => {
    const variables = { HTTPS_PROXY: "http://upper.test:1", https_proxy: "lower.test:2" };
    const { https } = readValue(variables);
    expect(https).toMatchObject({ variable: "https_proxy", url: new URL("http://lower.test:2") });
    expect(isProxied(readValue(variables), "http://example.com/")).toBe(false);
    expect(isProxied(readValue({ HTTP_PROXY: "http://a.test" }), "https://example.com/")).toBe(
      false,
    );
  });

  it("accepts a password without a user", () => {
    const { https } = readValue({ HTTPS_PROXY: "http://:token@proxy.test:3128/" });
    expect(https?.authorization).toBe(`Basic ${btoa(":token")}`);
  });

  it.each([
    "socks5://kim:secret@proxy.test:1080",
    "http://kim:%secret@proxy.test",
    "http://kim:secret@",
    // A password with a slash: read as a URL, kim is the host and 12 the port, which messages would show.
    "http://kim:12/secret@proxy.test:3128",
    "http://kim:12?secret@proxy.test:3128",
    "kim:12#secret@proxy.test:3128",
  ])("refuses the proxy address %j without showing it", (address) => {
    expect(() => readProxies({ HTTPS_PROXY: address })).toThrow(
      /HTTPS_PROXY must be the address of an HTTP proxy/,
    );
    expect(() => readProxies({ HTTPS_PROXY: address })).not.toThrow(/secret/);
  });
});
