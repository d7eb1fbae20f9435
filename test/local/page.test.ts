import { request as httpRequest } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Ingress, IngressRequest } from "../../lambdas/verification/ingress/ingress.ts";
import { startVerificationServer, type VerificationServer } from "../../lambdas/verification/ingress/server.ts";
import { type FakeSlack, startFakeSlack } from "../../lib/local/fake-slack/fake-slack.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";
import { createPage, type LocalPage } from "../../lib/local/page/page.ts";
import { createStepRecorder, type StepRecorder } from "../../lib/local/recorder/step-recorder.ts";
import { createDoor } from "../../lib/local/web/door.ts";
import { bytesIn } from "../verification/ingress/bytes-in.ts";

let fakeSlack: FakeSlack;
let stepRecorder: StepRecorder;
let page: LocalPage;
let server: VerificationServer;
let events: IngressRequest[];
/** Of the browser that opened the printed address. */
let cookie: string;
const token = "a-token-of-this-page";

beforeEach(async () => {
  events = [];
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken: "xoxb-fake-slack" });
  stepRecorder = createStepRecorder();
  page = createPage({ fakeSlack, stepRecorder, door: createDoor({ token }) });
  const ingress: Ingress = async (request) => {
    events.push({ headers: request.headers, body: await bytesIn(request) });
    return { status: 200, headers: {}, body: "" };
  };
  server = await startVerificationServer({ ingress, page: page.handle, port: 0 });
  cookie = "";
  const entered = await ask(`/?token=${token}`);
  cookie = String(entered.headers["set-cookie"]).split(";")[0] ?? "";
});
afterEach(async () => {
  page.close();
  await server.close();
  await fakeSlack.close();
});

type Answer = { status: number; headers: Record<string, unknown>; body: string };

/** With node:http, since `fetch` lets nobody lie about Host. */
function ask(
  path: string,
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = httpRequest(
    `${server.url}${path}`,
    { method, headers: { cookie, ...headers }, agent: false },
    (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
      response.on("error", reject);
    },
  );
  sent.on("error", reject);
  sent.end(body);
  return promise;
}

