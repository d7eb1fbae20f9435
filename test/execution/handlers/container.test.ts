/** What the image starts, asks and reads: the bundled files alone in a folder, as a process. */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { readContainerEnvironment } from "../../../lambdas/execution/config/container-environment.ts";
import { type JwksIssuer, startJwksIssuer } from "../../doubles/issuers/jwks.ts";
import { hello } from "../test-host.ts";
import { bundleContainer, type Containers, dockerfile, healthText, startText } from "./bundled-container.ts";

let issuer: JwksIssuer;
let containers: Containers;
const accepting = () => ({
  type: "jwt",
  issuers: [{ issuer: issuer.issuer, audience: "agents", subjects: ["verifier"] }],
});
const token = () => issuer.sign({ aud: "agents", sub: "verifier" });

beforeAll(async () => {
  issuer = await startJwksIssuer();
  const execution = { agent: "echo", syncBudgetMs: 100, authenticator: accepting() };
  containers = await bundleContainer({ config: { execution, allowlist: [{ team: "TOFVERIFICATION" }] } });
});
afterAll(async () => {
  await issuer.close();
  containers.remove();
});
afterEach(() => containers.clear());

describe("the image", () => {
  it("runs as nobody in particular, and brings nothing of the Verification zone", () => {
    expect(dockerfile).toMatch(/^USER 65532:65532$/m);
    const names = readdirSync(containers.out).sort();
    expect(names).toEqual(["agent.cjs", "config.json", "server.cjs"]);
    for (const name of names) expect(readFileSync(join(containers.out, name), "utf8")).not.toContain("TOFVERIFICATION");
  });

  it("runs tasks of callers with a token of its issuer, and of nobody else", async () => {
    const { call, said } = await containers.start();
    const { result } = await call("execute_task", { ...hello, text: "hi" }, { bearer: await token() });
    expect(result?.response_text).toContain("hi");
    expect(await call("execute_task", hello)).toMatchObject({
      status: 401,
      error: { data: { reason: "unauthenticated" } },
    });
    const stranger = await issuer.sign({ aud: "agents", sub: "stranger" });
    expect(await call("execute_task", hello, { bearer: stranger })).toMatchObject({ status: 403 });
    expect(said()).not.toContain("every_caller_is_let_in");
    // A bundle has other names for classes than a person knows.
    const late = await issuer.sign({ aud: "agents", sub: "verifier", exp: 1 });
    expect(await call("execute_task", hello, { bearer: late })).toMatchObject({ status: 401 });
    expect(said()).toContain('"cause_kind":"ERR_JWT_EXPIRED"');
  });

  it("says whether it is well, to those who ask over HTTP and to its own health check", async () => {
    const { url, folder, child, exit } = await containers.start();
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
    const env = { PORT: new URL(url).port, SEKISHO_HOSTNAME: "0.0.0.0" };
    expect(await containers.run(healthText, { folder, env }).exit).toEqual([0, null]);
    child.kill("SIGTERM");
    await exit;
    const check = containers.run(healthText, { folder, env });
    expect([await check.exit, check.said()]).toEqual([[1, null], expect.stringContaining("does not answer")]);
  });

  it("lets its task end on SIGTERM, exits with 0, and knows the result when it is started again", async () => {
    const first = await containers.start();
    const id = randomUUID();
    const accepted = await first.call("execute_task", { ...hello, text: "slow 500ms" }, { id, bearer: await token() });
    expect(accepted.result?.status).toBe("accepted");
    first.child.kill("SIGTERM");
    expect(await first.exit).toEqual([0, null]);
    expect(readdirSync(first.folder)).toContain("execution.db");
    const second = await containers.start({ folder: first.folder });
    const { result } = await second.call("get_task", { request_id: id }, { bearer: await token() });
    expect(result?.response_text).toContain("slow 500ms");
  });
});

describe("a configuration file", () => {
  it("takes the place of the bundled one; its tokens are variables", async () => {
    const { folder, env } = containers.withConfig({
      authenticator: { type: "bearer", tokens: [{ env: "HOST_TOKEN" }] },
    });
    const bearer = "a-token-of-this-test-alone";
    const { call } = await containers.start({ folder, env: { ...env, HOST_TOKEN: bearer } });
    expect((await call("execute_task", hello, { bearer })).result?.status).toBe("success");
    expect((await call("execute_task", hello, { bearer: await token() })).status).toBe(401);
  });

  it("may leave callers to the platform, which is said", async () => {
    const { call, said } = await containers.start(containers.withConfig({ authenticator: { type: "platform" } }));
    expect((await call("execute_task", hello)).result?.status).toBe("success");
    expect(said()).toContain('"message":"every_caller_is_let_in"');
  });

  it("may leave callers to the platform on every interface, where the platform expects it", async () => {
    const { folder, env } = containers.withConfig({ authenticator: { type: "platform" } });
    const { url } = await containers.start({ folder, env: { ...env, SEKISHO_HOSTNAME: "" } });
    expect(url).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/);
  });

  const everywhere = { SEKISHO_HOSTNAME: "" };
  it.each<[string, unknown, Record<string, string>, RegExp]>([
    ["that lets in anyone, on every interface", {}, everywhere, /^Anyone could run tasks on 0\.0\.0\.0: .*"none"/],
    ["with another agent than the bundle's", { agent: "./mine.ts" }, {}, /execution\.agent must be "echo"/],
    [
      "whose secrets are not there",
      { authenticator: { type: "bearer", tokens: [{ env: "TOKEN_A" }, { secretsManager: "token-b" }] } },
      {},
      /TOKEN_A is not set[\s\S]*token-b must be an environment variable/,
    ],
    [
      "whose token could be guessed",
      { authenticator: { type: "bearer", tokens: [{ env: "HOST_TOKEN" }] } },
      { HOST_TOKEN: "hunter2" },
      /^(?![\s\S]*hunter2)[\s\S]*HOST_TOKEN is shorter than 20 characters/,
    ],
    ["with problems", { authenticator: { type: "jwt" } }, {}, /execution\.authenticator\.issuers/],
    [
      "and variables with problems",
      {},
      { PORT: "http", SEKISHO_LOG_LEVEL: "loud" },
      /PORT: [\s\S]*SEKISHO_LOG_LEVEL: /,
    ],
    ["and a store that is none", {}, { SEKISHO_STORE: "server.cjs" }, /server\.cjs is not a database/],
  ])("%s ends the process with 1 and says why", async (_name, execution, more, why) => {
    const { folder, env } = containers.withConfig(execution);
    const { exit, said } = containers.run(startText, { folder, env: { ...env, ...more } });
    expect(await exit).toEqual([1, null]);
    expect(said()).toMatch(why);
    expect(said()).not.toMatch(/^ +at /m);
  });
});

it("listens where platforms look for it, unless told otherwise", () => {
  const { hostname, port, store } = readContainerEnvironment({});
  expect({ hostname, port, store }).toEqual({ hostname: "0.0.0.0", port: 8080, store: resolve("execution.db") });
  expect(readContainerEnvironment({ PORT: "9000" }).port).toBe(9000);
});
