/** Whose word a host takes: it verifies the token of each request that brings one, and tells the agent who asked and who answered. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { askerHeader } from "@sekisho/contracts/asker.ts";
import type { Agent, AgentContext, AgentTask } from "@sekisho/execution/agents/agent.ts";
import type { HostOptions } from "@sekisho/execution/host.ts";
import { clientId, createAskerZone, issuer, type SentToken } from "../../doubles/asker-zone.ts";
import { createQueuedHost } from "../runs/queued-host.ts";
import { type Answer, createTestHost, hello, post, type TestHost } from "../test-host.ts";

const zone = createAskerZone();
const kim = {
  subject: "slack:T1:UKIM",
  issuer,
  zone: clientId,
  team: "T1",
  user: "UKIM",
  channel: "C1",
  thread: "1.1",
};
const lee = { ...kim, subject: "slack:T1:ULEE", user: "ULEE" };

type Turn = { task: AgentTask; context: AgentContext; token: string | undefined };

/** Asks one question, and notes each of its turns. */
function createAsking() {
  const turns: Turn[] = [];
  const agent: Agent = async function* (task, context) {
    turns.push({ task, context, token: context.askerToken });
    if (task.answers.length === 0)
      yield { type: "question", prompt: "Deploy?", options: [{ id: "yes", label: "Yes" }] };
    else yield { type: "answer", text: "done" };
  };
  return { agent, turns };
}

function openHost(options: Partial<HostOptions> = {}) {
  const asking = createAsking();
  const host = createTestHost({
    agent: asking.agent,
    asker: zone.asker(),
    syncBudgetMs: 60_000,
    ...options,
  } as Partial<HostOptions>);
  return { ...host, ...asking };
}

type Sent = { method?: string; params?: object; id?: string } & Partial<SentToken> & {
    /** Replaces the headers with the token. */
    headers?: (token: string) => Record<string, string>;
  };

/** Sends what the person says, with its token. */
async function say(
  { host }: Pick<TestHost, "host">,
  { method = "execute_task", params = hello, id = randomUUID(), headers, ...options }: Sent = {},
): Promise<Answer & { status: number; token: string }> {
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const token = await zone.token({ user: "UKIM", body, ...options });
  const sentHeaders = headers?.(token) ?? { [askerHeader]: token };
  const response = await host.handle(post(body, { headers: sentHeaders }));
  return { ...((await response.json()) as Answer), status: response.status, token };
}

const refusal = { status: 403, error: { code: -32078, data: { reason: "asker_unverified" } } };

function refusals({ lines }: Pick<TestHost, "lines">) {
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return entries
    .filter(({ message }) => message === "asker_refused")
    .map(({ level, reason, cause_kind }) => [level, reason, cause_kind].join(" "));
}