function send(body: unknown, headers: Record<string, string> = {}) {
  return ask("/local/messages", {
    method: "POST",
    headers: { "content-type": "application/json", origin: server.url, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

async function delivered(): Promise<void> {
  const done = Promise.withResolvers<void>();
  stepRecorder.onStep(({ title }) => {
    if (title.startsWith("The ingress answers")) done.resolve();
  });
  await done.promise;
}

describe("the page", () => {
  it("is one document that loads nothing from anywhere and lets nothing else run", async () => {
    const { status, headers, body } = await ask("/");
    expect(status).toBe(200);
    const policy = String(headers["content-security-policy"]);
    expect(policy).toMatch(/default-src 'none'.*style-src 'sha256-[^']+'.*frame-ancestors 'none'/);
    expect(policy).toContain(
      `; script-src ${server.url}/local/script/ ${server.url}/web/; img-src data: ${server.url}/`,
    );
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(body.match(/(src|href)="(?!data:)[^"]*/g)).toEqual(['src="/local/script/client.js', 'href="/operate/']);
    expect(body).not.toMatch(/<script[^>]*>[^<]/);
  });

  it("puts text in as text: its scripts know no HTML, and come from this server alone", async () => {
    const queue = ["client.js"];
    const seen = new Map<string, string>();
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const { status, headers, body } = await ask(`/local/script/${name}`);
      expect([status, headers["content-type"]]).toEqual([200, "text/javascript; charset=utf-8"]);
      expect(body).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|srcdoc|https?:/);
      seen.set(name, body);
      for (const [, imported = ""] of body.matchAll(/from "\.\/([^"]+)"/g))
        if (!seen.has(imported)) queue.push(imported);
    }
    expect(seen.size).toBeGreaterThan(3);
    expect((await ask("/local/script/page.ts")).status).toBe(404);
  });

  it("sends a signed event for what was typed, and shows it as the first steps", async () => {
    const taken = delivered();
    const answer = await send({ text: "What is a sekisho?" });
    await taken;
    expect(answer.status).toBe(202);
    const { request_id: requestId } = JSON.parse(answer.body);
    expect(events.length).toBe(1);
    expect(events[0]?.headers.map(([name]) => name.toLowerCase())).toContain("x-slack-signature");
    expect(JSON.parse(Buffer.from(events[0]?.body ?? []).toString()).event).toMatchObject({
      type: "app_mention",
      text: `<@${workspace.botUser}> What is a sekisho?`,
    });
    expect(stepRecorder.steps().map((step) => [step.requestId, step.kind])).toEqual([
      [requestId, "event"],
      [requestId, "event"],
    ]);
  });

  it("answers in a thread, and in a direct message", async () => {
    const { body } = await send({ text: "first" });
    const { ts } = JSON.parse(body);
    expect((await send({ text: "more", thread_ts: ts })).status).toBe(202);
    expect(fakeSlack.thread({ channel: workspace.channel.id, ts }).length).toBe(2);
    expect((await send({ text: "hi", channel: workspace.directMessages.id })).status).toBe(202);
  });

  it.each([
    ["not JSON", "{"],
    ["no text", {}],
    ["an empty text", { text: "  " }],
    ["a text that Slack would not take", { text: "x".repeat(40_001) }],
    ["a channel that does not exist", { text: "hi", channel: "CNOWHERE" }],
    ["a thread that does not exist", { text: "hi", thread_ts: "1.000001" }],
  ])("refuses %s", async (_name, body) => {
    expect((await send(body)).status).toBe(400);
    expect(fakeSlack.messages()).toEqual([]);
  });

  it("streams what there is, then what comes", async () => {
    fakeSlack.ask({ eventsUrl: `${server.url}/slack/events`, text: "before" });
    const response = await fetch(`${server.url}/local/events`, { headers: { cookie } });
    const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const until = async (wanted: string) => {
      while (!text.includes(wanted)) {
        const { value, done } = await reader.read();
        if (done) throw new Error("The stream ended.");
        text += value;
      }
    };
    await until("before");
    fakeSlack.ask({ eventsUrl: `${server.url}/slack/events`, text: "after" });
    await until("after");
    expect(text.startsWith('data: {"type":"reset"')).toBe(true);
    await reader.cancel();
  });

  it("leaves what is the server's own alone", async () => {
    expect((await ask("/healthz")).status).toBe(200);
    expect((await ask("/slack/events")).headers.allow).toBe("POST");
  });

  it("tells whoever is refused in one line of plain text what to do", async () => {
    const origin = { origin: server.url };
    const refused = await Promise.all([
      ask("/nothing"),
      ask("/constructor"),
      ask("/local/messages"),
      ask("/", { method: "POST", headers: origin }),
      ask("/local/messages", { method: "POST", body: "{}" }),
      ask("/local/messages", { method: "POST", headers: origin, body: "{}" }),
      send({ text: "" }),
      send({ text: "hi", thread_ts: "1.000001" }),
      send(JSON.stringify({ text: "x".repeat(300_000) })),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([404, 404, 405, 405, 403, 415, 400, 400, 413]);
    for (const { headers, body } of refused) {
      expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
      expect(body).toMatch(/^[A-Z][^\n]+\. Open the address that npm start printed, on this machine\.\n$/);
    }
    expect(refused[2]?.headers.allow).toBe("POST");
  });
});

describe("another user of the same machine", () => {
  it.each([
    ["no cookie", ""],
    ["a cookie that was made up", "made-up"],
  ])("reads nothing and sends nothing with %s", async (_what, value) => {
    const name = cookie.split("=")[0] ?? "";
    const headers = { cookie: value === "" ? "" : `${name}=${value}` };
    for (const path of ["/", "/local/events", "/local/script/client.js", "/local/files/F0"]) {
      expect(await ask(path, { headers })).toMatchObject({
        status: 401,
        body: expect.stringMatching(/token of this run/),
      });
    }
    expect((await send({ text: "hi" }, headers)).status).toBe(401);
    expect((await ask("/?token=wrong", { headers })).status).toBe(401);
    expect(fakeSlack.messages()).toEqual([]);
  });
});

describe("the printed address", () => {
  it("leads to the page without its token, which is in no address and no answer from then on", async () => {
    const { status, headers, body } = await ask(`/?token=${token}`, { headers: { cookie: "" } });
    expect({ status, location: headers.location }).toEqual({ status: 303, location: "/" });
    expect(String(headers["set-cookie"])).toMatch(/^sekisho-page-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(JSON.stringify([headers, body])).not.toContain(token);
  });
});

describe("another site in the same browser", () => {
  it.each(["/", "/local/events", "/local/messages", "/local/clicks", "/local/files", "/local/files/F1"])(
    "cannot reach %s under another name (DNS rebinding)",
    async (path) => {
      for (const host of [
        "evil.example",
        `evil.example:${server.port}`,
        "127.0.0.1",
        "127.0.0.1:1",
        `127.0.0.1.evil.example:${server.port}`,
      ]) {
        const method = /messages|clicks|files$/.test(path) ? "POST" : "GET";
        const answer = await ask(path, {
          method,
          headers: { host, origin: `http://${host}`, "content-type": "application/json" },
        });
        expect(answer.status).toBe(403);
        expect(answer.body).toBe(
          "Only the page of this server may ask this, under its own address. Open the address that npm start printed, on this machine.\n",
        );
      }
    },
  );

  it.each([
    "http://evil.example",
    "https://127.0.0.1:3000",
    "null",
    "http://localhost.evil.example",
    "http://127.0.0.1",
  ])("cannot send anything from origin %s (CSRF)", async (origin) => {
    expect((await send({ text: "hi" }, { origin })).status).toBe(403);
    expect(fakeSlack.messages()).toEqual([]);
  });

  it("cannot send anything by a form, which says no Origin, or the wrong content type", async () => {
    const body = JSON.stringify({ text: "hi" });
    const json = { "content-type": "application/json" };
    expect((await ask("/local/messages", { method: "POST", headers: json, body })).status).toBe(403);
    expect((await send({ text: "hi" }, { "content-type": "text/plain" })).status).toBe(415);
    expect((await send({ text: "hi" }, { "content-type": "application/jsonp" })).status).toBe(415);
    expect(fakeSlack.messages()).toEqual([]);
    expect(events).toEqual([]);
  });

  it("cannot read the stream", async () => {
    expect((await ask("/local/events", { headers: { origin: "http://evil.example" } })).status).toBe(403);
    expect((await ask("/local/events", { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
  });

  it("is told from the page's own tab, under both names of this machine", async () => {
    const localhost = `localhost:${server.port}`;
    expect(
      (await send({ text: "hi" }, { host: localhost, origin: `http://${localhost}`, "sec-fetch-site": "same-origin" }))
        .status,
    ).toBe(202);
    expect((await send({ text: "hi" }, { host: localhost })).status).toBe(403);
  });
});
