/** A network that reaches Slack and the world by a proxy only: names that nothing but the proxy resolves. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import { describe, expect, it } from "@jest/globals";
import { startConnectProxy } from "../doubles/connect-proxy.ts";
import { createAuthority } from "../doubles/issuers/certificates.ts";
import { closeAfterTest, listen } from "../doubles/serving.ts";
import { openSocketModeSlack } from "../doubles/socket-mode-slack.ts";
import { bundleContainer } from "../execution/handlers/bundled-container.ts";
import { afterTest, folderOfTest } from "../tooling/cleanup.ts";
import { sekisho } from "./processes.ts";
import { textsOf, until } from "./world.ts";

const slackHost = "slack.proxy-only.test";
const farHost = "far.proxy-only.test";

async function openNetwork() {
  const { tokens, fakeSlack, slack } = closeAfterTest(
    await openSocketModeSlack({ linkOrigin: `wss://${slackHost}` }),
  );
  const authority = await createAuthority("test");
  const certified = await authority.issue({
    name: slackHost,
    altName: { type: "dns", value: slackHost },
  });
  const plainPort = Number(new URL(slack.apiUrl).port);
  const endsTls = createServer(certified, (socket) => {
    const inner = connect(plainPort, "127.0.0.1");
    socket.pipe(inner).pipe(socket);
    socket.on("error", () => inner.destroy()).on("close", () => inner.destroy());
    inner.on("error", () => socket.destroy()).on("close", () => socket.destroy());
  });
  const proxy = await startConnectProxy({ [`${slackHost}:443`]: await listen(endsTls) });
  const folder = folderOfTest();
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, authority.ca);
  const authorizer = { type: "bearer", token: { env: "FAR_TOKEN" } };
  const far = { transport: "https", url: `https://${farHost}/`, authorizer, idempotent: true };
  const config = {
    slack: { apiUrl: `https://${slackHost}/api/` },
    allowlist: [{ team: "TSTANDIN" }],
    routes: [{ destination: "local" }],
    destinations: { local: { transport: "https" }, far },
  };
  writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(config));
  const ports = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" };
  const FAR_TOKEN = randomBytes(24).toString("hex");
  const env = {
    ...tokens,
    ...ports,
    FAR_TOKEN,
    NODE_EXTRA_CA_CERTS: caFile,
    HTTPS_PROXY: proxy.url,
    HTTP_PROXY: proxy.url,
  };
  return { fakeSlack, slack, proxy, folder, env, password: encodeURIComponent(proxy.password) };
}

function run(args: string[], { folder, env }: { folder: string; env: Record<string, string> }) {
  const child = sekisho({ args, cwd: folder, env });
  afterTest(() => child.kill("SIGKILL"));
  return child;
}

describe("behind a proxy", () => {
  it("start answers in Slack over Socket Mode, and reaches Slack only through the proxy", async () => {
    const network = await openNetwork();
    const { fakeSlack, slack, proxy } = network;
    const started = run(["start"], network);
    await started.prints("Connected to Slack over Socket Mode");
    const { message } = fakeSlack.ask({ eventsUrl: slack.eventsUrl, text: "hello there" });
    await until(
      () =>
        fakeSlack
          .thread(message)
          .find(({ text, ts }) => ts !== message.ts && text.includes("hello there")),
      {
        seen: () => `${textsOf(fakeSlack.thread(message))}${started.output()}`,
      },
    );
    expect(new Set(proxy.connects)).toEqual(new Set([`${slackHost}:443`]));
    expect(proxy.refusals).toEqual([]);
    expect((await started.kill("SIGINT")).code).toBe(0);
  });

  it("start names the proxy but not the password if the proxy requires other credentials", async () => {
    const network = await openNetwork();
    const { proxy, password } = network;
    const HTTPS_PROXY = proxy.url.replace(password, "another");
    const { code, stderr } = await run(["start"], {
      ...network,
      env: { ...network.env, HTTPS_PROXY },
    }).exited;
    expect(code).toBe(1);
    expect(stderr).toContain(
      `Slack cannot be reached at https://${slackHost}. The proxy ${proxy.origin} (HTTPS_PROXY)`,
    );
    expect(stderr).not.toContain("another");
  });

  it("start refuses an invalid proxy address without showing it", async () => {
    const network = await openNetwork();
    const env = { ...network.env, HTTPS_PROXY: "socks5://kim:secret@127.0.0.1:1" };
    const { code, stdout, stderr } = await run(["start"], { ...network, env }).exited;
    expect(code).toBe(2);
    expect(stderr).toContain("HTTPS_PROXY must be the address of an HTTP proxy: http://HOST:PORT");
    expect(stdout + stderr).not.toContain("secret");
  });

  it("doctor names the proxy, checks Slack through it, and reports a destination that the proxy refuses", async () => {
    const network = await openNetwork();
    const { proxy, password } = network;
    const { stdout, stderr } = await run(["doctor", "--json"], network).exited;
    const { checks } = JSON.parse(stdout) as {
      checks: { name: string; status: string; what: string }[];
    };
    const find = (name: string) => checks.find((check) => check.name === name);
    const what = `https through ${proxy.origin}, with a user (HTTPS_PROXY); http through ${proxy.origin}, with a user (HTTP_PROXY); directly to this machine.`;
    expect(find("proxy")).toMatchObject({ status: "ok", what });
    expect(find("far")).toMatchObject({
      status: "failed",
      what: `The proxy ${proxy.origin} (HTTPS_PROXY) refuses a connection to ${farHost}:443 (HTTP 403) (https://${farHost}/).`,
    });
    expect(find("bot token")).toMatchObject({ status: "ok" });
    expect(stdout + stderr).not.toContain(password);
    expect(stdout + stderr).not.toContain(proxy.password);
    expect(proxy.connects).toContain(`${slackHost}:443`);
  });

  it("the container fetches the keys of its issuer through the proxy", async () => {
    const { proxy, env } = await openNetwork();
    const issuers = [{ issuer: `https://${farHost}`, audience: "agents", subjects: ["verifier"] }];
    const containers = await bundleContainer({
      config: { execution: { agent: "echo", authenticator: { type: "jwt", issuers } } },
    });
    afterTest(() => containers.remove());
    afterTest(() => containers.clear());
    const { HTTPS_PROXY, NODE_EXTRA_CA_CERTS } = env;
    const { call } = await containers.start({ env: { HTTPS_PROXY, NODE_EXTRA_CA_CERTS } });
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = {
      iss: `https://${farHost}`,
      aud: "agents",
      sub: "verifier",
      exp: 4_000_000_000,
    };
    const bearer = `${part({ alg: "RS256", kid: "k", typ: "JWT" })}.${part(claims)}.c2ln`;
    await call("execute_task", { text: "hi" }, { bearer });
    expect(new Set(proxy.connects)).toEqual(new Set([`${farHost}:443`]));
  });
});