describe("a host that requires the asker", () => {
  it("tells the agent who asked, and stores and logs nothing of the token", async () => {
    const host = openHost();
    const { result, token } = await say(host, { person: { email: "kim@example.com" } });
    expect(result?.status).toBe("input_required");
    const [turn] = host.turns;
    expect(turn?.context.asker).toEqual({ ...kim, email: "kim@example.com" });
    expect(turn?.token).toBe(token);
    const stored = await host.store.get({ id: result?.task_id ?? "" });
    expect(stored?.asker).toEqual({ ...kim, email: "kim@example.com" });
    const { items } = await zone.usedTokens.list({ index: "state", key: "used_token", limit: 99 });
    const [, claims = "", signature = ""] = token.split(".");
    for (const text of [JSON.stringify(stored), JSON.stringify(items), host.lines.join()])
      for (const part of [claims, signature]) expect(text).not.toContain(part);
  });

  it("refuses a request without a token before anything is stored", async () => {
    const host = openHost();
    const id = randomUUID();
    expect(await say(host, { id, headers: () => ({}) })).toMatchObject({ ...refusal, id });
    expect(host.turns).toEqual([]);
    expect((await host.call("get_task", { request_id: id })).error?.data.reason).toBe(
      "task_not_found",
    );
    expect(refusals(host)).toEqual(["warn asker_unverified ASKER_MISSING"]);
  });

  it.each<[kind: string, what: string, sent: Sent]>([
    ["EXPIRED", "an old token", { nowMs: Date.now() - 400_000 }],
    ["EARLY", "a token of the future", { nowMs: Date.now() + 100_000 }],
    ["AUDIENCE", "a token for another destination", { aud: "https://another.example" }],
    ["ISSUER", "a token of another issuer", { iss: "https://another.example" }],
    ["DIGEST", "a token for polls", { isOwnWord: false }],
    ["DIGEST", "a token for another body", { body: "{}" }],
    [
      "DIGEST",
      "an answer with a token for another body",
      { method: "answer_task", params: { task_id: "t", text: "yes" }, body: "{}" },
    ],
    ["PERSON", "a token of the zone itself", { user: undefined }],
    ["PARAMS", "the message of another person", { params: { ...hello, user_id: "ULEE" } }],
    ["PARAMS", "a message of another workspace", { params: { ...hello, team_id: "T2" } }],
    ["MALFORMED", "an empty header", { headers: () => ({ [askerHeader]: "" }) }],
    ["MALFORMED", "two tokens", { headers: (token) => ({ [askerHeader]: `${token}, ${token}` }) }],
  ])("refuses with %s %s", async (kind, _what, sent) => {
    const host = openHost();
    expect(await say(host, sent)).toMatchObject(refusal);
    expect(refusals(host)).toEqual([`warn asker_unverified ASKER_${kind}`]);
    expect(host.turns).toEqual([]);
  });

  it("takes a token once, in all processes that share the store", async () => {
    const [first, second] = [openHost(), openHost()];
    const body = JSON.stringify({
      ...{ jsonrpc: "2.0", id: randomUUID() },
      ...{ method: "execute_task", params: hello },
    });
    const headers = await zone.header({ user: "UKIM", body });
    const send = async ({ host }: TestHost) => (await host.handle(post(body, { headers }))).status;
    expect((await Promise.all([send(first), send(second)])).sort()).toEqual([200, 403]);
    expect([...refusals(first), ...refusals(second)]).toEqual([
      "warn asker_unverified ASKER_REPLAYED",
    ]);
  });

  it("finds the task of a repeated request, which comes with a token of its own", async () => {
    const host = openHost();
    const id = randomUUID();
    const first = await say(host, { id });
    expect((await say(host, { id })).result).toEqual(first.result);
    expect(host.turns).toHaveLength(1);
  });

  it("never finds the task of one person for another one", async () => {
    const host = openHost();
    const id = randomUUID();
    await say(host, { id });
    expect((await say(host, { id, user: "ULEE" })).error?.data.reason).toBe("already_exists");
  });

  it("verifies nothing of requests that bring no person's word", async () => {
    const host = openHost();
    const { result } = await say(host);
    const headers = { [askerHeader]: "nonsense" };
    const { task_id } = Object(result) as { task_id: string };
    expect((await host.call("get_task", { task_id }, { headers })).result?.status).toBe(
      "input_required",
    );
    expect((await host.call("cancel_task", { task_id }, { headers })).result?.status).toBe(
      "canceled",
    );
    expect((await host.store.get({ id: task_id }))?.asker).toBeUndefined();
  });

  it("takes the bearer of a zone if there is no header of its own", async () => {
    const host = openHost();
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    expect((await say(host, { headers: bearer })).result?.status).toBe("input_required");
    expect(host.turns[0]?.context.asker).toEqual(kim);
    const both = (token: string) => ({ ...bearer(token), [askerHeader]: "nonsense" });
    expect(await say(host, { headers: both })).toMatchObject(refusal);
  });

  it("knows nothing of Slack if the subject is opaque", async () => {
    const host = openHost();
    await say(host, { subject: "opaque" });
    expect(host.turns[0]?.context.asker?.subject).toMatch(/^[\w-]{43}$/);
  });

  it("admits only the zones that it lists", async () => {
    const { settings } = zone.asker();
    for (const [clients, status] of [
      [[clientId], 200],
      [["another"], 403],
    ] as const) {
      const zones = settings.zones.map((one) => ({ ...one, clients }));
      const host = openHost({
        asker: zone.asker("required", { settings: { ...settings, zones } }),
      });
      expect((await say(host)).status).toBe(status);
    }
  });

  it("answers unavailable while used tokens cannot be stored, and takes the next token", async () => {
    let isDown = true;
    const create: typeof zone.usedTokens.create = (request) =>
      isDown ? Promise.reject(new Error("down")) : zone.usedTokens.create(request);
    const host = openHost({ asker: zone.asker("required", { usedTokens: { create } }) });
    const id = randomUUID();
    expect((await say(host, { id })).error?.data).toMatchObject({
      reason: "unavailable",
      retryable: true,
    });
    isDown = false;
    expect((await say(host, { id })).result?.status).toBe("input_required");
  });

  it("answers unavailable while the keys of the issuer cannot be fetched", async () => {
    const { settings } = zone.asker();
    // Nothing listens there.
    const zones = settings.zones.map((one) => ({ ...one, jwksUrl: "http://127.0.0.1:1/" }));
    const options = { localKeys: undefined, settings: { ...settings, zones } };
    const host = openHost({ asker: zone.asker("required", options) });
    const { error } = await say(host);
    expect(error?.data).toMatchObject({ reason: "unavailable", retryable: true });
    expect(refusals(host)).toEqual(["error unavailable KeysUnavailable"]);
  });

  it("logs refusals of one kind once a minute", async () => {
    let nowMs = Date.now();
    const host = openHost({ now: () => nowMs });
    const refuse = () => say(host, { headers: () => ({}), nowMs });
    await refuse();
    await refuse();
    expect(refusals(host)).toHaveLength(1);
    nowMs += 61_000;
    await refuse();
    expect(refusals(host)).toHaveLength(2);
  });
});

describe("a host that verifies askers if it can", () => {
  it("runs a task without a token for nobody", async () => {
    const host = openHost({ asker: zone.asker("optional") });
    expect((await say(host, { headers: () => ({}) })).result?.status).toBe("input_required");
    expect(host.turns[0]?.context.asker).toBeUndefined();
    const other = (token: string) => ({ authorization: `Bearer ${token.slice(3)}` });
    expect((await say(host, { headers: other })).result?.status).toBe("input_required");
  });

  it("refuses a wrong token", async () => {
    const host = openHost({ asker: zone.asker("optional") });
    expect(await say(host, { aud: "another" })).toMatchObject(refusal);
    expect(host.turns).toEqual([]);
  });

  it("takes the token of the zone itself as that of nobody", async () => {
    const host = openHost({ asker: zone.asker("optional") });
    expect((await say(host, { user: undefined })).result?.status).toBe("input_required");
    expect(host.turns[0]?.context.asker).toBeUndefined();
  });
});

describe("an answer", () => {
  async function answer(user: string) {
    const host = openHost();
    const { result } = await say(host);
    const params = { task_id: result?.task_id, option_id: "yes", user_id: user };
    const { token } = await say(host, { method: "answer_task", params, user });
    const poll = await host.call("get_task", { task_id: result?.task_id, wait_ms: 10_000 });
    expect(poll.result?.status).toBe("success");
    return {
      turn: host.turns[1],
      token,
      stored: await host.store.get({ id: result?.task_id ?? "" }),
    };
  }

  it("counts as the word of who clicked, in the thread of another person", async () => {
    const { turn, stored } = await answer("ULEE");
    expect(turn?.context.asker).toEqual(kim);
    expect(turn?.task.answers[0]).toMatchObject({ asker: lee, option_id: "yes" });
    // The token of the one is never used for the other.
    expect(turn?.token).toBeUndefined();
    expect(JSON.stringify(stored)).not.toMatch(/UKIM|ULEE/);
  });

  it("brings the new token of the person who asked", async () => {
    const { turn, token } = await answer("UKIM");
    expect(turn?.task.answers[0]?.asker).toEqual(kim);
    expect(turn?.token).toBe(token);
  });

  it("fails if its params name another person than its token", async () => {
    const host = openHost();
    const { result } = await say(host);
    const params = { task_id: result?.task_id, option_id: "yes", user_id: "UKIM" };
    const sent = { method: "answer_task", params, user: "ULEE" };
    expect(await say(host, sent)).toMatchObject(refusal);
    expect(host.turns).toHaveLength(1);
  });
});

it("gives the worker of a queue who asked, without the token", async () => {
  const { agent, turns } = createAsking();
  const host = createQueuedHost({ asker: zone.asker(), syncBudgetMs: 60_000 });
  host.startWorker({ agent });
  const { result, token } = await say(host);
  expect(result?.status).toBe("input_required");
  expect(turns[0]?.context.asker).toEqual(kim);
  expect(turns[0]?.token).toBeUndefined();
  expect(host.sent.join()).not.toContain(token.split(".")[1]);
});
